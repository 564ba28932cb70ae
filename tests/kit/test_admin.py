"""The parts of the control panel's pages."""

from datetime import UTC, datetime, timedelta

import pytest
from django.http import HttpRequest, HttpResponse
from django.utils import timezone
from django.utils.translation import gettext_lazy

from project.kit.admin import DASH, ObjectAction, absolute, badge, relative, when
from project.kit.zones import COOKIE, ViewerZone

NOW = datetime(2026, 6, 1, 12, tzinfo=UTC)
SECOND, MINUTE, HOUR, DAY = timedelta(seconds=1), timedelta(minutes=1), timedelta(hours=1), timedelta(days=1)


def test_a_badge_is_text_in_a_colour() -> None:
    assert badge("done", "green") == '<span class="badge green">done</span>'
    assert badge(gettext_lazy("x"), "red", "why") == '<span class="badge red" title="why">x</span>'


def test_a_badge_escapes_what_it_is_given() -> None:
    assert "<script>" not in badge("<script>", "red", '"><script>')


@pytest.mark.parametrize(
    ("distance", "text"),
    [
        (timedelta(0), "now"),
        (timedelta(milliseconds=-999), "now"),
        (SECOND, "in 1 s"),
        (-timedelta(milliseconds=5400), "5 s ago"),
        (-119 * SECOND, "1 min ago"),
        (2 * HOUR + 5 * MINUTE + 59 * SECOND, "in 2 h 5 min"),
        (-(5 * HOUR + 5 * MINUTE), "5 h ago"),
        (2 * DAY + 3 * HOUR, "in 2 d 3 h"),
    ],
)
def test_an_instant_is_told_by_its_distance(distance: timedelta, text: str) -> None:
    assert relative(NOW + distance, NOW) == text


def test_an_instant_shows_the_viewers_clock_on_hover() -> None:
    with timezone.override("Asia/Tokyo"):
        assert absolute(NOW) == "2026-06-01 21:00:00 Asia/Tokyo"
        assert when(NOW + MINUTE, NOW) == (
            '<time datetime="2026-06-01T12:01:00+00:00" title="2026-06-01 21:01:00 Asia/Tokyo">in 1 min</time>'
        )


def test_where_there_is_no_instant_there_is_a_dash() -> None:
    assert when(None, NOW) == DASH


# --- the viewer's zone ---------------------------------------------------------------------------------------------


def zone_of_a_request(cookie: str | None) -> str:
    """Return the zone in which a request with that cookie is answered."""
    request = HttpRequest()
    if cookie is not None:
        request.COOKIES[COOKIE] = cookie
    answer = ViewerZone(lambda _: HttpResponse(timezone.get_current_timezone_name()))(request)
    return answer.content.decode()


def test_a_request_is_answered_by_the_clocks_that_the_browser_named() -> None:
    assert zone_of_a_request("America/New_York") == "America/New_York"


@pytest.mark.parametrize("cookie", [None, "", "Mars/Olympus", "../../etc/passwd", "localtime", "\x00"])
def test_a_zone_that_is_none_leaves_the_usual_one(cookie: str | None) -> None:
    assert zone_of_a_request(cookie) == "UTC"


def test_the_next_request_is_not_answered_in_the_zone_of_the_last() -> None:
    zone_of_a_request("Asia/Tokyo")
    assert timezone.get_current_timezone_name() == "UTC"


# --- object actions ------------------------------------------------------------------------------------------------


def test_an_action_is_for_active_users_with_its_permission() -> None:
    from django.contrib.auth.models import AnonymousUser, User

    action = ObjectAction(
        name="x",
        label="X",
        permission="app.x",
        obstacle=lambda row: "It is gone." if row is None else "",
        consequences=lambda row, now: [],
        perform=lambda row, asked: None,  # type: ignore[arg-type, return-value]
    )
    assert not action.allowed(AnonymousUser())
    assert action.allowed(User(is_superuser=True))
    assert not action.allowed(User(is_superuser=True, is_active=False))
    assert action.available(User())
    assert not action.available(None)  # type: ignore[arg-type]
