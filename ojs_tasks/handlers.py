"""`Handler`: a function that runs the jobs of one type, and enqueues them."""

import inspect
import sys
from collections.abc import Callable, Coroutine, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import lru_cache
from typing import Any, Final, Generic, ParamSpec, Self, TypeAlias, TypeVar, Unpack

from ojs_tasks.arguments import joined, split
from ojs_tasks.codecs.choices import Choice, choice_of
from ojs_tasks.foreign_names import Calls
from ojs_tasks.handle import JobHandle
from ojs_tasks.ranges import ANY, Range, parse_range
from ojs_tasks.signatures import Dropped, Signature
from ojs_tasks.term_types import Terms
from ojs_tasks.terms import with_terms

if sys.version_info >= (3, 12):
    from inspect import iscoroutinefunction
else:  # there this one alone knows functions that asgiref's markcoroutinefunction marked
    from asyncio import iscoroutinefunction

P = ParamSpec("P")
R = TypeVar("R")

VARIADIC: Final = (inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD)

Errors: TypeAlias = tuple[type[BaseException], ...]


@dataclass(eq=False)
class Handler(Calls, Generic[P, R]):
    """A registered function: `SyncHandler`, or `AsyncHandler` for a coroutine function."""

    function: Callable[P, Any]
    type: str
    members: dict[str, Any] = field(default_factory=dict)  # envelope members of every job
    idempotent: bool = False  # may run twice after a crash, so results may be acked in batches
    versions: str | None = None  # of accepted jobs; None: any
    accept_unversioned: bool = True  # it accepts jobs without a version, too
    autoretry_for: Errors = ()
    dont_retry_for: Errors = ()

    @property
    def is_async(self) -> bool:
        """Whether its calls return coroutines, for an event loop."""
        return isinstance(self, AsyncHandler)

    @property
    def queues(self) -> frozenset[str]:
        """The queues that its jobs may be in."""
        return frozenset({str(self.members.get("queue", "default"))})

    def retries(self, problem: BaseException) -> bool:
        """Return whether the retry policy applies to an exception of the function."""
        if self.autoretry_for and not isinstance(problem, self.autoretry_for):
            return False
        return not isinstance(problem, self.dont_retry_for)

    @property
    def range(self) -> Range:
        """The versions as a range."""
        return ANY if self.versions is None else parse_range(self.versions)

    def options(self, **terms: Unpack[Terms]) -> Self:
        """Return the handler with other options. Raises UnknownTerm, TypeError or ValueError."""
        return replace(self, members=with_terms(self.members, terms, self.type))

    def s(self, *args: P.args, **kwargs: P.kwargs) -> Signature[R]:
        """Return a call, for `enqueue` of several jobs and for workflows.

        Raises TypeError for arguments that the function does not accept.
        """
        return Signature(self.type, self.bind(args, kwargs), self.members)

    def enqueue(self, *args: P.args, **kwargs: P.kwargs) -> JobHandle[R] | Dropped:
        """Store a job with these arguments; None when middleware dropped it.

        Joins the caller's transaction: a rollback leaves no job. Raises TypeError for arguments
        that the function does not accept, the server's error for values that it refuses.
        """
        return self.s(*args, **kwargs).enqueue()

    async def aenqueue(self, *args: P.args, **kwargs: P.kwargs) -> JobHandle[R] | Dropped:
        """Store a job as `enqueue` does, without blocking the event loop."""
        return await self.s(*args, **kwargs).aenqueue()

    def bind(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> list[Any]:
        """Return the JSON arguments of a call: positions, then one object of keywords if any."""
        require_fit(self.function, self.type, args, kwargs)
        return joined(args, kwargs)

    def run(self, args: Sequence[Any]) -> Any:
        """Call the function with the JSON arguments of a job; async functions give a coroutine."""
        positions, keywords = split(args)
        call: Callable[..., Any] = self.function
        return call(*positions, **keywords)


class SyncHandler(Handler[P, R]):
    """The handler that a function became; a call runs the function here and now."""

    def __call__(self, *args: P.args, **kwargs: P.kwargs) -> R:
        """Run the function. It creates no job."""
        returned: R = self.function(*args, **kwargs)
        return returned


class AsyncHandler(Handler[P, R]):
    """The handler that a coroutine function became; a call returns its coroutine."""

    def __call__(self, *args: P.args, **kwargs: P.kwargs) -> Coroutine[Any, Any, R]:
        """Return the function's coroutine. It creates no job."""
        coroutine: Coroutine[Any, Any, R] = self.function(*args, **kwargs)
        return coroutine


def is_async(function: Callable[..., Any]) -> bool:
    """Return whether a call of the function returns a coroutine, as far as its definition says."""
    return iscoroutinefunction(function) or iscoroutinefunction(type(function).__call__)


def encryption_of(function: Callable[..., Any], *, names: bool | Sequence[str]) -> Choice:
    """Return what `encrypt` chooses. Raises TypeError or ValueError for names of no parameters."""
    if isinstance(names, bool):  # without names, a function needs no readable signature
        return choice_of(names, ())
    if isinstance(names, str) or not all(isinstance(name, str) for name in names) or not names:
        raise TypeError("encrypt must be True, False or a list of names of parameters")
    parameters = signature_of(function).parameters
    kinds = {name: one.kind for name, one in parameters.items()}
    takes_any = inspect.Parameter.VAR_KEYWORD in kinds.values()
    for name in names:
        if kinds.get(name) in VARIADIC or (name not in kinds and not takes_any):
            raise ValueError(f"encrypt names {name!r}, which is no parameter of the handler")
    return choice_of(names, tuple(parameters))


def require_fit(
    function: Callable[..., Any], job_type: str, args: Sequence[Any], kwargs: Mapping[str, Any]
) -> None:
    """Raise TypeError for arguments that a function does not accept; it names the type of job."""
    signature = signature_of(function)
    try:
        signature.bind(*args, **kwargs)
    except TypeError as problem:
        raise TypeError(f"job {job_type!r}: {problem}: it takes {signature}") from None


@lru_cache(maxsize=4096)
def signature_of(function: Callable[..., Any]) -> inspect.Signature:
    """Return the signature of a function."""
    return inspect.signature(function)
