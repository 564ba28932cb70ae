"""Lets gunicorn's own lines look like all others: its logger is named in the Procfile and made before Django is."""

import os
from typing import Any

from gunicorn.glogging import Logger

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "project.settings")


class GunicornLog(Logger):  # type: ignore[misc]
    """Gunicorn's log in the form of ours."""

    def setup(self, cfg: Any) -> None:
        """As gunicorn does, and with our formatter."""
        from django.conf import settings

        from project.logs import formatter

        super().setup(cfg)
        line = formatter(settings.TIDELINE_LOG_FORMAT)
        for handler in self.error_log.handlers:
            handler.setFormatter(line)
