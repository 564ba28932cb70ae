"""The peers, each in one file, run as a program by a Python of their own (see peer_programs.py)."""
