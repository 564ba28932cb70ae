"""Slots that are not used go back, if nobody has booked since."""

from redis import Redis

from quotas.ratelimit import Limiter, Window
from tests.quotas.ratelimit.states import SECOND, kept, passes, slot, slots

MINUTE = 60


def test_the_last_slot_can_be_given_back_and_is_booked_again(client: Redis, name: str) -> None:
    limiter = Limiter(client, name, [Window(5, 1), Window(20, MINUTE)])
    slots(limiter, 3)
    given_back = limiter.book(2)
    assert limiter.give_back(given_back)
    again = limiter.book(2)
    assert slot(again) == slot(given_back)
    assert not limiter.give_back(given_back), "the name of a booking is used once"


def test_a_slot_is_lost_when_others_have_booked_since(client: Redis, name: str) -> None:
    limiter = Limiter(client, name, [Window(5, 1)])
    first, second = limiter.book(), limiter.book()
    before = kept(client, name)
    assert not limiter.give_back(first)
    assert kept(client, name) == before
    assert slot(limiter.book()) == slot(second) + SECOND // 5


def test_of_two_slots_only_the_last_goes_back(client: Redis, name: str) -> None:
    limiter = Limiter(client, name, [Window(5, 1)])
    bookings = [limiter.book() for _ in range(3)]
    assert [limiter.give_back(booking) for booking in reversed(bookings)] == [True, False, False]
    assert slot(limiter.book()) == slot(bookings[2])


def test_what_is_given_back_to_a_full_window_leaves_it_full(client: Redis, name: str) -> None:
    limiter = Limiter(client, name, [Window(500, MINUTE)])
    slots(limiter, 500 + 200)
    waiting = limiter.book(100)
    assert limiter.give_back(waiting)
    assert slot(limiter.book(100)) == slot(waiting)


def test_the_only_booking_can_be_given_back(client: Redis, name: str) -> None:
    limiter = Limiter(client, name, [Window(1, MINUTE)])
    assert limiter.give_back(limiter.book())
    assert limiter.left() == 1
    assert passes(limiter)
