"""Amounts are whole numbers: a unit too small to be split, or a currency's millionths."""

from django.utils.translation import gettext as _

from quotas.refusals import BadAmount

# A thousand million of a currency's units in millionths; sums of thousands of them fit into the database's bigint.
LARGEST = 10**15


def check_amount(amount: object) -> None:
    """Refuse what is no whole number from 1 on.

    Raises:
        BadAmount: with a sentence.
    """
    if not isinstance(amount, int) or isinstance(amount, bool):
        raise BadAmount(
            _("An amount is a whole number, not %(amount)s; count in a smaller unit instead of fractions.")
            % {"amount": repr(amount)}
        )
    if amount <= 0:
        raise BadAmount(
            _("An amount is at least 1, not %(amount)s; what was charged is given back by a refund.")
            % {"amount": amount}
        )
    if amount > LARGEST:
        raise BadAmount(_("An amount is at most %(largest)s.") % {"largest": f"{LARGEST:,}"})


def check_limit(limit: object) -> None:
    """Refuse what is neither a whole number from 0 on nor None, unlimited.

    Raises:
        BadAmount: with a sentence.
    """
    if limit is None:
        return
    if not isinstance(limit, int) or isinstance(limit, bool) or not 0 <= limit <= LARGEST:
        raise BadAmount(
            _("A limit is a whole number from 0 to %(largest)s, or empty for unlimited, not %(limit)s.")
            % {"largest": f"{LARGEST:,}", "limit": repr(limit)}
        )
