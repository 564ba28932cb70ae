"""The command: accounts as texts, and a server that is there until it is interrupted."""

import json
import re
from urllib.request import urlopen

import pytest
from django.core.management import CommandError, call_command

from scheduler.polling.carriers.simulator import AccountPlan, Limit, RunningCarrier
from scheduler.polling.carriers.simulator.accounts import BadPlan, limit_of, plan_of
from tests.scheduler.polling.carriers.processes import carrier_process


@pytest.mark.parametrize(
    ("text", "plan"),
    [
        ("slow", AccountPlan("slow")),
        ("slow,latency=500,spread=1.5", AccountPlan("slow", latency=500.0, spread=1.5)),
        (
            "a-1,cards=7,rate=5/1,rate=2000/300,concurrency=1",
            AccountPlan("a-1", cards=7, limits=(Limit(5, 1), Limit(2000, 300)), concurrency=1),
        ),
    ],
)
def test_an_account_is_read_from_its_text(text: str, plan: AccountPlan) -> None:
    assert plan_of(text) == plan


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("", "cannot be the name"),
        ("_stats", "cannot be the name"),
        ("a,colour=red", "has no “colour”: write one of rate, cards"),
        ("a,cards=many", "“many” is no number"),
        ("a,cards=1.5", "“1.5” is no number"),
        ("a,latency=-1", "write a number from 0 on"),
        ("a,latency=nan", "write a number from 0 on"),
        ("a,rate=5", "“5” is no rate: write calls/seconds"),
        ("a,rate=0/1", "is no rate"),
    ],
)
def test_an_account_that_cannot_be_read_is_told_why(text: str, sentence: str) -> None:
    with pytest.raises(BadPlan, match=re.escape(sentence)):
        plan_of(text)


def test_a_limit_forgives_the_jitter_of_the_way() -> None:
    assert [limit_of(text).tolerated for text in ("1/1", "5/1", "2000/300")] == [2, 6, 2041]


def test_the_command_serves_until_it_is_interrupted() -> None:
    with carrier_process("--latency", "0", "--account", "slow,latency=1") as url:
        assert set(json.loads(urlopen(f"{url}/_stats", timeout=30).read())) == {"main", "slow"}  # noqa: S310


def test_the_command_refuses_what_it_cannot_read() -> None:
    with pytest.raises(CommandError, match="write calls/seconds"):
        call_command("simulate_carrier", rate=["often"])


def test_the_command_says_when_its_port_is_taken(carrier: RunningCarrier) -> None:
    with pytest.raises(CommandError, match=f"The port {carrier.port} cannot be had"):
        call_command("simulate_carrier", port=carrier.port)
