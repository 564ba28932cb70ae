"""A file of cards is looked at line by line: each fault is told where it is, and all is written or nothing."""

import json
from io import StringIO
from pathlib import Path
from typing import Any

import pytest
from django.core.management import CommandError, call_command
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from pytest_django import DjangoAssertNumQueries

from scheduler.polling.fleet.importing import Fate, Plan, UnusableFile, carry_out, plan
from scheduler.polling.models import Card, CardChange, CarrierAccount, Device
from tests.scheduler.polling.factories import NOW, iccid, make_account, make_card

pytestmark = pytest.mark.django_db

ONE, TWO, THREE = iccid(10**9 + 1), iccid(10**9 + 2), iccid(10**9 + 3)


@pytest.fixture
def acme() -> CarrierAccount:
    return make_account(name="Acme")


def planned(text: str, **options: Any) -> Plan:
    return plan(text.encode(), **options)


def faults(text: str, **options: Any) -> list[tuple[int, str]]:
    """Return the bad lines and what is said of them."""
    return [(line.number, " ".join(line.faults)) for line in planned(text, **options).of(Fate.BAD)]


def told(*arguments: str) -> tuple[str, int]:
    """Run the command and return what it printed and its exit status."""
    out = StringIO()
    try:
        call_command("import_cards", *arguments, stdout=out)
    except SystemExit as end:
        return out.getvalue(), int(str(end.code))
    return out.getvalue(), 0


@pytest.fixture
def file(tmp_path: Path) -> Any:
    """Writes a file and returns its path."""

    def write(text: str) -> str:
        path = tmp_path / "cards.csv"
        path.write_text(text)
        return str(path)

    return write


# --- the file ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "text",
    [
        f"iccid,account\n{ONE},Acme\n{TWO},Acme\n",
        f"iccid;account\r\n{ONE};Acme\r\n{TWO};Acme",
        f"\ufeffICCID;Account\n{ONE};Acme\n\n{TWO};Acme\n;\n",
        f"Reset Day,ACCOUNT,Iccid,polling\n31,Acme,{ONE},\n,Acme,{TWO},no\n",
        f'"iccid","account","device"\n"{ONE}","Acme","a ""big""\ndevice"\n{TWO},Acme,x\n'.replace("\ndev", " dev"),
    ],
)
def test_commas_and_semicolons_and_columns_in_any_order_and_case_are_read(acme: CarrierAccount, text: str) -> None:
    assert [(line.iccid, line.fate) for line in planned(text).lines] == [(ONE, Fate.NEW), (TWO, Fate.NEW)]


@pytest.mark.parametrize(
    ("content", "sentence"),
    [
        (b"", "The file is empty"),
        (b"\n ,\n", "The file is empty"),
        (b"iccid\n", "The column “account” is missing"),
        (b"account,msisdn\n", "The column “iccid” is missing"),
        (b"iccid,account,colour\n", "The column “colour” is not known. There are: iccid, account"),
        (b"iccid,account,ICCID\n", "names a column twice"),
        ("iccid,account\n1,Ä\n".encode("latin-1"), "Line 2 is not UTF-8. Save the file as"),
        ("iccid,account\n".encode("utf-16"), "Line 1 is not UTF-8"),
        (b'iccid,account\n1,2\n"3,4\n', "Line 3 cannot be read as CSV"),
    ],
)
def test_a_file_that_cannot_be_read_is_refused_as_a_whole(content: bytes, sentence: str) -> None:
    with pytest.raises(UnusableFile, match=sentence):
        plan(content)


