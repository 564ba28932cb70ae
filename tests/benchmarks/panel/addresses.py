"""Every address of the control panel and of the API at which rows are read, found by looking at what is registered."""

from collections.abc import Iterator
from contextlib import suppress
from typing import Any
from urllib.parse import urlencode

from django.contrib import admin
from django.contrib.admin import ModelAdmin
from django.contrib.admin.templatetags.admin_list import result_headers
from django.contrib.admin.views.main import ChangeList
from django.db.models import Model
from django.test import Client
from django.urls import NoReverseMatch, reverse
from django_filters import ChoiceFilter, FilterSet

from project.kit.admin import DayFilter, NamedRowFilter
from project.kit.admin.pages import LAST_PAGE
from project.kit.api.filtering import LabelFilter

HOME = "admin:index"
# So many choices of one filter are asked: some list each row of a table.
CHOICES = 30


def lists(client: Client) -> Iterator[str]:
    """Yield the addresses of every list: as it is, further pages, each choice of each filter, each order, a search."""
    for model, model_admin in admin.site._registry.items():
        plain = _address(model, "changelist")
        context = client.get(plain).context
        if context is None:  # it leads to another list
            continue
        if "cl" not in context:  # a list of our own, which is neither filtered nor ordered
            yield plain
            continue
        changelist: ChangeList = context["cl"]
        queries = [
            "",
            "?p=2",
            f"?p={LAST_PAGE}",
            *_choices(changelist),
            *_named(changelist, model),
            *_orders(changelist),
            *_searches(model_admin, model),
        ]
        yield from (plain + query for query in dict.fromkeys(queries))


def pages() -> Iterator[str]:
    """Yield the addresses of the first, a middle and the last row of every table: page, form and history."""
    for model in admin.site._registry:
        for key in _some_keys(model):
            yield _address(model, "change", key)
            with suppress(NoReverseMatch):
                yield _address(model, "edit", key)
        yield from (_address(model, "history", key) for key in _some_keys(model)[:1])


def resources(client: Client) -> Iterator[str]:
    """Yield the addresses of every list of the API: as it is, the next page, each filter and order; and a row each."""
    from project.api import RESOURCES

    for name, resource in RESOURCES.items():
        try:
            plain = reverse(f"{name}-list")
        except NoReverseMatch:
            continue
        yield plain
        answer = client.get(plain).json()
        rows = answer.get("results", [])
        if answer.get("next"):
            yield answer["next"].partition("testserver")[2]
        yield from (f"{plain}?ordering={way}{field}" for field in resource.ordering_fields for way in ("", "-"))
        yield from (f"{plain}?{query}" for query in _filters(resource.filterset_class, rows))
        yield from (reverse(f"{name}-detail", args=[row["id"]]) for row in rows[:1] if "id" in row)


def _address(model: type[Model], page: str, *arguments: Any) -> str:
    meta = model._meta
    return reverse(f"admin:{meta.app_label}_{meta.model_name}_{page}", args=arguments)


def _some_keys(model: type[Model]) -> list[Any]:
    keys = model._default_manager.order_by("pk").values_list("pk", flat=True)
    first, last = keys.first(), keys.last()
    middle = keys.filter(pk__gte=last // 2).first() if isinstance(last, int) else None
    return list(dict.fromkeys(key for key in (first, middle, last) if key))


# --- what a list offers ------------------------------------------------------------------------------------------


def _choices(changelist: ChangeList) -> Iterator[str]:
    for spec in changelist.filter_specs:
        if not isinstance(spec, DayFilter):
            yield from (str(choice["query_string"]) for choice in list(spec.choices(changelist))[:CHOICES])


def _named(changelist: ChangeList, model: type[Model]) -> Iterator[str]:
    """Yield what is asked by a link from elsewhere: the rows of one other row, or of a day."""
    for chosen in changelist.list_filter:
        if isinstance(chosen, type) and issubclass(chosen, NamedRowFilter):
            yield from (f"?{chosen.parameter_name}={key}" for key in _some_keys(chosen.model))
        if isinstance(chosen, type) and issubclass(chosen, DayFilter):
            latest = model._default_manager.order_by("-pk").values_list(chosen.parameter_name, flat=True)[0]
            yield f"?{chosen.parameter_name}={latest}"


def _orders(changelist: ChangeList) -> Iterator[str]:
    for header in result_headers(changelist):
        if header["sortable"]:
            yield str(header["url_primary"])
    if changelist.sortable_by is None or changelist.sortable_by:
        columns = [number for number, header in enumerate(result_headers(changelist)) if header["sortable"]]
        yield from (f"?o=-{number}" for number in columns)


def _searches(model_admin: "ModelAdmin[Any]", model: type[Model]) -> Iterator[str]:
    """Yield a search for what a middle row says in each searched field, for what many say, and for what none says."""
    row = model._default_manager.filter(pk__in=_some_keys(model)[-2:]).order_by("pk").first()
    for name in model_admin.search_fields:
        value = row
        for part in name.lstrip("=^").removesuffix("__startswith").removesuffix("__istartswith").split("__"):
            value = getattr(value, part, None)
        if value:
            yield "?" + urlencode({"q": str(value)[:50]})
    if model_admin.search_fields:
        yield from ("?q=1", "?q=nothing+is+called+so")


def _filters(filters: type[FilterSet] | None, rows: list[dict[str, Any]]) -> Iterator[str]:
    for name, each in filters.base_filters.items() if filters else ():
        if isinstance(each, ChoiceFilter):
            yield from (urlencode({name: value}) for value, _label in list(each.extra["choices"])[:CHOICES])
        elif isinstance(each, LabelFilter):
            yield urlencode({name: "name:schedule 1"})
        elif rows and isinstance(rows[0].get(name), str | int | bool):
            yield urlencode({name: str(rows[0][name]).lower() if rows[0][name] in (True, False) else rows[0][name]})
