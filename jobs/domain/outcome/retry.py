"""Retry policies: parse, delay, decide. Spec: contract 5."""

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, Final, NamedTuple

from jobs.domain.errors import InvalidRequest, InvalidRetryPolicy, Problem
from jobs.domain.states import State
from jobs.domain.wire.bounds import MAX_INT, MAX_INTERVAL_MS
from jobs.domain.wire.durations import format_duration, parse_duration
from jobs.domain.wire.times import format_time, parse_time
from ojs_tasks.error_names import is_listed
from ojs_tasks.job_errors import bounded, server_error

STRATEGIES: Final = ("none", "constant", "linear", "exponential", "polynomial")
HISTORY: Final = 25


class RetryPolicy(NamedTuple):
    """The effective policy of a job; intervals in milliseconds.

    A tuple: each job looks up its hash, and a dataclass computes its hash in Python.
    """

    max_attempts: int = 3
    initial_interval_ms: int = 1000
    backoff_coefficient: float = 2.0
    max_interval_ms: int = 300_000
    jitter: bool = True
    non_retryable_errors: tuple[str, ...] = ()
    on_exhaustion: str = "discard"
    backoff_strategy: str = "exponential"

    def to_wire(self) -> dict[str, Any]:
        """Return the policy as stored and sent; do not change it, most jobs share one."""
        return _spell(self)


@lru_cache(maxsize=1024)
def _spell(policy: RetryPolicy) -> dict[str, Any]:
    return {
        "max_attempts": policy.max_attempts,
        "initial_interval": format_duration(policy.initial_interval_ms),
        "backoff_coefficient": policy.backoff_coefficient,
        "max_interval": format_duration(policy.max_interval_ms),
        "jitter": policy.jitter,
        "non_retryable_errors": list(policy.non_retryable_errors),
        "on_exhaustion": policy.on_exhaustion,
        "backoff_strategy": policy.backoff_strategy,
    }


DEFAULT_POLICY: Final = RetryPolicy()


def from_wire(stored: Mapping[str, Any]) -> RetryPolicy:
    """Read the result of `to_wire`."""
    return RetryPolicy(
        max_attempts=stored["max_attempts"],
        initial_interval_ms=parse_duration(stored["initial_interval"]),
        backoff_coefficient=stored["backoff_coefficient"],
        max_interval_ms=parse_duration(stored["max_interval"]),
        jitter=stored["jitter"],
        non_retryable_errors=tuple(stored["non_retryable_errors"]),
        on_exhaustion=stored["on_exhaustion"],
        backoff_strategy=stored["backoff_strategy"],
    )


def parse_policy(
    raw: object, base: RetryPolicy = DEFAULT_POLICY, *, max_attempts: object = None
) -> RetryPolicy:
    """Merge a client's policy over `base`; `max_attempts` is the CLI's alias.

    Raises InvalidRetryPolicy with all problems.
    """
    if raw is None:
        if max_attempts is None:
            return base
        raw = {}
    if not isinstance(raw, Mapping):
        raise InvalidRetryPolicy.field("retry", "must be an object", raw)
    if max_attempts is not None and raw.get("max_attempts") is None:
        raw = {**raw, "max_attempts": max_attempts}
    return _Reader(raw, base).policy()


