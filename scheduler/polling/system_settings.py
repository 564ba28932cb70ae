"""The settings of the polling as a whole: what may be set, what it means, and what holds now.

Each is a field of `Settings`, so that its type, its default, its description and its JSON schema stand in one place.
A key has at least three segments. One that is renamed keeps its value: see `renamed`.
"""

import json
import logging
from datetime import datetime
from enum import StrEnum
from functools import cache
from itertools import pairwise
from typing import Annotated, Any

from django.core.exceptions import ValidationError
from django.db import migrations, transaction
from django.utils.translation import gettext as _
from django.utils.translation import gettext_noop
from pydantic import AfterValidator, BaseModel, ConfigDict, Field, TypeAdapter
from pydantic import ValidationError as Unfit
from pydantic.fields import FieldInfo
from pydantic_core import PydanticCustomError

from project.kit.versions import StaleVersion
from scheduler.polling.models import SystemSetting
from scheduler.polling.remembering import Remembered
from scheduler.polling.states import CheckType

logger = logging.getLogger(__name__)

HOUR_SECONDS, DAY_SECONDS = 3_600, 86_400
# What only a cut-over changes, see `set_mode`.
MODE_KEY = "polling.scheduler.mode"


class Mode(StrEnum):
    """Who decides which card is asked next."""

    CARRIER = "carrier"
    LEGACY = "legacy"


def _each_once(steps: tuple[CheckType, ...]) -> tuple[CheckType, ...]:
    if len(set(steps)) < len(steps):
        raise PydanticCustomError("twice", "{sentence}", {"sentence": _("Name each step once")})
    return steps


def _growing(seconds: tuple[int, ...]) -> tuple[int, ...]:
    if any(later <= earlier for earlier, later in pairwise(seconds)):
        raise PydanticCustomError(
            "not_growing", "{sentence}", {"sentence": _("Let each pause be longer than the one before it")}
        )
    return seconds


Pause = Annotated[int, Field(ge=1, le=7 * DAY_SECONDS)]


class Settings(BaseModel):
    """What holds. Times are seconds."""

    model_config = ConfigDict(frozen=True, extra="forbid", strict=True)

    steps_order: Annotated[tuple[CheckType, ...], Field(min_length=1), AfterValidator(_each_once)] = Field(
        (CheckType.CARD_STATUS, CheckType.REAL_NAME, CheckType.PACKAGE, CheckType.USAGE),
        alias="polling.steps.order",
        description=gettext_noop(
            "In which order the due checks of a card are made. A check that is left out comes last."
        ),
    )
    steps_timeout: int = Field(
        20,
        ge=1,
        le=600,
        alias="polling.steps.timeout",
        description=gettext_noop("Seconds that one check of a card may take."),
    )
    steps_total_margin: int = Field(
        10,
        ge=0,
        le=600,
        alias="polling.steps.total_margin",
        description=gettext_noop("Seconds that a card may take beyond the time of its checks together."),
    )
    failure_backoff: Annotated[tuple[Pause, ...], Field(min_length=1, max_length=20), AfterValidator(_growing)] = Field(
        (60, 300, 900, HOUR_SECONDS, 6 * HOUR_SECONDS),
        alias="polling.failure.backoff",
        description=gettext_noop(
            "Seconds until a check that failed is tried again: after the first failure in a row, the second"
            " and so on. The last holds for all further ones."
        ),
    )
    failure_alert_threshold: int = Field(
        3,
        ge=1,
        le=1_000,
        alias="polling.failure.alert_threshold",
        description=gettext_noop("After how many failures in a row a card's check is told."),
    )
    account_alert_window: int = Field(
        600,
        ge=60,
        le=DAY_SECONDS,
        alias="polling.account_alert.window",
        description=gettext_noop(
            "Seconds within which the failing checks of an account are counted for an alert of the account."
        ),
    )
    account_alert_threshold: int = Field(
        20,
        ge=2,
        le=100_000,
        alias="polling.account_alert.threshold",
        description=gettext_noop(
            "How many checks of an account have to begin to fail within the window for an alert of the"
            " account, under which theirs are gathered."
        ),
    )
    gateway_max_wait: int = Field(
        10,
        ge=0,
        le=600,
        alias="polling.gateway.max_wait",
        description=gettext_noop(
            "Seconds that a call may wait for its turn under the carrier's limit. A card whose call would have"
            " to wait longer is asked later, which is not a failure."
        ),
    )
    scheduler_mode: Mode = Field(
        Mode.CARRIER,
        alias="polling.scheduler.mode",
        description=gettext_noop(
            "carrier: each account at its own pace. legacy: one message a card and check, without isolation;"
            " the baseline and the way back."
        ),
    )
    stop_resume_queue_enabled: bool = Field(
        True,
        alias="polling.stop_resume.queue_enabled",
        description=gettext_noop(
            "Whether stops and resumes wait for the next second's round. Off: they are sent as soon as they are"
            " asked for. The account's limits hold either way."
        ),
    )


# The settings by their keys.
FIELDS: dict[str, FieldInfo] = {str(field.alias): field for field in Settings.model_fields.values()}


