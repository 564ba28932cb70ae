"""A limiter in Redis: each call books the next slot and is told how long to sleep."""

from quotas.ratelimit.calls import Booking, Refused
from quotas.ratelimit.limiter import AsyncLimiter, Limiter
from quotas.ratelimit.windows import LimiterError, NeverPossible, Window

__all__ = ["AsyncLimiter", "Booking", "Limiter", "LimiterError", "NeverPossible", "Refused", "Window"]