class _Reader:
    """Collects the problems of one policy."""

    def __init__(self, raw: Mapping[str, Any], base: RetryPolicy) -> None:
        self.raw, self.base = raw, base
        self.problems: list[Problem] = []

    def policy(self) -> RetryPolicy:
        initial = self.interval("initial_interval")
        longest = self.interval("max_interval")
        if initial and longest and longest < initial:
            self.refuse("max_interval", "must not be below initial_interval")
        if initial and not longest and initial > self.base.max_interval_ms:
            longest = initial
        policy = self.base._replace(
            max_attempts=self.max_attempts(),
            initial_interval_ms=initial or self.base.initial_interval_ms,
            backoff_coefficient=self.coefficient(),
            max_interval_ms=longest or self.base.max_interval_ms,
            jitter=self.jitter(),
            non_retryable_errors=self.patterns(),
            on_exhaustion=self.choice("on_exhaustion", ("discard", "dead_letter")),
            backoff_strategy=self.strategy(),
        )
        if self.problems:
            raise InvalidRetryPolicy.of_problems(self.problems)
        return policy

    def refuse(self, name: str, problem: str) -> None:
        self.problems.append(Problem(f"retry.{name}", problem, self.raw.get(name)))

    def max_attempts(self) -> int:
        value = self.raw.get("max_attempts")
        if isinstance(value, float) and value.is_integer():
            value = int(value)
        if value is None:
            return self.base.max_attempts
        if not isinstance(value, int) or isinstance(value, bool) or not 0 <= value <= MAX_INT:
            self.refuse("max_attempts", f"must be an integer from 0 to {MAX_INT}")
            return 0
        return value

    def interval(self, name: str) -> int | None:
        value = self.raw.get(name)
        if value is None:
            return self.milliseconds(f"{name}_ms")
        try:
            ms = parse_duration(value)
        except ValueError as problem:
            self.refuse(name, str(problem))
            return None
        if ms <= 0:
            self.refuse(name, "must be greater than zero")
            return None
        return ms

    def milliseconds(self, name: str) -> int | None:
        value = self.raw.get(name)
        if isinstance(value, float) and value.is_integer():
            value = int(value)
        if value is None or (value == 0 and not isinstance(value, bool)):
            return None
        if (
            not isinstance(value, int)
            or isinstance(value, bool)
            or not 0 < value <= MAX_INTERVAL_MS
        ):
            self.refuse(name, "must be a positive integer of milliseconds, at most 2^40")
            return None
        return value

    def coefficient(self) -> float:
        value = self.raw.get("backoff_coefficient")
        if value is None:
            return self.base.backoff_coefficient
        if not isinstance(value, int | float) or isinstance(value, bool) or not value >= 1:
            self.refuse("backoff_coefficient", "must be a number of at least 1.0")
            return 1.0
        if value > MAX_INT:
            self.refuse("backoff_coefficient", f"must be at most {MAX_INT}")
            return 1.0
        return float(value)

    def jitter(self) -> bool:
        value = self.raw.get("jitter")
        if value is None:
            return self.base.jitter
        if not isinstance(value, bool):
            self.refuse("jitter", "must be a boolean")
        return bool(value)

    def patterns(self) -> tuple[str, ...]:
        value = self.raw.get("non_retryable_errors")
        if value is None:
            return self.base.non_retryable_errors
        if not isinstance(value, list) or not all(isinstance(v, str) and v for v in value):
            self.refuse("non_retryable_errors", "must be an array of non-empty strings")
            return ()
        return tuple(value)

    def choice(self, name: str, allowed: tuple[str, ...]) -> str:
        value = self.raw.get(name)
        if value is None:
            return str(getattr(self.base, name))
        if value not in allowed:
            self.refuse(name, f"must be one of {', '.join(allowed)}")
        return str(value)

    def strategy(self) -> str:
        name = "backoff_strategy"
        if self.raw.get(name) is None and self.raw.get("backoff") is not None:
            self.raw = {**self.raw, name: self.raw["backoff"]}
        return self.choice(name, STRATEGIES)


def delay_ms(policy: RetryPolicy, attempt: int, random: Callable[[], float]) -> int:
    """Return the wait after failed attempt number `attempt`, from 1. Spec: contract 5.3."""
    longest = float(policy.max_interval_ms)
    try:
        delay = min(_raw_delay(policy, attempt), longest)
    except OverflowError:
        delay = longest
    if policy.jitter:
        delay = min(delay * (0.5 + random()), longest)
    return round(delay)


def _raw_delay(policy: RetryPolicy, attempt: int) -> float:
    initial, coefficient = float(policy.initial_interval_ms), policy.backoff_coefficient
    match policy.backoff_strategy:
        case "linear":
            return initial * attempt
        case "exponential":
            return initial * math.pow(coefficient, attempt - 1)
        case "polynomial":
            return initial * math.pow(attempt, coefficient)
        case _:
            return initial


@dataclass(frozen=True, slots=True)
class Decision:
    """The decision on a failed attempt; `delay_ms` only when it will run again.

    `why` says why no attempt follows although the job has more; empty: it has no more.
    """

    state: State
    delay_ms: int | None = None
    dead_letter: bool = False
    why: str = ""


