"""A state as a small coloured word; the colour never says more than the text."""

from django.utils.functional import Promise
from django.utils.html import format_html
from django.utils.safestring import SafeString


def badge(text: str | Promise, colour: str, title: str = "") -> SafeString:
    """Return the text as a badge.

    Args:
        colour: a name that the style sheet has: grey, green, blue, violet, amber or red.
        title: what is said on hover.
    """
    if title:
        return format_html('<span class="badge {}" title="{}">{}</span>', colour, title, text)
    return format_html('<span class="badge {}">{}</span>', colour, text)
