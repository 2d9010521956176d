"""Spans of OpenTelemetry in producers and workers, if its API is installed and configured.

Without the package nothing happens, and decorated functions stay unchanged. Without a provider a
call checks for one and goes on. Names follow the semantic conventions for messaging. Spec: contract
32.2.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass
from functools import wraps
from inspect import iscoroutinefunction
from math import inf
from time import monotonic
from typing import Any, Final, Protocol, TypeVar, cast

import orjson

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

SYSTEM: Final = "ojs"
HANDLERS: Final = ("link", "child")  # values of TRACE_HANDLERS; the first is the default
TRACE: Final = ("traceparent", "tracestate")  # members of a job's meta, and headers
ORIGIN: Final = "ojs.workflow.trace_origin"  # member of `meta`: the trace of the workflow's request
FLUSH_MS: Final = 5_000
CHECK_S: Final = 1.0


class Described(Protocol):
    """A job or a draft."""

    @property
    def type(self) -> str:
        """The type of the job."""

    @property
    def queue(self) -> str:
        """The queue of the job."""


@dataclass(slots=True)
class _Known:
    """The tracer as of the last check, which holds until a time of the monotonic clock."""

    until: float = 0.0 if IS_THERE else inf
    tracer: "Tracer | None" = None


_known = _Known()


def tracer() -> "Tracer | None":
    """Return the tracer, None if none is configured.

    A provider that is configured later is found within CHECK_S: each check reads the environment.
    """
    if monotonic() >= _known.until:
        provider = trace.get_tracer_provider()
        is_there = not isinstance(provider, trace.ProxyTracerProvider)
        _known.tracer = trace.get_tracer("ojs", tracer_provider=provider) if is_there else None
        _known.until = monotonic() + CHECK_S
    return _known.tracer


def are_made() -> bool:
    """Return whether calls make spans."""
    return tracer() is not None


def use(provider: Any) -> None:
    """Make a provider that of this process."""
    trace.set_tracer_provider(provider)
    clear()


def clear() -> None:
    """Forget the tracer: another provider may be configured."""
    _known.until = 0.0 if IS_THERE else inf


def flush() -> None:
    """Send all ended spans, at most for FLUSH_MS. For a process that ends without its exit code."""
    if are_made():
        force_flush = getattr(trace.get_tracer_provider(), "force_flush", None)
        if force_flush is not None:  # of the SDK
            force_flush(FLUSH_MS)


def current_ids() -> tuple[str, str] | None:
    """Return the trace id and span id of the current span, None without one."""
    if not are_made():
        return None
    found = trace.get_current_span().get_span_context()
    if not found.is_valid:
        return None
    return trace.format_trace_id(found.trace_id), trace.format_span_id(found.span_id)


def carrier() -> dict[str, str]:
    """Return `traceparent` and `tracestate` of the current span; {} without one."""
    return injected(trace.get_current_span()) if are_made() else {}


def facts_of(queue: str, job_type: str, name: str, kind: str) -> dict[str, Any]:
    """Return the attributes that all spans of jobs have; `kind` is send or process."""
    return {
        "messaging.system": SYSTEM,
        "messaging.operation.name": name,
        "messaging.operation.type": kind,
        "messaging.destination.name": queue,
        "ojs.job.type": job_type,
    }


def injected(span: "Span") -> dict[str, str]:
    """Return the trace context of a span as headers; {} for a span that is not valid."""
    found: dict[str, str] = {}
    w3c = tracecontext.TraceContextTextMapPropagator()
    w3c.inject(found, trace.set_span_in_context(span, Context()))
    return found


def extracted(meta: Mapping[str, Any]) -> "Context":
    """Return the trace context of a job's meta, an empty one if it has none."""
    brought = {name: meta[name] for name in TRACE if isinstance(meta.get(name), str)}
    return tracecontext.TraceContextTextMapPropagator().extract(brought, Context())


def start_producing(active: "Tracer", queue: str, job_type: str, meta: Mapping[str, Any]) -> "Span":
    """Begin the span of a draft: a child of the current span, else of the draft's trace context.

    A draft whose context is of another trace is linked to it.
    """
    brought = extracted(meta)
    own = trace.get_current_span(brought).get_span_context()
    current = trace.get_current_span().get_span_context()
    links = [Link(own)] if own.is_valid and current.is_valid and own != current else []
    return active.start_span(
        f"{queue} enqueue", None if current.is_valid else brought, SpanKind.PRODUCER,
        facts_of(queue, job_type, "enqueue", "send"),
        [one for one in links if one.context.trace_id != current.trace_id],
    )  # fmt: skip


