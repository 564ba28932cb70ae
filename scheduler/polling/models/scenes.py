"""The rows of what asks for checks beside the schedule: scenes, their events, and the looks that follow each."""

from django.contrib.postgres.fields import ArrayField
from django.core.validators import MinValueValidator
from django.db import models
from django.db.models import Q
from django.utils.translation import gettext_lazy as _

from scheduler.polling.models.cards import Card
from scheduler.polling.models.operations import CardOperation
from scheduler.polling.states import CheckType, ConfirmationState, SceneKind


class CheckScene(models.Model):
    """When cards are checked beside the schedule, what is asked, and how often it is looked again."""

    code = models.SlugField(_("code"), max_length=40, primary_key=True)
    name = models.CharField(_("name"), max_length=100)
    kind = models.CharField(_("kind"), max_length=10, choices=SceneKind)
    active = models.BooleanField(_("active"), default=True, help_text=_("off: it asks for nothing"))
    types = ArrayField(models.CharField(max_length=12, choices=CheckType), verbose_name=_("checks"))
    confirm_delays = ArrayField(
        models.PositiveIntegerField(validators=[MinValueValidator(1)]),
        verbose_name=_("looks again after"),
        default=list,
        blank=True,
        help_text=_("seconds from the end of the check before, separated by commas: 60, 300"),
    )
    cooldown_seconds = models.PositiveIntegerField(
        _("cooldown"), default=0, help_text=_("seconds in which it asks for the same card once")
    )
    changed_by = models.CharField(_("changed by"), max_length=200, blank=True, editable=False)
    changed_at = models.DateTimeField(_("changed"), null=True, blank=True, editable=False)
    version = models.PositiveIntegerField(default=1, editable=False)

    class Meta:
        verbose_name = _("scene")
        verbose_name_plural = _("scenes")
        ordering = ("kind", "code")
        constraints = (models.CheckConstraint(name="scene_asks_for_something", condition=Q(types__len__gt=0)),)

    def __str__(self) -> str:
        return self.name


class CheckRequest(models.Model):
    """One event of a scene. The same event asks once, however often it is told."""

    event_id = models.CharField(_("event"), max_length=200, unique=True)
    scene = models.ForeignKey(
        CheckScene, models.PROTECT, related_name="requests", verbose_name=_("scene"), db_index=False
    )
    actor = models.CharField(_("asked by"), max_length=200)
    card_ids = ArrayField(models.BigIntegerField(), verbose_name=_("cards"))
    expected = models.JSONField(_("expected"), default=dict, blank=True)  # by check type, the value that ends the looks
    at = models.DateTimeField(_("at"))
    # When the live order was told of all of them; empty: it is still to be.
    asked_at = models.DateTimeField(_("passed on"), null=True, blank=True)
    # By what became of them, how many cards: see RequestOutcome.
    outcome = models.JSONField(_("outcome"), default=dict, blank=True)

    class Meta:
        verbose_name = _("request")
        verbose_name_plural = _("requests")
        ordering = ("-id",)
        indexes = (models.Index(fields=["asked_at"], name="request_passed_on"),)

    def __str__(self) -> str:
        return f"{self.scene_id} {self.event_id}"


class Confirmation(models.Model):
    """That a card's check is looked at again and again, until the expected result is there or every look was taken."""

    card = models.ForeignKey(
        Card, models.CASCADE, related_name="confirmations", verbose_name=_("card"), db_index=False
    )  # see confirmation_of_card
    type = models.CharField(_("check"), max_length=12, choices=CheckType)
    request = models.ForeignKey(
        CheckRequest, models.CASCADE, null=True, blank=True, related_name="confirmations", verbose_name=_("request")
    )
    operation = models.ForeignKey(
        CardOperation, models.CASCADE, null=True, blank=True, related_name="confirmations", verbose_name=_("operation")
    )
    expected = models.JSONField(_("expected"), null=True, blank=True)  # a check's value; empty: every look is taken
    delays = ArrayField(models.PositiveIntegerField(), verbose_name=_("looks after"))  # seconds; those still to come
    looks = models.PositiveIntegerField(_("looks taken"), default=0)
    # Only a check that was asked after this is a look; the next one is asked for from then.
    due_at = models.DateTimeField(_("looked at from"))
    # From when the next look is asked for in the live order; empty: it is still to be told of it.
    asked_at = models.DateTimeField(null=True, blank=True, editable=False)
    state = models.CharField(_("state"), max_length=10, choices=ConfirmationState, default=ConfirmationState.WAITING)
    ended_at = models.DateTimeField(_("ended"), null=True, blank=True)

    class Meta:
        verbose_name = _("confirmation")
        verbose_name_plural = _("confirmations")
        ordering = ("-id",)
        indexes = (
            models.Index(fields=["card", "type"], name="confirmation_of_card", condition=Q(state="waiting")),
            models.Index(fields=["asked_at"], name="confirmation_asked", condition=Q(state="waiting")),
        )
        constraints = (
            models.CheckConstraint(
                name="confirmation_is_of_one",
                condition=Q(request__isnull=False, operation__isnull=True)
                | Q(request__isnull=True, operation__isnull=False),
            ),
            models.CheckConstraint(
                name="confirmation_ends",
                condition=Q(state="waiting", ended_at__isnull=True) | (~Q(state="waiting") & Q(ended_at__isnull=False)),
            ),
        )

    def __str__(self) -> str:
        return f"{self.card_id} {self.get_type_display()}"
