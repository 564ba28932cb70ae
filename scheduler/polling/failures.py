"""Checks that keep failing are told: one open alert a card and check, and one of the account over a storm of them."""

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime, timedelta
from itertools import groupby

from django.db.models import Count, Q
from django.urls import reverse

from alerts.models import Alert
from alerts.recording import Problem, raise_alert, raise_alerts, resolve_alerts
from scheduler.polling.models import CarrierAccount
from scheduler.polling.outcomes import Asked, Subject
from scheduler.polling.states import TOLD_AT_ONCE, CheckType
from scheduler.polling.system_settings import Settings

CARD_CHECK_FAILING = "card_check_failing"
CARDS_FAILING = "cards_failing"


@dataclass(frozen=True, slots=True)
class Failure:
    """A check that failed, and how often in a row by now."""

    account_id: int
    subject: Subject
    asked: Asked
    failures: int


def tell(failures: Iterable[Failure], settings: Settings, *, now: datetime) -> None:
    """Raise the alerts of those that failed too often, or in a way that no repetition mends."""
    told = [failure for failure in failures if _is_told(failure, settings)]
    if not told:
        return
    told.sort(key=_account)
    names = dict(CarrierAccount.objects.filter(pk__in=set(map(_account, told))).values_list("pk", "name"))
    for account_id, of_account in groupby(told, _account):
        name = names[account_id]
        raise_alerts([_problem(failure, name) for failure in of_account], now=now)
        _tell_of_storm(account_id, name, settings, now)


def all_clear(answered: Iterable[tuple[int, CheckType]], *, now: datetime) -> None:
    """Resolve the alerts of checks that failed before and are answered again.

    Args:
        answered: pairs of a card and a check.
    """
    fingerprints = [fingerprint(card_id, check) for card_id, check in answered]
    if fingerprints:
        resolve_alerts(fingerprints, now=now, sentence="The carrier answers it again.")


def end_storms(settings: Settings, *, now: datetime) -> int:
    """Resolve the account alerts of which fewer than half as many card alerts are left as began them."""
    storms = Alert.objects.filter(kind=CARDS_FAILING, resolved_at__isnull=True)
    left = storms.annotate(left=Count("children", filter=Q(children__resolved_at__isnull=True)))
    over = [storm.fingerprint for storm in left if storm.left < max(1, settings.account_alert_threshold // 2)]
    return resolve_alerts(over, now=now, sentence="Hardly any of its cards fails any more.")


def fingerprint(card_id: int, check: CheckType) -> str:
    """Return by what the alert of a card's failing check is known."""
    return f"{CARD_CHECK_FAILING}:card:{card_id}:{check}"


def storm_fingerprint(account_id: int) -> str:
    """Return by what the alert over an account's failing cards is known."""
    return f"{CARDS_FAILING}:carrier_account:{account_id}"


def _account(failure: Failure) -> int:
    return failure.account_id


def _is_told(failure: Failure, settings: Settings) -> bool:
    error = failure.asked.error
    at_once = error is not None and error.error_class in TOLD_AT_ONCE
    return at_once or failure.failures >= settings.failure_alert_threshold


def _problem(failure: Failure, account: str) -> Problem:
    card, check = failure.subject.ref, failure.asked.type
    times = "once" if failure.failures == 1 else f"{failure.failures} times in a row"
    return Problem(
        CARD_CHECK_FAILING,
        fingerprint(card.id, check),
        f"Card {card.iccid}: {check.label}",
        f"Failed {times}: {failure.asked.error}",
        subject=f"card:{card.id}",
        labels={"account": account, "check": str(check)},
        url=reverse("admin:polling_card_change", args=[card.id]),
        parent=storm_fingerprint(failure.account_id),
    )


def _tell_of_storm(account_id: int, name: str, settings: Settings, now: datetime) -> None:
    """Let one alert of the account stand over its card alerts where many have opened within the window."""
    parent = storm_fingerprint(account_id)
    if Alert.objects.filter(fingerprint=parent, resolved_at__isnull=True).exists():
        return
    window = timedelta(seconds=settings.account_alert_window)
    lately = Q(kind=CARD_CHECK_FAILING, first_at__gt=now - window, labels__account=name)
    opened = Alert.objects.filter(lately, resolved_at__isnull=True)
    count = opened[: settings.account_alert_threshold].count()
    if count < settings.account_alert_threshold:
        return
    storm = Problem(
        CARDS_FAILING,
        parent,
        f"Carrier account {name}: many cards fail",
        f"{count} checks or more have begun to fail within {settings.account_alert_window} s. Look at the carrier"
        " first, then at the cards.",
        subject=f"carrier_account:{account_id}",
        labels={"account": name},
        url=reverse("admin:polling_carrieraccount_change", args=[account_id]),
    )
    raise_alert(storm, over=lately, now=now)
