"""Cards come, change and go, and their live order is built from the rows."""
