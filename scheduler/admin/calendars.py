"""Calendars: the dates on which schedules do not fire."""

from datetime import date, timedelta
from typing import Any

from django.contrib import admin
from django.db.models import Field, OuterRef, QuerySet, Subquery, TextField
from django.forms import Field as FormField
from django.forms import ModelForm, Textarea
from django.forms.formsets import DELETION_FIELD_NAME
from django.forms.models import BaseInlineFormSet
from django.http import HttpRequest
from django.utils.html import format_html, format_html_join
from django.utils.safestring import SafeString
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from project.kit.admin import VersionLockMixin, row_link
from project.kit.clock import database_now
from scheduler.models import Calendar, CalendarDay

# The form shows some dates that have just passed, and the next; each takes 4 ms to draw. The list has them all.
DAYS_SHOWN = 50
PAST_DAYS = timedelta(days=31)
SCHEDULES_SHOWN = 50


class CalendarDayFormSet(BaseInlineFormSet):  # type: ignore[type-arg]
    """The dates that are typed beside a calendar."""

    def add_fields(self, form: "ModelForm[CalendarDay]", index: int | None) -> None:
        """Add the box that deletes a date under its name, which stands above its column only."""
        super().add_fields(form, index)
        if DELETION_FIELD_NAME in form.fields:
            box = form.fields[DELETION_FIELD_NAME]
            box.widget.attrs["aria-label"] = box.label

    def clean(self) -> None:
        """Refuse a date that the calendar has already, also where the form does not show it."""
        super().clean()
        typed = {form.cleaned_data["date"]: form for form in self.forms if form.cleaned_data.get("date")}
        if self.instance.pk is None or not typed:
            return
        own = [form.instance.pk for form in self.forms if form.instance.pk]
        there = CalendarDay.objects.filter(calendar=self.instance, date__in=typed).exclude(pk__in=own)
        for day in there.values_list("date", flat=True):
            typed[day].add_error("date", _("%(day)s is in the calendar already.") % {"day": day})


class CalendarDays(admin.TabularInline):  # type: ignore[type-arg]
    """The dates of a calendar."""

    model = CalendarDay
    formset = CalendarDayFormSet
    extra = 3
    max_num = DAYS_SHOWN + 50
    fields = ("date", "title")
    verbose_name_plural = gettext_lazy("excluded dates: those to come, and of the last month")

    def formfield_for_dbfield(
        self, db_field: "Field[Any, Any]", request: HttpRequest, **kwargs: Any
    ) -> FormField | None:
        """Return the field, whose name stands above its column only, under that name for those who do not see it."""
        field: FormField | None = super().formfield_for_dbfield(db_field, request, **kwargs)
        if field is not None:
            field.widget.attrs["aria-label"] = field.label
        return field

    def get_queryset(self, request: HttpRequest) -> QuerySet[CalendarDay]:
        """Return the dates that the form shows."""
        rows: QuerySet[CalendarDay] = super().get_queryset(request)
        match = request.resolver_match
        calendar = match.kwargs.get("object_id") if match else None
        if calendar is None:
            return rows.none()
        shown = rows.filter(calendar=calendar, date__gte=_first_shown()).order_by("date")
        return rows.filter(pk__in=list(shown.values_list("pk", flat=True)[:DAYS_SHOWN])).order_by("date")


@admin.register(Calendar)
class CalendarAdmin(VersionLockMixin):
    """The calendars."""

    list_display = ("name", "description", "next_date")
    search_fields = ("name", "description")
    search_help_text = gettext_lazy("name or description")
    ordering = ("name",)
    fields = ("name", "description", "used_by")
    formfield_overrides = {TextField: {"widget": Textarea(attrs={"rows": 2})}}
    readonly_fields = ("used_by",)
    inlines = (CalendarDays,)

    def for_list(self, rows: QuerySet[Calendar]) -> QuerySet[Calendar]:
        """Return the rows, each with its next date."""
        coming = CalendarDay.objects.filter(calendar=OuterRef("pk"), date__gte=database_now().date()).order_by("date")
        return rows.annotate(next_date=Subquery(coming.values("date")[:1]))

    @admin.display(description=gettext_lazy("next excluded date"))
    def next_date(self, calendar: Calendar) -> str:
        """The next date that it excludes."""
        coming: date | None = vars(calendar)["next_date"]
        return coming.isoformat() if coming else _("none to come")

    @admin.display(description=gettext_lazy("used by"))
    def used_by(self, calendar: Calendar) -> SafeString:
        """The schedules that heed it."""
        if calendar.pk is None:
            return SafeString()
        schedules = list(calendar.schedules.order_by("name").only("id", "name", "calendar")[: SCHEDULES_SHOWN + 1])
        links = format_html_join(", ", "{}", ((row_link(row),) for row in schedules[:SCHEDULES_SHOWN]))
        more = _(" and others") if len(schedules) > SCHEDULES_SHOWN else ""
        return format_html("{}{}", links or _("no schedule"), more)


@admin.register(CalendarDay)
class CalendarDayAdmin(VersionLockMixin):
    """All dates of all calendars, also those long past."""

    list_display = ("date", "title", "calendar")
    list_filter = ("calendar",)
    search_fields = ("title",)
    ordering = ("-date", "-id")
    date_hierarchy = None

    def for_list(self, rows: QuerySet[CalendarDay]) -> QuerySet[CalendarDay]:
        """Return the rows with their calendar."""
        return rows.select_related("calendar")


def _first_shown() -> date:
    return database_now().date() - PAST_DAYS
