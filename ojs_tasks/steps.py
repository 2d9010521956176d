"""`step`: parts of a handler that run once, whatever happens to the worker. Spec: contract 34.2.

    payment = step("charge", charge, order_id)          # runs once, its result is kept
    step.sleep("cool-down", timedelta(hours=2))         # gives the slot back
    approval = step.wait_for("approved", timeout=timedelta(days=3))

In a coroutine function each call is awaited: `await step("charge", charge, order_id)`.
"""

import asyncio
from collections.abc import Awaitable, Callable, Coroutine, Generator
from datetime import UTC, datetime, timedelta
from time import perf_counter
from typing import Any, Final, Generic, ParamSpec, TypeVar, Unpack, overload

from ojs_tasks.documents import dumps, loads
from ojs_tasks.exceptions import SignalTimeout, StepError
from ojs_tasks.handlers import Handler, is_async
from ojs_tasks.signatures import Work
from ojs_tasks.step_jobs import Cancel, Child, arun, run
from ojs_tasks.step_runs import (
    FOREVER,
    MESSAGE,
    Record,
    StepRetry,
    StepRun,
    current_run,
    is_inside,
    until_of,
)
from ojs_tasks.times import Span, milliseconds

P = ParamSpec("P")
R = TypeVar("R")
T = TypeVar("T")

DONE: Final = "done"
NOTHING: Final[StepRetry] = {}


class Done(Generic[T]):
    """The result of a call in a plain function; it may be awaited, too."""

    def __await__(self) -> Generator[Any, None, None]:
        """Return at once."""
        return
        yield


class Step:
    """Runs the steps of the current job; `step` is its only use."""

    def __init__(self, retry: StepRetry = NOTHING) -> None:
        """Run with this policy."""
        self._retry = retry

    def options(self, **retry: Unpack[StepRetry]) -> "Step":
        """Return a `step` with a retry policy, for calls that a type checker reads."""
        return Step(retry)

    @overload
    def __call__(  # type: ignore[overload-overlap]  # a coroutine function takes the second
        self, name: str, function: Callable[..., R], /, *args: Any, retry: StepRetry, **kwargs: Any
    ) -> R: ...
    @overload
    def __call__(
        self,
        name: str,
        function: Callable[P, Coroutine[Any, Any, R]],
        /,
        *args: P.args,
        **kwargs: P.kwargs,
    ) -> Coroutine[Any, Any, R]: ...
    @overload
    def __call__(
        self, name: str, function: Callable[P, R], /, *args: P.args, **kwargs: P.kwargs
    ) -> R: ...
    def __call__(
        self, name: str, function: Callable[..., Any], /, *args: Any, **kwargs: Any
    ) -> Any:
        """Call the function once; later attempts return its stored result without a call.

        The result is what JSON makes of it. `retry` is a policy of the step's own: between two
        tries the job waits without a slot. A step that fails for good fails the attempt. Raises
        StepError for a name that this run has used, and for a result that cannot be stored.
        """
        if isinstance(function, Handler):
            function = function.function
        policy = kwargs.pop("retry", None) or self._retry
        run, call = current_run(), _Call(name, function, args, kwargs, policy)
        if _is_on_loop():
            return _acalled(run, call)
        if is_async(function):
            raise StepError(f"step {name!r} has a coroutine function, and its handler is none")
        return _called(run, call)

    def sleep(self, name: str, span: Span) -> Awaitable[None]:
        """End the attempt until so much time is over, and give the slot back.

        The time begins with the first attempt that asks for it.
        """
        run = current_run()
        record = run.begin(name)
        until = _until(span)
        if _is_on_loop():
            return _aslept(run, name, record, until)
        if not _is_slept(run, name, record, until):
            run.save(name)
            raise run.suspension(name, until_of(run.records[name]))
        return Done[None]()

    def wait_for(self, name: str, *, timeout: Span | None = None, signal: str | None = None) -> Any:
        """Return the payload of a signal to this job; end the attempt until it comes.

        The signal has the name of the step unless `signal` names another. A signal that came before
        is returned at once. After `timeout` it raises SignalTimeout; None: no time is set.
        """
        run = current_run()
        record = run.begin(name)
        until = _until(FOREVER if timeout is None else timeout)
        wanted = signal or name
        if _is_on_loop():
            return _awaited(run, name, record, until, wanted)
        is_new = _wait(run, name, record, until, wanted)
        if is_new is not False:
            run.save(name)
        if is_new is None:
            raise run.suspension(name, until_of(run.records[name]), (wanted,))
        return _payload(run.records[name])

    def run_job(self, call: Work[T], *, name: str | None = None, cancel: Cancel | None = None) -> T:
        """Start a job or a workflow, and return its result; end the attempt until it has one.

        The step has the name of the type, or of the workflow, unless `name` names another. With
        `cancel="with_parent"` the cancel of this job cancels the started one. Raises JobFailed or
        WorkflowFailed, also in later attempts. In a coroutine `arun_job` is the same for type
        checkers.
        """
        steps, child = current_run(), Child(call, name, cancel)
        if _is_on_loop():
            return arun(steps, child)  # type: ignore[return-value]  # see `arun_job`
        return run(steps, child)

    async def arun_job(
        self, call: Work[T], *, name: str | None = None, cancel: Cancel | None = None
    ) -> T:
        """Start a job or a workflow as `run_job` does, from a coroutine."""
        return await arun(current_run(), Child(call, name, cancel))

    def version(self, name: str, minimum: int, maximum: int) -> Any:
        """Return the version of the code that this run follows here, from minimum to maximum.

        A new run gets the maximum. A run that was already past this place gets the minimum. Raises
        StepError if the run follows a version that the code no longer has.
        """
        run = current_run()
        record = run.begin(name, again=True)
        is_new = record is None
        if record is None:
            run.put(name, state="version", result=minimum if run.is_past() else maximum)
            record = run.records[name]
        found = int(record["result"])
        if not minimum <= found <= maximum:
            raise StepError(
                f"the run follows version {found} of {name!r}, the code has {minimum} to {maximum}"
            )
        if _is_on_loop():
            return _aversion(run, name, found, is_new=is_new)
        if is_new:
            run.save(name)
        return found


