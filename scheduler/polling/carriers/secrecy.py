"""What an account must not betray: its credentials and tokens, in whatever form they may come back in an answer."""

import base64
from collections import deque
from collections.abc import Iterable
from urllib.parse import quote, quote_plus

from alerts.channels.text import one_line, shortened
from alerts.masking import masked
from project.kit.secrets import DOTS

# Shorter ones would make dots of half of every text.
SHORTEST = 4
# What is said of an answer is no copy of it.
LONGEST_QUOTE = 200
# An answer may still quote a token that was renewed meanwhile.
TOKENS_REMEMBERED = 4


class Secrets:
    """The secrets of one account, and texts without them."""

    def __init__(self, credentials: Iterable[str] = ()) -> None:
        self._credentials = {form for text in credentials for form in _forms(text)}
        self._tokens: deque[set[str]] = deque(maxlen=TOKENS_REMEMBERED)

    def add_token(self, text: str) -> None:
        """Keep a token secret as well; of those the last few are remembered."""
        self._tokens.append(_forms(text))

    def quoted(self, text: str) -> str:
        """Return what somebody else wrote so that it can be shown and stored: one line, short, without secrets."""
        line = one_line(text)
        for form in sorted(self._credentials.union(*self._tokens), key=len, reverse=True):
            line = line.replace(form, DOTS)
        return shortened(masked(line), LONGEST_QUOTE)


def _forms(text: str) -> set[str]:
    """Return the text as it may stand somewhere: as it is, or encoded."""
    if len(text) < SHORTEST:
        return set()
    return {text, quote(text, safe=""), quote_plus(text), base64.b64encode(text.encode()).decode()}
