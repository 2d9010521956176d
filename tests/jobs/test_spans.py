"""Spans of jobs and loops, with the OpenTelemetry SDK. Spec: contract 32.2."""

import asyncio
import logging
import subprocess
import sys
from collections.abc import Iterator, Sequence
from typing import Any

import orjson
import pytest
from opentelemetry import trace
from opentelemetry.sdk.trace import ReadableSpan
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from opentelemetry.trace import SpanKind, StatusCode, format_span_id, format_trace_id

from jobs import spans
from jobs.domain.access.caller import SYSTEM, Caller
from jobs.domain.dispatch.claim import FetchRequest
from jobs.domain.errors import OJSError
from jobs.extensions import Loop
from jobs.logs import TextFormatter
from jobs.loops import LoopRunner
from jobs.models import Later
from jobs.queries import ago
from jobs.services.dispatch.fetch import fetch
from jobs.services.enqueue.enqueue import enqueue
from jobs.services.enqueue.enqueue_each import enqueue_each
from jobs.services.outcome.nack import Nack, nack
from jobs.services.outcome.promote import promote
from jobs.services.read.show import show
from jobs.worker.execution import EXECUTION
from ojs_project.logs import JsonFormatter
from ojs_tasks import Context
from ojs_tasks.worker.chain import Steps
from tests.conftest import ROOT
from tests.factories import DraftFactory, JobFactory
from tests.processes import until
from tests.spec import spec
from tests.tracing import in_memory, parent_of, traceparent

pytestmark = pytest.mark.usefixtures("store")

ORIGIN = "00-11111111111111111111111111111111-2222222222222222-01"
PARENT = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"
HIDDEN = "do-not-tell-this"
Exported = InMemorySpanExporter


@pytest.fixture
def exported(monkeypatch: pytest.MonkeyPatch) -> Iterator[Exported]:
    """Configure a provider for this test and return its exporter."""
    with in_memory(monkeypatch) as exporter:
        yield exporter


def meta_of(job_id: str) -> dict[str, Any]:
    """Return the meta of a stored job."""
    return dict(orjson.loads(show(job_id).meta))


def run_one(handler: Any) -> Any:
    """Claim the only job and run it by `handler`."""
    (job,) = fetch(FetchRequest(("mail",), worker_id="w1")).jobs
    return EXECUTION.execute(Context(job, "w1"), Steps(handler, on_loop=False, in_thread=True))


@spec("contract 32.2")
def test_an_enqueued_job_has_a_span_that_it_names(exported: Exported) -> None:
    job = JobFactory.create(type="mail.send", queue="mail", args=[HIDDEN])

    (span,) = exported.get_finished_spans()
    assert (span.name, span.kind) == ("mail enqueue", SpanKind.PRODUCER)
    assert span.attributes == {
        "messaging.system": "ojs",
        "messaging.operation.name": "enqueue",
        "messaging.operation.type": "send",
        "messaging.destination.name": "mail",
        "messaging.message.id": job.id,
        "ojs.job.type": "mail.send",
        "ojs.job.id": job.id,
        "ojs.job.attempt": 0,
        "ojs.job.state": "available",
    }
    assert meta_of(job.id).keys() == {"traceparent"}
    assert meta_of(job.id)["traceparent"][:-2] == traceparent(span)[:-2]  # equal but for flags


@spec("contract 32.2")
def test_a_job_keeps_the_trace_that_it_brings(exported: Exported) -> None:
    job = JobFactory.create(queue="mail", meta={"traceparent": PARENT, "tracestate": "a=1"})

    (span,) = exported.get_finished_spans()
    assert parent_of(span) == PARENT
    assert meta_of(job.id) == {"traceparent": PARENT, "tracestate": "a=1"}


@spec("contract 32.2")
def test_the_trace_of_the_request_comes_before_that_of_the_span(exported: Exported) -> None:
    caller = Caller("test", stamps={"traceparent": PARENT})
    (job,) = enqueue([DraftFactory.create()], caller)

    (span,) = exported.get_finished_spans()
    assert parent_of(span) == PARENT
    assert job is not None
    assert meta_of(job.id)["traceparent"] == PARENT


@spec("contract 32.2")
def test_a_span_around_the_call_is_the_parent(exported: Exported) -> None:
    tracer = trace.get_tracer_provider().get_tracer("host")
    with tracer.start_as_current_span("request"):
        JobFactory.create(meta={"traceparent": PARENT})

    inner, outer = exported.get_finished_spans()
    assert parent_of(inner) == traceparent(outer)