class _Call:
    """A call of a function as a step."""

    def __init__(
        self,
        name: str,
        function: Callable[..., Any],
        args: tuple[Any, ...],
        kwargs: dict[str, Any],
        retry: StepRetry,
    ) -> None:
        self.name = name
        self.retry = retry
        self._function, self._args, self._kwargs = function, args, kwargs
        self.is_async = is_async(function)
        self.attempts = 1
        self._began = 0.0

    def start(self, record: Record | None) -> None:
        """Count the try."""
        self.attempts = int((record or {}).get("attempts", 0)) + 1
        self._began = perf_counter()

    def run(self) -> Any:
        """Call the function."""
        token = is_inside.set(True)
        try:
            return self._function(*self._args, **self._kwargs)
        finally:
            is_inside.reset(token)

    async def arun(self) -> Any:
        """Call the function; a plain one in a thread."""
        if not self.is_async:
            return await asyncio.to_thread(self.run)
        token = is_inside.set(True)
        try:
            return await self._function(*self._args, **self._kwargs)
        finally:
            is_inside.reset(token)

    def keep(self, run: StepRun, result: Any) -> Any:
        """Store the result in the run, and return what JSON makes of it. Raises StepError."""
        try:
            kept = loads(dumps(result))
        except ValueError as problem:
            raise StepError(f"step {self.name!r} has a result that is no JSON: {problem}") from None
        run.put(self.name, state=DONE, result=kept, attempts=self.attempts, ms=self._ms())
        return kept

    def fail(self, run: StepRun, problem: Exception) -> datetime | None:
        """Store the failure in the run, and return when the step runs again; None: never."""
        error = {"type": type(problem).__name__, "message": str(problem)[:MESSAGE]}
        record: Record = {"state": "failed", "attempts": self.attempts, "error": error}
        at = run.retry_at(record, problem, self.retry)
        if at is not None:
            record |= {"state": "retrying", "until": at.isoformat()}
        else:
            record["attempts"] = 0  # the next attempt of the job begins anew
            record["tries"] = self.attempts
        run.put(self.name, **record, ms=self._ms())
        return at

    def _ms(self) -> int:
        return round((perf_counter() - self._began) * 1000)


