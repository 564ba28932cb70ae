"""What an observation changes in a quota's row, and what of it is kept as history."""

from dataclasses import replace
from datetime import datetime, timedelta

import pytest

from quotas.models import ProviderReport, Quota
from quotas.provider.observation import Observation
from quotas.provider.taking_in import FIRST_GUESS, LONGEST_GUESS, is_news, is_out_of_order, report, take_in
from tests.quotas.provider.headers import NOW, instant

OK = Observation(NOW, status=200)
REFUSED = Observation(NOW, status=429, limited=True)


def later(said: Observation, seconds: float) -> Observation:
    """Return the same, heard later: its times, which are counted from then, move with it."""
    moved = timedelta(seconds=seconds)
    return replace(
        said,
        received_at=said.received_at + moved,
        resets_at=said.resets_at and said.resets_at + moved,
        retry_at=said.retry_at and said.retry_at + moved,
    )


def quota(**state: object) -> Quota:
    return Quota(key="api", verdict_at=NOW, **state)  # type: ignore[misc]


def after(*heard: Observation, **state: object) -> Quota:
    row = quota(**state)
    for said in heard:
        row.blocked_until = _still_ahead(row.blocked_until, said.received_at)
        take_in(row, said)
    return row


def _still_ahead(blocked_until: datetime | None, now: datetime) -> datetime | None:
    """Forget it once it has passed, as the books do when they are opened."""
    return None if blocked_until is not None and now >= blocked_until else blocked_until


class TestFigures:
    def test_figures_are_taken_over_with_what_was_spent_by_then(self) -> None:
        row = after(replace(OK, limit=100, remaining=40, resets_at=instant(60)), spent_total=7)

        assert (row.provider_limit, row.provider_remaining, row.provider_resets_at) == (100, 40, instant(60))
        assert (row.provider_spent_at_observation, row.provider_observed_at) == (7, NOW)
        assert row.blocked_until is None

    def test_what_was_not_said_stays(self) -> None:
        row = after(replace(OK, limit=100, remaining=40, resets_at=instant(60)), later(replace(OK, remaining=39), 1))

        assert (row.provider_limit, row.provider_remaining, row.provider_resets_at) == (100, 39, instant(60))

    def test_the_rest_of_a_window_that_has_ended_says_nothing(self) -> None:
        row = after(replace(OK, limit=100, remaining=0, resets_at=NOW))

        assert (row.provider_limit, row.provider_remaining, row.provider_resets_at) == (100, None, None)

    def test_nothing_said_leaves_no_trace(self) -> None:
        assert after(Observation(NOW, status=500, doubts=("x",))).provider_observed_at is None


class TestRefusals:
    @pytest.mark.parametrize(
        ("hints", "until"),
        [
            ({"retry_at": 30}, 30),
            ({"resets_at": 60}, 60),
            ({"retry_at": 30, "resets_at": 60}, 30),
            ({"retry_at": 0}, 1),
        ],
    )
    def test_a_refusal_blocks_until_the_provider_says(self, hints: dict[str, float], until: float) -> None:
        row = after(replace(REFUSED, **{name: instant(seconds) for name, seconds in hints.items()}))

        assert (row.blocked_until, row.blocked_without_reset, row.blocked_count) == (instant(until), False, 1)

    def test_without_a_hint_it_blocks_for_a_guess_that_grows_with_each_refusal_in_a_row(self) -> None:
        row, guesses, at = quota(), [], 0.0
        for _ in range(9):
            row.blocked_until = None  # it has passed
            take_in(row, later(REFUSED, at))
            assert row.blocked_until is not None
            guesses.append(row.blocked_until - (NOW + timedelta(seconds=at)))
            at += guesses[-1].total_seconds()

        assert guesses[:3] == [FIRST_GUESS, FIRST_GUESS * 2, FIRST_GUESS * 4]
        assert guesses[-1] == LONGEST_GUESS
        assert row.blocked_without_reset

    def test_workers_that_are_refused_at_once_are_one_refusal(self) -> None:
        row = after(*(later(REFUSED, seconds) for seconds in (0, 1, 2)))

        assert (row.blocked_until, row.blocked_count) == (NOW + FIRST_GUESS, 1)

    def test_a_refusal_without_a_hint_does_not_replace_a_hint(self) -> None:
        row = after(replace(REFUSED, retry_at=instant(600)), later(REFUSED, 1))

        assert (row.blocked_until, row.blocked_without_reset) == (instant(600), False)

    def test_a_later_hint_replaces_a_guess(self) -> None:
        row = after(REFUSED, later(replace(REFUSED, retry_at=instant(5)), 1))

        assert (row.blocked_until, row.blocked_without_reset) == (instant(6), False)

    def test_whoever_says_now_and_refuses_again_is_asked_less_and_less_often(self) -> None:
        row = after(*(later(replace(REFUSED, retry_at=NOW), seconds) for seconds in (0, 1, 3, 7)))

        assert row.blocked_until == instant(7 + 8)

    def test_a_refused_trial_is_over(self) -> None:
        row = after(REFUSED, provider_unverified=True, trial_owner="run:1", trial_until=instant(60))

        assert (row.provider_unverified, row.trial_owner, row.trial_until) == (False, "", None)


