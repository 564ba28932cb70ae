"""Numbers of SIM cards: 18 to 20 digits that begin with 89, of which the last one checks the others (ITU-T E.118)."""

from django.utils.translation import gettext as _

from project.kit.sentences import together

SHORTEST, LONGEST = 18, 20
TELECOM = "89"
# What people and spreadsheets put between the digits.
_SEPARATORS = str.maketrans("", "", " -\t\u00a0")


class BadICCID(ValueError):
    """A number that is no card's; its text is a sentence for a person."""


def checked(text: str) -> str:
    """Return the number without the separators that people write.

    Raises:
        BadICCID: it is no card's number.
    """
    number = text.translate(_SEPARATORS).upper()
    if not number:
        raise BadICCID(_("The ICCID is missing."))
    if number.endswith("F") and len(number) == LONGEST:
        number = number[:-1]  # how 19 digits are stored in ten bytes
    if not (number.isascii() and number.isdigit()):
        sentence = _("The ICCID “%(text)s” is no number: write its %(shortest)s to %(longest)s digits.")
        sentence %= {"text": text, "shortest": SHORTEST, "longest": LONGEST}
        raise BadICCID(together(sentence, _rounded(text)))
    if not SHORTEST <= len(number) <= LONGEST:
        raise BadICCID(
            _("The ICCID %(number)s has %(count)s digits; there are %(shortest)s to %(longest)s.")
            % {"number": number, "count": len(number), "shortest": SHORTEST, "longest": LONGEST}
        )
    if not number.startswith(TELECOM):
        raise BadICCID(
            _("The ICCID %(number)s does not begin with %(telecom)s, as those of SIM cards do.")
            % {"number": number, "telecom": TELECOM}
        )
    if check_digit(number[:-1]) != number[-1]:
        raise BadICCID(
            _("The last digit of the ICCID %(number)s does not check the others: one of them is mistyped.")
            % {"number": number}
        )
    return number


def check_digit(digits: str) -> str:
    """Return the digit that checks the others, by Luhn's rule."""
    total = 0
    for position, digit in enumerate(reversed(digits)):
        value = int(digit) * (1 if position % 2 else 2)
        total += value - 9 if value > 9 else value
    return str(-total % 10)


def _rounded(text: str) -> str:
    if "E+" not in text.upper():
        return ""
    return _("A spreadsheet has rounded it: format the column as text, and export it once more.")
