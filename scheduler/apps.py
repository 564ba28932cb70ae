"""The scheduler app."""

from django.apps import AppConfig
from django.utils.translation import gettext_lazy as _


class SchedulerConfig(AppConfig):
    """Finds the jobs of every installed app once all apps are loaded."""

    name = "scheduler"
    verbose_name = _("Scheduler")

    def ready(self) -> None:
        """Register the built-in jobs and those of the installed apps, and this app's system checks."""
        from quotas import owners, waiting
        from quotas.evaluating import edge_written
        from scheduler import checks, resuming, waits  # noqa: F401
        from scheduler.jobs.registry import discover

        discover()
        owners.register("run", waits.page_of_run)
        waiting.register(waits.work_waiting_for, waits.how_many_wait)
        edge_written.connect(resuming.take_edge_after_commit)