@contextmanager
def sending(drafts: Sequence[Mapping[str, Any]]) -> "Iterator[Sequence[Mapping[str, Any]]]":
    """Give each draft on the wire a span `{queue} enqueue`; yield drafts that name their spans.

    The span of a single draft is the current span in the block, so that requests name it, too.
    """
    active = tracer()
    if active is None:
        yield drafts
        return
    spans, named = [], []
    for draft in drafts:
        meta = draft.get("meta") or {}
        queue, job_type = draft.get("queue") or "default", str(draft["type"])
        span = start_producing(active, queue, job_type, meta)
        span.set_attribute("messaging.message.id", draft["id"])
        span.set_attribute("ojs.job.id", draft["id"])
        spans.append(span)
        named.append(draft if TRACE[0] in meta else {**draft, "meta": {**meta, **injected(span)}})
    is_single = len(spans) == 1
    current: AbstractContextManager[Any] = (
        trace.use_span(spans[0], record_exception=False, set_status_on_exception=False)
        if is_single else nullcontext()
    )  # fmt: skip
    try:
        with current:
            yield named
    except BaseException as problem:
        for span in spans:
            fail(span, getattr(problem, "code", None) or type(problem).__name__)
        raise
    finally:
        for span in spans:
            span.end()


def consuming(is_child: Callable[[], bool]) -> Callable[[Function], Function]:
    """Return a decorator that runs an attempt in a span `{queue} process`.

    The span is linked to the job's producer. If `is_child`, the span of a first attempt is a child
    of the producer's span instead. The decorated function may be a coroutine function; its first
    argument is the job's context.
    """

    def decorate(execute: Function) -> Function:
        if not IS_THERE:
            return execute
        return (
            _traced_async(execute, is_child)
            if iscoroutinefunction(execute)
            else _traced(execute, is_child)
        )

    return decorate


def _traced(execute: Function, is_child: Callable[[], bool]) -> Function:
    @wraps(execute)
    def traced(context: Any, *arguments: Any) -> Any:
        active = tracer()
        if active is None:
            return execute(context, *arguments)
        with _consumed(active, context, is_child()) as span:
            return _record_end(span, execute(context, *arguments))

    return cast(Function, traced)


def _traced_async(execute: Function, is_child: Callable[[], bool]) -> Function:
    @wraps(execute)
    async def traced_async(context: Any, *arguments: Any) -> Any:
        active = tracer()
        if active is None:
            return await execute(context, *arguments)
        with _consumed(active, context, is_child()) as span:
            return _record_end(span, await execute(context, *arguments))

    return cast(Function, traced_async)


def _consumed(
    active: "Tracer",
    context: Any,
    is_child: bool,  # noqa: FBT001
) -> "AbstractContextManager[Span]":
    """Begin the span of an attempt, which is the current one in the block."""
    job = context.job
    meta = orjson.loads(job.meta)
    producer = extracted(meta)
    parent = producer if is_child and job.attempt == 1 else Context()
    facts = facts_of(job.queue, job.type, "process", "process") | {
        "messaging.message.id": job.id,
        "ojs.job.id": job.id,
        "ojs.job.attempt": job.attempt,
        "ojs.job.state": "active",
        "ojs.worker.id": context.worker_id,
    }
    return active.start_as_current_span(
        f"{job.queue} process", parent, SpanKind.CONSUMER, facts, _links(meta, parent),
        record_exception=False, set_status_on_exception=False,
    )  # fmt: skip


def _links(meta: Mapping[str, Any], parent: "Context") -> "list[Link]":
    """Link the producer, and the request of the job's workflow; neither twice, nor the parent."""
    seen = {_place(trace.get_current_span(parent).get_span_context())}
    links = []
    for name in (TRACE[0], ORIGIN):
        found = trace.get_current_span(
            extracted({**meta, TRACE[0]: meta.get(name)})
        ).get_span_context()
        if found.is_valid and _place(found) not in seen:
            seen.add(_place(found))
            links.append(Link(found))
    return links


def _place(found: Any) -> tuple[int, int]:
    return found.trace_id, found.span_id


def _record_end(span: "Span", outcome: Any) -> Any:
    error = getattr(outcome, "error", None)  # of a Nack
    if error:
        fail(span, error["type"])
    else:
        span.set_attribute("ojs.job.state", "completed")
    return outcome


def fail(span: "Span", kind: str) -> None:
    """Record a failure without its message, which may quote an argument."""
    span.set_attribute("error.type", kind)
    span.set_status(Status(StatusCode.ERROR))