# --- a line ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("line", "sentence"),
    [
        (f"{ONE[:-1]}{(int(ONE[-1]) + 1) % 10},Acme,,,,,", "does not check the others"),
        (",Acme,,,,,", "The ICCID is missing"),
        ("8.98600123456789E+19,Acme,,,,,", "A spreadsheet has rounded it"),
        (f"{ONE},,,,,,", "The account is missing"),
        (f"{ONE},acme,,,,,", "There is no account “acme”"),
        (f"{ONE},Acme,12a,,,,", "MSISDN “12a” is no number of 5 to 20 digits"),
        (f"{ONE},Acme,,1234567890123456,,,", "IMSI “1234567890123456” is no number of 6 to 15 digits"),
        (f"{ONE},Acme,,,{'x' * 101},,", "at most 100 characters"),
        (f"{ONE},Acme,,,a\x00b,,", "can be printed"),
        (f"{ONE},Acme,,,,0,", "reset day “0” is in no month"),
        (f"{ONE},Acme,,,,32,", "reset day “32” is in no month"),
        (f"{ONE},Acme,,,,1.5,", "reset day “1.5” is in no month"),
        (f"{ONE},Acme,,,,²,", "reset day “²” is in no month"),
        (f"{ONE},Acme,,,,,maybe", "polling is “maybe”: write yes or no"),
        (f"{ONE},Acme,,,,", "There are 6 values for 7 columns"),
        (f"{ONE},Acme,,,,,,", "There are 8 values for 7 columns"),
    ],
)
def test_a_line_that_cannot_be_taken_says_why(acme: CarrierAccount, line: str, sentence: str) -> None:
    ((number, said),) = faults(f"iccid,account,msisdn,imsi,device,reset_day,polling\n{TWO},Acme,,,,,\n{line}\n")
    assert number == 3
    assert sentence in said


def test_all_faults_of_a_line_are_told_at_once(acme: CarrierAccount) -> None:
    ((_, said),) = faults("iccid,account,reset_day\n12,Nobody,99\n")
    assert [part in said for part in ("has 2 digits", "There is no account", "is in no month")] == [True] * 3


def test_the_number_of_a_line_is_that_of_the_editor_also_after_lines_within_quotes(acme: CarrierAccount) -> None:
    text = f'iccid,account,device\n{ONE},Acme,"two\nlines"\n\n12,Acme,x\n'
    assert [number for number, _ in faults(text)] == [2, 5]


def test_a_card_that_is_named_twice_is_bad_the_second_time(acme: CarrierAccount) -> None:
    spaced = f"{ONE[:4]} {ONE[4:]}"
    assert faults(f"iccid,account\n{ONE},Acme\n{spaced},Acme\n") == [(3, "Line 2 names the same ICCID.")]


# --- cards that are there ----------------------------------------------------------------------------------------


def test_a_card_that_is_there_is_refused_unless_it_may_be_changed(acme: CarrierAccount) -> None:
    card = make_card(acme, reset_day=3)
    text = f"iccid,account,reset_day\n{card.iccid},Acme,4\n"
    assert "is there already. Import with --update" in faults(text)[0][1]
    (line,) = planned(text, update=True).lines
    assert (line.fate, line.card_id) == (Fate.CHANGED, card.pk)


def test_what_the_file_does_not_say_of_a_card_stays(acme: CarrierAccount) -> None:
    card = make_card(acme, reset_day=3, msisdn="8613800000000", device=Device.objects.create(code="D1"))
    same = f"iccid,account,reset_day,device,msisdn\n{card.iccid},Acme,,D1,+86 138-0000-0000\n"
    assert [line.fate for line in planned(same, update=True).lines] == [Fate.SAME]
    make_account(name="Other")
    carry_out(planned(f"iccid,account,device\n{card.iccid},Other,\n", update=True), now=NOW)
    card.refresh_from_db()
    assert (card.account.name, card.reset_day, card.msisdn) == ("Other", 3, "8613800000000")
    assert card.device is not None
    assert [change.field for change in CardChange.objects.all()] == ["account"]


# --- written -----------------------------------------------------------------------------------------------------


def test_cards_are_written_with_all_that_the_file_says(acme: CarrierAccount) -> None:
    Device.objects.create(code="D1", name="there already")
    text = (
        "iccid,account,msisdn,imsi,device,reset_day,polling\n"
        f"{ONE},Acme,8613800000000,460001234567890,D1,31,no\n"
        f"{TWO},Acme,,,D2,,YES\n"
        f"{THREE},Acme,,,D2,,\n"
    )
    carry_out(planned(text), now=NOW)
    one, two, three = Card.objects.order_by("iccid")
    assert (one.msisdn, one.imsi, one.reset_day, one.polling_enabled) == ("8613800000000", "460001234567890", 31, False)
    assert (two.msisdn, two.reset_day, two.polling_enabled, two.created_at) == ("", 1, True, NOW)
    assert [str(card.device) for card in (one, two, three)] == ["there already", "D2", "D2"]
    assert Device.objects.count() == 2


