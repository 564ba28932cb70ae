"""`manage.py quota`: what it prints, its exit statuses, and what it leaves in the ledger."""

import re
from typing import Any

import pytest
from django.core.management import CommandError, call_command

from project.kit.clock import database_now
from project.kit.commands import actor
from quotas import charging
from quotas.models import LedgerEntry, Quota
from quotas.states import Kind
from tests.quotas.admin import desk
from tests.quotas.admin.conftest import _queue  # noqa: F401 -- who waits in these tests
from tests.quotas.admin.desk import make_daily, make_quota, make_rate, wait_for
from tests.scheduler.commands.asking import Shell

pytestmark = pytest.mark.django_db

ME = actor()


@pytest.fixture
def shell(capsys: pytest.CaptureFixture[str]) -> Shell:
    """What calls verbs."""
    return Shell(capsys)


def now_is(quota: Quota) -> Quota:
    """Return the quota as the database has it now."""
    return Quota.objects.get(pk=quota.pk)


def snapshot() -> Any:
    """Return all that a verb could change."""
    return [list(model.objects.order_by("pk").values()) for model in (Quota, LedgerEntry)]


# --- to look at ----------------------------------------------------------------------------------------------------


def test_the_list_says_what_is_left_and_when_it_is_back(shell: Shell) -> None:
    quota = make_daily(1000, used=400, key="maps", unit="calls", timezone="Asia/Shanghai", parent=make_quota(key="all"))
    lines = shell.says("quota", "list").splitlines()
    assert lines[0].split("  ")[0] == "KEY"
    (line,) = [line for line in lines if line.startswith("maps")]
    *shown, since, parent = re.split(r" {2,}", line)
    assert (since.split()[-1] in ("now", "ago"), parent) == (True, "all")
    assert shown == [
        "maps",
        f"each day at {quota.reset_time:%H:%M}",
        "600",
        "1,000 calls",
        desk_clock(quota),
        "sufficient",
    ]


def desk_clock(quota: Quota) -> str:
    """Return the next reset by the clocks of Shanghai."""
    assert quota.period_end is not None
    return f"{quota.period_end + 8 * desk.HOUR:%Y-%m-%d %H:%M} Asia/Shanghai"


def test_only_the_insufficient_ones_can_be_asked_for(shell: Shell) -> None:
    make_quota(10, key="plenty")
    assert shell.says("quota", "list", "--insufficient") == "There is no such quota."
    make_quota(10, used=10, key="short")
    assert [row["key"] for row in shell.values("quota", "list", "--insufficient")["quotas"]] == ["short"]


def test_without_a_quota_the_list_says_how_to_add_one(shell: Shell) -> None:
    assert "manage.py quota add KEY" in shell.says("quota", "list")


def test_one_quota_is_shown_with_who_waits_and_programs_get_the_same(shell: Shell) -> None:
    quota = make_quota(100, used=100, key="sms", unit="messages")
    first, second = wait_for(quota, 30, 20)
    text = shell.says("quota", "show", "sms")
    assert "Waiting, in the order in which it goes on:" in text
    assert re.search(
        rf"1 +{first.title} +30 messages +when it is topped up +“sms” lacks 30 of the 30 that it needs.", text
    )
    values = shell.values("quota", "show", "sms")
    assert (values["available"], values["verdict"], values["smallest_need_that_waits"]) == (0, "insufficient", 20)
    assert [place["work"] for place in values["waiting"]] == [first.waiting.key, second.waiting.key]


def test_a_key_that_is_not_there_is_refused_with_the_nearest_ones(shell: Shell) -> None:
    make_quota(key="sms-credits")
    assert shell.refuses("quota", "show", "credits") == "There is no quota “credits”. Did you mean “sms-credits”?"
    assert shell.refuses("quota", "ledger", "nothing") == "There is no quota “nothing”."


def test_the_ledger_has_its_latest_entries_and_the_balance(shell: Shell) -> None:
    quota = make_quota(100, key="sms")
    desk.charge(quota, 30, owner="run:7", idempotency_key="letter 1")
    charging.top_up("sms", 50, now=database_now(), actor="ada", reason="Invoice 114")
    lines = shell.says("quota", "ledger", "sms", "--count", 2).splitlines()
    assert lines[-1] == "The balance of “sms” is 120."
    assert len(lines) == 4
    assert re.search(r"top-up +\+50 +ada +Invoice 114", lines[1])
    assert re.search(r"charge +-30 +run:7 +letter 1$", lines[2])
    values = shell.values("quota", "ledger", "sms")
    assert values["balance"] == 120 == sum(entry["change"] for entry in values["entries"])


