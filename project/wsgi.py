"""The WSGI door that gunicorn opens."""

import os

from django.core.management.base import BaseCommand
from django.core.wsgi import get_wsgi_application

from project import observing

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "project.settings")

application = get_wsgi_application()
observing.begin()
# Nobody is served with settings that a system check calls an error; gunicorn performs none.
BaseCommand().check()
