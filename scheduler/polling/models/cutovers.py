"""The rows of how the polling went from one way of deciding to the other."""

from django.db import models
from django.db.models import Q
from django.utils.translation import gettext_lazy as _

from scheduler.polling.states import CutoverPhase


class Cutover(models.Model):
    """One change of polling.scheduler.mode, with what was counted at each step. At most one is under way."""

    wanted = models.CharField(_("to"), max_length=10)  # a system_settings.Mode
    phase = models.CharField(_("phase"), max_length=12, choices=CutoverPhase, default=CutoverPhase.STOPPING)
    actor = models.CharField(_("started by"), max_length=200)
    started_at = models.DateTimeField(_("started"))
    phase_since = models.DateTimeField(_("in this phase since"))
    ended_at = models.DateTimeField(_("ended"), null=True, blank=True)
    progress = models.JSONField(_("progress"), default=dict, blank=True)
    note = models.TextField(_("note"), blank=True)  # what keeps it from going on; empty: nothing
    version = models.PositiveIntegerField(default=1, editable=False)

    class Meta:
        verbose_name = _("cut-over")
        verbose_name_plural = _("cut-overs")
        ordering = ("-id",)
        permissions = (("cut_over", _("Can change how polling decides")),)
        constraints = (
            models.UniqueConstraint(models.Value(1), name="cutover_one_at_a_time", condition=Q(ended_at__isnull=True)),
            models.CheckConstraint(
                name="cutover_ends",
                condition=Q(phase="done", ended_at__isnull=False) | (~Q(phase="done") & Q(ended_at__isnull=True)),
            ),
        )

    def __str__(self) -> str:
        return f"→ {self.wanted}"
