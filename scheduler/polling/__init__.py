"""Fleets of SIM cards are polled, each carrier account within its own limits."""
