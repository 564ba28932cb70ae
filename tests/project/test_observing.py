"""Sentry and a collector of traces are told, where the settings name them, and of no secret."""

import gzip
import json
import os
import subprocess
import sys
import threading
import zlib
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import pytest
from django.conf import settings as project_settings
from django.core.exceptions import ImproperlyConfigured
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest
from opentelemetry.proto.trace.v1.trace_pb2 import ResourceSpans, Span
from pytest_django import Settings

from project import observing
from project.celery import app
from project.kit.secrets import DOTS
from project.observing.sentry import masked_within
from project.processes import commands
from tests.processes import Processes

SECRET = "hunter2hunter2"
METRICS_TOKEN = "the-token-of-the-collector"

PROCESS = """
import django; django.setup()
import logging
from django.test import Client
from structlog.contextvars import bound_contextvars
from project import observing, urls
from project.celery import app
observing.begin()
{deeds}
"""
ERRORS = f"""
import sentry_sdk
from django.urls import path
def broken(request):
    local = "{SECRET} in a frame"
    raise ValueError("password={SECRET} at https://u:{SECRET}@carrier.example/hook/{SECRET} {METRICS_TOKEN}")
urls.urlpatterns.insert(0, path("broken", broken))
client = Client(raise_request_exception=False)
headers = {{"Authorization": "Bearer {SECRET}", "X-Request-ID": "request-of-the-test", "Cookie": "sessionid={SECRET}"}}
client.post("/broken", {{"password": "{SECRET}"}}, headers=headers)
@app.task(name="shop.fail")
def fail(word):
    raise KeyError("token={SECRET}")
fail.apply(["a word"], task_id="task-of-the-test")
with bound_contextvars(run=12):
    logging.getLogger("scheduler.executing").error("run %s: api_key=%s", 12, "{SECRET}")
sentry_sdk.flush()
"""
TRACES = f"""
from django.db import connection
from opentelemetry import trace
@app.task(name="shop.ask")
def ask(word):
    with connection.cursor() as cursor:
        cursor.execute("SELECT %s || 'x'", ["{SECRET}"])
ask.apply(["a word"])
Client().get("/healthz", {{"url": "https://u:{SECRET}@carrier.example/"}})
with trace.get_tracer("ours").start_as_current_span("ours", attributes={{"a": "{METRICS_TOKEN}"}}) as span:
    span.record_exception(ValueError("password={SECRET}"))
trace.get_tracer_provider().force_flush()
"""


class Receiver:
    """An HTTP server that keeps what it is sent."""

    def __init__(self) -> None:
        self.received: list[tuple[str, bytes]] = []
        receiver = self

        class Answer(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                body = self.rfile.read(int(self.headers["Content-Length"]))
                packing = self.headers.get("Content-Encoding", "")
                unpack = {"gzip": gzip.decompress, "deflate": zlib.decompress}.get(packing, bytes)
                receiver.received.append((self.path, unpack(body)))
                self.send_response(200)
                self.send_header("Content-Length", "0")
                self.end_headers()

            def log_message(self, format: str, *args: Any) -> None:
                pass

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Answer)
        threading.Thread(target=self.server.serve_forever, daemon=True).start()

    @property
    def place(self) -> str:
        return f"127.0.0.1:{self.server.server_port}"

    def stop(self) -> None:
        self.server.shutdown()
        self.server.server_close()


@pytest.fixture
def receiver() -> Iterator[Receiver]:
    receiver = Receiver()
    yield receiver
    receiver.stop()


