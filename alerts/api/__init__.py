"""The alerts over HTTP: what the control panel shows of them, and what it lets people do."""

from alerts.api.alerts import Alerts
from alerts.api.channels import Channels
from alerts.api.deliveries import Deliveries
from alerts.api.silences import Silences

RESOURCES = {"alerts": Alerts, "channels": Channels, "deliveries": Deliveries, "silences": Silences}
