"""What the parameters of the built-in jobs have in common."""

from django.utils.translation import gettext as _
from pydantic import BaseModel, ConfigDict
from pydantic_core import PydanticCustomError


class Params(BaseModel):
    """Parameters of a job: of the type that the field says, and none that it does not name."""

    model_config = ConfigDict(extra="forbid", strict=True, hide_input_in_errors=True)


def refusal(sentence: str) -> PydanticCustomError:
    """Return what a validator raises: the sentence as it is, which the registry closes with a full stop."""
    return PydanticCustomError("refused", "{sentence}", {"sentence": sentence})


def without_nul(text: str) -> str:
    """Return the text.

    Raises:
        PydanticCustomError: it holds a NUL character, which neither a program nor PostgreSQL takes.
    """
    if "\x00" in text:
        raise refusal(_("There must be no NUL character in it"))
    return text
