"""Where the page of an owner is. Quotas know owners by text keys such as “run:12” only; whoever gives such keys says
here which page is behind one.
"""

from collections.abc import Callable

Address = Callable[[str], str]
_addresses: dict[str, Address] = {}


def register(kind: str, address: Address) -> None:
    """Let the address be asked for the pages of one kind of owners.

    Args:
        kind: what stands before the colon of their keys.
        address: returns an address for what stands behind it.
    """
    _addresses[kind] = address


def page_of(owner: str) -> str:
    """Return the address of the owner's page; empty if nobody knows one."""
    kind, colon, name = owner.partition(":")
    return _addresses[kind](name) if colon and name and kind in _addresses else ""
