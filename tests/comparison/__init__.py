"""The peers beside Tideline on inputs that broke schedulers: `python -m tests.comparison [--write]`."""
