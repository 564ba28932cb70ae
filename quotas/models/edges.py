"""The rows of what happened to a quota: its edges, its provider's reports, and whose turn it was."""

from django.db import models
from django.db.models import Q
from django.utils.translation import gettext_lazy as _

from quotas.models.quotas import Quota
from quotas.states import Cause


class Edge(models.Model):
    """The moment at which a quota went from insufficient to sufficient: an outbox of what may be resumed."""

    quota = models.ForeignKey(Quota, models.CASCADE, db_index=False, related_name="edges", verbose_name=_("quota"))
    cause = models.CharField(_("cause"), max_length=20, choices=Cause)
    available = models.BigIntegerField(_("available"), null=True, blank=True)  # null: unlimited
    at = models.DateTimeField(_("at"))
    handled_at = models.DateTimeField(_("handled"), null=True, blank=True)
    resumed_count = models.PositiveIntegerField(_("resumed runs"), default=0)

    class Meta:
        verbose_name = _("edge")
        verbose_name_plural = _("edges")
        ordering = ("-id",)
        indexes = (
            models.Index(fields=["id"], name="edge_awaits_handling", condition=Q(handled_at__isnull=True)),
            # the quota's page; how many came in the last hour
            models.Index("quota", models.F("at").desc(), name="edge_latest_of_quota"),
        )

    def __str__(self) -> str:
        return f"{self.get_cause_display()} {self.at:%Y-%m-%d %H:%M:%S}"


class ProviderReport(models.Model):
    """What a provider said about its own limit, kept where it said something new."""

    quota = models.ForeignKey(Quota, models.CASCADE, db_index=False, related_name="reports", verbose_name=_("quota"))
    at = models.DateTimeField(_("at"))
    limited = models.BooleanField(_("refused"), default=False)
    status = models.PositiveSmallIntegerField(_("status"), null=True, blank=True)
    limit = models.BigIntegerField(_("limit"), null=True, blank=True)
    remaining = models.BigIntegerField(_("remaining"), null=True, blank=True)
    resets_at = models.DateTimeField(_("resets at"), null=True, blank=True)
    retry_at = models.DateTimeField(_("retry at"), null=True, blank=True)
    doubts = models.TextField(_("what made no sense"), blank=True)

    class Meta:
        verbose_name = _("provider report")
        verbose_name_plural = _("provider reports")
        ordering = ("-id",)
        indexes = (models.Index("quota", models.F("at").desc(), name="report_latest_of_quota"),)

    def __str__(self) -> str:
        return f"{self.at:%Y-%m-%d %H:%M:%S}"


class TenantTurn(models.Model):
    """When a tenant was last served by a quota, so that tenants take turns."""

    quota = models.ForeignKey(Quota, models.CASCADE, db_index=False, related_name="turns", verbose_name=_("quota"))
    tenant = models.CharField(_("tenant"), max_length=200)
    served_at = models.DateTimeField(_("last served"))

    class Meta:
        verbose_name = _("turn")
        verbose_name_plural = _("turns")
        constraints = (models.UniqueConstraint(name="turn_once", fields=["quota", "tenant"]),)

    def __str__(self) -> str:
        return f"{self.tenant} {self.served_at:%Y-%m-%d %H:%M:%S}"