class TestConfirmations:
    def test_an_answer_that_is_no_refusal_ends_the_block_and_the_trial(self) -> None:
        row = after(REFUSED, later(OK, 6), provider_unverified=True, trial_owner="run:1", trial_until=instant(60))

        assert (row.blocked_until, row.blocked_without_reset, row.blocked_count) == (None, False, 0)
        assert (row.provider_unverified, row.trial_owner, row.trial_until) == (False, "", None)

    def test_an_answer_that_was_under_way_when_the_provider_refused_does_not_end_the_block(self) -> None:
        late = later(replace(OK, remaining=3, resets_at=instant(60)), 4.9)

        row = after(REFUSED, late)

        assert (row.blocked_until, row.provider_remaining, row.provider_observed_at) == (NOW + FIRST_GUESS, None, NOW)
        assert not is_news(row, late)
        assert report(row, late, ProviderReport(at=NOW, limited=True)) is None

    def test_nothing_left_is_over_once_the_provider_lets_us_in(self) -> None:
        row = after(replace(REFUSED, remaining=0, resets_at=instant(600)), later(OK, 6))

        assert row.provider_remaining is None

    @pytest.mark.parametrize("status", [401, 403, 407, 408, 500, 502, 599])
    def test_an_answer_that_came_before_any_limit_confirms_nothing(self, status: int) -> None:
        row = after(REFUSED, later(replace(OK, status=status), 6))

        assert row.blocked_until == NOW + FIRST_GUESS

    def test_headers_alone_confirm_if_something_is_left(self) -> None:
        headers = replace(OK, status=None)

        assert after(REFUSED, later(replace(headers, remaining=5), 6)).blocked_until is None
        assert after(REFUSED, later(replace(headers, remaining=0), 6)).blocked_until is not None
        assert after(REFUSED, later(headers, 6)).blocked_until is not None


class TestNews:
    KNOWN = replace(OK, limit=1000, remaining=500, resets_at=instant(600))

    def test_the_first_word_is_news_and_the_same_again_is_not(self) -> None:
        assert is_news(quota(), self.KNOWN)
        assert not is_news(after(self.KNOWN), self.KNOWN)

    @pytest.mark.parametrize(
        ("said", "news"),
        [
            (replace(KNOWN, remaining=495), False),
            (replace(KNOWN, remaining=489), True),
            (replace(KNOWN, remaining=511), True),
            (replace(KNOWN, limit=2000), True),
            (replace(KNOWN, resets_at=instant(601)), False),
            (replace(KNOWN, resets_at=instant(660)), True),
            (replace(KNOWN, resets_at=None), False),
            (replace(KNOWN, limit=None, remaining=None, resets_at=None), False),
            (REFUSED, True),
        ],
    )
    def test_small_differences_are_no_news(self, said: Observation, news: bool) -> None:
        assert is_news(after(self.KNOWN), later(said, 0)) == news

    def test_what_we_spent_ourselves_is_no_news(self) -> None:
        row = after(self.KNOWN)
        row.spent_total += 100

        assert not is_news(row, replace(self.KNOWN, remaining=400))
        assert is_news(row, self.KNOWN)

    def test_that_it_is_so_still_is_news_after_a_minute(self) -> None:
        same = replace(self.KNOWN, resets_at=None)

        assert not is_news(after(self.KNOWN), later(same, 59))
        assert is_news(after(self.KNOWN), later(same, 60))

    def test_where_little_is_left_each_unit_is_news(self) -> None:
        row = after(replace(self.KNOWN, remaining=100))

        assert is_news(row, replace(self.KNOWN, remaining=99))

    def test_a_confirmation_is_news_where_one_is_waited_for(self) -> None:
        assert is_news(after(REFUSED), later(OK, 6))
        assert is_news(quota(provider_unverified=True), OK)
        assert is_news(after(replace(OK, remaining=0, resets_at=instant(60))), later(OK, 1))
        assert not is_news(quota(), OK)

    def test_what_was_heard_earlier_than_the_last_word_is_no_news(self) -> None:
        row = after(later(self.KNOWN, 10))

        assert is_out_of_order(row, later(REFUSED, 9))
        assert not is_news(row, later(REFUSED, 9))
        assert not is_out_of_order(row, later(REFUSED, 10))


