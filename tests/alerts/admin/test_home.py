"""What the home page says of alerts: each number is that of the list behind it, for those who may see it."""

import pytest
from django.urls import reverse

from alerts.recording import acknowledge, resolve_alert
from project.kit.clock import database_now
from tests.alerts.admin.desk import make_alert, member, viewer
from tests.panel import listed

pytestmark = pytest.mark.django_db

HOME = reverse("admin:index")


def test_each_number_is_that_of_the_list_behind_it() -> None:
    make_alert()
    make_alert(severity="critical")
    acknowledge(make_alert().pk, actor="bob")
    resolve_alert(make_alert(severity="critical").fingerprint, now=database_now())
    client = viewer()
    tiles = client.get(HOME).context["home"]["alerts"]
    assert {tile.label: tile.count for tile in tiles} == {"open": 2, "critical": 1, "acknowledged": 1}
    assert [len(listed(client.get(tile.url))) for tile in tiles] == [tile.count for tile in tiles]


def test_who_may_not_see_alerts_is_shown_no_number_of_them() -> None:
    make_alert()
    assert "alerts" not in member("handle_alert").get(HOME).context["home"]
