"""Compare the records of the handlers with the stored results of all jobs."""

from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, LiteralString, NamedTuple

from bench.faults.arena import Arena
from bench.soak.names import BELOW, CHILD, EFFECT, QUEUE, STEPS

COMPLETED = 6
JOBS: LiteralString = """
SELECT j.id::text, j.type, coalesce(j.state, 0), j.result, j.meta ->> 'ojs.parent'
  FROM ojs_job AS j WHERE j.queue = %s
"""
LEFT: LiteralString = """
SELECT (SELECT count(*) FROM ojs_checkpoint), (SELECT count(*) FROM ojs_signal),
       (SELECT count(*) FROM ojs_wait), (SELECT count(*) FROM ojs_lease)
"""
Key = tuple[str, str]  # a job and its step


class Judgement(NamedTuple):
    """One line of the table; `is_kept`: None for a fact without a promise."""

    what: str
    seen: str
    is_kept: bool | None = None

    def __str__(self) -> str:
        """Return the line."""
        word = {None: "", True: "ok", False: "BROKEN"}[self.is_kept]
        return f"| {self.what} | {self.seen} | {word} |"


@dataclass
class Records:
    """Tokens by job and effect: those of the effects in order, and those that steps returned."""

    effects: dict[Key, list[str]] = field(default_factory=lambda: defaultdict(list))
    seen: dict[Key, set[str]] = field(default_factory=lambda: defaultdict(set))

    @classmethod
    def of(cls, file: Path) -> "Records":
        """Read the file."""
        found = cls()
        for line in file.read_text().splitlines():
            kind, job_id, name, token = line.split()
            if kind == EFFECT:
                found.effects[job_id, name].append(token)
            else:
                found.seen[job_id, name].add(token)
        return found


class Stored(NamedTuple):
    """A job at the end."""

    type: str
    state: int
    result: Any
    parent: str | None


def judged(arena: Arena, file: Path, numbers: Mapping[str, int]) -> Iterable[Judgement]:
    """Yield the facts and the promises about all orders, whose ids are mapped to numbers."""
    records = Records.of(file)
    jobs = {row[0]: Stored(*row[1:]) for row in arena.rows(JOBS, QUEUE)}
    children = {one: found for one, found in jobs.items() if found.type == CHILD}
    expected = {(one, name) for one in numbers for name in STEPS}
    expected |= {(one, BELOW) for one in children}
    calls = sum(map(len, records.effects.values()))
    yield Judgement("effects, distinct", f"{len(records.effects):,}")
    yield Judgement("effects that happened again after a kill", f"{calls - len(records.effects):,}")
    yield _none("orders that did not complete", _unfinished(numbers, jobs))
    yield _none("wrong results", [one for one in numbers if not _is_right(one, numbers, jobs)])
    yield _none("effects that are missing", expected - records.effects.keys())
    yield _none("effects that nobody asked for", records.effects.keys() - expected)
    yield _none("steps with two stored results", [k for k, v in records.seen.items() if len(v) > 1])
    yield _none("stored results without an effect", _invented(records))
    parents = [found.parent for found in children.values()]
    yield _none("orders without their child job", set(numbers) - set(parents))
    yield _none("second child jobs of an order", range(len(parents) - len(set(parents))))
    left = arena.rows(LEFT)[0]
    yield _none("checkpoints, signals, waits and leases left", range(sum(left)))


def _none(what: str, found: Any) -> Judgement:
    return Judgement(what, f"{len(found):,}", not found)


def _unfinished(numbers: Mapping[str, int], jobs: Mapping[str, Stored]) -> list[str]:
    return [one for one in numbers if one not in jobs or jobs[one].state != COMPLETED]


def _is_right(job_id: str, numbers: Mapping[str, int], jobs: Mapping[str, Stored]) -> bool:
    number = numbers[job_id]
    found = jobs[job_id].result if job_id in jobs else None
    below = [one.result for one in jobs.values() if one.parent == job_id]
    return (
        isinstance(found, dict)
        and (found["number"], found["approval"]) == (number, {"number": number})
        and all(found[name] for name in STEPS)
        and below == [found["child"]]
        and found["child"]["number"] == number
    )


def _invented(records: Records) -> list[Key]:
    return [key for key, tokens in records.seen.items() if tokens - set(records.effects[key])]