@spec("contract 32.2")
def test_nothing_is_added_to_jobs_where_that_is_switched_off(
    exported: Exported, settings: Any
) -> None:
    settings.OJS = {**settings.OJS, "TRACE_INJECT": False}
    job = JobFactory.create()

    assert len(exported.get_finished_spans()) == 1
    assert meta_of(job.id) == {}


@spec("contract 32.2")
def test_refused_jobs_have_spans_that_failed(exported: Exported) -> None:
    taken = JobFactory.create()
    drafts = [DraftFactory.create(id=taken.id, args=[HIDDEN]), DraftFactory.create()]
    exported.clear()

    with pytest.raises(OJSError):
        enqueue(drafts)
    refused = exported.get_finished_spans()
    exported.clear()
    enqueue_each(drafts, SYSTEM)

    def codes(found: Sequence[ReadableSpan]) -> list[StatusCode]:
        return [span.status.status_code for span in found]

    assert codes(refused) == [StatusCode.ERROR, StatusCode.ERROR]
    assert codes(exported.get_finished_spans()) == [StatusCode.ERROR, StatusCode.UNSET]
    assert HIDDEN not in str([span.to_json() for span in refused])


@spec("contract 32.2")
def test_an_attempt_is_linked_to_its_producer_and_no_child(exported: Exported) -> None:
    job = JobFactory.create(type="mail.send", queue="mail", meta={"traceparent": PARENT})
    exported.clear()
    seen = []

    def handler(_context: Context) -> None:
        seen.append(trace.get_current_span().get_span_context().span_id)

    run_one(handler)

    (span,) = exported.get_finished_spans()
    assert (span.name, span.kind, span.parent) == ("mail process", SpanKind.CONSUMER, None)
    (link,) = span.links
    assert format_trace_id(link.context.trace_id) == PARENT[3:35]
    assert format_span_id(link.context.span_id) == PARENT[36:52]
    assert seen == [span.context.span_id]  # the handler runs inside the span
    assert span.attributes == {
        "messaging.system": "ojs",
        "messaging.operation.name": "process",
        "messaging.operation.type": "process",
        "messaging.destination.name": "mail",
        "messaging.message.id": job.id,
        "ojs.job.type": "mail.send",
        "ojs.job.id": job.id,
        "ojs.job.attempt": 1,
        "ojs.job.state": "completed",
        "ojs.worker.id": "w1",
    }


@spec("contract 32.2")
def test_a_first_attempt_is_a_child_of_its_producer_where_asked_for(
    exported: Exported, settings: Any
) -> None:
    settings.OJS = {**settings.OJS, "TRACE_HANDLERS": "child"}
    JobFactory.create(type="mail.send", queue="mail", meta={"traceparent": PARENT})
    exported.clear()

    run_one(lambda _: None)

    (span,) = exported.get_finished_spans()
    assert (parent_of(span), span.links) == (PARENT, ())


@spec("contract 32.2")
def test_a_retry_has_a_trace_of_its_own_linked_to_the_producer(
    exported: Exported, settings: Any
) -> None:
    settings.OJS = {**settings.OJS, "TRACE_HANDLERS": "child"}
    job = JobFactory.create(queue="mail", meta={"traceparent": PARENT})
    (claimed,) = fetch(FetchRequest(("mail",), worker_id="w1")).jobs
    nack([Nack(job.id, requeue=False, error={"type": "a", "message": "b"})])
    Later.objects.update(due_at=ago(1_000))
    promote()
    exported.clear()

    run_one(lambda _: None)

    (span,) = exported.get_finished_spans()
    assert span.attributes is not None
    assert (claimed.attempt, span.attributes["ojs.job.attempt"], span.parent) == (1, 2, None)
    assert [format_span_id(link.context.span_id) for link in span.links] == [PARENT[36:52]]


@spec("contract 32.2")
def test_an_attempt_of_a_step_is_linked_to_the_request_of_its_workflow(exported: Exported) -> None:
    meta = {"traceparent": PARENT, "ojs.workflow.trace_origin": ORIGIN}
    JobFactory.create(queue="mail", meta=meta)
    exported.clear()

    run_one(lambda _: None)

    (span,) = exported.get_finished_spans()
    links = [format_span_id(link.context.span_id) for link in span.links]
    assert links == [PARENT[36:52], ORIGIN[36:52]]


