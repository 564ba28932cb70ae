"""Batches of old rows go, whoever else is at it; the kind that is tried is that of the API's requests."""

from datetime import datetime

import pytest
from django.contrib.auth.models import User
from django.db import connection
from django.test.utils import CaptureQueriesContext

from project.kit.api import pruning
from project.kit.api.models import ApiToken, IdempotentRequest
from project.kit.pruning import count, prune
from tests.scheduler.factories import DAY, HOUR, NOW

pytestmark = pytest.mark.django_db

REQUESTS, TOKENS = pruning.KINDS


@pytest.fixture
def user() -> User:
    """Whose requests and tokens these are."""
    return User.objects.create(username="program")


def make_requests(user: User, *ages_in_days: int, **fields: object) -> None:
    """Insert answered requests, the oldest first as they come in life, each with its age as its key."""
    values = {"user": user, "path": "/api/", "digest": "", "status": 201, "body": {}} | fields
    for age in ages_in_days:
        IdempotentRequest.objects.create(key=str(age), created_at=NOW - age * DAY, **values)


def left() -> list[int]:
    """Return the ages of the requests that are left."""
    return [int(key) for key in IdempotentRequest.objects.order_by("pk").values_list("key", flat=True)]


def test_what_is_older_than_it_is_kept_goes_and_the_rest_stays(user: User) -> None:
    make_requests(user, 9, 8, 3, 2)
    assert count(REQUESTS, before=NOW - 5 * DAY) == 2
    assert list(prune(REQUESTS, before=NOW - 5 * DAY)) == [2]
    assert left() == [3, 2]


def test_a_batch_is_no_larger_than_it_may_be_and_who_stops_asking_stops_it(user: User) -> None:
    make_requests(user, 9, 8, 7, 6, 5)
    assert next(prune(REQUESTS, before=NOW, batch=2)) == 2
    assert left() == [7, 6, 5]
    assert list(prune(REQUESTS, before=NOW, batch=2)) == [2, 1]


def test_what_has_to_stay_does_not_keep_what_comes_after_it(user: User) -> None:
    make_requests(user, 9, 8, 7, status=None)
    make_requests(user, 6, 5)
    assert list(prune(REQUESTS, before=NOW, batch=2)) == [1, 1]
    assert left() == [9, 8, 7]


def test_rows_that_are_young_are_looked_at_once(user: User) -> None:
    make_requests(user, *range(50, 0, -1))
    with CaptureQueriesContext(connection) as asked:
        assert list(prune(REQUESTS, before=NOW - 60 * DAY, batch=10)) == []
    assert len(asked) == 1


def test_a_request_that_was_never_answered_keeps_its_key(user: User) -> None:
    make_requests(user, 90, status=None)
    assert list(prune(REQUESTS, before=NOW)) == []


@pytest.mark.parametrize(
    ("expires_at", "revoked_at", "goes"),
    [
        (NOW - HOUR, None, True),
        (NOW + HOUR, NOW - HOUR, True),
        (NOW + HOUR, None, False),
        (NOW + HOUR, NOW + HOUR, False),
    ],
)
def test_a_token_goes_some_time_after_it_is_good_for_nothing(
    user: User, expires_at: datetime, revoked_at: datetime | None, goes: bool
) -> None:
    ApiToken.objects.create(
        user=user, name="one", created_at=NOW - 9 * DAY, expires_at=expires_at, revoked_at=revoked_at
    )
    assert list(prune(TOKENS, before=NOW)) == ([1] if goes else [])