def decide(
    policy: RetryPolicy,
    error: Mapping[str, Any],
    attempt: int,
    max_attempts: int,
    *,
    random: Callable[[], float],
) -> Decision:
    """Apply rows 2 to 8 of contract 5.4 to a normalised error; the first match decides."""
    code = error.get("code")
    flagged = policy.on_exhaustion == "dead_letter"
    if code in {"DISCARD", "FAIL"}:
        return Decision(State.DISCARDED, why=f"the worker ended the job by the code {code}")
    if code == "DEAD_LETTER":
        return Decision(
            State.DISCARDED, dead_letter=True, why="the worker moved the job to the dead letter"
        )
    if code != "RETRY" and error.get("retryable") is False:
        return Decision(
            State.DISCARDED,
            dead_letter=flagged,
            why="the worker reported the error as not retryable",
        )
    if code != "RETRY" and _is_listed(policy, error):
        return Decision(
            State.DISCARDED,
            dead_letter=flagged,
            why="its retry policy lists the error as not retryable",
        )
    if attempt >= max_attempts:
        return Decision(State.DISCARDED, dead_letter=flagged)
    chosen = error.get("retry_after_ms")
    return Decision(
        State.RETRYABLE, delay_ms(policy, attempt, random) if chosen is None else chosen
    )


def _is_listed(policy: RetryPolicy, error: Mapping[str, Any]) -> bool:
    return is_listed(policy.non_retryable_errors, [error.get("type"), error.get("code")])


def normalise_error(raw: object) -> dict[str, Any]:
    """Return an error as stored, without attempt and time. Spec: contract 5.5, D27.

    Raises InvalidRequest when it is no object, or has neither code nor type.
    """
    if not isinstance(raw, Mapping):
        raise InvalidRequest.field("error", "must be an object", raw)
    for name in ("code", "type", "message"):
        if raw.get(name) is not None and not isinstance(raw[name], str):
            raise InvalidRequest.field(f"error.{name}", "must be a string", raw[name])
    if not raw.get("code") and not raw.get("type"):
        raise InvalidRequest.field("error.code", "or error.type is required")
    details = raw.get("details")
    if details is not None and not isinstance(details, Mapping):
        raise InvalidRequest.field("error.details", "must be an object", details)
    if not isinstance(raw.get("retryable", True), bool | None):
        raise InvalidRequest.field("error.retryable", "must be a boolean", raw["retryable"])
    return bounded(raw, _backtrace(raw.get("backtrace"))) | _times(raw)


def _times(raw: Mapping[str, Any]) -> dict[str, Any]:
    """Read the wait that the worker chose, and the time until which its job's group rests."""
    found: dict[str, Any] = {}
    if raw.get("retry_after_ms") is not None:
        found["retry_after_ms"] = _wait_ms(raw["retry_after_ms"])
    if raw.get("rate_limit_until") is not None:
        until = parse_time(raw["rate_limit_until"], "error.rate_limit_until")
        found["rate_limit_until"] = format_time(until)
    return found


def _wait_ms(raw: object) -> int:
    """Read the wait that a worker chose, which the policy's longest interval does not bound."""
    if isinstance(raw, float) and raw.is_integer():
        raw = int(raw)
    if not isinstance(raw, int) or isinstance(raw, bool) or not 0 <= raw <= MAX_INTERVAL_MS:
        problem = f"must be an integer from 0 to {MAX_INTERVAL_MS}"
        raise InvalidRequest.field("error.retry_after_ms", problem, raw)
    return raw


def _backtrace(raw: object) -> list[str] | None:
    lines = raw.split("\n") if isinstance(raw, str) else raw
    if lines is None:
        return None
    if not isinstance(lines, list) or not all(isinstance(line, str) for line in lines):
        raise InvalidRequest.field("error.backtrace", "must be a string or an array of strings")
    return lines


def visibility_error() -> dict[str, Any]:
    """The lease ran out. Spec: contract 9.3."""
    return server_error("visibility_timeout", "the lease ended without an answer")


def worker_death_error(worker_id: str) -> dict[str, Any]:
    """The worker fell silent. Spec: contract 9.5."""
    message = f"worker {worker_id} sent no heartbeat"
    return server_error("worker_death", message, {"worker_id": worker_id})
