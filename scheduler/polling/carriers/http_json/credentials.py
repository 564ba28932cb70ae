"""As whom a JSON API is asked."""

from django.utils.translation import gettext_noop
from pydantic import Field, SecretStr

from scheduler.polling.carriers.base import Credentials
from scheduler.polling.carriers.http_json.settings import BasicAuth, HttpJsonSettings, NoAuth, TokenAuth
from scheduler.polling.carriers.http_json.templates import places_in


class HttpJsonCredentials(Credentials):
    """What the kind of authorization in the settings needs of it; the rest stays empty."""

    user: str = Field(default="", title="User", description=gettext_noop("For basic, and for the token endpoint."))
    password: SecretStr = Field(
        default=SecretStr(""), title="Password", description=gettext_noop("For basic, and for the token endpoint.")
    )
    key: SecretStr = Field(
        default=SecretStr(""),
        title="Key",
        description=gettext_noop("For bearer, header, query and the token endpoint."),
    )

    def values(self) -> dict[str, str]:
        """Return them in the clear, to use them at once."""
        return {
            "user": self.user,
            "password": self.password.get_secret_value(),
            "key": self.key.get_secret_value(),
        }


def lacking(settings: HttpJsonSettings, credentials: HttpJsonCredentials) -> dict[str, str]:
    """Return which credentials the kind of authorization needs and are not there, with a sentence for each."""
    values = credentials.values()
    sentence = f"It is empty, and the authorization “{settings.auth.kind}” needs it. Fill it in."
    return {name: sentence for name in ("user", "password", "key") if name in _needed(settings) and not values[name]}


def _needed(settings: HttpJsonSettings) -> set[str]:
    match settings.auth:
        case NoAuth():
            return set()
        case BasicAuth():
            return {"user", "password"}
        case TokenAuth(request=request):
            return request.asked_by | places_in(request.form) | ({"user", "password"} if request.basic else set())
    return {"key"}