def test_a_file_of_thousands_asks_a_few_questions(
    acme: CarrierAccount, django_assert_max_num_queries: DjangoAssertNumQueries
) -> None:
    text = "iccid,account\n" + "".join(f"{iccid(10**9 + number)},Acme\n" for number in range(3000))
    with django_assert_max_num_queries(12):
        carry_out(planned(text), now=NOW)
    with django_assert_max_num_queries(10):
        assert planned(text, update=True).counts == {Fate.SAME: 3000}
    assert Card.objects.count() == 3000


@settings(max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.text(st.sampled_from('iccdaount,;\n\r"0189 Acme\x00ü\ufeff')).map(lambda text: f"iccid,account\n{text}"))
def test_whatever_a_file_holds_it_is_read_or_refused_in_a_sentence(acme: CarrierAccount, text: str) -> None:
    sentence = "read."
    try:
        assert all(line.faults for line in planned(text).of(Fate.BAD))
    except UnusableFile as refusal:
        sentence = str(refusal)
    assert sentence.endswith(".")


# --- the command -------------------------------------------------------------------------------------------------


def test_a_dry_run_writes_nothing(acme: CarrierAccount, file: Any) -> None:
    assert told(file(f"iccid,account\n{ONE},Acme\n"), "--dry-run") == (
        "1 new. This was a dry run: nothing is written.\n",
        0,
    )
    assert not Card.objects.exists()


def test_all_lines_are_written_where_all_are_fine(acme: CarrierAccount, file: Any) -> None:
    assert told(file(f"iccid,account\n{ONE},Acme\n")) == ("1 new. All is written.\n", 0)
    assert Card.objects.get().iccid == ONE


def test_one_bad_line_lets_nothing_be_written_unless_it_may_be_left_out(acme: CarrierAccount, file: Any) -> None:
    path = file(f"iccid,account\n{ONE},Acme\n12,Acme\n")
    said, status = told(path)
    assert status == 3
    assert said.splitlines()[0].startswith("Line 3: The ICCID 12 has 2 digits")
    assert "Nothing is written: mend the bad lines" in said
    assert not Card.objects.exists()
    said, status = told(path, "--skip-bad")
    assert (status, Card.objects.get().iccid) == (3, ONE)
    assert "1 new, 1 bad. The bad lines were left out." in said


def test_programs_are_told_of_each_line(acme: CarrierAccount, file: Any) -> None:
    said, _ = told(file(f"iccid,account\n{ONE},Acme\n{ONE},Acme\n"), "--json")
    report = json.loads(said)
    assert report["written"] is False
    assert report["counts"] == {"new": 1, "changed": 0, "same": 0, "bad": 1}
    assert report["lines"][1] == {"line": 3, "iccid": ONE, "fate": "bad", "faults": ["Line 2 names the same ICCID."]}


def test_a_file_that_is_not_there_is_said_in_a_sentence() -> None:
    with pytest.raises(CommandError, match=r"nowhere\.csv cannot be read: No such file"):
        told("nowhere.csv")


def test_a_card_that_somebody_else_wrote_meanwhile_lets_nothing_be_written(
    acme: CarrierAccount, file: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    from scheduler.polling.management.commands import import_cards

    def first_comes_another(content: bytes, *, update: bool) -> Plan:
        seen = plan(content, update=update)
        Card.objects.create(iccid=TWO, account=acme, created_at=NOW, updated_at=NOW)
        return seen

    monkeypatch.setattr(import_cards, "plan", first_comes_another)
    with pytest.raises(CommandError, match="Somebody else wrote one of the cards meanwhile"):
        told(file(f"iccid,account\n{ONE},Acme\n{TWO},Acme\n"))
    assert [card.iccid for card in Card.objects.all()] == [TWO]