class TestHistory:
    def history(self, *heard: Observation) -> list[ProviderReport]:
        """Return the reports that are kept of what was heard, one after the other."""
        row, kept = quota(), []
        for said in heard:
            found = report(row, said, kept[-1] if kept else None)
            kept += [found] if found else []
            take_in(row, said)
        return kept

    def test_a_refusal_is_kept_with_all_that_it_said(self) -> None:
        said = replace(REFUSED, limit=60, remaining=0, resets_at=instant(60), retry_at=instant(30), doubts=("A.", "B."))

        (kept,) = self.history(said)

        assert (kept.at, kept.limited, kept.status, kept.limit, kept.remaining) == (NOW, True, 429, 60, 0)
        assert (kept.resets_at, kept.retry_at, kept.doubts) == (instant(60), instant(30), "A.\nB.")

    def test_the_same_again_is_not_kept(self) -> None:
        said = replace(REFUSED, retry_at=instant(30))

        assert len(self.history(said, replace(later(said, 1), retry_at=instant(31)), replace(said))) == 1

    def test_the_end_of_a_refusal_is_kept(self) -> None:
        assert [kept.limited for kept in self.history(REFUSED, later(OK, 6), later(OK, 7))] == [True, False]

    def test_healthy_answers_are_kept_for_another_limit_only_and_seldom(self) -> None:
        small, large = replace(OK, limit=100, remaining=50), replace(OK, limit=5000, remaining=50)

        assert len(self.history(small, later(replace(small, remaining=40), 90))) == 1
        assert [kept.limit for kept in self.history(small, later(large, 90))] == [100, 5000]
        assert [kept.limit for kept in self.history(small, later(large, 1), later(small, 2))] == [100]

    def test_doubts_are_kept_once(self) -> None:
        doubtful = replace(OK, doubts=("X said “soon”, which is no time.",))

        assert len(self.history(doubtful, later(doubtful, 90), later(doubtful, 180))) == 1

    def test_a_reset_that_moves_before_it_has_passed_is_kept_and_doubted(self) -> None:
        """B74: three different times in three minutes."""
        said = [
            replace(REFUSED, received_at=NOW, resets_at=instant(3600)),
            replace(REFUSED, received_at=NOW + timedelta(minutes=1), resets_at=instant(9000)),
            replace(REFUSED, received_at=NOW + timedelta(minutes=2), resets_at=instant(1800)),
        ]

        kept = self.history(*said)

        moved = "The time at which to come back has moved although the earlier one has not passed."
        assert [one.doubts for one in kept] == ["", moved, moved]
        assert [one.resets_at for one in kept] == [instant(3600), instant(9000), instant(1800)]
        assert after(*said).blocked_until == instant(1800)

    def test_a_guess_of_ours_that_was_wrong_is_no_moved_reset(self) -> None:
        assert [one.doubts for one in self.history(REFUSED, later(replace(REFUSED, retry_at=instant(900)), 1))] == [
            "",
            "",
        ]

    def test_the_next_window_is_no_moved_reset(self) -> None:
        said = replace(REFUSED, retry_at=instant(30))

        assert [one.doubts for one in self.history(said, later(said, 30), later(said, 60))] == ["", "", ""]
