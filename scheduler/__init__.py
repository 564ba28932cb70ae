"""When work is due, who has it, how it goes on."""
