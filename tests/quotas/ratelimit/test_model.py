"""The scripts and a plain model of them give the same slots, whatever is booked, refused, given back and let pass."""

from dataclasses import dataclass
from uuid import uuid4

from django.conf import settings
from hypothesis import given
from hypothesis import settings as thoroughness
from hypothesis import strategies as st
from redis import Redis

from quotas.ratelimit import Booking, Limiter, Refused, Window
from quotas.ratelimit.calls import Calls
from quotas.ratelimit.calls import booking as read_booking
from quotas.ratelimit.limiter import SCRIPTS
from tests.quotas.ratelimit.model import Model
from tests.quotas.ratelimit.states import SECOND, kept, let_pass, slot


@dataclass(frozen=True)
class Book:
    cost: int


@dataclass(frozen=True)
class TryOnce:
    cost: int


@dataclass(frozen=True)
class BookAndGiveBack:
    cost: int


@dataclass(frozen=True)
class LetPass:
    seconds: float


@dataclass(frozen=True)
class SetClockBack:
    seconds: float


@dataclass(frozen=True)
class CountWhatIsLeft:
    pass


COSTS = st.integers(1, 4)
SECONDS = st.sampled_from([0.01, 0.2, 0.9, 1.0, 7.3])
ACTIONS = st.lists(
    st.one_of(
        st.builds(Book, COSTS),
        st.builds(Book, st.just(1)),
        st.builds(TryOnce, COSTS),
        st.builds(BookAndGiveBack, COSTS),
        st.builds(LetPass, SECONDS),
        st.builds(SetClockBack, SECONDS),
        st.just(CountWhatIsLeft()),
    ),
    max_size=40,
)
WINDOWS = st.lists(
    st.builds(
        Window,
        limit=st.integers(4, 30),
        seconds=st.sampled_from([0.3, 1, 2.5, 10]),
        even=st.sampled_from([None, True, False]),
    ),
    min_size=1,
    max_size=3,
    unique_by=lambda window: window.length,
)


@given(WINDOWS, ACTIONS)
@thoroughness(deadline=None, max_examples=400)
def test_the_scripts_give_the_slots_of_the_model(windows: list[Window], actions: list[object]) -> None:
    with Redis.from_url(settings.REDIS_URL) as client:
        Comparison(client, windows).make(actions)


class Comparison:
    """One limiter in Redis and its model. The model's clock starts with the limiter's and is never set back."""

    def __init__(self, client: Redis, windows: list[Window]) -> None:
        self.client, self.name = client, f"test:{uuid4()}"
        self.limiter, self.model = Limiter(client, self.name, windows), Model(windows)
        self.offset = 0  # what the limiter's instants lack to the model's
        self.now = 0
        self.was_set_back = False

    def make(self, actions: list[object]) -> None:
        """Do the same to both."""
        self.compare(self.limiter.book())
        for action in actions:
            match action:
                case Book(cost):
                    self.compare(self.limiter.book(cost))
                case TryOnce(cost):
                    self.try_once(cost)
                case BookAndGiveBack(cost):
                    self.book_and_give_back(cost)
                case LetPass(seconds):
                    self.move(seconds)
                case SetClockBack(seconds):
                    self.move(-seconds)
                    self.was_set_back = True
                case CountWhatIsLeft():
                    self.count_what_is_left()
        self.check_all_windows()
        self.client.delete(*kept(self.client, self.name))

    def compare(self, booking: Booking) -> None:
        """Book in the model what the limiter has booked."""
        now = booking.token + self.offset
        assert now > self.now, "the clock went back"
        assert slot(booking) + self.offset == self.model.book(now, booking.cost)
        self.now, self.was_set_back = now, False

    def try_once(self, cost: int) -> None:
        before = kept(self.client, self.name)
        try:
            booking = self.limiter.book(cost, max_wait=0)
        except Refused:
            assert self.was_set_back or kept(self.client, self.name) == before
        else:
            assert booking.microseconds <= 0
            self.compare(booking)

    def count_what_is_left(self) -> None:
        """Count between two bookings, all three in one go, so that hardly any time passes."""
        calls = Calls(self.name, self.model.windows)
        with self.client.pipeline(transaction=True) as pipeline:
            for script, arguments in (("book", calls.book(1, None)), ("left", calls.left(1000))) * 2:
                pipeline.eval(SCRIPTS[script], len(calls.keys), *calls.keys, *arguments)
            first, left, second, _ = pipeline.execute()
        self.compare(read_booking(first, 1))
        possible = self.model.left(self.now), self.model.left(read_booking(second, 1).token + self.offset)
        assert left in possible
        self.compare(read_booking(second, 1))

    def book_and_give_back(self, cost: int) -> None:
        before = self.limiter.book()
        self.compare(before)
        booking = self.limiter.book(cost)
        self.now, self.was_set_back = booking.token + self.offset, False
        assert slot(booking) + self.offset == self.model.next_slot(self.now, cost)
        assert self.limiter.give_back(booking)
        assert not self.limiter.give_back(booking)
        assert not self.limiter.give_back(before)

    def move(self, seconds: float) -> None:
        let_pass(self.client, self.name, seconds)
        self.offset += round(seconds * SECOND)

    def check_all_windows(self) -> None:
        """No span of a window's length holds more calls than its limit."""
        calls = self.model.calls
        for window in self.model.windows:
            for first, last in zip(calls, calls[window.limit :], strict=False):
                assert last - first >= window.length
