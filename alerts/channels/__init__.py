"""How a message goes out: one file a format."""
