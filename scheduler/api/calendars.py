"""Calendars and their excluded dates. They have no version of their own, so theirs is told by what they say."""

from datetime import UTC
from typing import Any

import django_filters
from django.contrib.admin.models import ADDITION, CHANGE, DELETION
from django.db import transaction
from django.db.models import OuterRef, ProtectedError, QuerySet, Subquery
from django.db.models.functions import Now, TruncDate
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy
from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.decorators import action
from rest_framework.request import Request
from rest_framework.response import Response

from project.kit.api.idempotency import answered_once
from project.kit.api.permissions import demand
from project.kit.api.problems import Conflict
from project.kit.api.resources import permission_to
from project.kit.api.unversioned import Editing, SaidSerializer
from project.kit.clock import database_now
from project.kit.overtaking import looking_again
from scheduler.api import calendar_import
from scheduler.importing import calendars
from scheduler.models import Calendar, CalendarDay

NO_CALENDAR: dict[str, Any] = {
    "does_not_exist": gettext_lazy("There is no calendar “{value}”."),
    "invalid": gettext_lazy("Write the name of a calendar."),
}


class CalendarSerializer(SaidSerializer):
    """Dates on which schedules do not fire, under a name."""

    next_date = serializers.DateField(
        read_only=True, allow_null=True, help_text="The next date that it excludes. Null: none is to come."
    )

    class Meta:
        model = Calendar
        fields = ("id", "name", "description", "next_date", "version")


class CalendarDaySerializer(SaidSerializer):
    """An excluded date."""

    calendar = serializers.SlugRelatedField(
        slug_field="name",
        queryset=Calendar.objects.all(),
        error_messages=NO_CALENDAR,
    )

    class Meta:
        model = CalendarDay
        fields = ("id", "calendar", "date", "title", "version")
        validators = ()  # the row itself says it better


class Removing(Editing):
    """Rows that people add, change and delete."""

    @extend_schema(responses={204: None})
    @looking_again()
    def destroy(self, request: Request, pk: int) -> Response:
        """Delete a row that nothing needs."""
        row = self.get_object()
        with transaction.atomic():
            self.audit(row, DELETION, _("Deleted through the API."))
            try:
                row.delete()
            except ProtectedError as error:
                raise Conflict(_("Schedules use “%(name)s”. Take it out of them first.") % {"name": row}) from error
        return Response(status=204)


class CalendarFilters(django_filters.FilterSet):
    """By its name."""

    name = django_filters.CharFilter()


class Calendars(Removing):
    """Dates on which schedules do not fire, under names."""

    queryset = Calendar.objects.all()
    serializer_class = CalendarSerializer
    filterset_class = CalendarFilters
    ordering = "name"
    ordering_fields = ("name", "id")

    def get_queryset(self) -> QuerySet[Calendar]:
        """Return the calendars, each with its next date."""
        today = TruncDate(Now(), tzinfo=UTC)
        coming = CalendarDay.objects.filter(calendar=OuterRef("pk"), date__gte=today).order_by("date")
        rows: QuerySet[Calendar] = super().get_queryset()
        return rows.annotate(next_date=Subquery(coming.values("date")[:1]))

    @extend_schema(
        request=calendar_import.CalendarImportSerializer,
        responses=calendar_import.CalendarReportSerializer,
        filters=False,
    )
    @action(
        detail=False,
        methods=["post"],
        url_path="import",
        permission="scheduler.add_calendarday",
        pagination_class=None,
    )
    @answered_once()
    def import_days(self, request: Request) -> Response:
        """Add the whole days of an .ics file, or the public holidays of a country. A new calendar needs
        `scheduler.add_calendar`, too.
        """
        said = calendar_import.read(request.data)
        planned = calendar_import.planned(said, database_now())
        if not said["dry_run"]:
            self._write(request, planned)
        return Response(calendar_import.report(planned, written=not said["dry_run"]))

    def _write(self, request: Request, planned: calendars.Plan) -> None:
        is_new = not Calendar.objects.filter(name=planned.calendar).exists()
        if is_new:
            demand(request, (permission_to("add", Calendar),))
        with transaction.atomic():
            calendars.carry_out(planned)
            words = _("%(count)s dates imported through the API, from %(source)s.")
            calendar = Calendar.objects.get(name=planned.calendar)
            flag = ADDITION if is_new else CHANGE
            self.audit(calendar, flag, words % {"count": len(planned.new), "source": planned.source.name})


class CalendarDayFilters(django_filters.FilterSet):
    """By the calendar, and the date."""

    calendar = django_filters.CharFilter(field_name="calendar__name")
    since = django_filters.DateFilter(field_name="date", lookup_expr="gte")
    before = django_filters.DateFilter(field_name="date", lookup_expr="lt")


class CalendarDays(Removing):
    """Dates on which schedules do not fire."""

    queryset = CalendarDay.objects.select_related("calendar")
    serializer_class = CalendarDaySerializer
    filterset_class = CalendarDayFilters
