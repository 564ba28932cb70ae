"""What goes out next: one message alone, or a burst as one digest, whose id says what it tells."""

from uuid import UUID, uuid4

import pytest

from alerts.digesting import BURST, LINES, next_message
from alerts.models import Delivery, Event
from alerts.states import Severity, Telling
from tests.scheduler.factories import NOW


def delivery(number: int, **fields: object) -> Delivery:
    values = {
        "id": UUID(int=number + 1),
        "telling": Telling.OPENED,
        "kind": "run_failed",
        "severity": Severity.WARNING,
        "title": f"run {number}",
        "text": "It failed.",
        "at": NOW,
    }
    return Delivery(pk=number, event=Event(**values | fields))


def deliveries(count: int) -> list[Delivery]:
    return [delivery(number) for number in range(count)]


@pytest.mark.parametrize("count", range(1, BURST + 1))
def test_few_go_out_one_by_one_the_oldest_first(count: int) -> None:
    chosen, message = next_message(deliveries(count), NOW)
    assert [one.pk for one in chosen] == [0]
    assert (message.telling, message.title, message.event_id) == (Telling.OPENED, "run 0", str(UUID(int=1)))


def test_a_burst_goes_out_as_one_digest() -> None:
    waiting = deliveries(BURST + 1)
    chosen, message = next_message(waiting, NOW)
    assert chosen == waiting
    assert (message.telling, message.title) == (Telling.DIGEST, "4 messages: run failed (4)")
    assert message.text == "\n".join(f"opened: run {number}" for number in range(4))


def test_a_digest_counts_kinds() -> None:
    others = [delivery(7, kind="quota_exhausted"), delivery(8, telling=Telling.RECOVERED)]
    _, message = next_message([*deliveries(3), *others], NOW)
    assert message.title == "5 messages: run failed (4), quota exhausted (1)"
    assert (message.kind, message.severity) == ("run_failed", Severity.WARNING)
    assert message.text.endswith("recovered: run 8")


def test_a_digest_of_notices_says_what_happened_to_each() -> None:
    kinds = ["run_started", "run_succeeded"] * 2
    notices = [delivery(number, telling=Telling.NOTICE, kind=kind) for number, kind in enumerate(kinds)]
    _, message = next_message(notices, NOW)
    assert message.text.splitlines()[:2] == ["run started: run 0", "run succeeded: run 1"]


def test_a_digest_is_of_one_severity() -> None:
    critical = [delivery(number, severity=Severity.CRITICAL) for number in range(BURST + 1)]
    chosen, message = next_message([*critical, *deliveries(9)], NOW)
    assert (chosen, message.severity) == (critical, Severity.CRITICAL)


def test_few_severe_ones_go_out_one_by_one_before_a_burst_of_others() -> None:
    severe = delivery(7, severity=Severity.CRITICAL, title="run 7")
    chosen, message = next_message([severe, *deliveries(9)], NOW)
    assert (chosen, message.title) == ([severe], "run 7")


def test_a_digest_says_how_many_it_does_not_write_out() -> None:
    _, message = next_message(deliveries(LINES + 70), NOW)
    assert message.text.count("\n") == LINES
    assert message.text.endswith("… and 70 more")


def test_the_id_is_the_same_for_the_same_content_and_another_for_more() -> None:
    ids = [next_message(deliveries(count), NOW)[1].event_id for count in (5, 5, 6)]
    assert ids[0] == ids[1] != ids[2]
    assert ids[0] not in {str(one.event.pk) for one in deliveries(5)}
    assert "." not in ids[0]


def test_an_event_that_was_tried_alone_has_another_id_in_a_digest() -> None:
    alone = next_message([delivery(0, id=(event_id := uuid4()))], NOW)[1]
    together = next_message([delivery(0, id=event_id), *deliveries(4)[1:]], NOW)[1]
    assert alone.event_id != together.event_id
