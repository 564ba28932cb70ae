"""The rows of a carrier account: whom we ask, as whom, and how much it bears."""

from django.core.validators import MaxValueValidator, MinValueValidator
from django.db import models
from django.db.models import Q
from django.utils.translation import gettext_lazy as _

from project.kit.secrets import SecretJSONField
from scheduler.polling.states import ErrorClass


class CarrierAccount(models.Model):
    """An account at a carrier. Its limits hold for all of its cards together."""

    name = models.CharField(_("name"), max_length=200, unique=True)
    gateway = models.CharField(_("gateway"), max_length=40, help_text=_("how the carrier is spoken to"))
    settings = models.JSONField(_("settings"), default=dict, blank=True, help_text=_("of the gateway; no secrets"))
    credentials = SecretJSONField(_("credentials"), blank=True, default="")
    active = models.BooleanField(_("active"), default=True, help_text=_("off: none of its cards is polled"))

    # It is left in peace until then, because it throttles, refuses the credentials or has no quota left; without a
    # class: because a person wants it.
    held_until = models.DateTimeField(_("left in peace until"), null=True, blank=True, editable=False)
    held_class = models.CharField(_("because"), max_length=20, choices=ErrorClass, blank=True, editable=False)
    held_reason = models.TextField(_("reason"), blank=True, editable=False)
    # How often in a row: the pause grows with it, and only answers in a row bring it back to 0.
    hold_count = models.PositiveIntegerField(_("holds in a row"), default=0, editable=False)

    version = models.PositiveIntegerField(default=1, editable=False)
    created_at = models.DateTimeField(_("created"), editable=False)
    updated_at = models.DateTimeField(_("changed"), editable=False)

    class Meta:
        verbose_name = _("carrier account")
        verbose_name_plural = _("carrier accounts")
        ordering = ("name",)
        permissions = (
            ("hold_carrieraccount", _("Can hold and release carrier accounts")),
            ("initialize_polling", _("Can rebuild the live order of polling")),
        )
        constraints = (
            models.CheckConstraint(
                name="account_hold_says_why",
                condition=Q(held_until__isnull=True) | ~Q(held_class="") | ~Q(held_reason=""),
            ),
        )

    def __str__(self) -> str:
        return self.name


class PollingParams(models.Model):
    """How much an account bears, where that differs from what is usual; see params.DEFAULTS. Empty: the usual."""

    account = models.OneToOneField(
        CarrierAccount, models.CASCADE, primary_key=True, related_name="params", verbose_name=_("account")
    )
    inflight_limit = models.PositiveIntegerField(
        _("cards in work"),
        null=True,
        blank=True,
        validators=[MinValueValidator(1), MaxValueValidator(10_000)],
        help_text=_("claimed at once, waiting for a poller or being asked"),
    )
    card_max_in_flight = models.PositiveIntegerField(
        _("cards asked at once"),
        null=True,
        blank=True,
        validators=[MinValueValidator(1), MaxValueValidator(10_000)],
        help_text=_("by one poller"),
    )
    stop_resume_max_in_flight = models.PositiveIntegerField(
        _("changes asked at once"), null=True, blank=True, validators=[MinValueValidator(1)], help_text=_("by a poller")
    )
    sr_inflight_limit = models.PositiveIntegerField(
        _("changes in work"), null=True, blank=True, validators=[MinValueValidator(1)], help_text=_("stop and resume")
    )
    priority_max_ratio = models.DecimalField(
        _("share of priority"),
        max_digits=3,
        decimal_places=2,
        null=True,
        blank=True,
        validators=[MinValueValidator(0), MaxValueValidator(1)],
        help_text=_("of the cards taken, while others are due as well: 0 to 1"),
    )
    stop_resume_min_interval = models.PositiveIntegerField(
        _("between two changes of a card"), null=True, blank=True, help_text=_("seconds")
    )
    stop_resume_confirm_delay = models.PositiveIntegerField(
        _("until a change is confirmed"), null=True, blank=True, help_text=_("seconds")
    )
    rate_windows = models.JSONField(
        _("rate windows"),
        null=True,
        blank=True,
        help_text=_('calls in seconds: [{"limit": 5, "seconds": 1}, {"limit": 2000, "seconds": 300}]; [] for none'),
    )
    max_concurrency = models.PositiveIntegerField(
        _("calls at one time"),
        null=True,
        blank=True,
        validators=[MinValueValidator(1)],
        help_text=_("over all pollers; empty: as many as the cards in work"),
    )
    queue = models.CharField(
        _("queue of its own"),
        max_length=100,
        blank=True,
        help_text=_("such as polling.card.acme, for a poller of its own; empty: polling.card"),
    )

    changed_by = models.CharField(_("changed by"), max_length=200, blank=True, editable=False)
    changed_at = models.DateTimeField(_("changed"), editable=False)
    version = models.PositiveIntegerField(default=1, editable=False)

    class Meta:
        verbose_name = _("polling parameters")
        verbose_name_plural = _("polling parameters")
        ordering = ("account",)
        constraints = (
            models.CheckConstraint(
                name="params_priority_is_a_share",
                condition=Q(priority_max_ratio__isnull=True) | Q(priority_max_ratio__gte=0, priority_max_ratio__lte=1),
            ),
        )

    def __str__(self) -> str:
        return str(self.account)
