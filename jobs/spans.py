"""Spans of OpenTelemetry, if its API is installed and configured. Spec: contract 32.2.

Without the package the decorated functions stay unchanged. Without a provider a call checks for one
and goes on. This module exports nothing: the operator's SDK does.
"""

from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from functools import lru_cache, wraps
from inspect import iscoroutinefunction
from time import monotonic, time_ns
from typing import Any, TypeVar, cast

from jobs.conf import conf
from jobs.domain.access.caller import SYSTEM, Caller
from jobs.domain.enqueue.draft import JobDraft
from jobs.domain.errors import OJSError
from jobs.domain.job import Job
from jobs.domain.states import State, state_of
from jobs.domain.wire import jsonio

try:
    from opentelemetry import trace
    from opentelemetry.context import Context
    from opentelemetry.trace import Link, Span, SpanKind, Status, StatusCode, Tracer
    from opentelemetry.trace.propagation import tracecontext
except ImportError:
    IS_THERE = False
else:
    IS_THERE = True

Function = TypeVar("Function", bound=Callable[..., Any])


def producing(enqueue: Function) -> Function:
    """Give each draft of a call of `enqueue` a span `{queue} enqueue`.

    A job that brings no trace context gets that of its span, unless OJS_TRACE_INJECT is off.
    """
    if not IS_THERE:
        return enqueue

    @wraps(enqueue)
    def traced(drafts: Sequence[JobDraft], caller: Caller = SYSTEM) -> Any:
        tracer = _tracer()
        if tracer is None:
            return enqueue(drafts, caller)
        spans = [_produced(tracer, draft, caller) for draft in drafts]
        try:
            outcomes = enqueue(drafts, caller)
            for span, outcome in zip(spans, outcomes, strict=True):
                _record_outcome(span, outcome)
        except BaseException as problem:
            for span in spans:
                _fail(span, type(problem).__name__)
            raise
        finally:
            for span in spans:
                span.end()
        return outcomes

    return cast(Function, traced)


def are_made() -> bool:
    """Return whether calls make spans."""
    return IS_THERE and _tracer() is not None


def consuming(execute: Function) -> Function:
    """Run an attempt in a span `{queue} process`, linked to the job's producer.

    `execute` is a function or a coroutine function; its first argument is the job's context.
    """
    if not IS_THERE:
        return execute

    if iscoroutinefunction(execute):

        @wraps(execute)
        async def traced_async(context: Any, *arguments: Any) -> Any:
            tracer = _tracer()
            if tracer is None:
                return await execute(context, *arguments)
            with _consumed(tracer, context) as span:
                return _record_end(span, await execute(context, *arguments))

        return cast(Function, traced_async)

    @wraps(execute)
    def traced(context: Any, *arguments: Any) -> Any:
        tracer = _tracer()
        if tracer is None:
            return execute(context, *arguments)
        with _consumed(tracer, context) as span:
            return _record_end(span, execute(context, *arguments))

    return cast(Function, traced)


def traced_loop(name: str, run: Callable[[], int]) -> Callable[[], int]:
    """Make a span of each run of a loop that changed rows or failed."""
    if not IS_THERE:
        return run

    def traced() -> int:
        tracer = _tracer()
        if tracer is None:
            return run()
        began = time_ns()
        try:
            rows = run()
        except Exception as problem:
            span = _loop_span(tracer, name, began)
            _fail(span, type(problem).__name__)
            span.end()
            raise
        if rows:
            span = _loop_span(tracer, name, began)
            span.set_attribute("ojs.loop.rows", rows)
            span.end()
        return rows

    return traced


def _tracer() -> "Tracer | None":
    """Return the tracer, None if none is configured."""
    return _tracer_at(int(monotonic()))


@lru_cache(maxsize=1)
def _tracer_at(second: int) -> "Tracer | None":
    """Check once a second: without a tracer, each check reads the environment."""
    provider = trace.get_tracer_provider()
    return None if isinstance(provider, trace.ProxyTracerProvider) else _tracer_of(provider)


@lru_cache(maxsize=1)
def _tracer_of(provider: Any) -> "Tracer":
    return trace.get_tracer("ojs", tracer_provider=provider)


def _facts(job: JobDraft | Job, operation: str) -> dict[str, Any]:
    return {
        "messaging.system": "ojs",
        "messaging.operation.type": operation,
        "messaging.destination.name": job.queue,
        "ojs.job.type": job.type,
    }


def _produced(tracer: "Tracer", draft: JobDraft, caller: Caller) -> "Span":
    """Begin the span of a draft: a child of the current span, else of the draft's trace context."""
    brought = {**(caller.stamps or {}), **draft.meta}
    is_inside = trace.get_current_span().get_span_context().is_valid
    parent = None if is_inside else _extracted(brought)
    span = tracer.start_span(
        f"{draft.queue} enqueue", parent, SpanKind.PRODUCER, _facts(draft, "send")
    )
    if "traceparent" not in brought and conf().trace_inject:
        carrier: dict[str, str] = {}
        w3c = tracecontext.TraceContextTextMapPropagator()
        w3c.inject(carrier, trace.set_span_in_context(span))
        draft.meta = {**draft.meta, **carrier}
    return span


def _consumed(tracer: "Tracer", context: Any) -> "AbstractContextManager[Span]":
    """Begin the span of an attempt, which is the current one in the block."""
    job: Job = context.job
    facts = _facts(job, "process") | {
        "ojs.job.id": job.id,
        "ojs.job.attempt": job.attempt,
        "ojs.job.state": State.ACTIVE.value,
        "ojs.worker.id": context.worker_id,
    }
    return tracer.start_as_current_span(
        f"{job.queue} process", Context(), SpanKind.CONSUMER, facts, _links(job),
        record_exception=False, set_status_on_exception=False,
    )  # fmt: skip


def _record_end(span: "Span", outcome: Any) -> Any:
    error = getattr(outcome, "error", None)  # of a Nack
    if error:
        _fail(span, error["type"])
    else:
        span.set_attribute("ojs.job.state", State.COMPLETED.value)
    return outcome


def _record_outcome(span: "Span", outcome: Job | OJSError | None) -> None:
    if isinstance(outcome, OJSError):
        _fail(span, outcome.code)
    elif outcome is not None:  # else dropped
        span.set_attribute("ojs.job.id", outcome.id)
        span.set_attribute("ojs.job.attempt", outcome.attempt)
        span.set_attribute("ojs.job.state", state_of(outcome.state).value)


def _fail(span: "Span", kind: str) -> None:
    """Record a failure without its message, which may quote an argument."""
    span.set_attribute("error.type", kind)
    span.set_status(Status(StatusCode.ERROR))


def _links(job: Job) -> "list[Link]":
    meta = jsonio.loads(job.meta.encode() if isinstance(job.meta, str) else job.meta)
    found = trace.get_current_span(_extracted(meta)).get_span_context()
    return [Link(found)] if found.is_valid else []


def _extracted(meta: Any) -> "Context":
    """Return the trace context of a job's meta, an empty one if it has none."""
    brought = {
        name: meta[name]
        for name in ("traceparent", "tracestate")
        if isinstance(meta.get(name), str)
    }
    return tracecontext.TraceContextTextMapPropagator().extract(brought, Context())


def _loop_span(tracer: "Tracer", name: str, began: int) -> "Span":
    return tracer.start_span(
        f"loop {name}", Context(), SpanKind.INTERNAL, {"ojs.loop.name": name}, start_time=began
    )
