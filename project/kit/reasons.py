"""Why a call to elsewhere failed, in the system's own words."""

import errno
import os
import ssl


def innermost_reason(error: BaseException) -> str:
    """Return what the system said: the libraries above it say less."""
    reason = "the connection failed"
    cause: BaseException | None = error
    while cause is not None:
        if isinstance(cause, OSError):
            reason = _system_reason(cause) or reason
        nested = cause.exceptions[0] if isinstance(cause, BaseExceptionGroup) else None
        cause = nested or cause.__cause__ or cause.__context__
    return reason


def _system_reason(error: OSError) -> str:
    if error.errno and error.errno in errno.errorcode and not isinstance(error, ssl.SSLError):
        return os.strerror(error.errno)  # asyncio puts its own words in its place
    return error.strerror or ""
