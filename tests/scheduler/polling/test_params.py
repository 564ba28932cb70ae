"""What an account bears: what its row says, else what its gateway takes for usual, else the default."""

from decimal import Decimal
from typing import Any

import pytest
from django.core.checks import run_checks
from hypothesis import given
from hypothesis import strategies as st
from pytest_django import Settings

from quotas.ratelimit import LimiterError, Window
from scheduler.polling.models import PollingParams
from scheduler.polling.params import DEFAULTS, SHARED_QUEUE, as_column, resolved, windows_of


def row(**said: Any) -> PollingParams:
    return PollingParams(**said)


def test_without_a_row_everything_is_a_default() -> None:
    params = resolved(None)
    assert params.defaults == set(DEFAULTS)
    assert params.inflight_limit == 200
    assert params.rate_windows == (Window(5, 1),)
    assert params.queue == SHARED_QUEUE


def test_what_the_row_says_is_no_default_any_more() -> None:
    params = resolved(row(inflight_limit=7, priority_max_ratio=Decimal("0.00"), queue="polling.card.acme"))
    assert (params.inflight_limit, params.priority_max_ratio, params.queue) == (7, 0, "polling.card.acme")
    assert params.defaults == set(DEFAULTS) - {"inflight_limit", "priority_max_ratio", "queue"}


def test_what_a_gateway_takes_for_usual_is_still_a_default() -> None:
    params = resolved(row(), rate_windows=(Window(2, 1),), max_concurrency=1)
    assert (params.rate_windows, params.max_concurrency) == ((Window(2, 1),), 1)
    assert {"rate_windows", "max_concurrency"} <= params.defaults


def test_a_gateway_that_knows_no_limit_leaves_the_default() -> None:
    assert resolved(None, rate_windows=(), max_concurrency=None).rate_windows == DEFAULTS["rate_windows"]


def test_an_empty_list_of_windows_means_no_limit() -> None:
    params = resolved(row(rate_windows=[]), rate_windows=(Window(2, 1),))
    assert params.rate_windows == ()
    assert "rate_windows" not in params.defaults


@pytest.mark.parametrize(
    ("value", "windows"),
    [
        ([{"limit": 5, "seconds": 1}, {"limit": 2000, "seconds": 300}], (Window(5, 1), Window(2000, 300))),
        ([{"limit": 60, "seconds": 60, "even": True}], (Window(60, 60, even=True),)),
    ],
)
def test_windows_are_read_as_they_are_written(value: list[Any], windows: tuple[Window, ...]) -> None:
    assert windows_of(value) == windows
    assert as_column(windows) == value


@pytest.mark.parametrize(
    ("value", "sentence"),
    [
        ({"limit": 5, "seconds": 1}, "as a list"),
        ("5/s", "as a list"),
        (None, "as a list"),
        ([5], "names its limit and its seconds"),
        ([{"limit": 5}], "names its limit and its seconds"),
        ([{"limit": 5, "seconds": 1, "burst": 3}], "names its limit and its seconds"),
        ([{"limit": 5, "seconds": 1, "even": "yes"}], "write true or false"),
        ([{"limit": 5, "seconds": 1, "even": 1}], "write true or false"),
        ([{"limit": 0, "seconds": 1}], "whole number from 1"),
        ([{"limit": True, "seconds": 1}], "whole number from 1"),
        ([{"limit": 5, "seconds": 0}], "above 0"),
        ([{"limit": 5, "seconds": "1"}], "above 0"),
        ([{"limit": 5, "seconds": 1}, {"limit": 6, "seconds": 1.0}], "same length"),
        ([{"limit": 5, "seconds": number} for number in range(1, 10)], "1 to 8 windows"),
    ],
)
def test_windows_that_cannot_be_used_are_refused_in_a_sentence(value: object, sentence: str) -> None:
    with pytest.raises(LimiterError, match=sentence):
        windows_of(value)


@given(
    st.recursive(
        st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
        lambda inner: st.lists(inner) | st.dictionaries(st.sampled_from(["limit", "seconds", "even", "x"]), inner),
    )
)
def test_whatever_json_is_written_is_windows_or_a_sentence(value: Any) -> None:
    sentence = "windows."
    try:
        windows_of(value)
    except LimiterError as refusal:
        sentence = str(refusal)
    assert sentence.endswith(".")


@pytest.mark.parametrize(
    ("lease", "renewal", "refused"), [(60, 15, False), (45, 15, False), (44, 15, True), (9, 0, True)]
)
def test_a_lease_of_fewer_than_three_renewals_is_refused_at_the_start(
    settings: Settings, lease: int, renewal: int, refused: bool
) -> None:
    settings.TIDELINE_POLLING_LEASE_SECONDS, settings.TIDELINE_POLLING_RENEW_SECONDS = lease, renewal
    assert ("polling.E001" in {fault.id for fault in run_checks()}) is refused