def _is_on_loop() -> bool:
    return asyncio._get_running_loop() is not None


def _until(span: Span) -> datetime:
    return datetime.now(UTC) + timedelta(milliseconds=milliseconds(span, "span"))


def _resumed(run: StepRun, call: _Call) -> Record | None:
    """Return the record of a step that is done; start any other. Raises Suspended."""
    record = run.begin(call.name)
    if record is None or record["state"] == DONE:
        call.start(None)
        return record
    if record["state"] == "retrying" and not run.is_due(call.name, record):
        raise run.suspension(call.name, until_of(record))
    call.start(record)
    return None


def _called(run: StepRun, call: _Call) -> Any:
    if (record := _resumed(run, call)) is not None:
        return record["result"]
    try:
        kept = call.keep(run, call.run())
    except StepError:
        raise
    except Exception as problem:
        at = call.fail(run, problem)
        run.save(call.name)
        if at is not None:
            raise run.suspension(call.name, at) from problem
        raise
    run.save(call.name)
    return kept


async def _acalled(run: StepRun, call: _Call) -> Any:
    run.enter()
    is_busy = True
    try:
        try:
            if (record := _resumed(run, call)) is not None:
                return record["result"]
            kept = call.keep(run, await call.arun())
        except StepError:
            raise
        except Exception as problem:
            at = call.fail(run, problem)
            await run.asave(call.name)
            if at is None:
                raise
            run.leave()
            is_busy = False
            await run.all_ended()
            raise run.suspension(call.name, at) from problem
        await run.asave(call.name)
        return kept
    finally:
        if is_busy:
            run.leave()


def _is_slept(run: StepRun, name: str, record: Record | None, until: datetime) -> bool:
    """Return whether a sleep is over; begin a new one."""
    if record is None:
        run.put(name, state="sleeping", until=until.isoformat())
        return False
    if record["state"] != DONE and run.is_due(name, record):
        run.put(name, state=DONE, result=None, until=record["until"])
    return bool(run.records[name]["state"] == DONE)


async def _aslept(run: StepRun, name: str, record: Record | None, until: datetime) -> None:
    if _is_slept(run, name, record, until):
        return
    await run.asave(name)
    suspension = run.suspension(name, until_of(run.records[name]))
    await run.all_ended()
    raise suspension


def _wait(
    run: StepRun, name: str, record: Record | None, until: datetime, signal: str
) -> bool | None:
    """Return whether the wait has just ended; False: it had before, None: it goes on."""
    if record is not None and record["state"] in {DONE, "timed_out"}:
        return False
    if (found := run.take_signal(signal)) is not None:
        run.put(name, state=DONE, result=found["payload"], signal=signal)
        return True
    if record is not None and run.is_due(name, record):
        run.put(name, state="timed_out", signal=signal)
        return True
    if record is None:
        run.put(name, state="waiting", signal=signal, until=until.isoformat())
    return None


async def _awaited(
    run: StepRun, name: str, record: Record | None, until: datetime, signal: str
) -> Any:
    is_new = _wait(run, name, record, until, signal)
    if is_new is not False:
        await run.asave(name)
    if is_new is None:
        suspension = run.suspension(name, until_of(run.records[name]), (signal,))
        await run.all_ended()
        raise suspension
    return _payload(run.records[name])


def _payload(record: Record) -> Any:
    if record["state"] == "timed_out":
        raise SignalTimeout(f"no signal {record['signal']!r} came in time")
    return record["result"]


async def _aversion(run: StepRun, name: str, found: int, *, is_new: bool) -> int:
    if is_new:
        await run.asave(name)
    return found


step: Final = Step()
