"""How often Python looks for objects that only refer to each other."""

import gc

# So many objects more than before, and Python looks through those; then, twenty times more seldom, the older ones.
COLLECT_AFTER = (50_000, 20, 20)


def collect_rarely() -> None:
    """Spare what is loaded by now, which stays for ever, from being looked through again and again.

    For a process, and the children that it will fork, in which what is made for a call goes with it. Looking took a
    third of a poller's time, and a quarter of that of a scan which fires.
    """
    gc.collect()
    gc.freeze()
    gc.set_threshold(*COLLECT_AFTER)
