"""Time limits for work that knows none of its own, or only one for each of its steps."""

import threading
from collections.abc import Callable
from concurrent.futures import Future
from typing import TypeVar

Result = TypeVar("Result")


def within(seconds: float, work: Callable[[], Result], *, name: str) -> Result:
    """Return what the work returns, which is done in a thread of its own; nobody waits for it after its time.

    Raises:
        TimeoutError: it takes longer. Whoever asked for it has to see that it ends.
        Exception: whatever the work raises.
    """
    result: Future[Result] = Future()

    def perform() -> None:
        try:
            result.set_result(work())
        except BaseException as error:  # it is raised again where somebody waits
            result.set_exception(error)

    threading.Thread(target=perform, name=name, daemon=True).start()
    return result.result(seconds)
