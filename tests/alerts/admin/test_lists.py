"""The lists and pages of the alerts: what is open comes first, with as many queries for many rows as for few, and
nobody writes in history.
"""

import re
from datetime import timedelta

import pytest
from django.db import connection

from alerts.kinds import KINDS, NOTICES, PROBLEMS
from alerts.models import Alert, Delivery
from alerts.recording import acknowledge, raise_alert, resolve_alert
from project.kit.clock import database_now
from project.watching import BEAT_SILENT, BROKER_DOWN
from quotas.attention import Kind as QuotaKind
from scheduler.attention import Kind
from scheduler.notices import Kind as NoticeKind
from scheduler.polling.failures import CARD_CHECK_FAILING, CARDS_FAILING
from scheduler.polling.holding import ACCOUNT_FAILING
from scheduler.polling.operations.alerting import CARD_OPERATION_FAILED
from tests.alerts.admin.desk import (
    MODELS,
    deliver,
    list_of,
    make_alert,
    make_history,
    make_hook,
    make_silence,
    page_of,
    viewer,
)
from tests.alerts.factories import PERMANENT, RETRY, Sender, problem
from tests.panel import chief, listed, queries_of, text_of

pytestmark = pytest.mark.django_db


def text_at(address: str) -> str:
    """Return the text of a page, on which what happened during the test happened now."""
    return re.sub(r"\b\d+ (s|min) ago", "now", text_of(chief().get(address)))


@pytest.mark.parametrize("model", MODELS)
def test_a_list_asks_as_often_for_many_rows_as_for_few_and_counts_nothing(model: str) -> None:
    make_history(2)
    few = queries_of(list_of(model))
    make_history(4)
    many = queries_of(list_of(model))
    assert len(many) == len(few)
    assert not [sql for sql in many if '"__count"' in sql]  # the parts of an alert are counted by an index


def test_pages_ask_as_often_for_much_history_as_for_little() -> None:
    channel, alert = make_hook(), make_alert()
    addresses = [page_of(channel), page_of(alert)]
    make_alert(parent=alert.fingerprint)
    deliver(channel)
    few = [len(queries_of(address)) for address in addresses]
    for _ in range(3):
        make_hook()
        make_alert(parent=alert.fingerprint)
        make_alert()
    for found in (channel, *(delivery.channel for delivery in Delivery.objects.all())):
        deliver(found)
    assert [len(queries_of(address)) for address in addresses] == few


@pytest.mark.parametrize("model", ["alert", "delivery"])
def test_nobody_adds_changes_or_deletes_history(model: str) -> None:
    make_history(1)
    client = chief()
    response = client.get(list_of(model))
    row = response.context["cl"].result_list[0]
    assert client.get(list_of(model) + "add/").status_code == 403
    assert client.post(page_of(row), {"title": "x"}).status_code in {403, 405}
    assert client.post(page_of(row, "delete"), {"post": "yes"}).status_code == 403
    assert "delete_selected" not in response.content.decode()


def test_a_channel_is_not_deleted_because_what_it_was_told_is_kept() -> None:
    channel = make_hook()
    assert chief().post(page_of(channel, "delete"), {"post": "yes"}).status_code == 403


@pytest.mark.parametrize("model", MODELS)
def test_who_may_only_look_sees_lists_and_pages(model: str) -> None:
    make_history(1)
    client = viewer()
    response = client.get(list_of(model))
    assert response.status_code == 200
    assert client.get(page_of(response.context["cl"].result_list[0])).status_code == 200


# --- alerts --------------------------------------------------------------------------------------------------------


def alerts_of_all_standings() -> dict[str, Alert]:
    """Raise an alert for each question, in an order that is not the list's."""
    now = database_now()
    made = {"open": make_alert(), "acknowledged": make_alert(), "resolved": make_alert(severity="critical")}
    made["critical"] = make_alert(severity="critical")
    acknowledge(made["acknowledged"].pk, actor="bob")
    resolve_alert(made["resolved"].fingerprint, now=now)
    make_silence(kind="schedule_broken")
    made["untold"] = make_alert(kind="schedule_broken", fingerprint="schedule_broken:schedule:1")
    return made


