"""What a provider says about its own limit reaches the quota: from the answers that work gets, and by asking.

Its reset is a hint. Once that has passed the quota is unverified, until an answer or a probe has shown that the
provider lets us in again.
"""

import logging
from collections.abc import Callable, Mapping
from datetime import datetime, timedelta

from django.db import transaction

from project.kit.secrets import UnreadableSecret
from quotas.books import open_books_of_all
from quotas.models import ProviderReport, Quota
from quotas.provider.bodies import with_body
from quotas.provider.headers import read_headers
from quotas.provider.observation import Observation
from quotas.provider.probes import ProbeSpec
from quotas.provider.probing import ProbeFailed, ask
from quotas.provider.taking_in import is_news, is_out_of_order, report, take_in
from quotas.refusals import Refused, UnknownQuota
from quotas.retrying import retried
from quotas.states import Cause, WaitReason

logger = logging.getLogger(__name__)

PROBE_SECONDS = 10.0


def observe(
    key: str,
    headers: Mapping[str, str],
    *,
    status: int | None = None,
    body: bytes = b"",
    window: str = "",
    now: datetime,
) -> Observation:
    """Note what an answer of the provider says about the quota's limit, and return it.

    Outside of transactions, or what it says is lost with them.

    Args:
        key: the quota's.
        headers: of the answer.
        status: of the answer; it tells a refusal.
        body: of a refusal; it is read where the headers do not say when to come back.
        window: which of several windows the quota counts, for example "tokens"; empty: the tightest.
        now: when the answer came.

    Raises:
        UnknownQuota: there is no quota of that key.
    """
    said = understand(headers, status=status, body=body, window=window, now=now)
    record(key, said)
    return said


def understand(
    headers: Mapping[str, str], *, status: int | None, body: bytes = b"", window: str = "", now: datetime
) -> Observation:
    """Return what an answer says, and note nothing; see `observe`."""
    return with_body(read_headers(headers, status=status, received_at=now, window=window.lower()), body)


def record(key: str, said: Observation) -> Refused | None:
    """Note what was said, if it is news; return what the work that heard it has to wait for, if it was refused.

    In shadow mode it is noted, and nobody has to wait.

    Raises:
        UnknownQuota: there is no quota of that key.
    """
    quota = Quota.objects.filter(key=key).first()
    if quota is None:
        raise UnknownQuota(key)
    if _is_worth_a_write(quota, said):
        quota = _take_in(quota.pk, said)
    return _refusal(quota, said) if said.limited and not quota.shadow else None


def probe(quota_id: int, *, clock: Callable[[], datetime]) -> Observation | ProbeFailed | None:
    """Ask the quota's usage endpoint and note what it says; None: it has none.

    Three beats: the claim, the question with no transaction open, the note.

    Args:
        clock: tells the database's present instant.
    """
    quota = _claim(quota_id, clock())
    if quota is None:
        return None
    try:
        spec = probe_of(quota)
    except UnreadableSecret as unreadable:
        logger.error("the probe of quota %r cannot be sent: %s", quota.key, unreadable)
        return ProbeFailed(str(unreadable))
    said = ask(spec, timeout_seconds=PROBE_SECONDS, clock=clock)
    heard = Observation(clock(), doubts=(said.sentence,)) if isinstance(said, ProbeFailed) else said
    _take_in(quota_id, heard, asked=spec)
    return said


def probe_of(quota: Quota) -> ProbeSpec:
    """Return the quota's probe, as a pure value."""
    return ProbeSpec(
        url=quota.probe_url,
        headers=quota.revealed_headers(),
        remaining=quota.probe_remaining,
        limit=quota.probe_limit,
        reset=quota.probe_reset,
    )


# --- steps -------------------------------------------------------------------------------------------------------


def _claim(quota_id: int, now: datetime) -> Quota | None:
    """Return the quota if it has a usage endpoint, and move the next look on, so that the poll does not ask as well.

    Two that ask at the same instant do no harm: the later answer counts.
    """
    quota = Quota.objects.filter(pk=quota_id).exclude(probe_url="").first()
    if quota is not None:
        later = now + timedelta(seconds=max(quota.poll_floor_seconds, 2 * PROBE_SECONDS))
        Quota.objects.filter(pk=quota_id).update(next_check_at=later)
    return quota


def _is_worth_a_write(quota: Quota, said: Observation) -> bool:
    if is_news(quota, said):
        return True
    return bool(said.doubts) and report(quota, said, _latest_report(quota.pk)) is not None


@retried
def _take_in(quota_id: int, said: Observation, asked: ProbeSpec | None = None) -> Quota:
    """Take in what was said, under the quota's lock, and judge the quota.

    Args:
        asked: by which it was learned; if the quota has another by now it is about something else.
    """
    with transaction.atomic():
        books = open_books_of_all([quota_id], said.received_at)
        quota = books.quotas[quota_id]
        if is_out_of_order(quota, said) or (asked is not None and asked != probe_of(quota)):
            return quota
        _keep_history(quota, said)
        take_in(quota, said)
        books.save(Cause.PROVIDER)
    return quota


def _keep_history(quota: Quota, said: Observation) -> None:
    row = report(quota, said, _latest_report(quota.pk))
    if row is None:
        return
    if row.doubts:
        logger.warning("the provider of quota %r: %s", quota.key, row.doubts)
    row.save(force_insert=True)


def _latest_report(quota_id: int) -> ProviderReport | None:
    return ProviderReport.objects.filter(quota=quota_id).order_by("-at", "-id").first()


def _refusal(quota: Quota, said: Observation) -> Refused:
    """Return what the work that was refused waits for; how much it wanted the provider does not say."""
    return Refused(
        quota.key,
        quota_id=quota.pk,
        blocker=quota.key,
        amount=quota.default_step,
        available=0,
        why=WaitReason.UNKNOWN_RESET if said.hint is None else WaitReason.PROVIDER_WINDOW,
        expected_at=quota.blocked_until or said.hint,
    )
