"""How often which card is asked: by table, and for any card and instant."""

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from scheduler.polling.policy import (
    BACKOFF_JITTER_PERCENT,
    JITTER_PERCENT,
    RESET_LEAD,
    RESET_MARGIN,
    backoff,
    first_due,
    interval_of,
    kept_due,
    last_usage_check,
    moved_due,
    next_due,
    resumed_due,
    tier_of,
)
from scheduler.polling.states import CardState, CheckType, RealName
from tests.scheduler.polling.factories import A_MOMENT, DAY, HOUR, MINUTE, NOW, SECOND, facts, tier, utc

USAGE, STATUS = CheckType.USAGE, CheckType.CARD_STATUS
YEARLY = {USAGE: 366 * 86_400, STATUS: 366 * 86_400}

instants = st.datetimes(datetime(2024, 1, 1), datetime(2030, 1, 1), timezones=st.just(UTC))  # noqa: DTZ001
card_ids = st.integers(1, 2**40)
intervals = st.integers(1, 40 * 86_400)
reset_days = st.integers(1, 31)
zones = st.sampled_from(["UTC", "Asia/Shanghai", "Europe/Berlin", "America/St_Johns", "Pacific/Apia"])


# --- tiers -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("conditions", "known", "matches"),
    [
        ({}, {}, True),
        ({}, {"used_bytes": None, "allowance_bytes": None}, True),
        ({"states": {CardState.ACTIVE, CardState.TESTING}}, {}, True),
        ({"states": {CardState.STOPPED}}, {}, False),
        ({"real_name_states": {RealName.VERIFIED}}, {}, True),
        ({"real_name_states": {RealName.NEEDED}}, {}, False),
        ({"packages": {"10 MB"}}, {}, True),
        ({"packages": {"10 mb"}}, {}, False),
        ({"states": {CardState.ACTIVE}, "packages": {"other"}}, {}, False),
        ({"usage_from_percent": 50}, {}, True),
        ({"usage_from_percent": 50}, {"used_bytes": 4_999_999}, False),
        ({"usage_below_percent": 50}, {}, False),
        ({"usage_below_percent": 50}, {"used_bytes": 4_999_999}, True),
        ({"usage_from_percent": 50, "usage_below_percent": 60}, {"used_bytes": 5_999_999}, True),
        ({"usage_from_percent": 50, "usage_below_percent": 60}, {"used_bytes": 6_000_000}, False),
        ({"usage_from_percent": 120}, {"used_bytes": 12_000_000}, True),
        ({"usage_from_percent": 0}, {"used_bytes": None}, False),
        ({"usage_below_percent": 500}, {"allowance_bytes": None}, False),
        ({"usage_from_percent": 100}, {"allowance_bytes": 0, "used_bytes": 0}, True),
        ({"usage_below_percent": 100}, {"allowance_bytes": 0, "used_bytes": 0}, False),
    ],
)
def test_a_tier_is_for_the_cards_that_meet_all_of_its_conditions(
    conditions: dict[str, Any], known: dict[str, Any], matches: bool
) -> None:
    assert tier(**conditions).matches(facts(**known)) is matches


def test_the_first_tier_that_matches_counts() -> None:
    stopped, active, rest = tier(states={CardState.STOPPED}), tier(states={CardState.ACTIVE}), tier()
    assert tier_of([stopped, active, rest], facts()) is active
    assert tier_of([stopped], facts()) is None


def test_a_card_of_no_tier_is_never_due() -> None:
    none = [tier(states={CardState.STOPPED})]
    assert next_due(USAGE, facts(), none, NOW, 1) is None
    assert first_due(USAGE, facts(), none, NOW, 1) is None
    assert kept_due(USAGE, facts(), none, NOW, 1, NOW, 0) is None
    assert resumed_due(USAGE, facts(), none, NOW, 1, HOUR) is None


def test_a_check_without_an_interval_is_never_due() -> None:
    assert interval_of(tier({USAGE: 3600}), STATUS) is None
    assert next_due(STATUS, facts(), [tier({USAGE: 3600})], NOW, 1) is None


# --- next --------------------------------------------------------------------------------------------------------


@given(card_ids, intervals, instants)
def test_a_check_is_due_again_after_its_interval_give_or_take_a_hundredth(
    card_id: int, seconds: int, now: datetime
) -> None:
    due = next_due(STATUS, facts(), [tier({STATUS: seconds})], now, card_id)
    assert due is not None
    assert due > now
    interval = timedelta(seconds=seconds)
    assert abs(due - now - interval) <= interval * JITTER_PERCENT / 100


