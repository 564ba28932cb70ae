"""The simple way of polling, kept as the baseline and the way back."""
