"""Chaos: all four parts at work at once, by real processes, harmed at random from a seed; then the audit of the books.

`bin/chaos` runs it for long; docs/reliability.md says what it promises, and what it found.
"""
