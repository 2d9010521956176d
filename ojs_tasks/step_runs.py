"""The steps of one attempt: what earlier attempts stored, and the document that is saved.

The document is the job's checkpoint. Its member `__steps` has a record of each step by its name, in
the order in which the steps began. See docs/durable.md.
"""

import asyncio
import threading
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from datetime import UTC, datetime, timedelta
from http import HTTPStatus
from typing import Any, Final, TypedDict

from ojs_tasks.context import Context, current_job
from ojs_tasks.documents import dumps, loads
from ojs_tasks.error_names import is_listed
from ojs_tasks.exceptions import ENDS, Refused, Retry, StepError, Suspended
from ojs_tasks.stored import ORPHANS, STEPS
from ojs_tasks.times import Span, milliseconds

LONGEST_NAME: Final = 200
FOREVER: Final = timedelta(days=3650)  # of a wait without a timeout
MESSAGE: Final = 1000  # characters of a stored error

Record = dict[str, Any]
is_inside: ContextVar[bool] = ContextVar("ojs_step", default=False)  # of a step's function


class StepRetry(TypedDict, total=False):
    """The retry policy of a step; without one a step is tried once in each attempt."""

    max_attempts: int
    initial_interval: Span
    max_interval: Span
    backoff_coefficient: float
    non_retryable_errors: Sequence[str]


class StepRun:
    """The steps of one attempt of a job."""

    def __init__(self, context: Context) -> None:
        """Read what earlier attempts stored. Raises StepError for a checkpoint of another kind."""
        self.context = context
        found: Mapping[str, Any] = loads(context.job.attributes).get("checkpoint") or {}
        self._coding = context.state_coding
        self._coded: dict[str, Record] = {}  # records as they are stored, by the names of steps
        state = self._coding.decoded(found.get("state"))
        if state is not None and not isinstance(state, dict):
            raise StepError("the job has a checkpoint that is no object, so it cannot have steps")
        self._rest = dict(state or {})
        self._rest.pop(ORPHANS, None)
        self.records: dict[str, Record] = self._rest.pop(STEPS, {})
        self._coded_rest = self._coding.rest(self._rest)
        self._signals: list[dict[str, Any]] = list(found.get("signals") or ())
        resumed = found.get("resumed") or {}
        self._over: str | None = resumed.get("step") if resumed.get("by") == "time" else None
        self._stored = set(self.records)
        self._seen: set[str] = set()
        self._taken: list[int] = []
        self._waits: list[tuple[str, datetime, tuple[str, ...]]] = []
        self._lock = threading.Lock()  # two threads of a handler save one after the other
        self._turn: asyncio.Lock | None = None  # the same for tasks
        self._busy = 0  # steps of coroutines that run
        self._idle = asyncio.Event()
        self._idle.set()

    # --- names

    def begin(self, name: str, *, again: bool = False) -> Record | None:
        """Note that the code asks for a step; return its record. Raises StepError."""
        if not isinstance(name, str) or not 1 <= len(name) <= LONGEST_NAME:
            raise StepError(f"a step needs a name of 1 to {LONGEST_NAME} characters, not {name!r}")
        if is_inside.get():
            raise StepError(f"step {name!r} is inside of another step")
        if name in self._seen and not again:
            raise StepError(f"two steps of this run have the name {name!r}")
        self._seen.add(name)
        return self.records.get(name)

    def is_past(self) -> bool:
        """Return whether an earlier attempt has stored steps that this one has not asked for."""
        return bool(self._stored - self._seen)

    def orphans(self) -> list[str]:
        """Return the stored steps that the code has not asked for, in their order."""
        return [name for name in self.records if name not in self._seen]

    # --- records

    def put(self, name: str, **members: Any) -> None:
        """Replace the record of a step; `since` is when a step began that was stored before."""
        kept = {"at": datetime.now(UTC).isoformat()}
        if (earlier := self.records.get(name)) is not None:
            kept["since"] = earlier.get("since") or _began(earlier)
        self.records[name] = {**members, **kept}
        self._coded.pop(name, None)

    def is_due(self, name: str, record: Record) -> bool:
        """Return whether the time of a step that waits is over."""
        started = self.context.job.started_at or datetime.now(UTC)
        return self._over == name or started >= until_of(record)

    def take_signal(self, name: str) -> dict[str, Any] | None:
        """Take the earliest signal of this name, decoded; the next save makes it final.

        Raises CodecFailed or CodecKeyUnknown.
        """
        for one in self._signals:
            if one["name"] == name and one["id"] not in self._taken:
                taken = {**one, "payload": self._coding.signal(one.get("payload"))}
                self._taken.append(one["id"])
                return taken
        return None

    def retry_at(self, record: Record, problem: Exception, retry: StepRetry) -> datetime | None:
        """Return when a failed step runs again; None: its attempts are over."""
        attempts = int(record["attempts"])
        code = getattr(problem, "code", None)
        listed = retry.get("non_retryable_errors", ())
        if attempts >= retry.get("max_attempts", 1) or is_final(problem):
            return None
        if is_listed(listed, [type(problem).__name__, code]):
            return None
        first = milliseconds(retry.get("initial_interval", 1), "initial_interval")
        longest = milliseconds(retry.get("max_interval", 300), "max_interval")
        ms = min(first * retry.get("backoff_coefficient", 2.0) ** (attempts - 1), longest)
        return datetime.now(UTC) + timedelta(milliseconds=ms)

    # --- saves

    def save(self, about: str) -> None:
        """Save the document. Raises StepError naming the step, and as the server refuses."""
        with self._lock:
            document, taken = self._document(about)
            with _naming(about):
                _reporter(self.context).save(self.context, document, taken)
            self._taken = [one for one in self._taken if one not in taken]

    async def asave(self, about: str) -> None:
        """Save the document as `save` does, without blocking the event loop."""
        if self._turn is None:
            self._turn = asyncio.Lock()
        async with self._turn:
            document, taken = self._document(about)
            with _naming(about):
                await _reporter(self.context).asave(self.context, document, taken)
            self._taken = [one for one in self._taken if one not in taken]

    def _document(self, about: str) -> tuple[bytes, tuple[int, ...]]:
        try:
            state = {**self._coded_rest, STEPS: self._stored_records()}
        except ValueError as problem:
            raise StepError(f"step {about!r} has a result that is no JSON: {problem}") from None
        if not self.is_past() or len(self.records) > len(self._stored):
            orphans = self.orphans()  # a new step began, so the stored ones were all asked for
            state |= {ORPHANS: orphans} if orphans else {}
        try:
            return dumps(state), tuple(self._taken)
        except ValueError as problem:
            raise StepError(f"step {about!r} has a result that is no JSON: {problem}") from None

    def merged(self, checkpoint: Any) -> dict[str, Any]:
        """Return a checkpoint with the records of the steps, and keep it. Raises StepError.

        Both are encoded as they are stored. Raises CodecKeyUnknown, too.
        """
        if not isinstance(checkpoint, dict):
            raise StepError("the checkpoint of a job with steps must be an object")
        self._rest = {n: v for n, v in checkpoint.items() if n not in {STEPS, ORPHANS}}
        self._coded_rest = self._coding.rest(self._rest)
        return {**self._coded_rest, STEPS: self._stored_records()}

    def _stored_records(self) -> dict[str, Record]:
        """Return the records as they are stored; each is encoded once."""
        for name, record in self.records.items():
            if name not in self._coded:
                self._coded[name] = self._coding.record(record)
        return {name: self._coded[name] for name in self.records}

    # --- suspensions

    def suspension(self, name: str, until: datetime, signals: tuple[str, ...] = ()) -> Suspended:
        """Return the exception that ends the attempt, until the first of its waits is over."""
        self._waits.append((name, until, signals))
        first = min(self._waits, key=lambda wait: wait[1])
        named = dict.fromkeys(signal for wait in self._waits for signal in wait[2])
        return Suspended(first[0], first[1], tuple(named))

    def enter(self) -> None:
        """Note that a step runs on the event loop."""
        self._busy += 1
        self._idle.clear()

    def leave(self) -> None:
        """Note that it has ended."""
        self._busy -= 1
        if not self._busy:
            self._idle.set()

    async def all_ended(self) -> None:
        """Wait until no step runs: a suspension ends the attempt, with all of its tasks."""
        await asyncio.sleep(0)  # tasks that were just made begin
        while self._busy:
            await self._idle.wait()


