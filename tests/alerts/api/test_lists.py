"""The lists of the alerts over the API: a fixed number of queries, and nothing counted. Deliveries with their tries."""

import pytest

from alerts.api import RESOURCES
from alerts.models import Delivery
from tests.alerts.admin.desk import deliver, make_alert, make_history, make_hook
from tests.alerts.factories import PERMANENT, Sender
from tests.kit.api.caller import chiefs_program, problem_of, queries_of

pytestmark = pytest.mark.django_db

MOST_QUERIES = 2  # the token with its user, and the rows


@pytest.mark.parametrize("name", RESOURCES)
def test_a_list_asks_twice_for_however_many_rows_and_counts_nothing(name: str) -> None:
    make_history(3)
    sql = queries_of(chiefs_program(), f"{name}/")
    assert len(sql) == MOST_QUERIES
    assert not [each for each in sql if "COUNT(" in each.upper()]


def test_a_delivery_tells_its_tries() -> None:
    channel, alert = make_hook(), make_alert()
    deliver(channel, Sender(PERMANENT))
    program = chiefs_program()
    shown = program.get(f"deliveries/{Delivery.objects.get().pk}/").json()
    assert (shown["alert"], shown["telling"], shown["state"]) == (alert.pk, "opened", "failed")
    assert [(each["outcome"], each["code"]) for each in shown["attempts"]] == [("permanent", "400")]
    assert len(queries_of(program, f"deliveries/{Delivery.objects.get().pk}/")) == MOST_QUERIES + 1


@pytest.mark.parametrize("number", ["1.5", "1e5", "x", "9" * 5000])
def test_what_is_no_number_of_a_channel_finds_no_deliveries_of_another(number: str) -> None:
    problem = problem_of(chiefs_program().get(f"deliveries/?channel={number}"), 400)
    assert problem["errors"][0]["field"] == "channel"


def test_deliveries_are_found_by_channel_state_and_alert() -> None:
    channel, other = make_hook(), make_hook()
    alert = make_alert()
    deliver(channel)
    program = chiefs_program()
    for query, channels in {
        f"channel={channel.pk}": [channel.pk],
        "state=waiting": [other.pk],
        f"alert={alert.pk}": [other.pk, channel.pk],
        "alert=999999": [],
    }.items():
        assert [row["channel"] for row in program.get(f"deliveries/?{query}").json()["results"]] == channels
