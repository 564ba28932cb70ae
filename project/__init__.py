"""The composition of the apps: settings, Celery, URLs, the embedded services. No domain rule lives here."""

from project.celery import app as celery_app

__all__ = ["celery_app"]
