"""Who must know. Alerts know nobody: what went wrong comes as text keys."""
