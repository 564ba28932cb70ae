"""What stands in lists and on pages: a row as a link, the beginning of a long text, and JSON as a person reads it."""

import json
from typing import Any

from django.core.serializers.json import DjangoJSONEncoder
from django.db.models import Model
from django.urls import reverse
from django.utils.html import format_html
from django.utils.safestring import SafeString


def row_link(row: Model, text: str = "") -> SafeString:
    """Return a link to the page of a row, under its own name unless another text is given."""
    address = reverse(f"admin:{row._meta.app_label}_{row._meta.model_name}_change", args=[row.pk])
    return format_html('<a href="{}">{}</a>', address, text or str(row))


def short(text: str, limit: int = 90) -> SafeString:
    """Return the beginning of a text, with all of it on hover."""
    if len(text) <= limit:
        return format_html("{}", text)
    return format_html('<span title="{}">{}…</span>', text, text[:limit].rsplit(" ", 1)[0])


def pretty_json(value: Any) -> str:
    """Return JSON as a person reads it."""
    return json.dumps(value, indent=2, ensure_ascii=False, cls=DjangoJSONEncoder)
