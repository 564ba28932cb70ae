"""The page of the second factor: it asks for the code, sets up the first device, and makes new recovery codes."""

import base64

import django_otp
import segno
from django import forms
from django.contrib import admin
from django.contrib.auth.models import User
from django.contrib.auth.views import redirect_to_login
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.shortcuts import render
from django.urls import reverse
from django.utils.http import url_has_allowed_host_and_scheme
from django.utils.safestring import SafeString, mark_safe
from django.utils.translation import gettext_lazy as _
from django.views.decorators.cache import never_cache
from django_otp.middleware import is_verified
from django_otp.models import Device
from django_otp.plugins.otp_totp.models import TOTPDevice

from project.two_factor import devices


class CodeForm(forms.Form):
    """One code."""

    code = forms.CharField(
        label=_("Code"),
        max_length=16,
        strip=True,
        widget=forms.TextInput(attrs={"autocomplete": "one-time-code", "autofocus": True, "spellcheck": "false"}),
    )


@never_cache
def second_factor(request: HttpRequest) -> HttpResponse:
    """Ask whoever has said a password for the second factor, or show whoever has proved both what there is."""
    if not request.user.is_authenticated:
        return redirect_to_login(request.get_full_path(), reverse("admin:login"))
    user = request.user
    if is_verified(user):
        return _standing(request, user)
    return _asked(request, user) if devices.is_enrolled(user) else _offered(request, user)


def _asked(request: HttpRequest, user: User) -> HttpResponse:
    form = CodeForm(request.POST or None)
    if form.is_valid():
        if device := devices.proved(user, form.cleaned_data["code"]):
            return _let_in(request, device)
        form.add_error("code", _("This code is not right, or was used already. Wait for the next one."))
    return _page(request, "ask", form=form)


def _offered(request: HttpRequest, user: User) -> HttpResponse:
    form = CodeForm(request.POST or None)
    if form.is_valid():
        if device := devices.enrol(user, form.cleaned_data["code"]):
            django_otp.login(request, device)
            return _page(request, "codes", codes=devices.new_recovery_codes(user), onward=_onward(request))
        form.add_error("code", _("This code is not the one that the device shows now. Is its clock right?"))
    device = devices.offered(user)
    return _page(request, "enrol", form=form, picture=picture(device), key=readable_key(device))


def _standing(request: HttpRequest, user: User) -> HttpResponse:
    if request.method == "POST":
        return _page(request, "codes", codes=devices.new_recovery_codes(user), onward=reverse("admin:index"))
    return _page(request, "standing", left=devices.recovery_codes_left(user))


def _let_in(request: HttpRequest, device: Device) -> HttpResponse:
    django_otp.login(request, device)
    return HttpResponseRedirect(_onward(request))


def _onward(request: HttpRequest) -> str:
    """Return the page that was asked for before the code was."""
    wanted = request.GET.get("next", "")
    is_ours = url_has_allowed_host_and_scheme(wanted, {request.get_host()}, require_https=request.is_secure())
    return wanted if is_ours else reverse("admin:index")


def _page(request: HttpRequest, name: str, **context: object) -> HttpResponse:
    title = _("Second factor")
    return render(request, f"admin/two_factor/{name}.html", {**_frame(request), "title": title, **context})


def _frame(request: HttpRequest) -> dict[str, object]:
    """Return what the frame of the pages needs; who is not in yet sees no navigation."""
    return {**admin.site.each_context(request), "is_nav_sidebar_enabled": False}


def picture(device: TOTPDevice) -> SafeString:
    """Return what a device's camera reads, as a drawing within the page."""
    return mark_safe(segno.make(device.config_url).svg_inline(scale=4, light="#fff"))  # noqa: S308 - our own drawing


def readable_key(device: TOTPDevice) -> str:
    """Return the key for typing it in, in groups of four."""
    key = base64.b32encode(device.bin_key).decode()
    return " ".join(key[first : first + 4] for first in range(0, len(key), 4))
