"""How a person lets a paused run go on."""

from datetime import datetime

from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from project.kit.admin import Asked, Done, ObjectAction
from scheduler import operations, wording
from scheduler.explaining import need_in_words, read_quota_facts
from scheduler.models import Pause, TaskRun
from scheduler.states import RunState


def has_gone_on(run: TaskRun) -> bool:
    """Tell whether the run was paused, and is on its way again."""
    return run.state in operations.WENT_ON and bool(run.pause_count)


def _obstacle(run: TaskRun) -> str:
    if run.state == RunState.PAUSED:
        return ""
    if has_gone_on(run):
        return wording.resumed(run.pk, operations.Resumed.ALREADY)
    return _("Run #%(id)s is %(state)s, not paused.") % {"id": run.pk, "state": run.get_state_display()}


def _consequences(run: TaskRun, now: datetime) -> list[str]:
    quotas = read_quota_facts(run, now)
    zone = run.schedule.timezone if run.schedule else "UTC"
    return [
        *(need_in_words(need, zone, now) for need in quotas.needs),
        *_lifted(quotas.pause, now),
        _("Where its quotas allow it, it goes on at once from its checkpoint, before its turn."),
        _("Where they do not, it stays paused and goes on by itself as soon as they do."),
    ]


def _lifted(pause: Pause | None, now: datetime) -> list[str]:
    if pause is None:
        return []
    sentences = []
    if pause.held:
        sentences.append(_("It is held: %(why)s. That is lifted.") % {"why": pause.get_held_display()})
    if pause.not_before is not None and pause.not_before > now:
        sentences.append(_("It is delayed after %(count)s setbacks. That is lifted.") % {"count": pause.setbacks})
    return sentences


def _resume(run: TaskRun, asked: Asked) -> Done:
    outcome = operations.resume(run, now=asked.now, actor=asked.actor, reason=asked.reason)
    return Done(wording.resumed(run.pk, outcome))


RESUME = ObjectAction(
    name="resume",
    label=gettext_lazy("Resume"),
    permission="scheduler.resume_taskrun",
    obstacle=_obstacle,
    consequences=_consequences,
    perform=_resume,
    tone="primary",
    bulk=True,
)
