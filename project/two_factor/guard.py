"""Whoever has said a password and no code yet is led to the page that asks for it, and is nobody everywhere else."""

from collections.abc import Callable
from urllib.parse import urlencode

from django.conf import settings
from django.contrib.auth.models import AnonymousUser
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.urls import reverse
from django.utils.functional import SimpleLazyObject
from django_otp.middleware import is_verified

# Pages that need no code: those of the login itself, and what they load.
OPEN = ("admin:two_factor", "admin:login", "admin:logout", "admin:jsi18n")


class SecondFactor:
    """Middleware, after django-otp's own: holds back the sessions that lack the second factor. Tokens need none."""

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponse]) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        """Answer the request, or lead to the page that asks for the code."""
        if not settings.TIDELINE_TWO_FACTOR or request.path in map(reverse, OPEN):
            return self.get_response(request)
        if request.path.startswith(reverse("admin:index")) and lacks_the_code(request):
            asked_for = urlencode({"next": request.get_full_path()})
            return HttpResponseRedirect(f"{reverse('admin:two_factor')}?{asked_for}")
        _forget_half_a_login(request)
        return self.get_response(request)


def lacks_the_code(request: HttpRequest) -> bool:
    """Tell whether the session has a password's proof alone."""
    return request.user.is_authenticated and not is_verified(request.user)


def _forget_half_a_login(request: HttpRequest) -> None:
    """Let half a login be none. Who it is is asked for only where somebody wants to know."""
    user = request.user

    def whole() -> object:
        return user if user.is_authenticated and is_verified(user) else AnonymousUser()

    request.user = SimpleLazyObject(whole)  # type: ignore[assignment]
