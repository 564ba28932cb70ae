"""Schedules: the list, the form, and above the form what the schedule did and will do."""

from typing import Any

from django.contrib import admin, messages
from django.contrib.postgres.expressions import ArraySubquery
from django.core.exceptions import PermissionDenied
from django.db.models import OuterRef, QuerySet, Subquery
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.template.response import TemplateResponse
from django.urls import URLPattern, path, reverse
from django.utils.html import format_html
from django.utils.safestring import SafeString
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from project.kit.admin import BulkActionsMixin, VersionLockMixin, seen_at, when
from project.kit.clock import database_now
from project.kit.wall_clocks import zone_names
from scheduler.admin import cells, schedule_page, triggers, why
from scheduler.admin.filters import JobFilter, ScheduleQuestionFilter
from scheduler.admin.job_schemas import job_sheets
from scheduler.admin.schedule_actions import SCHEDULE_ACTIONS
from scheduler.admin.schedule_form import COMMAND, FIELDSETS, ScheduleForm, may_use_command
from scheduler.models import Schedule
from scheduler.operations import NotPossible

STRIP_IN_LIST = 12


@admin.register(Schedule)
class ScheduleAdmin(VersionLockMixin, BulkActionsMixin):
    """The schedules."""

    list_display = ("name", "job", "state", "trigger_words", "next_run", "last_fire", "last_runs")
    list_filter = (ScheduleQuestionFilter, JobFilter, "trigger")
    search_fields = ("name", "description", "job")
    search_help_text = gettext_lazy("name, description or job")
    ordering = ("name",)
    form = ScheduleForm
    fieldsets = FIELDSETS
    change_form_template = "admin/scheduler/schedule/change_form.html"
    object_actions = SCHEDULE_ACTIONS
    refusals = (NotPossible,)

    # --- the list ----------------------------------------------------------------------------------------------

    def for_list(self, rows: QuerySet[Schedule]) -> QuerySet[Schedule]:
        """Return the rows, each with its latest fire and runs; all in the one query of the list."""
        row = OuterRef("pk")
        return rows.annotate(
            last_outcome=Subquery(schedule_page.latest_fire(row, "outcome")),
            last_fire_at=Subquery(schedule_page.latest_fire(row, "fire_at")),
            strip=ArraySubquery(schedule_page.latest_runs(row, STRIP_IN_LIST)),
        )

    @admin.display(description=gettext_lazy("state"))
    def state(self, schedule: Schedule) -> SafeString:
        """Where it stands."""
        return schedule_page.schedule_badge(schedule, seen_at(schedule))

    @admin.display(description=gettext_lazy("when"))
    def trigger_words(self, schedule: Schedule) -> SafeString:
        """Its trigger in words, with the expression on hover."""
        words, zone = triggers.in_words(schedule), schedule.timezone
        return format_html('<span title="{}">{}</span> <span class="quiet">{}</span>', schedule.cron, words, zone)

    @admin.display(description=gettext_lazy("next run"), ordering="next_run_at")
    def next_run(self, schedule: Schedule) -> SafeString:
        """When it fires next."""
        return when(schedule.next_run_at if schedule.enabled else None, seen_at(schedule))

    @admin.display(description=gettext_lazy("last fire"))
    def last_fire(self, schedule: Schedule) -> SafeString:
        """What became of its latest due time."""
        listed = vars(schedule)
        if listed["last_outcome"] is None:
            return SafeString()
        at = when(listed["last_fire_at"], seen_at(schedule))
        return format_html("{} {}", cells.fire_badge(listed["last_outcome"]), at)

    @admin.display(description=gettext_lazy("last runs"))
    def last_runs(self, schedule: Schedule) -> SafeString:
        """Its latest runs, the newest on the right."""
        return cells.strip(vars(schedule)["strip"])

    # --- who may -----------------------------------------------------------------------------------------------

    def has_change_permission(self, request: HttpRequest, obj: Schedule | None = None) -> bool:
        """Say whether the user may edit; shell commands want a permission of their own."""
        allowed = super().has_change_permission(request, obj)
        return allowed and (obj is None or obj.job != COMMAND or may_use_command(request.user))

    def delete_view(
        self, request: HttpRequest, object_id: str, extra_context: dict[str, Any] | None = None
    ) -> HttpResponse:
        """Delete a schedule that never did anything; one with a history is kept."""
        schedule = self.get_object(request, object_id)
        if schedule is not None and (schedule.fires.exists() or schedule.runs.exists()):
            text = _("“%(name)s” has a history, which is kept. Pause it instead.")
            self.message_user(request, text % {"name": schedule.name}, messages.WARNING)
            return HttpResponseRedirect(self._page_url(schedule))
        return super().delete_view(request, object_id, extra_context)

    # --- the form ----------------------------------------------------------------------------------------------

    def get_form(
        self, request: HttpRequest, obj: Any = None, change: bool = False, **kwargs: Any
    ) -> type[ScheduleForm]:
        """Return the form's class, which knows its user."""
        form: type[Any] = super().get_form(request, obj, change, **kwargs)
        form.user = request.user
        return form

    def save_model(self, request: HttpRequest, obj: Schedule, form: ScheduleForm, change: bool) -> None:
        """Save through the domain, which computes the next run and raises the version."""
        form.store(obj, now=database_now())

    def response_post_save_add(self, request: HttpRequest, obj: Schedule) -> HttpResponseRedirect:
        """Show the page of the new schedule, with its next runs."""
        return HttpResponseRedirect(self._page_url(obj))

    def response_post_save_change(self, request: HttpRequest, obj: Schedule) -> HttpResponseRedirect:
        """Show the page of the changed schedule, with its next runs."""
        return HttpResponseRedirect(self._page_url(obj))

    def render_change_form(
        self,
        request: HttpRequest,
        context: dict[str, Any],
        add: bool = False,
        change: bool = False,
        form_url: str = "",
        obj: Schedule | None = None,
    ) -> HttpResponse:
        """Show the form, under what the schedule did and will do."""
        form = context["adminform"].form
        context |= {
            "show_save_and_add_another": False,
            "show_save_and_continue": False,
            "zones": sorted(zone_names()),
            "sheets": job_sheets(key for key, _title in getattr(form.fields.get("job"), "choices", ())),
            "preview_url": reverse("admin:scheduler_schedule_preview"),
        }
        if obj is not None:
            stored = self.get_queryset(request).get(pk=obj.pk)  # `obj` carries what was typed
            context["overview"] = schedule_page.overview(stored, seen_at(stored))
            context["asked"] = why.asked(stored, request.GET.dict(), seen_at(stored))
            context["actions"] = self.offered_actions(request, stored)
            context |= {"original": stored, "title": stored.name, "subtitle": None}
        return super().render_change_form(request, context, add, change, form_url, obj)

    def get_urls(self) -> list[URLPattern]:
        """Return the admin's addresses, with the preview of a trigger that is being typed."""
        view = self.admin_site.admin_view(self.preview_view)
        return [path("preview/", view, name="scheduler_schedule_preview"), *super().get_urls()]

    def preview_view(self, request: HttpRequest) -> HttpResponse:
        """Show the next times of the trigger in the query string, beside those of the schedule that it names.

        Nothing is written.
        """
        if not (self.has_add_permission(request) or self.has_change_permission(request)):
            raise PermissionDenied
        saved = self.get_object(request, request.GET.get("beside", ""))
        context = schedule_page.preview(ScheduleForm(request.GET), saved, database_now())
        return TemplateResponse(request, "admin/scheduler/schedule/preview.html", context)
