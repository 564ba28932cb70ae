"""Approvals: what runs asked, and what was answered. A row leads to its run, where it is answered."""

from django.contrib import admin
from django.db.models import QuerySet
from django.http import HttpRequest
from django.utils.safestring import SafeString
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from project.kit.admin import HistoryAdmin, badge, seen_at, short, when
from scheduler.admin import cells
from scheduler.admin.filters import ApprovalQuestionFilter
from scheduler.models import Approval
from scheduler.states import RunState

ANSWER_COLOURS = {Approval.Answer.APPROVED: "green", Approval.Answer.REJECTED: "red"}


@admin.register(Approval)
class ApprovalAdmin(HistoryAdmin):
    """The questions."""

    list_display = ("asked", "run_number", "asks", "answer_badge", "answered", "answered_by", "because")
    list_display_links = None
    list_filter = (ApprovalQuestionFilter, "answer")
    search_fields = ("run__id",)
    search_help_text = gettext_lazy("number of a run")
    ordering = ("-id",)

    def for_list(self, rows: QuerySet[Approval]) -> QuerySet[Approval]:
        """Return the rows with their run's name and state."""
        own = [column.name for column in Approval._meta.concrete_fields]
        return rows.select_related("run").only(*own, "run__id", "run__name", "run__state")

    def get_search_results(
        self, request: HttpRequest, queryset: QuerySet[Approval], search_term: str
    ) -> tuple[QuerySet[Approval], bool]:
        """Find the questions of a run by its number."""
        number = search_term.strip().removeprefix("#")
        if not number:
            return queryset, False
        return (queryset.filter(run=int(number)) if number.isdecimal() else queryset.none()), False

    @admin.display(description=gettext_lazy("asked"))
    def asked(self, approval: Approval) -> SafeString:
        """When it was asked."""
        return when(approval.asked_at, seen_at(approval))

    @admin.display(description=gettext_lazy("run"))
    def run_number(self, approval: Approval) -> SafeString:
        """Whose question it is."""
        return cells.run_link(approval.run_id, f"#{approval.run_id} {approval.run.name}")

    @admin.display(description=gettext_lazy("question"))
    def asks(self, approval: Approval) -> SafeString:
        """What it asks."""
        return short(approval.question, 110)

    @admin.display(description=gettext_lazy("answer"))
    def answer_badge(self, approval: Approval) -> SafeString:
        """What was answered, or that somebody is to answer."""
        if approval.answer:
            known = Approval.Answer(approval.answer)
            return badge(known.label, ANSWER_COLOURS[known])
        waiting = approval.run.state == RunState.AWAITING_APPROVAL
        return badge(_("waits"), "amber") if waiting else badge(_("never answered"), "grey")

    @admin.display(description=gettext_lazy("answered"))
    def answered(self, approval: Approval) -> SafeString:
        """When it was answered."""
        return when(approval.answered_at, seen_at(approval))

    @admin.display(description=gettext_lazy("why"))
    def because(self, approval: Approval) -> SafeString:
        """Why it was answered so."""
        return short(approval.why, 70)
