"""Says why something cannot be done with a run as it is now."""

from django.utils.translation import gettext as _

from scheduler.models import TaskRun
from scheduler.states import RunState


class NotPossible(Exception):
    """The row left the state in which this can be done; the message says where it is now."""


def not_possible(run: TaskRun, wanted: list[RunState]) -> NotPossible:
    """Return the refusal of what can be done in the wanted states only, with where the run is now."""
    current = TaskRun.objects.get(pk=run.pk)
    state = current.get_state_display()
    if current.finished_at is not None:
        return NotPossible(
            _("Run #%(id)s has ended (%(state)s); run it again instead.") % {"id": run.pk, "state": state}
        )
    states = _(" or ").join(str(state.label) for state in wanted)
    return NotPossible(
        _("Run #%(id)s is %(state)s now, not %(states)s.") % {"id": run.pk, "state": state, "states": states}
    )
