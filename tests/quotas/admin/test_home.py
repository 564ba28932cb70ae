"""The home page shows which quotas are short, and each number is that of the list behind it."""

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext
from django.urls import reverse

from quotas.models import Quota
from tests.panel import chief, listed, text_of
from tests.quotas.admin.desk import make_quota, member, viewer, wait_for

pytestmark = pytest.mark.django_db

HOME = reverse("admin:index")


def make_short_quotas(count: int) -> None:
    """Create so many quotas that are used up and waited for, and as many that are not."""
    for _ in range(count):
        wait_for(make_quota(10, used=10), 5)
        make_quota(10)


def test_every_number_is_that_of_the_list_behind_it() -> None:
    make_short_quotas(3)
    Quota.objects.filter(verdict="sufficient").update(provider_unverified=True)
    client = chief()
    tiles = client.get(HOME).context["home"]["quotas"]
    assert {str(tile.label): tile.count for tile in tiles} == {
        "quotas": 6,
        "insufficient": 3,
        "waited for": 3,
        "refused by the provider": 0,
        "provider unverified": 3,
        "80 % used": 3,
    }
    assert [tile.count for tile in tiles] == [len(listed(client.get(tile.url))) for tile in tiles]


def test_a_short_quota_is_shown_with_who_waits_also_one_that_is_sufficient_for_others() -> None:
    wait_for(make_quota(10, used=10, title="SMS credits", unit="messages"), 5, 7)
    wait_for(make_quota(100, used=20, title="Calls"), 90)
    make_quota(100, title="Plenty")
    text = text_of(viewer().get(HOME))
    assert "SMS credits 0 % 0 / 10 messages insufficient 2 wait" in text
    assert "Calls 80 % 80 / 100 sufficient 1 waits" in text
    assert "Plenty" not in text


def test_who_may_not_see_quotas_is_shown_none() -> None:
    make_quota(10, used=10, title="SMS credits")
    assert "SMS credits" not in text_of(member("refund_quota").get(HOME))


def test_home_asks_as_often_for_many_quotas_as_for_few() -> None:
    client = viewer()

    def queries() -> int:
        client.get(HOME)
        with CaptureQueriesContext(connection) as captured:
            assert client.get(HOME).status_code == 200
        return len(captured)

    make_short_quotas(1)
    few = queries()
    make_short_quotas(8)
    assert queries() == few
