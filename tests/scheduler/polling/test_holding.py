"""An account in trouble is left in peace: once, for as long as the carrier says or longer each time, and it is told."""

from datetime import datetime, timedelta

import pytest

from alerts.models import Alert
from scheduler.polling import holding
from scheduler.polling.carriers.base import CarrierError
from scheduler.polling.models import CarrierAccount
from scheduler.polling.states import OF_THE_ACCOUNT, ErrorClass
from tests.scheduler.polling.factories import DAY, HOUR, NOW, SECOND, make_account

pytestmark = pytest.mark.django_db

AUTH, THROTTLED, QUOTA = ErrorClass.AUTH, ErrorClass.THROTTLED, ErrorClass.QUOTA_EXHAUSTED


@pytest.fixture
def account() -> CarrierAccount:
    return make_account(name="acme")


def hold(
    account: CarrierAccount, error_class: ErrorClass, *, retry_after: float | None = None, now: datetime = NOW
) -> timedelta:
    """Hold the account, and return for how long it is held from now."""
    return holding.hold(account.pk, CarrierError(error_class, "Not now.", retry_after=retry_after), now=now) - now


def hold_in_a_row(account: CarrierAccount, error_class: ErrorClass, times: int) -> list[timedelta]:
    """Hold the account again each time that a hold is over, and return how long each was."""
    now, lengths = NOW, []
    for _ in range(times):
        lengths.append(hold(account, error_class, now=now))
        now += lengths[-1]
    return lengths


def answered(account: CarrierAccount, *, now: datetime) -> int:
    """Let the account answer, and return how many holds in a row are left."""
    holding.answered([account.pk], now=now)
    account.refresh_from_db()
    return account.hold_count


def test_every_trouble_of_an_account_has_its_pauses_and_its_remedy() -> None:
    assert holding.PAUSES.keys() == holding.REMEDIES.keys() == OF_THE_ACCOUNT
    assert all(list(pauses) == sorted(set(pauses)) for pauses in holding.PAUSES.values())


def test_case_49_the_carrier_is_given_the_time_that_it_asks_for_and_a_day_at_most(account: CarrierAccount) -> None:
    assert hold(account, THROTTLED, retry_after=300) == 300 * SECOND
    assert hold(make_account(), THROTTLED, retry_after=10 * 86_400) == DAY


@pytest.mark.parametrize("error_class", sorted(OF_THE_ACCOUNT))
def test_case_44_each_hold_in_a_row_is_longer_until_the_longest(
    account: CarrierAccount, error_class: ErrorClass
) -> None:
    pauses = [seconds * SECOND for seconds in holding.PAUSES[error_class]]
    assert hold_in_a_row(account, error_class, len(pauses) + 2) == [*pauses, pauses[-1], pauses[-1]]


def test_case_46_a_quota_that_is_used_up_is_a_long_pause_and_told_at_once(account: CarrierAccount) -> None:
    assert hold(account, QUOTA) == 1800 * SECOND
    assert Alert.objects.get().title == "Carrier account acme"


def test_of_many_cards_that_meet_the_same_trouble_one_makes_the_hold(account: CarrierAccount) -> None:
    for later in range(3):
        hold(account, AUTH, now=NOW + later * SECOND)
    account.refresh_from_db()
    assert (account.held_until, account.hold_count) == (NOW + 60 * SECOND, 1)
    assert Alert.objects.get().count == 1


def test_a_longer_pause_that_the_carrier_names_amid_a_hold_prolongs_it_and_a_shorter_one_does_not(
    account: CarrierAccount,
) -> None:
    hold(account, THROTTLED, retry_after=60)
    assert hold(account, THROTTLED, retry_after=10, now=NOW + SECOND) == 59 * SECOND
    assert hold(account, THROTTLED, retry_after=600, now=NOW + SECOND) == 600 * SECOND
    account.refresh_from_db()
    assert account.hold_count == 1


def test_throttling_is_told_when_it_does_not_end_and_other_trouble_at_once(account: CarrierAccount) -> None:
    hold_in_a_row(account, THROTTLED, holding.THROTTLES_BORNE - 1)
    assert not Alert.objects.exists()
    hold_in_a_row(account, THROTTLED, 1)
    assert not Alert.objects.exists()  # that was amid the last hold
    hold(account, THROTTLED, now=NOW + HOUR)
    alert = Alert.objects.get()
    assert (alert.kind, alert.severity) == ("account_failing", "warning")
    hold(make_account(), AUTH)
    assert Alert.objects.filter(severity="critical").count() == 1


def test_case_44_only_answers_after_a_hold_bring_the_pauses_back_one_by_one(account: CarrierAccount) -> None:
    hold_in_a_row(account, AUTH, 2)
    assert answered(account, now=NOW + 100 * SECOND) == 2  # amid the second hold
    assert answered(account, now=NOW + HOUR) == 1
    assert Alert.objects.filter(resolved_at=None).exists()
    assert answered(account, now=NOW + HOUR) == 0
    assert Alert.objects.get().resolved_at == NOW + HOUR
    assert (account.held_until, account.held_class) == (None, "")


def test_a_person_releases_a_hold_and_those_who_were_told_of_it_learn_why(account: CarrierAccount) -> None:
    hold_in_a_row(account, AUTH, 3)
    assert holding.release(account.pk, sentence="The key was renewed.", now=NOW + SECOND)
    account.refresh_from_db()
    assert (account.held_until, account.held_reason, account.hold_count) == (None, "", 0)
    assert Alert.objects.get().resolved_at == NOW + SECOND
    assert not holding.release(account.pk, sentence="", now=NOW)


@pytest.mark.parametrize(
    ("limit", "holds", "left"), [(200, 0, 200), (200, 1, 100), (200, 2, 50), (200, 8, 1), (1, 3, 1), (3, 1, 1)]
)
def test_cards_in_work_are_halved_by_each_hold_and_never_none(limit: int, holds: int, left: int) -> None:
    assert holding.slowed(limit, holds) == left
