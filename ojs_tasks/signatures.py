"""`Signature`: a call of a handler that is not enqueued yet, and `enqueue` for several of them."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Generic, TypeAlias, TypeVar, Unpack

from ojs_tasks.foreign_names import Calls
from ojs_tasks.handle import JobHandle
from ojs_tasks.server import Draft, Snapshot, server
from ojs_tasks.term_types import Terms
from ojs_tasks.terms import with_terms

R = TypeVar("R", covariant=True)  # noqa: PLC0105 - the result, as in handlers.py

# A handle, or None when enqueue middleware dropped the job. Without such middleware there is
# always a handle: `Any` spares its callers a check for None.
Dropped: TypeAlias = Any


class Work(Calls, Generic[R]):
    """A step of a workflow: a signature, or another workflow."""

    body: Mapping[str, Any]  # as a request names the step


@dataclass(frozen=True)
class Signature(Work[R]):
    """A call of a handler that is not enqueued yet; `args` are the JSON arguments."""

    type: str
    args: Sequence[Any]
    members: Mapping[str, Any] = field(default_factory=dict)  # of the envelope

    @property
    def draft(self) -> Draft:
        """The envelope, as PUSH takes it."""
        return {**self.members, "type": self.type, "args": list(self.args)}

    @property
    def body(self) -> Draft:  # type: ignore[override]  # a frozen one
        """The envelope, as a workflow names it."""
        return self.draft

    def options(self, **terms: Unpack[Terms]) -> "Signature[R]":
        """Return the call with other options. Raises UnknownTerm, TypeError or ValueError."""
        return replace(self, members=with_terms(self.members, terms, self.type))

    def enqueue(self) -> JobHandle[R] | Dropped:
        """Store the job, as `Handler.enqueue` does."""
        return _handle(server().enqueue([self.draft])[0])

    async def aenqueue(self) -> JobHandle[R] | Dropped:
        """Store the job, as `enqueue` does."""
        return _handle((await server().aenqueue([self.draft]))[0])


def enqueue(calls: Sequence[Signature[R]]) -> list[JobHandle[R] | Dropped]:
    """Store the jobs of several calls, all or none, with one statement or request.

    Joins the caller's transaction. Returns handles in order, None for each dropped job.
    """
    return [_handle(shown) for shown in server().enqueue([one.draft for one in calls])]


async def aenqueue(calls: Sequence[Signature[R]]) -> list[JobHandle[R] | Dropped]:
    """Store the jobs of several calls, as `enqueue` does."""
    return [_handle(shown) for shown in await server().aenqueue([one.draft for one in calls])]


def _handle(shown: Snapshot | None) -> Any:
    return None if shown is None else JobHandle(shown)
