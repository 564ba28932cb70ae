"""What is named on the command line, found."""

import re
from collections.abc import Sequence

from django.core.management.base import CommandError

from scheduler.polling.models import Card, CarrierAccount


def find_accounts(names: Sequence[str]) -> list[CarrierAccount]:
    """Return the accounts of these names, in their order; without any, all that are active.

    Raises:
        CommandError: there is none of a name.
    """
    accounts = CarrierAccount.objects.select_related("params")
    if not names:
        return list(accounts.filter(active=True).order_by("pk"))
    found = {account.name: account for account in accounts.filter(name__in=names)}
    if missing := [name for name in names if name not in found]:
        raise CommandError(f"There is no account “{missing[0]}”.")
    return [found[name] for name in dict.fromkeys(names)]


def find_card(text: str) -> Card:
    """Return the card of this ICCID, or of this number if it is written as `#12`.

    Raises:
        CommandError: there is none.
    """
    named: dict[str, int | str] = {"pk": int(text[1:])} if re.fullmatch(r"#\d{1,18}", text) else {"iccid": text}
    card = Card.objects.filter(**named).first()
    if card is None:
        raise CommandError(f"There is no card “{text}”.")
    return card
