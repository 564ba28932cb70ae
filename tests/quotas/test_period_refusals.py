"""Rules of reset that cannot be used are refused with what would be right."""

from datetime import UTC, datetime, time, timedelta

import pytest

from quotas.periods import Preset, ResetRule, RuleError, check_rule, period_at
from tests.scheduler.factories import utc

DAY = timedelta(days=1)


@pytest.mark.parametrize(
    ("expression", "sentence"),
    [
        ("", "is not five fields"),
        ("* * * *", "is not five fields"),
        ("@daily", "is not five fields"),
        ("0 0 6 * * *", "seconds are not supported"),
        ("60 * * * *", "minute field “60” cannot be read: write *, 0 to 59"),
        ("0 25 * * *", "hour field “25” cannot be read: write *, 0 to 23"),
        ("0 0 32 * *", "day-of-month field “32” cannot be read"),
        ("0 0 * 13 *", "month field “13” cannot be read"),
        ("0 0 * * 8", "day-of-week field “8” cannot be read"),
        ("*/0 * * * *", "minute field “*/0” cannot be read"),
        ("0 22-2 * * *", "hour field “22-2” cannot be read"),
        ("0 " + "9" * 5000 + " * * *", "cannot be read"),
        ("0 0 31 4 *", "“0 0 31 4 *” names a day that never comes"),
        ("0 0 30 2 *", "“0 0 30 2 *” names a day that never comes"),
        ("0 0 LW * */7", "“0 0 LW * */7” names a day that never comes"),  # the last weekday is no Sunday
        ("0 0 * 4 MON#6", "day-of-week field"),
    ],
)
def test_a_bad_cron_is_refused_with_its_field_and_the_remedy(expression: str, sentence: str) -> None:
    rule = ResetRule(Preset.CRON, "UTC", cron=expression)
    with pytest.raises(RuleError) as refused:
        check_rule(rule)
    assert refused.value.field == "cron"
    assert sentence in refused.value.sentence
    with pytest.raises(RuleError):
        period_at(rule, utc("2026-01-01T00:00Z"))


@pytest.mark.parametrize(
    ("field", "rule"),
    [
        ("weekday", ResetRule(Preset.WEEK, "UTC", weekday=7)),
        ("weekday", ResetRule(Preset.WEEK, "UTC", weekday=-1)),
        ("day", ResetRule(Preset.MONTH, "UTC", day=0)),
        ("day", ResetRule(Preset.MONTH, "UTC", day=32)),
        ("at", ResetRule(Preset.DAY, "UTC", time(0, 0, 30))),
        ("at", ResetRule(Preset.DAY, "UTC", time(6, tzinfo=UTC))),
    ],
)
def test_a_number_out_of_range_is_refused_with_its_field(field: str, rule: ResetRule) -> None:
    with pytest.raises(RuleError) as refused:
        check_rule(rule)
    assert refused.value.field == field


def test_fields_of_another_preset_are_not_looked_at() -> None:
    check_rule(ResetRule(Preset.DAY, "UTC", weekday=9, day=99, cron="no cron"))


def test_an_instant_without_a_zone_is_refused() -> None:
    with pytest.raises(ValueError, match=r"^An instant needs a time zone\.$"):
        period_at(ResetRule(Preset.DAY, "UTC"), datetime(2026, 1, 1))  # noqa: DTZ001
