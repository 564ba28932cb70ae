"""Instants by which lists are filtered: any offset that ISO 8601 has, and a sentence where there is no such instant."""

from datetime import UTC, datetime

import pytest
from django.core.exceptions import ValidationError

from project.kit.api.filtering import UtcField


@pytest.mark.parametrize(
    ("said", "meant"),
    [
        ("2026-03-01T12:00:00", datetime(2026, 3, 1, 12, tzinfo=UTC)),
        ("2026-03-01T12:00:00+08:00", datetime(2026, 3, 1, 4, tzinfo=UTC)),
        ("2026-03-01T12:00:00-23:29", datetime(2026, 3, 2, 11, 29, tzinfo=UTC)),
    ],
)
def test_an_instant_is_read_in_utc(said: str, meant: datetime) -> None:
    read = UtcField().clean(said)
    assert read == meant
    assert read.utcoffset() == meant.utcoffset()


@pytest.mark.parametrize("said", ["0001-01-01T00:00:00+08:00", "9999-12-31T23:00:00-08:00", "yesterday"])
def test_what_is_no_instant_is_refused(said: str) -> None:
    with pytest.raises(ValidationError):
        UtcField().clean(said)
