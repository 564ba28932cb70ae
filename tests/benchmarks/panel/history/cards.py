"""Cards, what is known of them, and what was done with them."""

from datetime import datetime

from tests.benchmarks.panel.history.size import Size, spread
from tests.benchmarks.panel.inserting import insert, one_of

CHECKS = ("real_name", "usage", "card_status", "package")


def lay_down_cards(size: Size, now: datetime) -> None:
    """Insert accounts, devices and cards, with what is known of them."""
    from scheduler.polling.models import Card, CardChange, CardCheck, CarrierAccount, Device, PollingParams

    written = {"created_at": "now", "updated_at": "now"}
    insert(CarrierAccount, size.accounts, now=now, name="'account ' || n", gateway="'simulator'", **written)
    insert(PollingParams, size.accounts, now=now, account_id="n", changed_at="now")
    insert(Device, size.cards // 2, now=now, code="'device ' || n", name="'tracker ' || n")
    insert(
        Card,
        size.cards,
        now=now,
        iccid="'8986' || lpad(n::text, 15, '0')",
        msisdn="'1440' || lpad(n::text, 9, '0')",
        imsi="'46000' || lpad(n::text, 10, '0')",
        account_id=f"1 + mod(n, {size.accounts})",
        device_id="(n + 1) / 2",
        state=one_of("active", "active", "active", "stopped", "ready"),
        real_name_state=one_of("verified", "needed"),
        package="'10 MB a month'",
        used_bytes="n * 1000",
        allowance_bytes="10000000",
        **written,
    )
    checked = "CASE WHEN mod(n, 100) = 0 THEN {failing} END"
    insert(
        CardCheck,
        size.cards * len(CHECKS),
        now=now,
        card_id=f"(n + {len(CHECKS) - 1}) / {len(CHECKS)}",
        type=one_of(*CHECKS),
        value="to_jsonb(n)",
        checked_at="now",
        succeeded_at="now",
        due_at="now + interval '1 hour'",
        failures="CASE WHEN mod(n, 100) = 0 THEN 1 + mod(n / 100, 5) ELSE 0 END",
        first_failed_at=checked.format(failing="now - interval '1 day'"),
        last_failed_at=checked.format(failing="now"),
        error_class="CASE WHEN mod(n, 100) = 0 THEN 'timeout' ELSE '' END",
        error="CASE WHEN mod(n, 100) = 0 THEN 'No answer in 10 s.' ELSE '' END",
    )
    insert(
        CardChange,
        size.cards * 3,
        now=now,
        card_id=f"1 + mod(n, {size.cards})",
        field=one_of("state", "package", "real_name_state"),
        before="'one'",
        after="'other'",
        at=spread(size.cards * 3),
    )


def lay_down_work_on_cards(size: Size, now: datetime) -> None:
    """Insert what was asked for: checks, looks, stops, resumes and cut-overs."""
    from scheduler.polling.models import CardOperation, CheckRequest, CheckScene, Confirmation, Cutover, PollingTier

    scene = CheckScene.objects.order_by("pk").values_list("pk", flat=True)[0]
    of_card, count = f"1 + mod(n, {size.cards})", size.cards // 5
    insert(PollingTier, 5, now=now, position="n", name="'tier ' || n", usage_seconds="3600 * n")
    insert(
        CardOperation,
        count,
        now=now,
        card_id=of_card,
        account_id=f"1 + mod(1 + mod(n, {size.cards}), {size.accounts})",
        kind=one_of("stop", "resume"),
        reason="'The bill was not paid.'",
        actor="'ann'",
        idempotency_key="'operation ' || n",
        state=f"CASE WHEN n > {count * 99 // 100} THEN 'waiting' WHEN mod(n, 30) = 0 THEN 'failed' ELSE 'done' END",
        created_at=spread(count),
        due_at=spread(count),
        ended_at=f"CASE WHEN n <= {count * 99 // 100} THEN {spread(count)} END",
    )
    insert(
        CheckRequest,
        count,
        now=now,
        event_id="'event ' || n",
        scene_id=f"'{scene}'",
        actor="'shop'",
        card_ids=f"ARRAY[{of_card}]",
        at=spread(count),
        asked_at=spread(count),
    )
    insert(
        Confirmation,
        count,
        now=now,
        card_id=of_card,
        type=one_of(*CHECKS),
        request_id="n",
        delays="ARRAY[60, 300]",
        due_at=spread(count),
        asked_at=spread(count),
        state=f"CASE WHEN n > {count * 99 // 100} THEN 'waiting' ELSE 'confirmed' END",
        ended_at=f"CASE WHEN n <= {count * 99 // 100} THEN now END",
    )
    insert(
        Cutover, 5, now=now, wanted="'tideline'", phase="'done'", actor="'ann'",
        started_at="now", phase_since="now", ended_at="now",
    )  # fmt: skip