def test_secrets_are_printed_nowhere(shell: Shell) -> None:
    make_quota(
        key="sms", probe_url="https://a.example/x", probe_headers={"Authorization": "very-secret"}, probe_limit="l"
    )
    for verb in (("list",), ("show", "sms"), ("ledger", "sms")):
        assert "very-secret" not in shell.says("quota", *verb) + shell.says("quota", *verb, "--json")


# --- to simulate ---------------------------------------------------------------------------------------------------


def test_a_simulation_says_who_would_go_on_and_changes_nothing(shell: Shell) -> None:
    quota = make_quota(1000, used=1000, key="sms")
    first, second = wait_for(quota, 200, 900)
    before = snapshot()
    text = shell.says("quota", "simulate", "sms", "--top-up", 500)
    assert text.startswith("With a limit of 1,500, 1 of 2 that wait would go on. Nothing was changed.")
    assert re.search(rf"1 +{first.title} +200 +goes on", text)
    assert re.search(rf"2 +{second.title} +900 +when it is topped up", text)
    assert shell.values("quota", "simulate", "sms", "--limit", 3000)["go_on"] == 2
    assert shell.says("quota", "simulate", "sms", "--limit", "none").startswith("Without a limit, 2 of 2")
    assert snapshot() == before


def test_what_cannot_be_supposed_is_refused(shell: Shell) -> None:
    make_rate(key="calls")
    make_quota(key="sms")
    assert "Only a capacity with a limit can be topped up" in shell.refuses("quota", "simulate", "calls", "--top-up", 5)
    assert "An amount is at least 1" in shell.refuses("quota", "simulate", "sms", "--top-up", 0)
    with pytest.raises(CommandError, match="not allowed with"):
        call_command("quota", "simulate", "sms", "--top-up", "5", "--limit", "7")
    with pytest.raises(CommandError, match="is required"):
        call_command("quota", "simulate", "sms")


# --- to do ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("args", "fields", "says"),
    [
        (("--limit", "500"), {"kind": Kind.CAPACITY, "limit": 500}, "500, when it is topped up."),
        (("--limit", "none"), {"kind": Kind.CAPACITY, "limit": None}, "unlimited."),
        (
            ("--limit", "500", "--unit", "calls", "--resets", "week", "--weekday", "friday", "--at", "06:30"),
            {"kind": Kind.PERIODIC, "reset_preset": "week", "reset_weekday": 4},
            "500 calls, each Friday at 06:30.",
        ),
        (
            ("--limit", "5", "--resets", "month", "--day", "31", "--tz", "Asia/Tokyo"),
            {"reset_day": 31, "timezone": "Asia/Tokyo"},
            "5, each month on day 31 at 00:00.",
        ),
        (("--limit", "5", "--cron", "0 6 * * 1-5"), {"reset_preset": "cron"}, "5, cron 0 6 * * 1-5."),
        (
            ("--limit", "5", "--refill", "1", "--seconds", "60", "--shadow"),
            {"kind": Kind.RATE, "refill_amount": 1, "refill_seconds": 60, "shadow": True},
            "5, 1 each 60 s.",
        ),
    ],
)
def test_a_quota_of_each_kind_is_added(shell: Shell, args: tuple[str, ...], fields: dict[str, Any], says: str) -> None:
    assert shell.says("quota", "add", "mail", *args) == f"The quota “mail” is there: {says}"
    quota = Quota.objects.get(key="mail")
    assert {name: getattr(quota, name) for name in fields} == fields
    assert quota.entries.get().actor == ME


@pytest.mark.parametrize(
    ("args", "says"),
    [
        (("mail", "--limit", "5"), "Quota with this Key already exists."),
        (("x", "--limit", "-5"), "A limit is a whole number from 0"),
        (("x", "--limit", "5", "--refill", "5"), "A rate needs both"),
        (("x", "--limit", "none", "--refill", "5", "--seconds", "1"), "A rate needs a limit"),
        (("x", "--limit", "5", "--cron", "often"), "is not five fields"),
        (("x", "--limit", "5", "--resets", "day", "--tz", "Berlin"), "Europe/Berlin"),
        (("x", "--limit", "5", "--part-of", "nobody"), "There is no quota “nobody”."),
    ],
)
def test_a_quota_that_cannot_work_is_refused_with_a_sentence(shell: Shell, args: tuple[str, ...], says: str) -> None:
    make_quota(key="mail")
    assert says in shell.refuses("quota", "add", *args)
    assert Quota.objects.count() == 1


