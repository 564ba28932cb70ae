"""What waits for quotas: that of the panel's tests."""

from tests.quotas.admin.conftest import _queue

__all__ = ["_queue"]
