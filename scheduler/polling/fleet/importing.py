"""Cards from a CSV file: looked at line by line first, and then written all together, or not at all.

The file is UTF-8 with or without a byte order mark, separated by commas or semicolons; the first line names the
columns, in any order and case.
"""

import csv
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from enum import StrEnum
from io import StringIO
from typing import Any

from django.db import transaction

from project.kit.parts import parts_of
from scheduler.polling import iccid
from scheduler.polling.fleet import lifecycle
from scheduler.polling.models import Card, CarrierAccount, Device

NEEDED = ("iccid", "account")
COLUMNS = (*NEEDED, "msisdn", "imsi", "device", "reset_day", "polling")
WORDS = {"yes": True, "true": True, "on": True, "1": True, "no": False, "false": False, "off": False, "0": False}
LONGEST_DEVICE = 100
CARDS_A_QUESTION = 5000


class UnusableFile(Exception):
    """The file as a whole cannot be read; the message says why and what would be right."""


class Fate(StrEnum):
    """What becomes of a line."""

    NEW = "new"
    CHANGED = "changed"
    SAME = "as it is"
    BAD = "bad"


@dataclass(frozen=True, slots=True)
class Line:
    """One line of the file and what becomes of it.

    Attributes:
        number: in the file, from 1; the line of the column names counts.
        faults: why it is bad, a sentence each.
        values: what it says of the card, by the fields of the row.
        card_id: of the card that it changes.
    """

    number: int
    iccid: str
    fate: Fate
    faults: tuple[str, ...] = ()
    values: Mapping[str, Any] = field(default_factory=dict)
    card_id: int | None = None


@dataclass(frozen=True, slots=True)
class Plan:
    """What becomes of every line; nothing is written yet."""

    lines: Sequence[Line]

    @property
    def counts(self) -> Counter[Fate]:
        """How often each fate occurs."""
        return Counter(line.fate for line in self.lines)

    def of(self, fate: Fate) -> list[Line]:
        """Return the lines of one fate."""
        return [line for line in self.lines if line.fate is fate]

    def as_json(self, *, written: bool) -> dict[str, Any]:
        """Return the report on every line for programs."""
        lines = [
            {"line": line.number, "iccid": line.iccid, "fate": line.fate.value, "faults": list(line.faults)}
            for line in self.lines
        ]
        return {"written": written, "counts": {fate.name.lower(): self.counts[fate] for fate in Fate}, "lines": lines}


def plan(content: bytes, *, update: bool = False) -> Plan:
    """Look at every line of a file.

    Args:
        update: cards that are there already take over what the file says; otherwise their lines are bad.

    Raises:
        UnusableFile: it is not CSV in UTF-8, or a column is missing, unknown or named twice.
    """
    known_accounts = {account.name: account for account in CarrierAccount.objects.all()}
    lines = [_line(number, row, known_accounts) for number, row in _rows(content)]
    return Plan(list(_against_rows(_each_once(lines), update)))


def carry_out(planned: Plan, *, now: datetime) -> None:
    """Write what was planned: the new cards, and what others change. Bad lines are left out.

    Raises:
        IntegrityError: somebody else wrote one of the cards meanwhile. Nothing was written; plan once more.
    """
    new, changed = planned.of(Fate.NEW), planned.of(Fate.CHANGED)
    with transaction.atomic():
        devices = _devices(line.values["device"] for line in (*new, *changed) if "device" in line.values)
        cards = [Card(iccid=line.iccid, **_with_device(line.values, devices)) for line in new]
        lifecycle.add_cards(cards, now=now)
        changes = {line.card_id: _with_device(line.values, devices) for line in changed if line.card_id is not None}
        lifecycle.change(changes, now=now)


# --- the file --------------------------------------------------------------------------------------------------


def _rows(content: bytes) -> Iterator[tuple[int, dict[str, str]]]:
    """Yield the number of each line and its values by column; under no name: that it has too many or too few."""
    text = _decoded(content)
    reader = csv.reader(StringIO(text, newline=""), delimiter=_separator(text), strict=True)
    names: list[str] = []
    number = 1
    try:
        for values in reader:
            if not any(value.strip() for value in values):
                pass  # an empty line
            elif not names:
                names = _columns(values)
            else:
                yield number, _by_column(names, values)
            number = reader.line_num + 1
    except csv.Error as error:
        raise UnusableFile(f"Line {reader.line_num} cannot be read as CSV: {error}.") from None
    if not names:
        raise UnusableFile("The file is empty. Its first line names the columns, such as iccid,account.")


def _decoded(content: bytes) -> str:
    try:
        return content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        number = content.count(b"\n", 0, error.start) + 1
        raise UnusableFile(f"Line {number} is not UTF-8. Save the file as “CSV UTF-8”.") from None


def _separator(text: str) -> str:
    first = text.lstrip().partition("\n")[0]
    return ";" if first.count(";") > first.count(",") else ","


def _columns(values: Sequence[str]) -> list[str]:
    names = [value.strip().casefold().replace(" ", "_") for value in values]
    if unknown := [value for value, name in zip(values, names, strict=True) if name not in COLUMNS]:
        raise UnusableFile(f"The column “{unknown[0]}” is not known. There are: {', '.join(COLUMNS)}.")
    if len(set(names)) < len(names):
        raise UnusableFile("The first line names a column twice.")
    if missing := [name for name in NEEDED if name not in names]:
        raise UnusableFile(f"The column “{missing[0]}” is missing. The first line names the columns.")
    return names


