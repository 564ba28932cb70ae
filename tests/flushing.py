"""Empties the database behind a test that committed, in hundredths of the time that Django's own flush takes: that one
truncates every table, most of them empty ones, and then makes all permissions anew.
"""

from importlib import import_module

from django.apps import apps
from django.db import connection, transaction
from django.test import TransactionTestCase

PRESETS = import_module("scheduler.polling.migrations.0004_preset_scenes")
STANDING = {"auth_permission", "django_content_type"}  # no row of a test's, but what `migrate` leaves in a new database


def delete_all_rows(_test: TransactionTestCase) -> None:
    """Delete what the test left, once everybody else who writes has come to an end; this needs a superuser. What
    migrations have inserted is there again then, as it was.
    """
    names = connection.introspection.django_table_names(only_existing=True, include_views=False)
    tables = [connection.ops.quote_name(name) for name in names if name not in STANDING]
    with transaction.atomic(), connection.cursor() as cursor:
        cursor.execute(f"LOCK TABLE {', '.join(tables)} IN EXCLUSIVE MODE")
        cursor.execute("SET LOCAL session_replication_role = replica")  # no trigger refuses, and no key is checked
        cursor.execute("; ".join(f"DELETE FROM {table}" for table in tables))  # noqa: S608 - names of our own
        PRESETS.add_presets(apps, None)
