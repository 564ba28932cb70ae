"""System checks of the scheduler's settings, each with an id and a remedy."""