def test_a_top_up_is_in_the_ledger_with_who_and_why(shell: Shell) -> None:
    make_quota(1000, used=1000, key="sms", unit="messages")
    says = shell.says("quota", "top-up", "sms", 500, "--reason", "Invoice 114")
    assert says == "The limit of “sms” is 1,500 messages, 500 available; it is sufficient."
    entry = LedgerEntry.objects.get(kind="top_up")
    assert (entry.amount, entry.actor, entry.reason) == (500, ME, "Invoice 114")


def test_a_reset_gives_back_what_is_used(shell: Shell) -> None:
    make_daily(1000, used=400, key="maps")
    says = shell.says("quota", "reset", "maps", "--reason", "Ticket 7")
    assert says == "Reset: 400 came back. The limit of “maps” is 1,000, 1,000 available; it is sufficient."
    entry = LedgerEntry.objects.get(kind="reset")
    assert (entry.amount, entry.actor, entry.reason) == (400, ME, "Ticket 7")


def test_what_is_done_under_a_name_is_done_once(shell: Shell) -> None:
    quota = make_quota(1000, key="sms")
    for _ in range(2):
        assert shell.values("quota", "top-up", "sms", 500, "--once", "invoice 114")["limit"] == 1500
    assert "was used on the quota “sms” for 500" in shell.refuses("quota", "top-up", "sms", 6, "--once", "invoice 114")
    assert now_is(quota).limit == 1500


def test_a_limit_is_set_and_taken_away(shell: Shell) -> None:
    quota = make_quota(1000, key="sms", used=10)
    assert shell.says("quota", "set-limit", "sms", 0) == "The limit of “sms” is 0, 0 available; it is insufficient."
    assert shell.says("quota", "set-limit", "sms", "none") == "“sms” is unlimited; it is sufficient."
    assert now_is(quota).limit is None


def test_a_charge_is_refunded_once(shell: Shell) -> None:
    quota = make_quota(1000, key="sms")
    desk.charge(quota, 30, idempotency_key="letter 1")
    for _ in range(2):
        says = shell.says("quota", "refund", "sms", "letter 1", "--reason", "lost")
        assert says.startswith("Refunded: 30 came back. The limit of “sms” is 1,000, 1,000 available")
    assert now_is(quota).used == 0
    assert "has no charge with the key “letter 2”" in shell.refuses("quota", "refund", "sms", "letter 2")
    assert "at most 30" in shell.refuses("quota", "refund", "sms", "letter 1", "--amount", 31)


def test_amounts_that_are_none_are_refused_before_anything_is_done() -> None:
    make_quota(key="sms")
    before = snapshot()
    for text in ("1.5", "many", "1e3", ""):
        with pytest.raises(CommandError, match="is not a whole number, such as 500"):
            call_command("quota", "top-up", "sms", text)
    assert snapshot() == before


def test_amounts_below_one_are_refused(shell: Shell) -> None:
    make_quota(key="sms")
    assert "An amount is at least 1, not -5" in shell.refuses("quota", "top-up", "sms", "-5")


def test_each_verb_says_what_it_takes(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        call_command("quota", "add", "--help")
    assert ended.value.code == 0
    assert "IANA time zone" in capsys.readouterr().out


# --- to verify -----------------------------------------------------------------------------------------------------


def test_books_that_fit_are_verified_and_one_that_does_not_is_named(shell: Shell) -> None:
    quota = make_quota(1000, used=10, key="sms")
    assert shell.says("quota", "verify") == "The books of 1 quota are right: each ledger's sum is its balance."
    make_quota(5)
    assert shell.says("quota", "verify").startswith("The books of 2 quotas are right")
    Quota.objects.filter(pk=quota.pk).update(used=11)
    assert "“sms”" in shell.says("quota", "verify", status=3)
    assert shell.values("quota", "verify", status=3)["faults"]
