"""The apps of the composition."""

from django.apps import AppConfig
from django.contrib.admin.apps import AdminConfig


class ProjectConfig(AppConfig):
    """Holds the commands `up` and `doctor`, the templates and the style sheet."""

    name = "project"
    verbose_name = "Tideline"

    def ready(self) -> None:
        """Lend the scheduler the marks of the scans, so that its explanations know when they last ran."""
        from project.scans import last_scans
        from scheduler.explaining import scans

        scans.lend(last_scans)


class TidelineAdminConfig(AdminConfig):
    """The Django admin on a site of our own."""

    default_site = "project.admin_site.TidelineAdminSite"
