"""The apps of the composition."""

from django.apps import AppConfig
from django.contrib.admin.apps import AdminConfig


class ProjectConfig(AppConfig):
    """Holds the commands `up` and `doctor`, the templates and the style sheet."""

    name = "project"
    verbose_name = "Tideline"


class TidelineAdminConfig(AdminConfig):
    """The Django admin on a site of our own."""

    default_site = "project.admin_site.TidelineAdminSite"