def perform(deeds: str, **environ: str) -> None:
    """Have a process of its own do this: what these libraries take hold of is never let go again."""
    surroundings = os.environ | {"TIDELINE_METRICS_TOKEN": METRICS_TOKEN} | environ
    command = [sys.executable, "-c", PROCESS.format(deeds=deeds)]
    done = subprocess.run(command, env=surroundings, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


def envelopes(receiver: Receiver) -> list[dict[str, Any]]:
    """Return the events that Sentry was sent."""
    lines = [line for path, body in receiver.received if path == "/api/7/envelope/" for line in body.splitlines()]
    return [item for item in map(json.loads, lines) if "event_id" in item and "platform" in item]


@pytest.mark.slow
def test_sentry_is_told_of_errors_with_their_ids_and_without_secrets(receiver: Receiver) -> None:
    perform(ERRORS, SENTRY_DSN=f"http://public@{receiver.place}/7")
    request, task, logged = envelopes(receiver)
    assert request["exception"]["values"][-1]["type"] == "ValueError"
    assert request["tags"]["request_id"] == "request-of-the-test"
    assert task["exception"]["values"][-1]["type"] == "KeyError"
    assert task["tags"]["task_id"] == "task-of-the-test"
    assert logged["logger"] == "scheduler.executing"
    assert logged["tags"]["run"] == "12"
    said = str([request, task, logged])
    assert DOTS in said
    for secret in (SECRET, METRICS_TOKEN):
        assert secret not in str(receiver.received)


def resources(receiver: Receiver) -> list[ResourceSpans]:
    """Return what the collector was sent of each process."""
    requests = [ExportTraceServiceRequest.FromString(body) for _, body in list(receiver.received)]
    return [each for request in requests for each in request.resource_spans]


def spans_of(told: list[ResourceSpans]) -> list[Span]:
    return [span for each in told for scope in each.scope_spans for span in scope.spans]


@pytest.mark.slow
def test_a_collector_is_told_of_requests_tasks_and_queries_without_secrets(receiver: Receiver) -> None:
    perform(TRACES, OTEL_EXPORTER_OTLP_ENDPOINT=f"http://{receiver.place}")
    assert {path for path, _ in receiver.received} == {"/v1/traces"}
    told = resources(receiver)
    spans = spans_of(told)
    names = {span.name for span in spans}
    assert {"run/shop.ask", "GET healthz", "ours"} <= names
    assert any("SELECT" in name for name in names)
    assert 'string_value: "tideline"' in str(told[0].resource)
    said = str(spans)
    assert DOTS in said
    assert "SELECT %s" in said
    for secret in (SECRET, METRICS_TOKEN):
        assert secret not in said


@pytest.mark.slow
def test_a_child_that_ends_after_each_task_tells_what_it_did(receiver: Receiver, processes: Processes) -> None:
    command = f"{commands(project_settings.BASE_DIR / 'Procfile')['worker']} --max-tasks-per-child 1"
    processes.run("worker", command, OTEL_EXPORTER_OTLP_ENDPOINT=f"http://{receiver.place}")
    for _ in range(3):
        app.send_task("scheduler.all_clear")

    def all_are_told() -> bool:
        names = [span.name for span in spans_of(resources(receiver))]
        return names.count("run/scheduler.all_clear") == 3

    processes.wait_until(all_are_told, what="the spans of three tasks")


@pytest.mark.parametrize(
    ("setting", "package", "part"),
    [("SENTRY_DSN", "sentry_sdk", "sentry"), ("OTEL_EXPORTER_OTLP_ENDPOINT", "opentelemetry", "traces")],
)
def test_a_missing_package_is_named_with_the_way_to_get_it(
    settings: Settings, monkeypatch: pytest.MonkeyPatch, setting: str, package: str, part: str
) -> None:
    for name in [name for name in sys.modules if name.partition(".")[0] == package]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.delitem(sys.modules, f"project.observing.{part}", raising=False)
    monkeypatch.setitem(sys.modules, package, None)  # as if it were not there
    setattr(settings, setting, "http://public@localhost/1")
    with pytest.raises(ImproperlyConfigured, match=f"{setting} needs the package {package}: pip install -r "):
        observing.begin()


def test_nothing_is_loaded_where_nobody_is_named(settings: Settings, monkeypatch: pytest.MonkeyPatch) -> None:
    settings.SENTRY_DSN = settings.OTEL_EXPORTER_OTLP_ENDPOINT = ""
    monkeypatch.setattr(observing, "import_module", lambda name: pytest.fail(f"{name} is loaded"))
    observing.begin()


def test_texts_are_masked_however_deep_they_stand() -> None:
    told = {"a": [{"b": ("password=hunter2", 1)}], "c": None}
    assert masked_within(told) == {"a": [{"b": [f"password={DOTS}", 1]}], "c": None}
