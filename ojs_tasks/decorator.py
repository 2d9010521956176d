"""`@job`: Python handlers, and enqueueing them by a call. Spec: core, design of `runworker`.

    @job("mail.send", queue="mail", timeout=60)
    def send_mail(address: str, *, subject: str = "") -> None: ...

    send_mail.enqueue("ada@example.org")            # in the caller's transaction
    send_mail.options(delay=60).enqueue("…")        # the same with other options
    send_mail("ada@example.org")                    # a plain call, no job

    @job("invoice.generate", versions=">=1.0 <3.0")  # jobs of these versions alone

Handlers live in a module `ojs_jobs` of any installed app; `runworker` imports them all.
"""

from collections.abc import Callable, Coroutine, Sequence
from functools import update_wrapper
from typing import Any, ParamSpec, Protocol, TypeVar, Unpack, overload

from ojs_tasks.codecs.choices import choose
from ojs_tasks.handlers import AsyncHandler, Errors, SyncHandler, encryption_of, is_async
from ojs_tasks.ranges import parse_range
from ojs_tasks.registry import register
from ojs_tasks.server import check
from ojs_tasks.term_types import JobTerms
from ojs_tasks.terms import with_terms

P = ParamSpec("P")
R = TypeVar("R")


class Decorator(Protocol):
    """What `job(…)` returns: it makes a handler of a function."""

    @overload
    def __call__(  # type: ignore[overload-overlap]  # a coroutine function takes the first
        self, function: Callable[P, Coroutine[Any, Any, R]], /
    ) -> AsyncHandler[P, R]: ...
    @overload
    def __call__(self, function: Callable[P, R], /) -> SyncHandler[P, R]: ...


def job(  # noqa: PLR0913 - keywords of the public interface
    type: str,
    *,
    idempotent: bool = False,
    versions: str | None = None,
    accept_unversioned: bool = True,
    autoretry_for: Errors = (),
    dont_retry_for: Errors = (),
    encrypt: bool | Sequence[str] = True,
    **terms: Unpack[JobTerms],
) -> Decorator:
    """Register a function as the handler of a job type.

    `terms` are options of every job that the handler enqueues: see terms.py. With `versions` the
    worker requests these versions of the type alone. Several handlers may share a type if their
    ranges do not overlap. Jobs without a version go to the handler of the latest versions that
    accepts them: not with `accept_unversioned` False.

    Every exception is retried by the policy. With `autoretry_for` these classes alone are, and
    subclasses of them; `dont_retry_for` excludes classes.

    In a project with codecs all arguments are encoded; with `encrypt` False none are, with names
    only these parameters. Raises UnknownTerm, TypeError or ValueError for a wrong option, and
    ValueError when a job could have two handlers.
    """
    if callable(type):
        raise TypeError(f'@job needs the type of its jobs: @job("shop.{_name(type)}")')
    if versions is not None:
        parse_range(versions)
    members = with_terms({}, terms, type, of_call=False)
    check({**members, "type": type, "args": []})

    def decorate(function: Callable[..., Any], /) -> Any:
        choice = encryption_of(function, names=encrypt)
        kind = AsyncHandler if is_async(function) else SyncHandler
        handler: Any = kind(
            function, type, members, idempotent, versions, accept_unversioned,
            tuple(autoretry_for), tuple(dont_retry_for),
        )  # fmt: skip
        update_wrapper(handler, function)
        register(handler)
        choose(type, choice)
        return handler

    return decorate


def _name(function: Any) -> str:
    """Return the name of a function, as a part of a job type."""
    return str(getattr(function, "__name__", "task")).strip("_<>").lower()
