"""The database's clock, carried on without a question each time."""

from datetime import datetime, timedelta

from project.kit.clock import CARRIED_SECONDS, CarriedClock
from tests.scheduler.factories import NOW


class Asked:
    """A database and a machine whose clocks the test sets; counts the questions."""

    def __init__(self) -> None:
        self.questions, self.seconds = 0, 0.0
        self.clock = CarriedClock(ask=self._ask, elapsed=lambda: self.seconds)

    def _ask(self) -> datetime:
        self.questions += 1
        return NOW + timedelta(seconds=self.seconds)


def test_within_a_second_the_answer_is_carried_on() -> None:
    asked = Asked()
    assert asked.clock() == NOW
    asked.seconds = CARRIED_SECONDS / 2
    assert asked.clock() == NOW + timedelta(seconds=CARRIED_SECONDS / 2)
    assert asked.questions == 1


def test_after_a_second_the_database_is_asked_again() -> None:
    asked = Asked()
    asked.clock()
    asked.seconds = CARRIED_SECONDS
    assert asked.clock() == NOW + timedelta(seconds=CARRIED_SECONDS)
    assert asked.questions == 2


def test_each_answer_is_carried_for_a_second_of_its_own() -> None:
    asked = Asked()
    for _ in range(10):
        asked.clock()
        asked.seconds += CARRIED_SECONDS * 0.6
    assert asked.questions == 5
