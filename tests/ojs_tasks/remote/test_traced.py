"""One trace from a producer over HTTP to a remote handler, sent by OTLP to a real receiver."""

from collections.abc import Iterator
from pathlib import Path

import orjson
import pytest
from opentelemetry import trace
from opentelemetry.sdk.trace import ReadableSpan
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from opentelemetry.trace import SpanKind, format_trace_id

from jobs.models import Later
from jobs.queries import ago
from jobs.services.outcome.promote import promote
from jobs.services.read.show import show
from ojs_tasks.exceptions import Refused
from ojs_tasks.remote.server import RemoteServer
from tests.conftest import Spawn, end_all, free_port, http_server, wait_until_healthy
from tests.ojs_tasks.remote.project import Project, project
from tests.spec import spec
from tests.tracing import Receiver, in_memory, receiver, traceparent

ADD = {"type": "shop.add", "queue": "shop", "args": [1, 2]}
HIDDEN = "do-not-tell-this"


@pytest.fixture(scope="module")
def received() -> Iterator[Receiver]:
    """Serve a receiver of traces."""
    with receiver() as found:
        yield found


@pytest.fixture(scope="module")
def traced_url(spawn: Spawn, received: Receiver) -> Iterator[str]:
    """Return the address of a server that sends its traces."""
    port = free_port()
    http = spawn(*http_server(port), OJS_AUTH="apikey", **received.variables("ojs-http"))
    loops = spawn("manage.py", "runworker", "--no-handlers", **received.variables())
    url = f"http://127.0.0.1:{port}"
    wait_until_healthy(url)
    yield url
    end_all([http, loops])


@pytest.fixture
def traced(traced_url: str, key: str) -> Iterator[RemoteServer]:
    """Return the server as producers see it."""
    found = RemoteServer({"SERVER": traced_url, "API_KEY": key, "TIMEOUT": 30})
    yield found
    found.close()


@pytest.fixture
def traced_host(traced_url: str, key: str, tmp_path: Path) -> Iterator[Project]:
    """Return a host project of the server."""
    yield from project(tmp_path, traced_url, key)


@pytest.fixture
def exported(monkeypatch: pytest.MonkeyPatch) -> Iterator[InMemorySpanExporter]:
    """Configure a provider in this process, which is the producer."""
    with in_memory(monkeypatch) as exporter:
        yield exporter


def named(job_id: str) -> str:
    """Return the traceparent of a stored job without its flags."""
    return str(orjson.loads(show(job_id).meta)["traceparent"])[:-2]


def trace_id(span: ReadableSpan) -> str:
    """Return the id of a span's trace."""
    return traceparent(span)[3:35]


def span_id(span: ReadableSpan) -> str:
    """Return the id of a span."""
    return traceparent(span)[36:52]


def run_once(host: Project, received: Receiver, **variables: str) -> None:
    """Run the handlers of the project until no job is available."""
    host.run("manage.py", "runworker", "--once", **received.variables("shop", **variables))


@spec("contract 32.2")
def test_producer_request_and_handler_are_in_one_trace(
    traced: RemoteServer, traced_host: Project, received: Receiver, exported: InMemorySpanExporter
) -> None:
    tracer = trace.get_tracer_provider().get_tracer("shop")
    with tracer.start_as_current_span("checkout") as outer:
        (job,) = traced.enqueue([ADD])
    run_once(traced_host, received, HOST_TRACE_HANDLERS="child")

    assert job is not None
    produced, _ = exported.get_finished_spans()
    whole = format_trace_id(outer.get_span_context().trace_id)
    assert (produced.name, produced.kind) == ("shop enqueue", SpanKind.PRODUCER)
    assert produced.parent == outer.get_span_context()
    producer_id = span_id(produced)
    request = received.wait("POST /ojs/v1/jobs", whole)
    stored = received.wait("shop enqueue", whole)
    ran = received.wait("shop process", whole)
    assert (request.service, request.kind, request.parent_id) == ("ojs-http", "SERVER", producer_id)
    assert (stored.service, stored.kind, stored.parent_id) == (
        "ojs-http", "PRODUCER", request.span_id,
    )  # fmt: skip
    assert (ran.service, ran.kind, ran.parent_id) == ("shop", "CONSUMER", producer_id)
    for span in (stored, ran):
        assert span.attributes["messaging.system"] == "ojs"
        assert span.attributes["messaging.destination.name"] == "shop"
        assert span.attributes["messaging.message.id"] == job.id
    assert (ran.attributes["messaging.operation.type"], ran.attributes["ojs.job.state"]) == (
        "process", "completed",
    )  # fmt: skip