def test_cards_that_are_settled_together_part() -> None:
    dues = {next_due(STATUS, facts(), [tier({STATUS: 3600})], NOW, card_id) for card_id in range(1, 51)}
    assert len(dues) == 50
    assert max(filter(None, dues)) - min(filter(None, dues)) > MINUTE


def test_a_card_is_not_early_or_late_by_the_same_each_time() -> None:
    hours = [NOW + number * HOUR for number in range(50)]
    dues = [next_due(STATUS, facts(), [tier({STATUS: 3600})], hour, 3) for hour in hours]
    assert len({due - hour for due, hour in zip(dues, hours, strict=True) if due}) == 50


def test_checks_of_one_interval_stay_together_so_that_one_claim_makes_both() -> None:
    both = [tier({USAGE: 3600, STATUS: 3600})]
    assert next_due(USAGE, facts(), both, NOW, 7) == next_due(STATUS, facts(), both, NOW, 7)


# --- the reset day -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("reset_day", "timezone", "now", "cycle_ends"),
    [
        (15, "UTC", "2026-06-01 12:00", "2026-06-15 00:00"),
        (15, "UTC", "2026-06-20 12:00", "2026-07-15 00:00"),
        (1, "UTC", "2026-12-31 12:00", "2027-01-01 00:00"),
        (31, "UTC", "2026-02-10 12:00", "2026-02-28 00:00"),
        (31, "UTC", "2028-02-10 12:00", "2028-02-29 00:00"),
        (30, "UTC", "2026-04-29 12:00", "2026-04-30 00:00"),
        (15, "Asia/Shanghai", "2026-06-01 12:00", "2026-06-14 16:00"),
        (1, "Pacific/Apia", "2026-06-20 12:00", "2026-06-30 11:00"),
    ],
)
def test_usage_is_checked_shortly_before_the_cycle_ends_by_the_clocks_of_the_account(
    reset_day: int, timezone: str, now: str, cycle_ends: str
) -> None:
    card, yearly = facts(reset_day=reset_day, timezone=timezone), [tier(YEARLY)]
    due = next_due(USAGE, card, yearly, utc(now), 3)
    assert due is not None
    assert RESET_MARGIN < utc(cycle_ends) - due <= RESET_LEAD
    by_interval = first_due(STATUS, card, yearly, utc(now), 3)
    assert by_interval is not None
    assert first_due(USAGE, card, yearly, utc(now), 3) == min(by_interval, due)


def test_the_reset_day_hurries_nothing_but_usage() -> None:
    due = next_due(STATUS, facts(), [tier(YEARLY)], NOW, 3)
    assert due is not None
    assert due > NOW + 300 * DAY


def test_an_interval_that_ends_before_the_last_chance_is_kept() -> None:
    due = next_due(USAGE, facts(), [tier({USAGE: 3600})], NOW, 3)
    assert due is not None
    assert due < NOW + 2 * HOUR


@given(card_ids, reset_days, zones, instants)
def test_after_the_last_chance_the_next_one_is_that_of_the_next_cycle(
    card_id: int, reset_day: int, timezone: str, now: datetime
) -> None:
    card = facts(reset_day=reset_day, timezone=timezone)
    chance = last_usage_check(card, now, card_id)
    following = last_usage_check(card, chance, card_id)
    assert now < chance
    assert chance - now <= timedelta(days=31, hours=2)
    assert timedelta(days=27) < following - chance < timedelta(days=32)
    assert last_usage_check(card, chance - A_MOMENT, card_id) == chance


def test_the_last_chances_of_a_fleet_are_spread() -> None:
    chances = [last_usage_check(facts(), NOW, card_id) for card_id in range(1, 1001)]
    quarters = [
        sum(start <= utc("2026-06-15") - chance < start + 15 * MINUTE for chance in chances)
        for start in (RESET_MARGIN + number * 15 * MINUTE for number in range(7))
    ]
    assert min(quarters) > 130
    assert sum(quarters) >= 999


# --- first -------------------------------------------------------------------------------------------------------


