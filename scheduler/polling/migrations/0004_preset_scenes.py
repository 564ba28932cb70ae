"""The scenes that everybody needs are there, and the indexes fit what is asked.

Upgrade: a scene that has the same code already stays as it is. Downgrade: the scenes stay.
"""

from django.db import migrations, models


# Of each scene: code, name, kind, checks, seconds before each further look, cooldown in seconds.
PRESETS = (
    # What was bought shows in the package; carriers book it within a minute, and within half an hour on a bad day.
    ("order_paid", "Order paid", "event", ["package", "usage"], [60, 300, 1800], 0),
    # Activation changes state and package together, and takes longer than a booking.
    ("package_activated", "Package activated", "event", ["card_status", "package"], [60, 300, 1800], 0),
    # The carrier said yes; its systems follow within minutes. Usage is no part of it.
    ("stop_resume_succeeded", "Stop or resume succeeded", "event", ["card_status"], [60, 180, 600], 0),
    # A restart or new settings show at once or not at all. Devices are operated by button: the same press twice in half
    # a minute is one.
    ("device_operated", "Device operated", "event", ["card_status", "usage"], [30, 120], 30),
    # As an order; nobody waits before the screen, so the looks take their time.
    ("auto_renewal_bought", "Automatic renewal bought", "event", ["package", "usage"], [300, 1800], 0),
    # A customer reloads the page again and again; five minutes are as fresh as carriers' usage is.
    ("asset_page_opened", "Asset page opened", "read", ["card_status", "usage"], [], 300),
    # Staff look because something is wrong with the card, and want to know what is true now.
    ("realtime_status_opened", "Real-time status opened", "read", ["card_status", "real_name", "usage"], [], 30),
    # Who opens the link is about to be verified; it takes minutes, and the page is opened anew to see whether it did.
    ("real_name_link_opened", "Real-name link opened", "read", ["real_name"], [], 60),
)


def add_presets(apps, schema_editor):
    scene = apps.get_model("polling", "CheckScene")
    names = ("code", "name", "kind", "types", "confirm_delays", "cooldown_seconds")
    scene.objects.bulk_create([scene(**dict(zip(names, preset))) for preset in PRESETS])


class Migration(migrations.Migration):
    """The eight scenes that there are from the start, and indexes by which what is to be passed on is found."""

    dependencies = [("polling", "0003_requests_operations_cutovers")]

    operations = [
        migrations.RemoveIndex(model_name="checkrequest", name="request_is_to_be_passed_on"),
        migrations.AddIndex(
            model_name="checkrequest",
            index=models.Index(fields=["asked_at"], name="request_passed_on"),
        ),
        migrations.RemoveIndex(model_name="confirmation", name="confirmation_is_due"),
        migrations.AddIndex(
            model_name="confirmation",
            index=models.Index(
                condition=models.Q(("state", "waiting")), fields=["asked_at"], name="confirmation_asked"
            ),
        ),
        migrations.RunPython(add_presets, migrations.RunPython.noop),
    ]
