"""The rows of cards and of the devices that they are in."""

from django.core.validators import MaxValueValidator, MinValueValidator
from django.db import models
from django.db.models import Q
from django.utils.translation import gettext_lazy as _

from scheduler.polling.models.accounts import CarrierAccount
from scheduler.polling.states import CardState, RealName


class Device(models.Model):
    """What cards are in; they may be of several accounts."""

    code = models.CharField(_("code"), max_length=100, unique=True)
    name = models.CharField(_("name"), max_length=200, blank=True)

    class Meta:
        verbose_name = _("device")
        verbose_name_plural = _("devices")
        ordering = ("code",)

    def __str__(self) -> str:
        return self.name or self.code


class Card(models.Model):
    """A SIM card. What its carrier says of it is written by the polling, everything else by fleet.lifecycle."""

    iccid = models.CharField("ICCID", max_length=20, unique=True)  # 18 to 20 digits, with their check digit
    msisdn = models.CharField("MSISDN", max_length=20, blank=True)
    imsi = models.CharField("IMSI", max_length=15, blank=True)
    account = models.ForeignKey(
        CarrierAccount, models.PROTECT, related_name="cards", verbose_name=_("account"), db_index=False
    )  # see card_of_account
    device = models.ForeignKey(
        Device, models.SET_NULL, null=True, blank=True, related_name="cards", verbose_name=_("device")
    )
    polling_enabled = models.BooleanField(_("polled"), default=True)
    reset_day = models.PositiveSmallIntegerField(
        _("reset day"),
        default=1,
        validators=[MinValueValidator(1), MaxValueValidator(31)],
        help_text=_("of the billing cycle; in a shorter month its last day"),
    )

    # as the carrier says
    state = models.CharField(_("state"), max_length=12, choices=CardState, default=CardState.UNKNOWN)
    real_name_state = models.CharField(_("real name"), max_length=12, choices=RealName, default=RealName.UNKNOWN)
    package = models.CharField(_("package"), max_length=100, blank=True)
    used_bytes = models.BigIntegerField(_("used"), null=True, blank=True)
    allowance_bytes = models.BigIntegerField(_("allowance"), null=True, blank=True)

    version = models.PositiveIntegerField(default=1, editable=False)
    created_at = models.DateTimeField(_("created"), editable=False)
    updated_at = models.DateTimeField(_("changed"), editable=False)

    class Meta:
        verbose_name = _("card")
        verbose_name_plural = _("cards")
        ordering = ("-id",)
        permissions = (("check_card", _("Can ask for checks of cards")),)
        indexes = (
            models.Index(fields=["account", "id"], name="card_of_account"),  # initializing, the list of an account
            models.Index(fields=["msisdn"], name="card_by_number", condition=~Q(msisdn="")),
            models.Index(fields=["imsi"], name="card_by_imsi", condition=~Q(imsi="")),
        )
        constraints = (
            models.CheckConstraint(name="card_reset_day_is_one", condition=Q(reset_day__gte=1, reset_day__lte=31)),
            models.CheckConstraint(name="card_state_is_known", condition=Q(state__in=CardState.values)),
            models.CheckConstraint(name="card_real_name_is_known", condition=Q(real_name_state__in=RealName.values)),
        )

    def __str__(self) -> str:
        return self.iccid
