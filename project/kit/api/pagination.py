"""Pages by cursor: a page costs the same wherever it lies, and nothing is counted."""

from typing import Any

from django.core.exceptions import ValidationError
from django.db import DataError
from django.utils.translation import gettext_lazy as _
from rest_framework.exceptions import NotFound
from rest_framework.pagination import CursorPagination
from rest_framework.request import Request


class Pages(CursorPagination):
    """`?cursor=` leads on, `?page_size=` says how far; each page names the next and the previous one."""

    page_size = 50
    max_page_size = 200
    page_size_query_param = "page_size"
    invalid_cursor_message = _(  # type: ignore[assignment]
        "This cursor leads nowhere. Take it as it stands in “next” or “previous”."
    )

    def paginate_queryset(self, queryset: Any, request: Request, view: Any = None) -> list[Any] | None:
        """Return the rows of the page.

        Raises:
            NotFound: the cursor is none of ours.
        """
        try:
            return super().paginate_queryset(queryset, request, view)
        except (ValueError, ValidationError, DataError):  # its position is no value of the column
            raise NotFound(self.invalid_cursor_message) from None
