"""A receiver of traces by OTLP over HTTP, and an exporter in memory."""

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from opentelemetry import trace
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest
from opentelemetry.sdk.trace import ReadableSpan, TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from opentelemetry.trace import format_span_id, format_trace_id

from ojs_tasks import tracing
from tests.processes import until

PATH = "/v1/traces"


@dataclass(frozen=True)
class Sent:
    """A span as a process sent it; ids in hexadecimal, empty without a parent."""

    service: str
    name: str
    kind: str  # SERVER, PRODUCER, CONSUMER, INTERNAL
    trace_id: str
    span_id: str
    parent_id: str
    links: tuple[str, ...]  # span ids
    attributes: dict[str, Any]
    failed: bool


@dataclass
class Receiver:
    """The address of a receiver, and the spans that it got."""

    url: str
    spans: list[Sent] = field(default_factory=list)

    def variables(self, service: str | None = None, **more: str) -> dict[str, str]:
        """Return the variables by which a process sends its spans here soon."""
        named = {"OTEL_SERVICE_NAME": service} if service else {}
        return {
            "OTEL_EXPORTER_OTLP_ENDPOINT": self.url, "OTEL_BSP_SCHEDULE_DELAY": "50",
            **named, **more,
        }  # fmt: skip

    def wait(self, name: str, trace_id: str | None = None, **attributes: Any) -> Sent:
        """Wait for a span of this name, in this trace and with these attributes."""
        wanted = {key.replace("__", "."): value for key, value in attributes.items()}

        def found() -> list[Sent]:
            return [
                one
                for one in list(self.spans)
                if one.name == name
                and trace_id in (None, one.trace_id)
                and wanted.items() <= one.attributes.items()
            ]

        until(lambda: bool(found()), f"the span {name}")
        return found()[0]


@contextmanager
def receiver() -> Iterator[Receiver]:
    """Serve a receiver in a thread."""

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            assert (self.path, self.headers["Content-Type"]) == (PATH, "application/x-protobuf")
            body = self.rfile.read(int(self.headers["Content-Length"]))
            found.spans += _spans(ExportTraceServiceRequest.FromString(body))
            self.send_response(200)
            self.send_header("Content-Length", "0")
            self.end_headers()

        def log_message(self, *_: Any) -> None:
            """Write no line."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    found = Receiver(f"http://127.0.0.1:{server.server_port}")
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    try:
        yield found
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


def _spans(request: ExportTraceServiceRequest) -> Iterator[Sent]:
    for resource in request.resource_spans:
        service = _facts(resource.resource.attributes)["service.name"]
        for scope in resource.scope_spans:
            for span in scope.spans:
                yield Sent(
                    str(service),
                    span.name,
                    span.SpanKind.Name(span.kind).removeprefix("SPAN_KIND_"),
                    span.trace_id.hex(),
                    span.span_id.hex(),
                    span.parent_span_id.hex(),
                    tuple(link.span_id.hex() for link in span.links),
                    _facts(span.attributes),
                    span.status.code == 2,
                )


def _facts(pairs: Any) -> dict[str, Any]:
    return {pair.key: getattr(pair.value, pair.value.WhichOneof("value")) for pair in pairs}


@contextmanager
def in_memory(monkeypatch: Any) -> Iterator[InMemorySpanExporter]:
    """Configure a provider for this process and a time, and yield its exporter."""
    exporter, provider = InMemorySpanExporter(), TracerProvider()
    provider.add_span_processor(SimpleSpanProcessor(exporter))
    monkeypatch.setattr(trace, "get_tracer_provider", lambda: provider)
    tracing.clear()
    yield exporter
    tracing.clear()


def parent_of(span: ReadableSpan) -> str | None:
    """Return the traceparent of the parent span."""
    found = span.parent
    if found is None:
        return None
    return f"00-{format_trace_id(found.trace_id)}-{format_span_id(found.span_id)}-01"


def traceparent(span: ReadableSpan) -> str:
    """Return the traceparent of a span."""
    found = span.get_span_context()
    assert found is not None
    return f"00-{format_trace_id(found.trace_id)}-{format_span_id(found.span_id)}-01"
