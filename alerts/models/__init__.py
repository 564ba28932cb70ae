"""The rows of the alerts."""

from alerts.models.alerts import Alert, Silence
from alerts.models.channels import Channel
from alerts.models.deliveries import Delivery, DeliveryTry, Event

__all__ = ["Alert", "Channel", "Delivery", "DeliveryTry", "Event", "Silence"]