def described(key: str) -> str:
    """Return what the setting of that key is for."""
    return _(str(FIELDS[key].description))


class UnknownSetting(LookupError):
    """No setting has that key."""

    def __init__(self, key: str) -> None:
        super().__init__(
            _("There is no setting “%(key)s”. Known: %(fields)s.") % {"key": key, "fields": ", ".join(FIELDS)}
        )


def schema(key: str) -> dict[str, Any]:
    """Return the JSON schema of a setting's value.

    Raises:
        UnknownSetting: no setting has that key.
    """
    return _adapter(key).json_schema()


def default(key: str) -> Any:
    """Return a setting's default, as JSON has it.

    Raises:
        UnknownSetting: no setting has that key.
    """
    return _adapter(key).dump_python(FIELDS[key].default, mode="json")


def checked(key: str, value: Any) -> Any:
    """Return a value that may be set, as JSON has it.

    Raises:
        UnknownSetting: no setting has that key.
        ValidationError: with the reason.
    """
    adapter = _adapter(key)
    try:
        return adapter.dump_python(_read(key, value), mode="json")
    except Unfit as error:
        raise ValidationError({"value": _sentence(key, error)}) from None


# --- what holds ------------------------------------------------------------------------------------------------


def _load() -> Settings:
    """Return what is set, and the defaults for the rest; a row that does not fit any more counts as not set."""
    said = {}
    for key, value in SystemSetting.objects.filter(key__in=FIELDS).values_list("key", "value"):
        try:
            said[key] = _read(key, value)
        except Unfit as error:
            logger.warning("a setting does not fit any more and its default holds: %s", _sentence(key, error))
    return Settings(**said)


# What holds; as it was a few seconds ago. It asks the database: not from an event loop.
current = Remembered(_load)


# --- to set ----------------------------------------------------------------------------------------------------


def change(key: str, value: Any, *, actor: str, now: datetime, expected_version: int | None = None) -> SystemSetting:
    """Set a setting.

    Args:
        value: as JSON has it.
        expected_version: that of the row which the person saw, 0 if there was none; None: whatever it is.

    Raises:
        UnknownSetting: no setting has that key.
        ValidationError: with the reason; what held before holds on.
        StaleVersion: somebody else set it since `expected_version`.
    """
    fitting = checked(key, value)
    _refuse_the_mode(key)
    return _set(key, fitting, actor, now, expected_version)


def set_mode(mode: Mode, *, actor: str, now: datetime) -> None:
    """Set who decides: the last step of a cut-over, within its transaction."""
    _set(MODE_KEY, mode.value, actor, now, None)


def _set(key: str, fitting: Any, actor: str, now: datetime, expected_version: int | None) -> SystemSetting:
    with transaction.atomic():
        row = _locked(key, fitting, now)
        if expected_version is not None and row.version != expected_version:
            raise StaleVersion(row)
        if row.version == 0 or row.value != fitting:
            row.value, row.changed_by, row.changed_at, row.version = fitting, actor, now, row.version + 1
            row.save()
            transaction.on_commit(current.forget)
    return row


def back_to_default(key: str) -> bool:
    """Forget what was set; False: nothing was.

    Raises:
        UnknownSetting: no setting has that key.
        ValidationError: it is not to be changed like that.
    """
    _adapter(key)
    _refuse_the_mode(key)
    deleted, _ = SystemSetting.objects.filter(key=key).delete()
    transaction.on_commit(current.forget)
    return bool(deleted)


def _refuse_the_mode(key: str) -> None:
    if key == MODE_KEY:
        raise ValidationError(
            {"value": _("%(key)s is changed by a cut-over alone. Start one: polling_mode, or admin.") % {"key": key}}
        )


def renamed(before: str, after: str) -> migrations.RunSQL:
    """Return the operation of a migration by which a setting keeps its value under its new key, and back."""
    rename = "UPDATE polling_systemsetting SET key = %s WHERE key = %s"
    return migrations.RunSQL([(rename, [after, before])], [(rename, [before, after])])


def _locked(key: str, value: Any, now: datetime) -> SystemSetting:
    """Return the locked row; of a setting that nobody has set, a new one of version 0."""
    SystemSetting.objects.bulk_create(
        [SystemSetting(key=key, value=value, changed_at=now, version=0)], ignore_conflicts=True
    )
    return SystemSetting.objects.select_for_update().get(pk=key)


def _read(key: str, value: Any) -> Any:
    """Return a value of JSON as the setting's own type: lists become tuples, texts the words that they name."""
    return _adapter(key).validate_json(json.dumps(value), strict=True)


@cache
def _adapter(key: str) -> TypeAdapter[Any]:
    if key not in FIELDS:
        raise UnknownSetting(key)
    field = FIELDS[key]
    whole: Any = Annotated[field.annotation, *field.metadata, Field(description=field.description)]
    return TypeAdapter(whole)


def _sentence(key: str, error: Unfit) -> str:
    """Return the first thing that is wrong; what follows from it is not worth telling."""
    fault = error.errors(include_url=False)[0]
    place = "".join(f", entry {part + 1}" for part in fault["loc"] if isinstance(part, int))
    return f"{key}{place}: {fault['msg']}."