def test_what_is_open_comes_first_however_old_it_is() -> None:
    made = alerts_of_all_standings()
    Alert.objects.filter(pk=made["open"].pk).update(last_at=database_now() - timedelta(days=30))
    shown = listed(chief().get(list_of("alert")))
    assert shown[-2:] == [made["open"].pk, made["resolved"].pk]


def test_the_list_is_read_in_its_order_from_an_index() -> None:
    alerts_of_all_standings()
    (page,) = [sql for sql in queries_of(list_of("alert")) if "ORDER BY" in sql and '"alerts_alert"' in sql]
    with connection.cursor() as cursor:
        # of a table this small the planner would rather sort what it has read, depending on when it was analysed
        cursor.execute("SET LOCAL enable_seqscan = off")
        cursor.execute("SET LOCAL enable_sort = off")
        cursor.execute(f"EXPLAIN {page}")
        plan = "\n".join(line for (line,) in cursor.fetchall())
    assert "using alert_open_first" in plan


@pytest.mark.parametrize(
    ("query", "names"),
    [
        ("show=open", {"open", "critical", "untold"}),
        ("show=critical", {"critical"}),
        ("show=acknowledged", {"acknowledged"}),
        ("show=untold", {"untold"}),
        ("show=resolved", {"resolved"}),
        ("kind=schedule_broken", {"untold"}),
        ("severity__exact=critical", {"critical", "resolved"}),
        ("q=schedule_broken:schedule:1", {"untold"}),
    ],
)
def test_the_list_of_alerts_answers(query: str, names: set[str]) -> None:
    made = alerts_of_all_standings()
    shown = set(listed(chief().get(list_of("alert", f"?{query}"))))
    assert shown == {made[name].pk for name in names}


def test_a_row_says_how_much_it_matters_where_it_stands_and_why_nobody_was_told() -> None:
    make_silence(kind="schedule_broken", reason="Migration")
    make_alert(kind="schedule_broken", title="Nightly settlement", severity="critical")
    text = text_at(list_of("alert"))
    assert "critical open Nightly settlement schedule broken 1 now now Silenced: Migration" in text


def test_every_kind_that_is_told_has_its_words() -> None:
    of_polling = {ACCOUNT_FAILING, CARDS_FAILING, CARD_CHECK_FAILING, CARD_OPERATION_FAILED}
    assert set(PROBLEMS) == {*Kind, *QuotaKind, *of_polling, "delivery_failing", BEAT_SILENT, BROKER_DOWN}
    assert set(NOTICES) == set(NoticeKind)
    assert set(KINDS) == {*PROBLEMS, *NOTICES}


# --- the page of an alert ------------------------------------------------------------------------------------------


def test_the_page_says_what_happened_who_was_told_and_how_that_went() -> None:
    well, refusing = make_hook(name="well"), make_hook(name="refusing")
    alert = make_alert(url="/admin/scheduler/taskrun/1/change/", subject="run:1")
    deliver(well)
    deliver(refusing, Sender(PERMANENT))
    text, content = text_at(page_of(alert)), chief().get(page_of(alert)).content.decode()
    assert "It failed." in text
    assert "name=nightly" in text
    assert "now opened refusing failed for good now 400 Refused. 1" in text
    assert "well sent now 200 Taken. 1" in text
    assert '<a href="/admin/scheduler/taskrun/1/change/">run:1</a>' in content
    assert "It is the first time." in text


@pytest.mark.parametrize("url", ["javascript:alert(1)", "//evil.example/", "data:text/html,x"])
def test_no_address_leads_out_of_a_page_by_a_trick(url: str) -> None:
    alert = make_alert(url=url)
    assert f'href="{url}"' not in chief().get(page_of(alert)).content.decode()


