"""Spans of OpenTelemetry of the server: requests, enqueues and loops. Spec: contract 32.2.

Without the package the decorated functions stay unchanged. Without a provider a call checks for one
and goes on. Spans of attempts, and all that workers need, are in ojs_tasks/tracing.py.
"""

from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext, suppress
from dataclasses import replace
from functools import wraps
from time import time_ns
from typing import Any, Final, TypeVar, cast

from jobs.conf import conf
from jobs.domain.access.caller import SYSTEM, Caller
from jobs.domain.enqueue.draft import JobDraft
from jobs.domain.errors import OJSError
from jobs.domain.job import Job
from jobs.domain.states import state_of
from ojs_tasks import tracing
from ojs_tasks.tracing import IS_THERE, are_made, fail, tracer

with suppress(ImportError):  # then IS_THERE is False
    from opentelemetry import trace
    from opentelemetry.context import Context
    from opentelemetry.trace import Span, SpanKind, Tracer

__all__ = [
    "answered", "are_made", "consuming", "producing", "serving", "traced_loop", "with_current",
    "within",
]  # fmt: skip

Function = TypeVar("Function", bound=Callable[..., Any])

CHILD: Final = "child"  # of the setting TRACE_HANDLERS
FIRST_FAILURE: Final = 500  # of HTTP statuses: a refusal is no failure of the server
NOTHING: Final[AbstractContextManager[Any]] = nullcontext()

consuming = tracing.consuming(lambda: conf().trace_handlers == CHILD)


def producing(enqueue: Function) -> Function:
    """Give each draft of a call of `enqueue` a span `{queue} enqueue`.

    A job that brings no trace context gets that of its span, unless OJS_TRACE_INJECT is off.
    """
    if not IS_THERE:
        return enqueue

    @wraps(enqueue)
    def traced(drafts: Sequence[JobDraft], caller: Caller = SYSTEM) -> Any:
        active = tracer()
        if active is None:
            return enqueue(drafts, caller)
        spans = [_produced(active, draft, caller) for draft in drafts]
        try:
            outcomes = enqueue(drafts, caller)
            for span, outcome in zip(spans, outcomes, strict=True):
                _record_outcome(span, outcome)
        except BaseException as problem:
            for span in spans:
                fail(span, type(problem).__name__)
            raise
        finally:
            for span in spans:
                span.end()
        return outcomes

    return cast(Function, traced)


def serving(meta: Mapping[str, Any], method: str) -> "Span | None":
    """Begin the span of a request with this WSGI environ; None if no spans are made.

    It is a child of the span that the request's headers name.
    """
    active = tracer()
    if active is None:
        return None
    brought = {name: meta.get(f"HTTP_{name.upper()}") for name in tracing.TRACE}
    facts = {
        "http.request.method": method,
        "url.path": str(meta.get("PATH_INFO", "")),
        "url.scheme": str(meta.get("wsgi.url_scheme", "http")),
    }
    return active.start_span(method, tracing.extracted(brought), SpanKind.SERVER, facts)


def within(span: "Span | None") -> AbstractContextManager[Any]:
    """Make a span of `serving` the current span of a block, which does not end it."""
    if span is None:
        return NOTHING
    return trace.use_span(span, record_exception=False, set_status_on_exception=False)


def answered(span: "Span", method: str, route: str, status: int) -> None:
    """End the span of a request; `route` is the pattern of its URL, without values."""
    span.update_name(f"{method} {route}")
    span.set_attribute("http.route", route)
    span.set_attribute("http.response.status_code", status)
    if status >= FIRST_FAILURE:
        fail(span, str(status))
    span.end()


def with_current(caller: Caller) -> Caller:
    """Return the caller with the current span as trace context, unless the request brought one.

    For jobs of later steps, which no request stores.
    """
    stamps = caller.stamps or {}
    if "traceparent" in stamps or not (conf().trace_inject and are_made()):
        return caller
    return replace(caller, stamps={**stamps, **tracing.carrier()} or None)


def traced_loop(name: str, run: Callable[[], int]) -> Callable[[], int]:
    """Make a span of each run of a loop that changed rows or failed."""
    if not IS_THERE:
        return run

    def traced() -> int:
        active = tracer()
        if active is None:
            return run()
        began = time_ns()
        try:
            rows = run()
        except Exception as problem:
            span = _loop_span(active, name, began)
            fail(span, type(problem).__name__)
            span.end()
            raise
        if rows:
            span = _loop_span(active, name, began)
            span.set_attribute("ojs.loop.rows", rows)
            span.end()
        return rows

    return traced


def _produced(active: "Tracer", draft: JobDraft, caller: Caller) -> "Span":
    brought = {**(caller.stamps or {}), **draft.meta}
    span = tracing.start_producing(active, draft.queue, draft.type, brought)
    if "traceparent" not in brought and conf().trace_inject:
        draft.meta = {**draft.meta, **tracing.injected(span)}
    return span


def _record_outcome(span: "Span", outcome: Job | OJSError | None) -> None:
    if isinstance(outcome, OJSError):
        fail(span, outcome.code)
    elif outcome is not None:  # else dropped
        span.set_attribute("messaging.message.id", outcome.id)
        span.set_attribute("ojs.job.id", outcome.id)
        span.set_attribute("ojs.job.attempt", outcome.attempt)
        span.set_attribute("ojs.job.state", state_of(outcome.state).value)


def _loop_span(active: "Tracer", name: str, began: int) -> "Span":
    return active.start_span(
        f"loop {name}", Context(), SpanKind.INTERNAL, {"ojs.loop.name": name}, start_time=began
    )
