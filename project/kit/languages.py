"""The viewer's language. What is recorded, logged and sent is English whoever reads it: see docs/decisions.md."""

from django.conf import settings
from django.http import HttpRequest
from django.middleware.locale import LocaleMiddleware
from django.utils import translation
from django.utils.translation.trans_real import parse_accept_lang_header


class ViewerLanguage(LocaleMiddleware):
    """Middleware: a request is answered in the language that its viewer chose in the user menu, else in one for which
    the browser asks, else in that of the house (`TIDELINE_LANGUAGE`).
    """

    def process_request(self, request: HttpRequest) -> None:
        """Answer the request in its viewer's language."""
        super().process_request(request)
        if not _asks(request):
            translation.activate(settings.TIDELINE_LANGUAGE)
            request.LANGUAGE_CODE = translation.get_language()


def _asks(request: HttpRequest) -> bool:
    asked = [language for language, _ in parse_accept_lang_header(request.META.get("HTTP_ACCEPT_LANGUAGE", ""))]
    return any(_is_spoken(language) for language in (request.COOKIES.get(settings.LANGUAGE_COOKIE_NAME, ""), *asked))


def _is_spoken(language: str) -> bool:
    try:
        return bool(translation.get_supported_language_variant(language))
    except LookupError:
        return False
