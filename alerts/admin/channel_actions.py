"""What a person can do with a channel: try it, turn it off and on."""

from datetime import datetime

from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from alerts import defining
from alerts.admin import cells
from alerts.models import Channel
from project.kit.admin import Asked, Done, ObjectAction


def _no_obstacle(channel: Channel) -> str:
    return ""


def _test_consequences(channel: Channel, now: datetime) -> list[str]:
    off = [] if channel.enabled else [_("The channel is off: this is all that it is told.")]
    return [
        _("A message that says that it is a test goes at once to %(host)s, as %(format)s.")
        % {"host": channel.address_shown, "format": cells.format_label(channel.format)},
        _("It says what receiving it proves, and what not. It is not tried again if it is not taken."),
        *off,
        _("What comes of it is shown, and kept among the deliveries."),
    ]


def _note_test(channel: Channel, asked: Asked) -> Done:
    """Do nothing yet: a message is sent once this transaction, with its entry in the audit log, has ended."""
    return Done("")


# --- off and on ----------------------------------------------------------------------------------------------------


def _pause_obstacle(channel: Channel) -> str:
    return "" if channel.enabled else _("It is off already.")


def _pause_consequences(channel: Channel, now: datetime) -> list[str]:
    return [
        _("It is told nothing until it is turned on again."),
        _("What waits for it is not told, and neither is what happens meanwhile, not even later."),
    ]


def _pause(channel: Channel, asked: Asked) -> Done:
    _turn(channel, on=False, now=asked.now)
    return Done(_("“%(name)s” is off.") % {"name": channel.name})


def _enable_obstacle(channel: Channel) -> str:
    return _("It is on already.") if channel.enabled else ""


def _enable_consequences(channel: Channel, now: datetime) -> list[str]:
    return [
        _("It is told of what happens from now on."),
        _("Of what is open already it is not told, unless it was told of it before."),
    ]


def _enable(channel: Channel, asked: Asked) -> Done:
    _turn(channel, on=True, now=asked.now)
    return Done(_("“%(name)s” is on.") % {"name": channel.name})


def _turn(channel: Channel, *, on: bool, now: datetime) -> None:
    channel.enabled = on
    defining.save_changes(channel, expected_version=channel.version, now=now)


TEST = ObjectAction(
    name="test",
    label=gettext_lazy("Send a test message"),
    permission="alerts.test_channel",
    obstacle=_no_obstacle,
    consequences=_test_consequences,
    perform=_note_test,
    tone="primary",
)
PAUSE = ObjectAction(
    name="pause",
    label=gettext_lazy("Turn off"),
    permission="alerts.change_channel",
    obstacle=_pause_obstacle,
    consequences=_pause_consequences,
    perform=_pause,
)
ENABLE = ObjectAction(
    name="enable",
    label=gettext_lazy("Turn on"),
    permission="alerts.change_channel",
    obstacle=_enable_obstacle,
    consequences=_enable_consequences,
    perform=_enable,
)
CHANNEL_ACTIONS = (TEST, PAUSE, ENABLE)