@contextmanager
def _naming(about: str) -> Iterator[None]:
    """Name the step in the refusal of a document that is too large."""
    try:
        yield
    except Refused as problem:
        if problem.status != HTTPStatus.REQUEST_ENTITY_TOO_LARGE:
            raise
        raise StepError(f"step {about!r} has a result that is too large: {problem}") from None


def is_final(problem: BaseException) -> bool:
    """Return whether a policy of steps leaves an exception to the policy of the job."""
    return isinstance(problem, Retry) or getattr(problem, "code", None) in ENDS


def _began(record: Record) -> str:
    took = timedelta(milliseconds=record.get("ms", 0))
    return (datetime.fromisoformat(record["at"]) - took).isoformat()


def until_of(record: Record) -> datetime:
    """Return the time until which a step waits."""
    return datetime.fromisoformat(record["until"])


def run_of(context: Context) -> StepRun:
    """Return the steps of an attempt, made at the first call. Raises StepError."""
    if context.steps is None:
        context.steps = StepRun(context)
    run: StepRun = context.steps
    return run


def current_run() -> StepRun:
    """Return the steps of the running handler. Raises RuntimeError outside of one."""
    return run_of(current_job())


def orphans_of(context: Context) -> list[str]:
    """Return the stored steps that a handler which has ended did not ask for."""
    found: StepRun | None = context.steps
    return [] if found is None else found.orphans()


def _reporter(context: Context) -> Any:
    if context.reporter is None:
        raise StepError("steps need a worker: this handler runs without a server")
    return context.reporter
