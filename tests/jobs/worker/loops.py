"""Attempts on an event loop in the process of the test."""

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from queue import SimpleQueue
from typing import Any

import orjson

from jobs.domain.job import Job
from jobs.services.outcome.ack import Ack
from jobs.services.outcome.nack import Nack
from jobs.worker.execution import EXECUTION
from ojs_tasks import Context, job
from ojs_tasks.registry import handler_of
from ojs_tasks.worker.acker import Acker
from ojs_tasks.worker.chain import steps_for
from ojs_tasks.worker.directives import Directives
from ojs_tasks.worker.event_loop import EventLoop
from ojs_tasks.worker.in_flight import InFlight, Running
from ojs_tasks.worker.ports import Outcome
from ojs_tasks.worker.timeouts import Timeouts
from ojs_tasks.worker.waits import Waits
from tests.processes import DEADLINE_S


@dataclass
class OnLoop:
    """One attempt on the loop."""

    entry: Running
    ended: SimpleQueue[Outcome] = field(default_factory=SimpleQueue)

    def outcome(self) -> Outcome:
        """Wait for its end."""
        return self.ended.get(timeout=DEADLINE_S)

    def result(self) -> Any:
        """Wait for its result."""
        outcome = self.outcome()
        assert isinstance(outcome, Ack), outcome
        return orjson.loads(outcome.result or "null")

    def error(self) -> dict[str, Any]:
        """Wait for its error."""
        outcome = self.outcome()
        assert isinstance(outcome, Nack)
        assert outcome.error is not None
        return outcome.error


class Attempts:
    """Starts attempts on the event loop of one process."""

    def __init__(self, template: Job, answers: Acker) -> None:
        """Begin without one."""
        self.in_flight = InFlight(10, lambda: None)
        self.event_loop = EventLoop(self.in_flight, EXECUTION)
        self.directives = Directives(Waits())
        self.timeouts = Timeouts(self.in_flight, answers, self.directives, self.event_loop)
        self._template = template
        self._number = 0

    def start(
        self, handler: Callable[..., Any], options: dict[str, Any] | None = None, **changes: Any
    ) -> OnLoop:
        """Start an attempt of a job of its own type."""
        kind = f"a.n{self._number}"
        job(kind, **(options or {}))(handler)
        attempt = self.prepare(kind, **changes)
        self.run(attempt)
        return attempt

    def prepare(self, kind: str, **changes: Any) -> OnLoop:
        """Begin an attempt of a job of its own."""
        self._number += 1
        made = replace(self._template, id=str(self._number), type=kind, args=b"[]", **changes)
        self.in_flight.add([Context(made, "w1")])
        entry = self.in_flight.begin()
        assert entry is not None
        return OnLoop(entry)

    def run(self, attempt: OnLoop) -> None:
        """Run an attempt on the loop."""
        steps = steps_for(handler_of(attempt.entry.context.job))
        self.event_loop.start(
            attempt.entry, steps, lambda _entry, outcome: self._end(attempt, outcome)
        )

    def expire(self, attempt: OnLoop, after_s: float = 0.0) -> None:
        """Check the timeouts at the end of an attempt's time, or after it."""
        self.timeouts.check(attempt.entry.until + after_s)

    def _end(self, attempt: OnLoop, outcome: Outcome) -> None:
        self.in_flight.finish(attempt.entry)
        attempt.ended.put(outcome)
