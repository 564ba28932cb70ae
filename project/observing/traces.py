"""Traces go to an OpenTelemetry collector: requests, tasks from whoever sends them to the worker, and queries, whose
values stand nowhere. Its SDK reads its other settings itself: OTEL_SERVICE_NAME, OTEL_TRACES_SAMPLER,
OTEL_EXPORTER_OTLP_HEADERS …
"""

import os
from collections.abc import Mapping, Sequence
from typing import Any

from celery import signals
from opentelemetry import trace
from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
from opentelemetry.instrumentation.celery import CeleryInstrumentor
from opentelemetry.instrumentation.django import DjangoInstrumentor
from opentelemetry.instrumentation.psycopg import PsycopgInstrumentor
from opentelemetry.sdk.trace import Event, ReadableSpan, TracerProvider
from opentelemetry.sdk.trace.export import BatchSpanProcessor, SpanExporter, SpanExportResult
from opentelemetry.trace import Status
from opentelemetry.util.types import AttributeValue

from project.logs import discreet

SERVICE = "tideline"


def begin() -> None:
    """Begin to trace."""
    os.environ.setdefault("OTEL_SERVICE_NAME", SERVICE)
    provider = TracerProvider()
    provider.add_span_processor(BatchSpanProcessor(DiscreetExporter(OTLPSpanExporter())))
    trace.set_tracer_provider(provider)
    for instrumentor in (DjangoInstrumentor(), CeleryInstrumentor(), PsycopgInstrumentor()):
        instrumentor.instrument()

    def tell_the_rest(**_: Any) -> None:
        provider.force_flush()

    # A child of a worker ends without what Python does at an exit, and would take its last seconds along.
    signals.worker_process_shutdown.connect(tell_the_rest, weak=False)


class DiscreetExporter(SpanExporter):
    """Passes spans on without secrets."""

    def __init__(self, exporter: SpanExporter) -> None:
        self._exporter = exporter

    def export(self, spans: Sequence[ReadableSpan]) -> SpanExportResult:
        """Pass them on."""
        return self._exporter.export([masked(span) for span in spans])

    def shutdown(self) -> None:
        """Tell no more."""
        self._exporter.shutdown()

    def force_flush(self, timeout_millis: int = 30_000) -> bool:
        """Tell what was held back."""
        return self._exporter.force_flush(timeout_millis)


def masked(span: ReadableSpan) -> ReadableSpan:
    """Return the span with its texts masked."""
    return ReadableSpan(
        name=discreet(span.name),
        context=span.context,
        parent=span.parent,
        resource=span.resource,
        attributes=_masked(span.attributes),
        events=[Event(event.name, _masked(event.attributes), event.timestamp) for event in span.events],
        links=span.links,
        kind=span.kind,
        status=Status(span.status.status_code, discreet(span.status.description or "") or None),
        start_time=span.start_time,
        end_time=span.end_time,
        instrumentation_scope=span.instrumentation_scope,
    )


def _masked(attributes: Mapping[str, AttributeValue] | None) -> dict[str, AttributeValue]:
    return {name: _masked_value(value) for name, value in (attributes or {}).items()}


def _masked_value(value: AttributeValue) -> AttributeValue:
    if isinstance(value, str):
        return discreet(value)
    if isinstance(value, Sequence):
        return [discreet(each) if isinstance(each, str) else each for each in value]
    return value
