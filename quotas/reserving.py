"""Reservations: an amount is held before the work, and settled by what it really took. They are leased: what a dead
owner held is free again, once.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from django.db import transaction
from django.db.models import DurationField, ExpressionWrapper, F, Value
from django.utils.translation import gettext as _

from quotas.amounts import check_amount
from quotas.books import Books, open_books, open_books_of, open_books_of_all
from quotas.models import Quota, Reservation
from quotas.purchases import Purchase, purchase, settlement_key
from quotas.refusals import BadAmount, Conflict, QuotaError
from quotas.retrying import retried
from quotas.states import Cause, Purpose, ReservationState

DEFAULT_LEASE = timedelta(minutes=5)
BATCH = 500


@dataclass(frozen=True, slots=True)
class Need:
    """What an admission reserves for one owner in one quota."""

    owner: str
    quota_id: int
    amount: int


@retried
def reserve(
    key: str,
    amount: int,
    *,
    now: datetime,
    lease: timedelta = DEFAULT_LEASE,
    idempotency_key: str | None = None,
    owner: str = "",
    attempt: int | None = None,
) -> Reservation:
    """Hold the amount in the quota and in all that it is part of; it is free again when the lease ends.

    Args:
        lease: how long it holds without `renew`.
        idempotency_key: names this reservation of the quota; the same again returns the first, whatever became of it.

    Raises:
        Refused, NeverSatisfiable, UnknownQuota, BadAmount, BadKey, Conflict: as charging.charge.
    """
    check_amount(amount)
    if lease <= timedelta(0):
        raise BadAmount(f"A lease lasts for a while, not {lease}.")
    origin = purchase(idempotency_key, owner=owner)
    with transaction.atomic():
        books, quota = open_books(key, now)
        first = Reservation.objects.filter(quota=quota, idempotency_key=origin.key).first()
        if first is not None:
            return _same(first, amount)
        spare = use_admission(books, quota, owner)
        books.refuse_what_does_not_fit(quota, amount)
        books.hold(quota, amount)
        books.save(Cause.RESERVATION_FREED if spare > amount else Cause.SPENDING)
        return Reservation.objects.create(
            quota=quota,
            idempotency_key=origin.key,
            amount=amount,
            owner=owner,
            attempt=attempt,
            lease_seconds=max(1, round(lease.total_seconds())),
            expires_at=now + lease,
            created_at=now,
        )


@retried
def settle(reservation_id: int, actual: int, *, now: datetime) -> bool:
    """Charge what the work really took and free the rest; False: it was settled before, and nothing changed.

    What was spent counts even if it is more than was held, or the reservation had ended meanwhile.

    Raises:
        BadAmount: the actual amount is no whole number from 0 on.
        QuotaError: it was released before.
    """
    if actual != 0:
        check_amount(actual)
    with transaction.atomic():
        books, quota, reservation = _open(reservation_id, now)
        if reservation.state == ReservationState.SETTLED:
            return False
        if reservation.state == ReservationState.RELEASED:
            raise QuotaError(
                _("The reservation #%(reservation_id)s was released; charge what was spent instead.")
                % {"reservation_id": reservation_id}
            )
        _end(books, [reservation], ReservationState.SETTLED, now, settled_amount=actual)
        if actual:
            origin = Purchase(settlement_key(reservation.pk), reservation.owner, reservation.attempt)
            books.spend(quota, actual, origin)
        books.save(Cause.RESERVATION_FREED)
    return True


@retried
def release(reservation_id: int, *, now: datetime) -> bool:
    """Free a reservation that was not used; False: it had ended already."""
    with transaction.atomic():
        books, _, reservation = _open(reservation_id, now)
        if reservation.state != ReservationState.HELD:
            return False
        _end(books, [reservation], ReservationState.RELEASED, now)
        books.save(Cause.RESERVATION_FREED)
    return True


@retried
def release_all_of(owners: Iterable[str], *, now: datetime) -> int:
    """Free all that the owners still hold; return how many reservations that were."""
    held = Reservation.objects.filter(state=ReservationState.HELD, owner__in=list(owners))
    return _free(list(held.values_list("pk", "quota_id")), ReservationState.RELEASED, now)


@retried
def renew(owners: Iterable[str], *, now: datetime) -> int:
    """Extend the leases of all that the owners hold, as long as they live; return how many.

    One that has ended and was not freed yet is extended as well: nobody else has got it.
    """
    lease = ExpressionWrapper(F("lease_seconds") * Value(timedelta(seconds=1)), output_field=DurationField())
    held = Reservation.objects.filter(state=ReservationState.HELD, owner__in=list(owners))
    with transaction.atomic():
        in_order = held.order_by("pk").select_for_update()  # as `_free` locks them
        return Reservation.objects.filter(pk__in=in_order.values("pk")).update(expires_at=Value(now) + lease)


@retried
def free_expired(*, now: datetime) -> int:
    """Free the reservations whose lease has ended, each once; return how many."""
    expired = Reservation.objects.filter(state=ReservationState.HELD, expires_at__lte=now).order_by("expires_at")
    return _free(list(expired.values_list("pk", "quota_id")[:BATCH]), ReservationState.EXPIRED, now)


# --- admissions ------------------------------------------------------------------------------------------------


def reserve_for_admission(books: Books, needs: Sequence[Need], *, key: str, lease: timedelta) -> None:
    """Hold for each owner what it was admitted for, in the locked books; the caller saves them.

    Args:
        key: names this admission; with the owner it makes the idempotency key.
    """
    for need in needs:
        books.hold(books.quotas[need.quota_id], need.amount)
    Reservation.objects.bulk_create(
        Reservation(
            quota_id=need.quota_id,
            idempotency_key=f"{key} {need.owner}",
            purpose=Purpose.ADMISSION,
            amount=need.amount,
            owner=need.owner,
            lease_seconds=max(1, round(lease.total_seconds())),
            expires_at=books.now + lease,
            created_at=books.now,
        )
        for need in needs
    )


def use_admission(books: Books, quota: Quota, owner: str) -> int:
    """End what an admission holds for the owner in the locked quota, so that it can be charged; return how much."""
    if not owner:
        return 0
    held = Reservation.objects.filter(quota=quota, owner=owner, state=ReservationState.HELD, purpose=Purpose.ADMISSION)
    admissions = list(held.select_for_update().order_by("pk"))  # as `renew` locks them
    _end(books, admissions, ReservationState.SETTLED, books.now)
    return sum(admission.amount for admission in admissions)


# --- steps -----------------------------------------------------------------------------------------------------


def _same(first: Reservation, amount: int) -> Reservation:
    if first.amount != amount:
        raise Conflict(
            _(
                "The key “%(idempotency_key)s” has reserved %(before)s before, and now %(amount)s: "
                "another piece of work needs another key."
            )
            % {"idempotency_key": first.idempotency_key, "before": f"{first.amount:,}", "amount": f"{amount:,}"}
        )
    return first


def _open(reservation_id: int, now: datetime) -> tuple[Books, Quota, Reservation]:
    """Lock the reservation's quotas, and then the reservation: always in this order."""
    reservation = Reservation.objects.filter(pk=reservation_id).first()
    if reservation is None:
        raise QuotaError(_("There is no reservation #%(reservation_id)s.") % {"reservation_id": reservation_id})
    books, quota = open_books_of(reservation.quota_id, now)
    reservation.refresh_from_db()
    return books, quota, reservation


