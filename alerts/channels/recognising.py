"""Which format an endpoint is saved with: a group's bot only with its own platform's."""

from django.utils.translation import gettext as _

from alerts.channels.base import Endpoint, Refused
from alerts.channels.hosts import platform_of, recognise
from alerts.channels.registry import AnyFormat, format_of


def settle_format(endpoint: Endpoint, chosen: str = "") -> str:
    """Return the name of the format for the endpoint: the chosen one, or with none chosen the address's own.

    Ask only when the address, the secrets or the format really changed: what was saved long ago can still be renamed.

    Raises:
        Refused: the address is no format's, or another platform's than the chosen one; or the endpoint cannot be right.
    """
    name = chosen or recognise(endpoint.address)
    form = format_of(name)
    _check_platform(endpoint.address, form)
    form.check(endpoint)
    return name


def _check_platform(address: str, chosen: AnyFormat) -> None:
    platform = platform_of(address)
    if platform is None or platform.format == chosen.name or (chosen.name == "generic" and not platform.bots_only):
        return
    own = format_of(platform.format)
    raise Refused(
        _("This is an address of %(own)s: choose the format %(own)s, not %(chosen)s.")
        % {"own": own.label, "chosen": chosen.label}
    )
