"""The row of a quota: its rule, what was spent, and the verdict."""

import json
from decimal import Decimal

from django.contrib.postgres.fields import ArrayField
from django.core.validators import MaxValueValidator, MinValueValidator
from django.db import models
from django.db.models import Q
from django.utils.translation import gettext_lazy as _

from project.kit.secrets import Secret, SecretJSONField
from quotas.periods import Preset, ResetRule
from quotas.states import Cause, Kind, Verdict


class Quota(models.Model):
    """How much may be spent. Amounts are whole units: calls, tokens, or a currency's millionths.

    What was spent changes by quotas.charging and quotas.reserving only, the verdict by quotas.evaluating.
    """

    key = models.CharField(_("key"), max_length=200, unique=True, help_text=_("by which jobs charge it"))
    title = models.CharField(_("title"), max_length=200, blank=True)
    description = models.TextField(_("description"), blank=True)
    kind = models.CharField(_("kind"), max_length=10, choices=Kind, default=Kind.PERIODIC)
    limit = models.BigIntegerField(
        _("limit"),
        null=True,
        blank=True,
        validators=[MinValueValidator(0)],
        help_text=_("in whole units; empty: unlimited, 0: blocks"),
    )
    unit = models.CharField(_("unit"), max_length=50, blank=True, help_text=_("for example: calls, tokens"))
    parent = models.ForeignKey(
        "self",
        models.PROTECT,
        null=True,
        blank=True,
        related_name="children",
        verbose_name=_("part of"),
        help_text=_("a charge has to fit there as well, and in whatever that is part of"),
    )
    # From the root to the parent; written with the parent.
    ancestors = ArrayField(models.BigIntegerField(), default=list, blank=True, editable=False)

    # periodic
    reset_preset = models.CharField(_("resets each"), max_length=10, choices=Preset.choices, blank=True)
    reset_time = models.TimeField(_("at"), null=True, blank=True, help_text=_("wall-clock time; empty: midnight"))
    reset_weekday = models.PositiveSmallIntegerField(
        _("weekday"), default=0, validators=[MaxValueValidator(6)], help_text=_("0 is Monday")
    )
    reset_day = models.PositiveSmallIntegerField(
        _("day of the month"),
        default=1,
        validators=[MinValueValidator(1), MaxValueValidator(31)],
        help_text=_("in a shorter month its last day"),
    )
    reset_cron = models.CharField(_("cron expression"), max_length=200, blank=True)
    timezone = models.CharField(_("time zone"), max_length=64, default="UTC", help_text=_("an IANA name"))
    # rate
    refill_amount = models.PositiveBigIntegerField(
        _("refills"), null=True, blank=True, help_text=_("so many units, up to the limit,")
    )
    refill_seconds = models.PositiveIntegerField(_("in seconds"), null=True, blank=True)

    default_step = models.PositiveBigIntegerField(
        _("usual need"),
        default=1,
        validators=[MinValueValidator(1)],
        help_text=_("what a run is taken to need where nothing else is known"),
    )
    resume_threshold = models.DecimalField(
        _("resume threshold"),
        max_digits=4,
        decimal_places=3,
        default=Decimal("0.1"),
        validators=[MinValueValidator(Decimal(0)), MaxValueValidator(Decimal("0.999"))],
        help_text=_("the part of the limit above which paused runs go on"),
    )
    stable_seconds = models.PositiveIntegerField(
        _("stable for seconds"),
        default=10,
        help_text=_("so long it has to stay above the threshold when it comes back bit by bit"),
    )
    stable_after_reset_seconds = models.PositiveIntegerField(
        _("stable after a reset for seconds"), default=0, help_text=_("the same after a reset, top-up or limit change")
    )
    spread_seconds = models.PositiveIntegerField(
        _("spread resumes over seconds"), default=2, help_text=_("so that they do not all start in one instant")
    )
    patience_seconds = models.PositiveIntegerField(
        _("patience in seconds"),
        default=600,
        help_text=_("after so long smaller needs no longer pass a bigger one that waits"),
    )
    shadow = models.BooleanField(_("shadow mode"), default=False, help_text=_("count and report, never block"))

    # The provider's own account of it, by a usage endpoint.
    probe_url = models.URLField(_("usage endpoint"), max_length=500, blank=True)
    probe_headers = SecretJSONField(_("its headers"), default="", blank=True)
    probe_remaining = models.CharField(_("remaining"), max_length=200, blank=True, help_text=_("JMESPath"))
    probe_limit = models.CharField(_("limit"), max_length=200, blank=True, help_text=_("JMESPath"))
    probe_reset = models.CharField(_("reset"), max_length=200, blank=True, help_text=_("JMESPath"))
    poll_floor_seconds = models.PositiveIntegerField(
        _("poll at most every seconds"), default=30, validators=[MinValueValidator(1)]
    )
    poll_ceiling_seconds = models.PositiveIntegerField(
        _("poll at least every seconds"), default=3600, validators=[MinValueValidator(1)]
    )

    # --- what was spent -----------------------------------------------------------------------------------------
    used = models.BigIntegerField(_("used"), default=0, editable=False)
    reserved = models.BigIntegerField(_("reserved"), default=0, editable=False)
    spent_total = models.BigIntegerField(default=0, editable=False)  # ever, less refunds
    over_limit_count = models.PositiveBigIntegerField(_("would have been refused"), default=0, editable=False)
    # `used` counts in this period, half-open; null unless periodic
    period_start = models.DateTimeField(null=True, editable=False)
    period_end = models.DateTimeField(_("resets at"), null=True, editable=False)
    # `used` is right as of this instant; null unless a rate
    refilled_at = models.DateTimeField(null=True, editable=False)
    # Charges that keep used + reserved below it change neither the verdict nor a warning; null: none does.
    quiet_below = models.BigIntegerField(null=True, editable=False)
    warned_percent = models.PositiveSmallIntegerField(default=0, editable=False)

    # --- the verdict --------------------------------------------------------------------------------------------
    verdict = models.CharField(_("verdict"), max_length=12, choices=Verdict, default=Verdict.SUFFICIENT, editable=False)
    verdict_at = models.DateTimeField(_("since"), editable=False)
    # Since when it is above the threshold without being called sufficient yet, and what began that.
    above_since = models.DateTimeField(null=True, editable=False)
    above_cause = models.CharField(max_length=20, choices=Cause, blank=True, editable=False)
    # It came back too often within an hour: what trickles in makes it sufficient from then on only.
    calm_until = models.DateTimeField(null=True, editable=False)
    # The smallest need that was refused and waits, and since when the oldest waits; null: nobody does.
    waited_for = models.BigIntegerField(null=True, editable=False)
    waited_since = models.DateTimeField(null=True, editable=False)
    waited_met = models.BooleanField(default=False, editable=False)  # an edge has said that it is there
    # When the verdict may change by itself; null: never.
    evaluate_at = models.DateTimeField(null=True, editable=False)
    # The fallback poll's next look.
    next_check_at = models.DateTimeField(_("next fallback check"), null=True, editable=False)

    # --- what the provider said ----------------------------------------------------------------------------------
    provider_limit = models.BigIntegerField(_("limit by the provider"), null=True, editable=False)
    provider_remaining = models.BigIntegerField(_("remaining by the provider"), null=True, editable=False)
    provider_resets_at = models.DateTimeField(_("resets by the provider"), null=True, editable=False)
    provider_observed_at = models.DateTimeField(_("observed"), null=True, editable=False)
    provider_spent_at_observation = models.BigIntegerField(default=0, editable=False)
    blocked_until = models.DateTimeField(_("refused until"), null=True, editable=False)
    blocked_without_reset = models.BooleanField(default=False, editable=False)  # `blocked_until` is a guess of ours
    blocked_count = models.PositiveIntegerField(default=0, editable=False)  # refusals in a row
    # The provider's reset has passed and nobody has seen it answer: one run at a time tries.
    provider_unverified = models.BooleanField(_("unverified"), default=False, editable=False)
    trial_owner = models.CharField(max_length=200, blank=True, editable=False)
    trial_until = models.DateTimeField(null=True, editable=False)

    version = models.PositiveIntegerField(default=1, editable=False)
    created_at = models.DateTimeField(_("created"), editable=False)
    updated_at = models.DateTimeField(_("changed"), editable=False)

    class Meta:
        verbose_name = _("quota")
        verbose_name_plural = _("quotas")
        ordering = ("key",)
        permissions = (
            ("top_up_quota", _("Can top up a quota or change its limit")),
            ("refund_quota", _("Can refund a charge")),
        )
        indexes = (
            # evaluating.evaluate_due
            models.Index(fields=["evaluate_at"], name="quota_verdict_is_due", condition=Q(evaluate_at__isnull=False)),
            # polling.claim_due
            models.Index(fields=["next_check_at"], name="quota_check_is_due", condition=Q(next_check_at__isnull=False)),
            # evaluating.unverified
            models.Index(fields=["id"], name="quota_awaits_a_trial", condition=Q(provider_unverified=True)),
        )
        constraints = (
            models.CheckConstraint(name="quota_limit_is_no_debt", condition=Q(limit__isnull=True) | Q(limit__gte=0)),
            models.CheckConstraint(name="quota_counts_from_zero", condition=Q(used__gte=0, reserved__gte=0)),
            models.CheckConstraint(name="quota_kind_is_known", condition=Q(kind__in=Kind.values)),
            models.CheckConstraint(name="quota_verdict_is_known", condition=Q(verdict__in=Verdict.values)),
            models.CheckConstraint(
                name="quota_has_its_rule",
                condition=Q(kind=Kind.PERIODIC, period_start__isnull=False, period_end__gt=models.F("period_start"))
                & ~Q(reset_preset="")
                | Q(kind=Kind.CAPACITY, period_start__isnull=True)
                | Q(
                    kind=Kind.RATE,
                    period_start__isnull=True,
                    refill_amount__gt=0,
                    refill_seconds__gt=0,
                    refilled_at__isnull=False,
                ),
            ),
        )

    def __str__(self) -> str:
        return self.title or self.key

    @property
    def chain(self) -> list[int]:
        """The ids of the quotas in which a charge has to fit: its ancestors and itself."""
        return [*self.ancestors, self.pk]

    def revealed_headers(self) -> dict[str, str]:
        """Return the headers of the usage endpoint, to use them at once.

        Raises:
            UnreadableSecret: they were encrypted with a key that is not given any more.
        """
        sealed: Secret = SecretJSONField().to_python(self.probe_headers)
        headers: dict[str, str] = json.loads(sealed.reveal() or "{}")
        return headers

    def reset_rule(self) -> ResetRule:
        """Return when a periodic quota resets, as a pure value."""
        return ResetRule(
            preset=Preset(self.reset_preset),
            timezone=self.timezone,
            weekday=self.reset_weekday,
            day=self.reset_day,
            cron=self.reset_cron,
            **({"at": self.reset_time} if self.reset_time else {}),
        )
