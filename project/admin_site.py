"""The control panel's site."""

from django.contrib.admin import AdminSite
from django.utils.translation import gettext_lazy as _


class TidelineAdminSite(AdminSite):
    """The Django admin under Tideline's name."""

    site_title = _("Tideline")
    site_header = _("Tideline")
    index_title = _("Control panel")
    site_url = None
