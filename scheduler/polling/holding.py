"""An account that throttles, refuses the credentials or has no quota left is left in peace, once for all of its
cards: none of them has failed. The pause grows with each hold in a row, and only answers in a row bring it back.
"""

from collections.abc import Iterable, Mapping
from datetime import datetime, timedelta

from django.db import connection, transaction
from django.db.models import Q
from django.urls import reverse

from alerts.recording import Problem, raise_alert, resolve_alerts
from alerts.states import Severity
from scheduler.polling.carriers.base import CarrierError
from scheduler.polling.models import CarrierAccount
from scheduler.polling.states import ErrorClass

ACCOUNT_FAILING = "account_failing"
# Seconds of the first hold in a row, the second ... where the carrier names none.
PAUSES: Mapping[ErrorClass, tuple[int, ...]] = {
    ErrorClass.THROTTLED: (2, 5, 15, 60, 300, 900),
    ErrorClass.TOKEN_EXPIRED: (5, 30, 120, 600),
    ErrorClass.AUTH: (60, 300, 900, 3600),
    # A quota of a day or a month does not come back within minutes: a loop would only use up the next one.
    ErrorClass.QUOTA_EXHAUSTED: (1800, 3600, 7200),
}
LONGEST_PAUSE = timedelta(days=1)
# Throttled so often in a row is told; everything else at once.
THROTTLES_BORNE = 3


def hold(account_id: int, trouble: CarrierError, *, now: datetime) -> datetime:
    """Leave the account in peace for as long as the carrier asks, or else a while longer than the last time.

    Of several cards that meet the same trouble one makes the hold; a longer pause that the carrier names prolongs it.

    Returns:
        until when it is held.
    """
    with transaction.atomic():
        account = CarrierAccount.objects.select_for_update().get(pk=account_id)
        held = account.held_until is not None and account.held_until > now
        until = now + _pause(trouble, account.hold_count)
        if held and account.held_until is not None and (not trouble.retry_after or until <= account.held_until):
            return account.held_until
        account.held_until, account.held_class, account.held_reason = until, trouble.error_class, str(trouble)
        account.hold_count += not held
        account.save(update_fields=["held_until", "held_class", "held_reason", "hold_count"])
        _tell(account, trouble, now)
    return until


def answered(account_ids: Iterable[int], *, now: datetime) -> None:
    """Take one hold in a row off each of the accounts, which answer again; tell that an account is well after the last.

    Args:
        account_ids: whose cards were answered, and none of them with trouble.
    """
    with transaction.atomic(), connection.cursor() as cursor:
        cursor.execute(
            "UPDATE polling_carrieraccount SET hold_count = hold_count - 1,"
            " held_until = NULL, held_class = '', held_reason = ''"
            " WHERE id = ANY(%s) AND hold_count > 0 AND (held_until IS NULL OR held_until <= %s)"
            " RETURNING id, hold_count",
            [list(account_ids), now],
        )
        well = [account_id for account_id, count in cursor.fetchall() if count == 0]
        if well:
            resolve_alerts([fingerprint(account_id) for account_id in well], now=now, sentence="It answers again.")


def hold_by(account_id: int, until: datetime, *, actor: str, reason: str) -> None:
    """Leave the account in peace until then, as a person wants. It is no trouble of the account: nobody is told."""
    account = CarrierAccount.objects.filter(pk=account_id)
    account.update(held_until=until, held_class="", held_reason=f"{actor}: {reason}")


def release(account_id: int, *, sentence: str, now: datetime) -> bool:
    """Ask the account again at once, as a person wants; False: it was not held.

    Args:
        sentence: why, for those who were told of its trouble.
    """
    with transaction.atomic():
        held = CarrierAccount.objects.filter(Q(held_until__isnull=False) | Q(hold_count__gt=0), pk=account_id)
        released = held.update(held_until=None, held_class="", held_reason="", hold_count=0)
        if released:
            resolve_alerts([fingerprint(account_id)], now=now, sentence=sentence)
    return bool(released)


def slowed(limit: int, hold_count: int) -> int:
    """Return how many cards of an account may be in work after so many holds in a row: half for each, one at least."""
    return max(1, limit >> min(hold_count, limit.bit_length()))


def fingerprint(account_id: int) -> str:
    """Return by what the alert of the account's own trouble is known."""
    return f"{ACCOUNT_FAILING}:carrier_account:{account_id}"


def _pause(trouble: CarrierError, holds: int) -> timedelta:
    if trouble.retry_after:
        return min(timedelta(seconds=trouble.retry_after), LONGEST_PAUSE)
    pauses = PAUSES[trouble.error_class]
    return timedelta(seconds=pauses[min(holds, len(pauses) - 1)])


def _tell(account: CarrierAccount, trouble: CarrierError, now: datetime) -> None:
    if trouble.error_class == ErrorClass.THROTTLED and account.hold_count < THROTTLES_BORNE:
        return
    raise_alert(
        Problem(
            ACCOUNT_FAILING,
            fingerprint(account.pk),
            f"Carrier account {account.name}",
            f"{trouble} {REMEDIES[trouble.error_class]}",
            subject=f"carrier_account:{account.pk}",
            severity=Severity.CRITICAL if trouble.error_class == ErrorClass.AUTH else Severity.WARNING,
            labels={"account": account.name, "gateway": account.gateway},
            url=reverse("admin:polling_carrieraccount_change", args=[account.pk]),
        ),
        now=now,
    )


REMEDIES: Mapping[ErrorClass, str] = {
    ErrorClass.THROTTLED: "Its cards wait. Lower the account's rate windows to what the carrier allows.",
    ErrorClass.TOKEN_EXPIRED: "Its cards wait. Check the account's credentials and its token address.",
    ErrorClass.AUTH: "Its cards wait. Check the account's credentials, and whether the carrier lets this host in.",
    ErrorClass.QUOTA_EXHAUSTED: "Its cards wait until the carrier's quota is back. Ask for more, or poll less often.",
}
