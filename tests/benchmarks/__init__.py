"""What Tideline reaches, measured beside its peers: `bin/bench [NAME ...] [--json] [--rounds N] [--size N]`."""
