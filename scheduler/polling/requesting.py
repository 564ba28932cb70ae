"""Business events and people ask for checks of cards beside the schedule. The rows keep what was asked, once for each
event; `passing_requests` tells the live orders of it after the commit.

    request_check("order_paid", [card.pk], event_id=f"order:{order.pk}", actor="shop", now=now)
"""

import logging
from collections.abc import Iterable, Mapping
from datetime import datetime
from functools import partial
from typing import Any
from uuid import uuid4

from django.db import transaction
from django.utils.translation import gettext as _
from redis.exceptions import RedisError

from scheduler.polling import connecting, expecting, passing_requests
from scheduler.polling.models import Card, CheckRequest, CheckScene
from scheduler.polling.states import CheckType, RequestOutcome, SceneKind

logger = logging.getLogger(__name__)

# Who asks waits for so many; the scan passes on what is larger.
CARDS_AT_ONCE = 100


class BadRequest(ValueError):
    """What is asked for cannot be; the message says why and what would be right."""


def request_check(
    scene: str,
    cards: Iterable[int],
    *,
    event_id: str = "",
    actor: str,
    now: datetime,
    devices: Iterable[int] = (),
    expected: Mapping[CheckType, Any] | None = None,
) -> CheckRequest:
    """Ask for a scene's checks of some cards, in the caller's transaction; they are made after its commit.

    The same event asks once: told again, the request that is there is returned. Cards that are not polled are left out,
    and the row's outcome says how many.

    Args:
        scene: its code.
        event_id: what happened, in words of the caller that name it for ever; empty only where a page is opened.
        devices: ids of devices; each of their cards is asked for, by its own account.
        expected: by check, the value that the event should bring: once it is there, no further look is taken.

    Raises:
        BadRequest: there is no such scene, the event is not named, or something is expected that is not checked.
    """
    row = _scene(scene)
    asked = _checked(row, event_id, expected or {})
    with transaction.atomic():
        request, is_new = CheckRequest.objects.get_or_create(
            event_id=event_id or f"{scene}:{uuid4()}",
            defaults={
                "scene": row,
                "actor": actor,
                "card_ids": _card_ids(cards, devices),
                "expected": asked,
                "at": now,
                **_standing(row, now),
            },
        )
        if is_new and request.asked_at is None:
            expecting.follow(request)
            _pass_on_after_commit(request, now)
    return request


def _scene(code: str) -> CheckScene:
    row = CheckScene.objects.filter(pk=code).first()
    if row is None:
        known = ", ".join(CheckScene.objects.values_list("code", flat=True))
        raise BadRequest(
            _("scene: there is none called “%(code)s”. There are: %(known)s.") % {"code": code, "known": known}
        )
    return row


def _checked(scene: CheckScene, event_id: str, expected: Mapping[CheckType, Any]) -> dict[str, Any]:
    if not event_id and scene.kind != SceneKind.READ:
        raise BadRequest(
            _("event_id: name the event, such as order:4711, so that it asks once however often it is told.")
        )
    longest = CheckRequest._meta.get_field("event_id").max_length
    if longest is not None and len(event_id) > longest:
        raise BadRequest(
            _("event_id: it has %(count)s characters. Write at most %(longest)s.")
            % {"count": len(event_id), "longest": longest}
        )
    if unchecked := [check for check in expected if check not in scene.types]:
        raise BadRequest(
            _("expected: “%(code)s” does not check %(unchecked)s. It checks: %(types)s.")
            % {"code": scene.code, "unchecked": unchecked[0], "types": ", ".join(scene.types)}
        )
    return {str(check): value for check, value in expected.items()}


def _card_ids(cards: Iterable[int], devices: Iterable[int]) -> list[int]:
    of_devices = Card.objects.filter(device__in=list(devices)).values_list("pk", flat=True)
    return sorted({*cards, *of_devices})


def _standing(scene: CheckScene, now: datetime) -> dict[str, Any]:
    """Return what becomes of a request at once: nothing, if its scene is switched off."""
    return {} if scene.active else {"asked_at": now, "outcome": {RequestOutcome.SCENE_OFF.value: 1}}


def _pass_on_after_commit(request: CheckRequest, now: datetime) -> None:
    if len(request.card_ids) <= CARDS_AT_ONCE:
        transaction.on_commit(partial(_pass_on, request.pk, now))


def _pass_on(request_id: int, now: datetime) -> None:
    try:
        passing_requests.pass_on(connecting.hasty_client(), request_id, now=now)
    except RedisError as error:
        logger.warning("a request is passed on later, for Redis is away: %s", type(error).__name__)
