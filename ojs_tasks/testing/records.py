"""What a test sees of its jobs: `Enqueued` jobs, and the `Run` of each attempt."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from ojs_tasks.arguments import KEYWORDS


class TooManyJobs(AssertionError):
    """Jobs enqueue jobs without end."""


@dataclass(frozen=True, slots=True)
class Run:
    """One attempt that ended; `state` is the job's now, `error` null when it succeeded."""

    id: str
    type: str
    attempt: int
    state: str
    result: Any
    error: dict[str, Any] | None


@dataclass(frozen=True, slots=True)
class Enqueued:
    """An enqueued job with its present state; `args` and `kwargs` are those of the call."""

    id: str
    type: str
    queue: str
    state: str
    args: Sequence[Any] = ()
    kwargs: Mapping[str, Any] = field(default_factory=dict)
    priority: int = 0
    meta: Mapping[str, Any] = field(default_factory=dict)

    def __str__(self) -> str:
        """Return the job as a call."""
        keywords = [f"{name}={value!r}" for name, value in self.kwargs.items()]
        call = ", ".join([*map(repr, self.args), *keywords])
        return f"{self.type}({call}) queue={self.queue!r} {self.state}"


def call_of(args: Sequence[Any]) -> tuple[list[Any], dict[str, Any]]:
    """Return the positions and keywords of a job's JSON arguments."""
    if args and isinstance(args[-1], dict) and args[-1].keys() == {KEYWORDS}:
        return list(args[:-1]), args[-1][KEYWORDS]
    return list(args), {}
