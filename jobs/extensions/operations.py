"""Hooks into the loops, the tables and the commands of the server."""

from argparse import ArgumentParser
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from jobs.domain.outbound.vault import Resealed
from jobs.extensions.registry import Extension, implementers


@dataclass(frozen=True, slots=True)
class Loop:
    """Periodic work: `run` does one batch and returns how many rows it changed."""

    name: str
    run: Callable[[], int]
    interval_ms: int
    # Returns in how many ms the next row is due, None: no row waits. After a run the loop rests
    # until then. Writes may change the time, so it is read again, at most once per interval.
    due_in_ms: Callable[[], int | None] | None = None
    due_in_look: str = ""  # the member of queries.Look that has the same number
    full: int = 1  # rows of a full batch, which the next one follows at once
    longest_ms: int = 0  # up to this: a pause is `rests` times as long as the run before it
    rests: int = 10
    rest_ms: int = 0  # between batches, for work that must not slow down other work
    # Both let a loop without work rest: until an event is recorded or the configuration changes, or
    # until one of these tables, which are all empty, has a row. Otherwise it runs at each interval.
    reads_events: bool = False
    while_rows_of: tuple[str, ...] = ()

    def pause_s(self, took_s: float) -> float:
        """Return how long to pause after a run, in seconds."""
        return max(self.interval_ms / 1000, min(self.longest_ms / 1000, took_s * self.rests))


@dataclass(frozen=True, slots=True)
class Verb:
    """A verb of `manage.py ojs`: `run` gets the parsed options, and returns text and exit code.

    The option `json` asks for one line of JSON.
    """

    name: str
    help: str
    declare: Callable[[ArgumentParser], object]
    run: Callable[[Mapping[str, Any]], tuple[str, int]]


class OperationsHooks(Extension):
    """Hooks that keep an extension running."""

    def loops(self) -> Iterable[Loop]:
        """Return its loops for `runworker`."""
        return ()

    def verbs(self) -> Sequence[Verb]:
        """Return its verbs for `manage.py ojs`."""
        return ()

    def tables(self) -> Sequence[str]:
        """Name its tables that grow with use: kept analyzed, and emptied by a reset."""
        return ()

    def counts_drifted(self, counts: Mapping[str, int]) -> None:
        """Learn how many counts of each table differed from the jobs and were corrected."""

    def unread_from(self) -> int | None:
        """Return the stamp behind which it has not read the event record, None: it is no reader.

        Retention leaves events from there on, up to a bound; see services/record/unread.py.
        """
        return None

    def reseal(self) -> Resealed:
        """Encrypt its stored secrets with the first key."""
        return Resealed()


def tables() -> tuple[str, ...]:
    """Return the tables of all extensions."""
    found = implementers(OperationsHooks.tables)
    return tuple(name for extension in found for name in extension.tables())
