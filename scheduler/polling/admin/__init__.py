"""The polling's pages in the control panel."""

from scheduler.polling.admin import accounts, cards

__all__ = ["accounts", "cards"]
