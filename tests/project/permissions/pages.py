"""What can be done in the control panel, and which permission each of it needs: written down, not read from the code.

To look at a list or a row always needs the model's `view_` permission, or the one to change it. To add, change or
delete needs what Django calls that.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True)
class Written:
    """What can be done with the rows of a model.

    Attributes:
        writes: which of add, change and delete there are at all.
        actions: each by its name, and what it needs beside looking.
        bulk: those of them that are offered for several rows at once.
        pages: pages of its own, each by its name, and what it needs; empty: no more than looking.
    """

    writes: str = ""
    actions: Mapping[str, str] = field(default_factory=dict)
    bulk: str = ""
    pages: Mapping[str, str] = field(default_factory=dict)


READ_ONLY = Written()

MODELS: dict[str, Written] = {
    "admin.logentry": READ_ONLY,
    "alerts.alert": Written(
        actions={
            "acknowledge": "alerts.handle_alert",
            "resolve": "alerts.handle_alert",
            "silence": "alerts.add_silence",
        },
        bulk="acknowledge resolve",
    ),
    "alerts.channel": Written(
        writes="add change",
        actions={
            "enable": "alerts.change_channel",
            "pause": "alerts.change_channel",
            "test": "alerts.test_channel",
        },
        pages={"edit": "alerts.change_channel"},
    ),
    "alerts.delivery": READ_ONLY,
    "alerts.silence": Written(writes="add change delete"),
    "auth.group": Written(writes="add change delete"),
    "auth.user": Written(writes="add change delete", pages={"password_change": "auth.change_user"}),
    "django_celery_beat.periodictask": READ_ONLY,
    "polling.card": Written(
        writes="add change",
        actions={
            "check-now": "polling.check_card",
            "delete-card": "polling.delete_card",
            "move": "polling.change_card",
            "polling-off": "polling.change_card",
            "polling-on": "polling.change_card",
            "resume": "polling.operate_card",
            "stop": "polling.operate_card",
        },
        bulk="check-now move polling-off polling-on resume stop",
        pages={"edit": "polling.change_card"},
    ),
    "polling.cardchange": READ_ONLY,
    "polling.cardcheck": READ_ONLY,
    "polling.cardoperation": Written(actions={"cancel": "polling.operate_card"}, bulk="cancel"),
    "polling.carrieraccount": Written(
        writes="add change",
        actions={
            "defaults": "polling.change_pollingparams",
            "delete-account": "polling.delete_carrieraccount",
            "hold": "polling.hold_carrieraccount",
            "rebuild": "polling.initialize_polling",
            "release": "polling.hold_carrieraccount",
            "switch-off": "polling.change_carrieraccount",
            "switch-on": "polling.change_carrieraccount",
        },
        bulk="hold release",
        pages={"edit": "polling.change_carrieraccount"},
    ),
    "polling.checkrequest": READ_ONLY,
    "polling.checkscene": Written(writes="change"),
    "polling.confirmation": READ_ONLY,
    "polling.cutover": READ_ONLY,
    "polling.device": Written(writes="add change"),
    "polling.pollingparams": Written(writes="change"),
    "polling.pollingtier": Written(
        writes="add change",
        actions={"delete-tier": "polling.delete_pollingtier"},
        pages={"edit": "polling.change_pollingtier", "preview": ""},
    ),
    "polling.systemsetting": Written(
        writes="change",
        actions={
            "change": "polling.change_systemsetting",
            "cut-over": "polling.cut_over",
            "default": "polling.change_systemsetting",
        },
    ),
    "project.apitoken": Written(writes="add change", actions={"revoke": "project.change_apitoken"}),
    "project.scanmark": READ_ONLY,
    "quotas.edge": READ_ONLY,
    "quotas.ledgerentry": Written(actions={"refund": "quotas.refund_quota"}),
    "quotas.providerreport": READ_ONLY,
    "quotas.quota": Written(
        writes="add change",
        actions={
            "check-now": "quotas.change_quota",
            "reset-now": "quotas.top_up_quota",
            "set-limit": "quotas.top_up_quota",
            "top-up": "quotas.top_up_quota",
        },
        pages={"edit": "quotas.change_quota", "simulate": ""},
    ),
    "quotas.reservation": READ_ONLY,
    "scheduler.approval": READ_ONLY,
    "scheduler.attempt": READ_ONLY,
    "scheduler.backfill": Written(actions={"cancel": "scheduler.cancel_backfill"}),
    "scheduler.calendar": Written(writes="add change delete"),
    "scheduler.calendarday": Written(writes="add change delete"),
    "scheduler.fire": READ_ONLY,
    "scheduler.runevent": READ_ONLY,
    "scheduler.schedule": Written(
        writes="add change delete",
        actions={
            "backfill": "scheduler.backfill_schedule",
            "enable": "scheduler.pause_schedule",
            "pause": "scheduler.pause_schedule",
            "run-now": "scheduler.run_schedule",
        },
        bulk="enable pause",
        pages={"preview": "scheduler.change_schedule"},
    ),
    "scheduler.taskrun": Written(
        actions={
            "again-from-nothing": "scheduler.retry_taskrun",
            "again-from-progress": "scheduler.retry_taskrun",
            "approve": "scheduler.answer_approval",
            "cancel": "scheduler.cancel_taskrun",
            "give-up": "scheduler.resume_taskrun",
            "go-on": "scheduler.resume_taskrun",
            "put-off": "scheduler.resume_taskrun",
            "reject": "scheduler.answer_approval",
            "resume": "scheduler.resume_taskrun",
            "retry": "scheduler.retry_taskrun",
        },
        bulk="cancel give-up go-on resume retry",
    ),
}

# Addresses that belong to no model: what a visitor needs. Empty: to be of the staff.
PAGES: dict[str, tuple[str, ...]] = {
    "/admin/": (),
    "/admin/jsi18n/": (),
    "/admin/password_change/": (),
    "/api/": (),
    "/inbox/": ("alerts.view_alert",),
}