@spec("contract 32.2")
def test_a_handler_is_linked_to_its_producer_by_default(
    traced: RemoteServer, traced_host: Project, received: Receiver, exported: InMemorySpanExporter
) -> None:
    (job,) = traced.enqueue([ADD])
    run_once(traced_host, received)

    assert job is not None
    (produced,) = exported.get_finished_spans()
    ran = received.wait("shop process", ojs__job__id=job.id)
    assert (ran.parent_id, ran.links) == ("", (span_id(produced),))
    assert ran.trace_id != trace_id(produced)
    assert named(job.id) == traceparent(produced)[:-2]


@spec("contract 32.2")
def test_a_retry_is_linked_and_a_failure_has_no_message(
    traced: RemoteServer, traced_host: Project, received: Receiver, exported: InMemorySpanExporter
) -> None:
    again = {"max_attempts": 2, "initial_interval": "PT1H"}
    (job,) = traced.enqueue(
        [{"type": "shop.fail", "queue": "shop", "args": [HIDDEN], "retry": again}]
    )
    assert job is not None
    run_once(traced_host, received, HOST_TRACE_HANDLERS="child")
    Later.objects.update(due_at=ago(1_000))
    promote()
    run_once(traced_host, received, HOST_TRACE_HANDLERS="child")

    (produced,) = exported.get_finished_spans()
    first = received.wait("shop process", ojs__job__id=job.id, ojs__job__attempt=1)
    second = received.wait("shop process", ojs__job__id=job.id, ojs__job__attempt=2)
    assert (first.trace_id, first.parent_id) == (
        trace_id(produced), span_id(produced),
    )  # fmt: skip
    assert (second.parent_id, second.links) == ("", (span_id(produced),))
    assert first.failed
    assert first.attributes["error.type"] == "LookupError"
    assert HIDDEN not in str(received.spans)


@spec("contract 32.2")
def test_each_job_of_a_batch_names_its_own_span(
    traced: RemoteServer, exported: InMemorySpanExporter
) -> None:
    own = "00-11111111111111111111111111111111-2222222222222222-01"
    stored = traced.enqueue([ADD, ADD, {**ADD, "meta": {"traceparent": own}}])

    spans = exported.get_finished_spans()
    expected = [traceparent(spans[0]), traceparent(spans[1]), own]
    assert [named(job.id) for job in stored if job] == [one[:-2] for one in expected]


@spec("contract 32.2")
def test_a_refused_job_has_a_span_that_failed(
    traced: RemoteServer, exported: InMemorySpanExporter
) -> None:
    with pytest.raises(Refused):
        traced.enqueue([{**ADD, "type": "Not A Type"}])

    (span,) = exported.get_finished_spans()
    assert span.attributes is not None
    assert not span.status.is_ok
    assert span.attributes["error.type"]


@spec("contract 32.2")
def test_a_worker_process_without_these_variables_sends_nothing(
    traced: RemoteServer, traced_host: Project, received: Receiver
) -> None:
    (job,) = traced.enqueue([ADD])
    assert job is not None
    stored = received.wait("shop enqueue", ojs__job__id=job.id)
    traced_host.run("manage.py", "runworker", "--once")

    assert traced.read(job.id).state == "completed"
    after = {**ADD, "args": [3]}
    (other,) = traced.enqueue([after])
    assert other is not None
    received.wait("shop enqueue", ojs__job__id=other.id)  # later spans have arrived
    assert stored.service == "ojs-http"
    assert [one for one in received.spans if one.attributes.get("ojs.job.id") == job.id] == [stored]


def test_loops_send_spans_under_the_default_name(traced: RemoteServer, received: Receiver) -> None:
    traced.enqueue([ADD])

    assert received.wait("loop fold").service == "ojs"


@pytest.mark.parametrize(
    ("variables", "problem"),
    [
        ({"OTEL_TRACES_EXPORTER": "jaeger"}, "use one of otlp, console, none"),
        ({"OTEL_EXPORTER_OTLP_PROTOCOL": "grpc"}, "use http/protobuf"),
    ],
)
def test_a_variable_that_cannot_be_followed_ends_the_start(
    traced_host: Project, received: Receiver, variables: dict[str, str], problem: str
) -> None:
    process = traced_host.start(
        "manage.py", "runworker", "--once", **{**received.variables(), **variables}
    )
    _, errors = process.communicate()

    assert process.returncode == 1
    assert problem in errors
    assert "Traceback" not in errors