def test_ten_thousand_cards_that_are_loaded_at_once_are_spread_over_the_interval() -> None:
    hourly = [tier({STATUS: 3600})]
    dues = [first_due(STATUS, facts(), hourly, NOW, card_id) for card_id in range(1, 10_001)]
    seconds = [0] * 3600
    for due in dues:
        assert due is not None
        seconds[(due - NOW - A_MOMENT) // SECOND] += 1
    assert max(seconds) <= 5  # 2.8 a second, were it perfect


@given(card_ids, intervals, instants, st.integers(0, 10**13))
def test_whoever_asks_later_finds_the_same_phase_again(card_id: int, seconds: int, now: datetime, later: int) -> None:
    tiers, interval = [tier({STATUS: seconds})], timedelta(seconds=seconds)
    first = first_due(STATUS, facts(), tiers, now, card_id)
    second = first_due(STATUS, facts(), tiers, now + later * A_MOMENT, card_id)
    assert first is not None
    assert second is not None
    assert now < first <= now + interval
    assert (second - first) % interval == timedelta(0)


# --- kept --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("known", "failures", "kept"),
    [
        (NOW + MINUTE, 0, True),
        (NOW - DAY, 0, True),  # overdue: it stays at the head
        (NOW + HOUR, 0, True),
        (NOW + HOUR + 36 * SECOND, 0, True),  # as late as the jitter makes it
        (NOW + HOUR + 37 * SECOND, 0, False),  # the tier has become shorter
        (NOW + DAY, 0, False),
        (NOW + DAY, 1, True),  # it waits for its back-off
        (None, 0, False),
        (None, 1, False),
    ],
)
def test_a_due_time_that_the_rows_know_is_kept_unless_its_tier_is_shorter_by_now(
    known: datetime | None, failures: int, kept: bool
) -> None:
    hourly = [tier({STATUS: 3600})]
    due = kept_due(STATUS, facts(), hourly, NOW, 3, known, failures)
    assert due == (known if kept else first_due(STATUS, facts(), hourly, NOW, 3))


def test_a_usage_check_that_is_kept_still_heeds_the_reset_day() -> None:
    due = kept_due(USAGE, facts(), [tier(YEARLY)], NOW, 3, NOW + 100 * DAY, 0)
    assert due == last_usage_check(facts(), NOW, 3)


def test_a_usage_check_that_failed_waits_for_its_back_off_whatever_the_reset_day() -> None:
    assert kept_due(USAGE, facts(), [tier(YEARLY)], NOW, 3, NOW + 100 * DAY, 1) == NOW + 100 * DAY


# --- moved -------------------------------------------------------------------------------------------------------


def test_what_is_known_anew_moves_the_checks_whose_interval_it_changes_and_leaves_the_others() -> None:
    unverified = tier({USAGE: 3600, STATUS: 60}, real_name_states={RealName.NEEDED})
    rest = tier({USAGE: 3600, CheckType.PACKAGE: 86_400})
    before, after = facts(real_name_state=RealName.NEEDED), facts()
    assert moved_due(before, after, [unverified, rest], NOW, 3) == {
        STATUS: None,
        CheckType.PACKAGE: first_due(CheckType.PACKAGE, after, [rest], NOW, 3),
    }


def test_a_card_that_stays_in_its_tier_moves_nothing() -> None:
    assert moved_due(facts(used_bytes=1), facts(used_bytes=2), [tier()], NOW, 3) == {}


# --- resumed -----------------------------------------------------------------------------------------------------


def test_cards_that_come_back_together_are_spread_over_the_span() -> None:
    hourly = [tier({STATUS: 3600})]
    dues = [resumed_due(STATUS, facts(), hourly, NOW, card_id, 10 * MINUTE) for card_id in range(1, 601)]
    minutes = [
        sum(start <= due - NOW < start + MINUTE for due in dues if due)
        for start in (number * MINUTE for number in range(10))
    ]
    assert sum(minutes) == 600
    assert min(minutes) > 50


def test_no_card_that_comes_back_waits_longer_than_its_interval() -> None:
    due = resumed_due(STATUS, facts(), [tier({STATUS: 10})], NOW, 3, DAY)
    assert due is not None
    assert due < NOW + 10 * SECOND


# --- back-off ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("failures", "pause"), [(1, 60), (2, 300), (3, 900), (4, 900), (1000, 900)])
def test_each_failure_in_a_row_waits_longer_and_the_last_pause_holds_for_all_further_ones(
    failures: int, pause: int
) -> None:
    due = backoff((60, 300, 900), failures, NOW, 3)
    assert abs(due - NOW - pause * SECOND) <= pause * SECOND * BACKOFF_JITTER_PERCENT / 100


@given(st.lists(st.integers(1, 604_800), min_size=1), st.integers(1, 10**6), instants, card_ids)
def test_a_back_off_is_always_later_than_now(sequence: list[int], failures: int, now: datetime, card_id: int) -> None:
    assert backoff(sequence, failures, now, card_id) > now


def test_cards_that_failed_together_part() -> None:
    dues = {backoff((60,), 1, NOW, card_id) for card_id in range(1, 51)}
    assert len(dues) == 50
    assert max(dues) - min(dues) > 10 * SECOND
