"""The steps of an attempt: middleware around the handler, the first outermost. Spec: contract 12.2.

Each step is a function or a coroutine function. If the handler and all middleware are functions, a
slot's thread runs the attempt. Otherwise the attempt is a task of the event loop, and its functions
run in a thread meanwhile, as with middleware in Django.
"""

import asyncio
import logging
import threading
from collections.abc import Callable, Sequence
from contextvars import ContextVar
from dataclasses import dataclass
from functools import cache, partial
from types import CoroutineType
from typing import Any, Protocol

from asgiref.sync import async_to_sync, sync_to_async

from ojs_tasks.context import Context
from ojs_tasks.exceptions import JobTimeout
from ojs_tasks.handlers import Handler, is_async
from ojs_tasks.middleware import Wrapper, execution_chain
from ojs_tasks.registry import handler_of
from ojs_tasks.step_runs import orphans_of

logger = logging.getLogger("ojs.worker")

Step = Callable[[Context], Any]
Place = int | asyncio.Task[Any]  # the id of a thread, or a task of the event loop


class Tracker(Protocol):
    """Knows where an attempt on the event loop executes now, so that a timeout can stop it."""

    def enter(self, place: Place) -> bool:
        """Note that the attempt goes on in this place; False: its time is over."""

    def leave(self) -> None:
        """Note that it has left the place that it entered last."""


tracker: ContextVar[Tracker | None] = ContextVar("ojs_tracker", default=None)


class HandlerNotFound(Exception):
    """This project has no handler of the job's type; another worker may."""

    code = "handler_not_found"


@dataclass(frozen=True, slots=True)
class Steps:
    """The steps of an attempt as one call."""

    run: Step  # a coroutine function if `on_loop`
    on_loop: bool  # some step is a coroutine function
    in_thread: bool  # some step is a function


@cache
def steps_around(is_async_handler: bool) -> Steps:  # noqa: FBT001 - the key of the cache
    """Return the steps around each handler of a kind; the chain of middleware is fixed now."""
    run: Step = _call_async if is_async_handler else _call
    on_loop = is_async_handler
    kinds = {on_loop}
    for link in reversed(execution_chain().fix()):
        wanted = _runs_on_loop(link.wrapper, following=on_loop)
        if wanted is not on_loop:
            run = _in_thread(run) if wanted else _on_loop(run)
        run = partial(_await_around if wanted else _call_around, link.wrapper, run)
        on_loop = wanted
        kinds.add(on_loop)
    if not on_loop and True in kinds:
        run = _in_thread(run)
    return Steps(run, on_loop=True in kinds, in_thread=False in kinds)


def steps_for(handler: Handler[Any, Any] | None) -> Steps:
    """Return the steps around a handler. Raises as `execution_chain`."""
    return steps_around(handler is not None and handler.is_async)


def _runs_on_loop(wrapper: Wrapper, *, following: bool) -> bool:
    if getattr(wrapper, "sync_capable", False) and getattr(wrapper, "async_capable", False):
        return following  # marked by Django's `sync_and_async_middleware`
    return is_async(wrapper)


def _call_around(wrapper: Wrapper, following: Step, context: Context) -> Any:
    return wrapper(context, following)


async def _await_around(wrapper: Wrapper, following: Step, context: Context) -> Any:
    return await wrapper(context, following)


# --- between threads and the event loop


def _in_thread(step: Step) -> Step:
    """Return a coroutine function that runs a function in the attempt's thread."""

    async def run(context: Context) -> Any:
        return await sync_to_async(partial(_tracked, step))(context)

    return run


def _on_loop(step: Step) -> Step:
    """Return a function that runs a coroutine function on the event loop, and waits for it."""

    def run(context: Context) -> Any:
        return async_to_sync(partial(_tracked_async, step))(context)

    return run


def _tracked(step: Step, context: Context) -> Any:
    noting = tracker.get()
    try:
        if noting is None:
            return step(context)
        if not noting.enter(threading.get_ident()):
            raise JobTimeout
        try:
            return step(context)
        finally:
            noting.leave()
            _let_timeout_arrive()
    except StopIteration as problem:  # a future cannot hold it
        raise RuntimeError("a handler or middleware raised StopIteration") from problem


async def _tracked_async(step: Step, context: Context) -> Any:
    noting, task = tracker.get(), asyncio.current_task()
    if noting is None or task is None:
        return await step(context)
    if not noting.enter(task):
        raise JobTimeout
    try:
        return await step(context)
    finally:
        noting.leave()


def _let_timeout_arrive() -> None:
    """Be called: an exception that another thread raised in this one arrives here at the latest."""


# --- the handler


def _call(context: Context) -> Any:
    handler = _handler(context)
    returned = handler.run(context.args)
    if isinstance(returned, CoroutineType):
        returned.close()
        raise TypeError(
            f"the handler of {handler.type!r} is no coroutine function but returned a coroutine:"
            " mark its decorator's result with asgiref.sync.markcoroutinefunction"
        )
    if orphans := orphans_of(context):
        _log_orphans(context, orphans)
        context.progress(message=_orphaned(orphans))
    return _result(context, returned)


async def _call_async(context: Context) -> Any:
    returned = await _handler(context).run(context.args)
    if orphans := orphans_of(context):
        _log_orphans(context, orphans)
        await context.aprogress(message=_orphaned(orphans))
    return _result(context, returned)


def _orphaned(names: Sequence[str]) -> str:
    return f"orphan steps: {', '.join(names)}"


def _log_orphans(context: Context, names: Sequence[str]) -> None:
    """Warn of stored steps that the code of the handler no longer asks for."""
    facts = {"job_id": context.id, "job_type": context.type, "steps": list(names)}
    logger.warning("steps.orphaned", extra=facts)


def _result(context: Context, returned: Any) -> Any:
    if returned is not None:
        context.result = returned
    return context.result


def _handler(context: Context) -> Handler[Any, Any]:
    job = context.job
    handler = handler_of(job)
    if handler is None:
        of_version = "" if job.version is None else f" in version {job.version}"
        raise HandlerNotFound(f"no handler for job type {job.type!r}{of_version}")
    return handler
