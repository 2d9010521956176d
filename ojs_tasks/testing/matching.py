"""Find enqueued jobs, and describe the nearest ones when none matches."""

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from ojs_tasks.handlers import Handler
from ojs_tasks.testing.records import Enqueued

SHOWN: Final = 5  # jobs in a message


@dataclass(frozen=True, slots=True)
class Wanted:
    """The conditions of a search; None: any."""

    type: str | None = None
    args: Sequence[Any] | None = None
    kwargs: Mapping[str, Any] | None = None
    queue: str | None = None

    @classmethod
    def of(
        cls,
        what: "str | Handler[..., Any] | None",
        args: Sequence[Any] | None,
        kwargs: Mapping[str, Any] | None,
        queue: str | None,
    ) -> "Wanted":
        """Return conditions in the form of stored jobs. Raises TypeError for a wrong value."""
        if isinstance(args, str):
            raise TypeError(f"args must be a sequence of arguments, not the text {args!r}")
        kind = what if what is None or isinstance(what, str) else what.type
        return cls(
            kind,
            None if args is None else _as_json(list(args)),
            None if kwargs is None else _as_json(dict(kwargs)),
            queue,
        )

    def __str__(self) -> str:
        """Return the conditions, as the caller wrote them."""
        parts = [repr(self.type)] if self.type else []
        parts += [f"{name}={value!r}" for name, value in self._conditions() if name != "type"]
        return ", ".join(parts)

    def differences(self, job: Enqueued) -> list[str]:
        """Return the conditions that a job does not meet."""
        return [name for name, value in self._conditions() if getattr(job, name) != value]

    def _conditions(self) -> Iterator[tuple[str, Any]]:
        for name in ("type", "args", "kwargs", "queue"):
            if (value := getattr(self, name)) is not None:
                yield name, value


def _as_json(value: Any) -> Any:
    return json.loads(json.dumps(value))


def describe(wanted: Wanted, jobs: Sequence[Enqueued], expected: str) -> str:
    """Return the message of a failed assertion: the jobs that match, and the nearest others."""
    judged = [(wanted.differences(job), job) for job in jobs]
    matching = [job for differences, job in judged if not differences]
    lines = [f"expected {expected} enqueued({wanted}), found {len(matching)}"]
    lines += [f"  {job}" for job in matching[:SHOWN]]
    misses = [pair for pair in judged if pair[0]]
    misses.sort(key=lambda pair: ("type" in pair[0], len(pair[0])))
    if not jobs:
        lines.append("no job was enqueued")
    elif misses:
        lines.append("other jobs, the nearest first:")
        lines += [f"  {job}: other {', '.join(names)}" for names, job in misses[:SHOWN]]
    if len(misses) > SHOWN:
        lines.append(f"  and {len(misses) - SHOWN} more")
    return "\n".join(lines)
