"""What a person can do with a row, declared in one place: who may, when it is possible, what will happen."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from django import forms
from django.contrib.auth.models import AbstractBaseUser, AnonymousUser, PermissionsMixin
from django.db.models import Model
from django.utils.functional import Promise
from django.utils.translation import gettext_lazy as _

Text = str | Promise


class ReasonForm(forms.Form):
    """What is asked beside the confirmation: why.

    Args:
        row: what it is about; None where it is about several rows.
        now: the database's present instant.
    """

    reason = forms.CharField(
        label=_("Reason"),
        max_length=500,
        required=False,
        widget=forms.TextInput(attrs={"autofocus": True, "size": 60}),
        help_text=_("Kept in the history, for whoever looks at this later."),
    )

    def __init__(self, *args: Any, row: Model | None, now: datetime, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.row, self.now = row, now


class RequiredReasonForm(ReasonForm):
    """A confirmation that is not possible without saying why."""

    reason = forms.CharField(
        label=_("Reason"),
        max_length=500,
        widget=forms.TextInput(attrs={"autofocus": True, "size": 60}),
        help_text=_("Shown wherever this is shown, and kept in the history."),
    )


@dataclass(frozen=True, slots=True)
class Asked:
    """What a person asked for.

    Attributes:
        actor: the name under which the history keeps it.
        values: what the confirmation's form held.
    """

    now: datetime
    actor: str
    reason: str = ""
    values: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Done:
    """What came of it.

    Attributes:
        message: a sentence.
        show: the row whose page is shown next; by default the one acted on.
        gone: the row is no more; the list is shown next.
    """

    message: str
    show: Model | None = None
    gone: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class ObjectAction:
    """Something that a person can do with a row.

    Attributes:
        name: its name in the address.
        label: the text of its button.
        permission: what a user needs, as `app.codename`; enforced where it is performed.
        obstacle: says in a sentence why it is not possible with a row as it is now; empty: it is possible. Asked
            when the button is drawn, and again, under the row's lock, when the action is performed.
        consequences: sentences that say what will happen, for the confirmation.
        perform: does it. It writes rows, and raises one of the admin's `refusals` where that was not possible.
        form: what the confirmation asks.
        tone: how the button looks: `primary`, `danger` or nothing.
        bulk: also offered for several rows of the list at once.
    """

    name: str
    label: Text
    permission: str
    obstacle: Callable[[Any], Text]
    consequences: Callable[[Any, datetime], Sequence[Text]]
    perform: Callable[[Any, Asked], Done]
    form: type[ReasonForm] = ReasonForm
    tone: str = ""
    bulk: bool = False

    def allowed(self, user: AbstractBaseUser | AnonymousUser) -> bool:
        """Tell whether the user may do this."""
        return isinstance(user, PermissionsMixin) and user.is_active and user.has_perm(self.permission)

    def available(self, row: Model) -> bool:
        """Tell whether it is possible with the row as it is now."""
        return not self.obstacle(row)
