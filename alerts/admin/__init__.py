"""The alerts' pages in the control panel. All but the test message only writes rows."""

from alerts.admin import alerts, channels, deliveries, silences

__all__ = ["alerts", "channels", "deliveries", "silences"]
