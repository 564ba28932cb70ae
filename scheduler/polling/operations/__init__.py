"""Stop and resume of cards: asked, claimed for a sender, sent, and done only when the card was seen so."""

from scheduler.polling.operations.asking import ask, cancel
from scheduler.polling.operations.ending import confirmed, never_seen

__all__ = ["ask", "cancel", "confirmed", "never_seen"]