def _by_column(names: Sequence[str], values: Sequence[str]) -> dict[str, str]:
    said = {name: value.strip() for name, value in zip(names, values, strict=False)}
    return said if len(values) == len(names) else said | {"": f"{len(values)} values for {len(names)} columns"}


# --- one line --------------------------------------------------------------------------------------------------


def _line(number: int, row: Mapping[str, str], known_accounts: Mapping[str, CarrierAccount]) -> Line:
    """Read the values of a line, each of them, so that all of its faults are told at once."""
    faults: list[str] = [f"There are {row['']}."] if "" in row else []
    values: dict[str, Any] = {}
    for name, read in _READERS.items():
        if row.get(name) or name in NEEDED:
            try:
                values[name] = read(row.get(name, ""))
            except ValueError as error:
                faults.append(str(error))
    account = known_accounts.get(values["account"])
    if account is None:
        faults.append(f"There is no account “{values['account']}”." if values["account"] else "The account is missing.")
    card = values.pop("iccid", row.get("iccid", ""))
    if "polling" in values:
        values["polling_enabled"] = values.pop("polling")
    return Line(number, card, Fate.BAD if faults else Fate.NEW, tuple(faults), values | {"account": account})


def _msisdn(text: str) -> str:
    digits = text.removeprefix("+").replace(" ", "").replace("-", "")
    if not (digits.isascii() and digits.isdigit() and 5 <= len(digits) <= 20):
        raise ValueError(f"The MSISDN “{text}” is no number of 5 to 20 digits.")
    return digits


def _imsi(text: str) -> str:
    if not (text.isascii() and text.isdigit() and 6 <= len(text) <= 15):
        raise ValueError(f"The IMSI “{text}” is no number of 6 to 15 digits.")
    return text


def _device(text: str) -> str:
    if len(text) > LONGEST_DEVICE or not text.isprintable():
        raise ValueError(f"The device's code has to be at most {LONGEST_DEVICE} characters that can be printed.")
    return text


def _reset_day(text: str) -> int:
    if not (text.isascii() and text.isdigit() and len(text) <= 2 and 1 <= int(text) <= 31):
        raise ValueError(f"The reset day “{text}” is in no month. Write 1 to 31; 31 is the last day of every month.")
    return int(text)


def _polling(text: str) -> bool:
    try:
        return WORDS[text.casefold()]
    except KeyError:
        raise ValueError(f"polling is “{text}”: write yes or no.") from None


_READERS: dict[str, Callable[[str], Any]] = {
    "iccid": iccid.checked,
    "account": str,
    "msisdn": _msisdn,
    "imsi": _imsi,
    "device": _device,
    "reset_day": _reset_day,
    "polling": _polling,
}


# --- all lines -------------------------------------------------------------------------------------------------


def _each_once(lines: Iterable[Line]) -> Iterator[Line]:
    """Yield the lines; a card that another line before has named is bad."""
    first: dict[str, int] = {}
    for line in lines:
        number = first.setdefault(line.iccid, line.number)
        if number == line.number or not line.iccid:
            yield line
        else:
            yield _as_bad(line, f"Line {number} names the same ICCID.")


def _against_rows(lines: Iterable[Line], update: bool) -> Iterator[Line]:
    """Yield the lines as they stand beside the cards that are there already."""
    every = list(lines)
    there = _cards_there([line.iccid for line in every if line.fate is not Fate.BAD])
    for line in every:
        card = None if line.fate is Fate.BAD else there.get(line.iccid)
        yield line if card is None else _beside(line, card, update)


def _cards_there(numbers: Sequence[str]) -> dict[str, Card]:
    cards: dict[str, Card] = {}
    for some in parts_of(numbers, CARDS_A_QUESTION):
        cards |= {card.iccid: card for card in Card.objects.select_related("device").filter(iccid__in=some)}
    return cards


def _beside(line: Line, card: Card, update: bool) -> Line:
    if not update:
        return _as_bad(line, "The card is there already. Import with --update to change it.")
    there = {"account": card.account_id, "device": card.device.code if card.device else None}
    said = {**line.values, "account": line.values["account"].pk}
    differs = any(value != (there[name] if name in there else getattr(card, name)) for name, value in said.items())
    return replace(line, fate=Fate.CHANGED if differs else Fate.SAME, card_id=card.pk)


def _as_bad(line: Line, fault: str) -> Line:
    return replace(line, fate=Fate.BAD, faults=(*line.faults, fault))


def _devices(codes: Iterable[str]) -> dict[str, Device]:
    """Return the devices, those that were not there included."""
    wanted = sorted(set(codes))
    Device.objects.bulk_create([Device(code=code) for code in wanted], ignore_conflicts=True)
    return {device.code: device for device in Device.objects.filter(code__in=wanted)}


def _with_device(values: Mapping[str, Any], devices: Mapping[str, Device]) -> dict[str, Any]:
    return {**values, "device": devices[values["device"]]} if "device" in values else dict(values)