def test_the_page_shows_its_parts_and_the_same_problem_before() -> None:
    now = database_now()
    old = make_alert(fingerprint="account:1", title="Account 1 before")
    resolve_alert("account:1", now=now)
    alert = raise_alert(problem("account:1", title="Account 1"), now=now)
    part = raise_alert(problem("card:1", title="Card 1", parent="account:1"), now=now)
    client = chief()
    content = client.get(page_of(alert)).content.decode()
    assert page_of(old) in content
    assert page_of(part) in content
    text = text_of(client.get(page_of(part)))
    assert "Nobody was told. Part of “Account 1”." in text


def test_list_and_page_say_how_many_open_alerts_stand_under_one_and_the_page_its_facts() -> None:
    alert = make_alert(fingerprint="account:1", facts=(("carrier", "Example Mobile"),))
    for number in range(3):
        make_alert(fingerprint=f"card:{number}", parent="account:1")
    resolve_alert("card:0", now=database_now())
    page = text_at(page_of(alert))
    assert "Open alerts under it 2" in page
    assert "Carrier Example Mobile" in page
    counts = {row.fingerprint: row.count_under for row in chief().get(list_of("alert")).context["cl"].result_list}
    assert counts == {"account:1": 2, "card:0": None, "card:1": None, "card:2": None}


def test_the_alert_of_a_channel_leads_to_it() -> None:
    channel = make_hook()
    alert = make_alert(kind="delivery_failing", subject=f"channel:{channel.pk}")
    assert f'<a href="{page_of(channel)}">channel:{channel.pk}</a>' in chief().get(page_of(alert)).content.decode()


def test_what_stands_in_an_alert_is_text_and_no_markup() -> None:
    alert = make_alert(title="<script>x</script>", sentence="<b>bold</b>", labels={"<i>": "<u>"})
    client = chief()
    for address in (page_of(alert), list_of("alert")):
        content = client.get(address).content.decode()
        assert not any(markup in content for markup in ("<script>x", "<b>bold", "<i>", "<u>"))


# --- channels and deliveries ---------------------------------------------------------------------------------------


def test_the_page_of_a_channel_says_how_it_is_doing_and_each_try() -> None:
    channel = make_hook(name="operations")
    make_alert(title="Nightly settlement")
    deliver(channel, Sender(RETRY))
    text = text_at(page_of(channel))
    assert "operations failing The last message failed. Not taken; it is tried again." in text
    assert "Failures in a row 1" in text
    assert "Goes to hooks.example.org" in text
    assert "Signing secrets stored" in text
    assert "opened Nightly settlement waiting" in text
    assert "not taken now 200 503" in text


def test_the_list_of_channels_says_which_fail_and_which_are_off() -> None:
    failing = make_hook(name="a failing one")
    make_alert()
    deliver(failing, Sender(PERMANENT))
    make_hook(name="off", enabled=False)
    make_hook(name="quiet", kinds=["run_failed"])
    text = text_at(list_of("channel"))
    assert "a failing one failing hooks.example.org Standard Webhooks every problem info – Refused." in text
    assert "off off hooks.example.org" in text
    assert "quiet untried hooks.example.org Standard Webhooks run failed for good" in text


def test_deliveries_are_found_by_state_and_channel() -> None:
    well, refusing = make_hook(name="well"), make_hook(name="refusing")
    make_alert(title="Nightly settlement")
    deliver(well)
    deliver(refusing, Sender(PERMANENT))
    client = chief()
    to_well, to_refusing = Delivery.objects.get(channel=well), Delivery.objects.get(channel=refusing)
    assert listed(client.get(list_of("delivery"))) == sorted((to_refusing.pk, to_well.pk), reverse=True)
    assert listed(client.get(list_of("delivery", "?state__exact=failed"))) == [to_refusing.pk]
    assert listed(client.get(list_of("delivery", f"?channel={well.pk}"))) == [to_well.pk]
    text = text_at(list_of("delivery"))
    assert f"#{to_refusing.pk} now opened Nightly settlement refusing failed for good 1 400 Refused. now" in text
    assert "path-with-token" not in text
