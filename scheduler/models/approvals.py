"""The row of a question that a run asks."""

from django.db import models
from django.db.models import Q
from django.utils.translation import gettext_lazy as _

from scheduler.models.runs import TaskRun


class Approval(models.Model):
    """One question of a run at one of its approval points, and the answer: who, when and why."""

    class Answer(models.TextChoices):
        """What a person said."""

        APPROVED = "approved", _("approved")
        REJECTED = "rejected", _("rejected")

    run = models.ForeignKey(TaskRun, models.CASCADE, related_name="approvals", db_index=False, verbose_name=_("run"))
    # The approval points of a run are numbered from 1 in the order in which its job meets them.
    segment = models.PositiveIntegerField(_("segment"))
    question = models.TextField(_("question"))
    asked_at = models.DateTimeField(_("asked"))
    answer = models.CharField(_("answer"), max_length=10, choices=Answer, blank=True)
    answered_at = models.DateTimeField(_("answered"), null=True, blank=True)
    answered_by = models.CharField(_("by"), max_length=200, blank=True)
    why = models.TextField(_("why"), blank=True)

    class Meta:
        verbose_name = _("approval")
        verbose_name_plural = _("approvals")
        ordering = ("-id",)
        constraints = (
            models.UniqueConstraint(name="approval_once_a_segment", fields=["run", "segment"]),
            models.CheckConstraint(
                name="approval_answered_says_by_whom",
                condition=Q(answer="", answered_at__isnull=True)
                | (~Q(answer="") & Q(answered_at__isnull=False) & ~Q(answered_by="")),
            ),
        )

    def __str__(self) -> str:
        return f"#{self.run_id} segment {self.segment}"