@spec("contract 32.5")
def test_lines_within_a_span_name_its_trace(exported: Exported) -> None:
    tracer = trace.get_tracer_provider().get_tracer("host")
    record = logging.makeLogRecord({"msg": "hello", "name": "shop", "levelno": logging.INFO})
    own = logging.makeLogRecord({**record.__dict__, "trace_id": "a", "span_id": "b"})
    with tracer.start_as_current_span("request") as span:
        line = orjson.loads(JsonFormatter().format(record))
        text = TextFormatter().format(record)
        kept = orjson.loads(JsonFormatter().format(own))
    outside = orjson.loads(JsonFormatter().format(record))

    found = span.get_span_context()
    assert line["trace.trace_id"] == format_trace_id(found.trace_id)
    assert line["trace.span_id"] == format_span_id(found.span_id)
    assert f"span_id={format_span_id(found.span_id)}" in text
    assert kept["trace.trace_id"] == "a"
    assert "trace.trace_id" not in outside
    assert len(exported.get_finished_spans()) == 1


@spec("contract 32.2")
def test_a_coroutine_runs_inside_the_span_of_its_attempt(exported: Exported) -> None:
    JobFactory.create(type="mail.send", queue="mail")
    (job,) = fetch(FetchRequest(("mail",), worker_id="w1")).jobs
    exported.clear()
    seen = []

    async def handler(_context: Context) -> None:
        seen.append(trace.get_current_span().get_span_context().span_id)

    steps = Steps(handler, on_loop=True, in_thread=False)
    asyncio.run(EXECUTION.execute_on_loop(Context(job, "w1"), steps, lambda: False))

    (span,) = exported.get_finished_spans()
    assert (span.name, seen) == ("mail process", [span.context.span_id])
    assert span.attributes is not None
    assert span.attributes["ojs.job.state"] == "completed"


@spec("contract 32.2")
def test_a_failed_attempt_tells_what_failed_but_no_message(exported: Exported) -> None:
    JobFactory.create(queue="mail", meta={"traceparent": "none"})
    exported.clear()

    def handler(_context: Context) -> None:
        raise ValueError(HIDDEN)

    assert isinstance(run_one(handler), Nack)

    (span,) = exported.get_finished_spans()
    assert span.status.status_code is StatusCode.ERROR
    assert span.attributes is not None
    assert span.attributes["error.type"] == "ValueError"
    assert span.attributes["ojs.job.state"] == "active"
    assert span.links == ()
    assert HIDDEN not in span.to_json()


@spec("contract 32.2")
def test_runs_of_loops_that_did_something_have_spans(exported: Exported) -> None:
    rows = iter([0, 3])

    assert spans.traced_loop("some", lambda: next(rows))() == 0
    assert spans.traced_loop("some", lambda: next(rows))() == 3
    with pytest.raises(ZeroDivisionError):
        spans.traced_loop("other", lambda: 1 // 0)()

    done, failed = exported.get_finished_spans()
    assert (done.name, done.kind) == ("loop some", SpanKind.INTERNAL)
    assert done.attributes == {"ojs.loop.name": "some", "ojs.loop.rows": 3}
    assert failed.status.status_code is StatusCode.ERROR


@spec("contract 32.2")
def test_the_runner_of_loops_makes_them(exported: Exported) -> None:
    runner = LoopRunner([Loop("spanned", lambda: 1, 10, full=2)])
    runner.start()
    until(lambda: len(exported.get_finished_spans()) > 0, "a span of the loop")
    runner.stop()

    assert exported.get_finished_spans()[0].name == "loop spanned"


@spec("contract 32.2")
def test_nothing_happens_where_nobody_configured_a_provider() -> None:
    job = JobFactory.create()

    assert meta_of(job.id) == {}


@spec("contract 32.2")
def test_without_the_package_functions_stay_as_they_are() -> None:
    code = (
        "import sys; sys.modules['opentelemetry'] = None\n"
        "import django; django.setup()\n"
        "from jobs import spans\n"
        "def f(): pass\n"
        "print(spans.producing(f) is f, spans.consuming(f) is f, spans.traced_loop('l', f) is f)"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True
    )

    assert done.stdout == "True True True\n"
