"""The Celery application. Its settings, each with its reason, are in celery_settings.py."""

import os

from celery import Celery

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "project.settings")

app = Celery("tideline")
app.config_from_object("project.celery_settings")
app.autodiscover_tasks()
