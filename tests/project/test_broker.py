"""What a worker tells of its broker to whoever asks it, which Flower shows."""

from types import SimpleNamespace

from celery.worker.consumer.connection import Connection as ConnectionStep

from project.celery import app
from project.kit import redis_urls

SENTINELS = "sentinel://:secret@127.0.0.1:1,127.0.0.1:2/3?master=tideline&sentinel_password=secret"


def test_no_worker_tells_the_password_of_a_server_behind_sentinels() -> None:
    told = redis_urls.broker(SENTINELS)
    with app.connection_for_read(told.url, transport_options={"master_name": "tideline"}) as connection:
        assert connection.alt == told.url.split(";")
        shown = ConnectionStep.info(None, SimpleNamespace(connection=connection))
    assert shown["broker"]["hostname"] == "127.0.0.1"
    assert "secret" not in str(shown)