def _free(found: Sequence[tuple[int, int]], state: ReservationState, now: datetime) -> int:
    """End those of the found reservations that are still held once their quotas are locked."""
    if not found:
        return 0
    with transaction.atomic():
        leaves = Quota.objects.filter(pk__in={quota_id for _, quota_id in found}).only("ancestors")
        books = open_books_of_all({pk for leaf in leaves for pk in leaf.chain}, now)
        held = Reservation.objects.filter(pk__in=[pk for pk, _ in found], state=ReservationState.HELD)
        if state == ReservationState.EXPIRED:  # not if it was renewed meanwhile
            held = held.filter(expires_at__lte=now)
        ending = list(held.select_for_update().order_by("pk"))
        _end(books, ending, state, now)
        books.save(Cause.RESERVATION_FREED)
    return len(ending)


def _end(
    books: Books,
    reservations: Sequence[Reservation],
    state: ReservationState,
    now: datetime,
    settled_amount: int | None = None,
) -> None:
    for reservation in reservations:
        if reservation.state == ReservationState.HELD:
            books.hold(books.quotas[reservation.quota_id], -reservation.amount)
    ended = Reservation.objects.filter(pk__in=[reservation.pk for reservation in reservations])
    if reservations:
        ended.update(state=state, ended_at=now, settled_amount=settled_amount)
