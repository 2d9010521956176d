"""Translate Celery's options into terms. The command `migrate_from_celery` uses the same rules."""

import re
from collections.abc import Mapping
from typing import Any, Final

from ojs_tasks.compat.celery.errors import Unsupported

RETRIES: Final = 3  # Celery's default of max_retries
DELAY_S: Final = 180  # of default_retry_delay
BACKOFF_MAX_S: Final = 600  # of retry_backoff_max
UNLIMITED: Final = 1_000_000  # attempts, for max_retries=None
RATE: Final = re.compile(r"(?P<limit>\d+)(?:/(?P<unit>[smh]))?")
PERIODS_S: Final = {None: 1, "s": 1, "m": 60, "h": 3600}

RETRY: Final = frozenset(
    {
        "autoretry_for", "dont_autoretry_for", "throws", "max_retries", "default_retry_delay",
        "retry_backoff", "retry_backoff_max", "retry_jitter", "retry_kwargs",
    }
)  # fmt: skip
CALL: Final = frozenset(
    {"countdown", "eta", "expires", "queue", "priority", "task_id", "ignore_result", "time_limit",
     "soft_time_limit"}
)  # fmt: skip
TASK: Final = RETRY | {
    "expires", "queue", "priority", "ignore_result", "time_limit", "soft_time_limit", "rate_limit",
}  # fmt: skip
# without an effect here: the server always does what these ask for, or has nothing alike
IGNORED: Final = frozenset(
    {"acks_late", "acks_on_failure_or_timeout", "reject_on_worker_lost", "track_started", "typing",
     "retry", "retry_policy", "send_events", "trail", "add_to_parent", "connection", "producer"}
)  # fmt: skip
INSTEAD: Final = {
    "link": "ojs_tasks.chain(task.s(…), other.s(…)).enqueue()",
    "link_error": "ojs_tasks.batch([task.s(…)], on_failure=other.s(…)).enqueue()",
    "chain": "ojs_tasks.chain(…)",
    "chord": "ojs_tasks.chain(group(…), callback.s())",
    "group_id": "ojs_tasks.group(…)",
    "exchange": "queue=…", "routing_key": "queue=…", "exchange_type": "queue=…",
    "base": "a plain function, and execution middleware for what the class did",
    "headers": "meta={…} of ojs_tasks.job",
    "compression": "nothing: arguments are stored as they are",
    "serializer": "JSON arguments",
    "shadow": "tags=[…] of ojs_tasks.job",
    "backend": "nothing: the server stores results",
    "result_extended": "nothing: the server stores arguments with the job",
    "store_errors_even_if_ignored": "nothing: errors are always stored",
    "pydantic": "a call of the model inside the function",
}  # fmt: skip


def task_terms(options: Mapping[str, Any], name: str) -> dict[str, Any]:
    """Return the keyword arguments of `@job` for the options of a task.

    Without autoretry_for an exception discards the job, as in Celery: only `self.retry` retries.
    Raises Unsupported.
    """
    _require(options, TASK, f"task {name!r}")
    automatic = tuple(options.get("autoretry_for") or ())
    excluded = (*(options.get("dont_autoretry_for") or ()), *(options.get("throws") or ()))
    terms = _common(options)
    terms["retry"] = _policy(options, is_automatic=bool(automatic))
    if automatic:
        terms |= {"autoretry_for": automatic, **({"dont_retry_for": excluded} if excluded else {})}
    else:
        terms["dont_retry_for"] = (Exception,)
    if options.get("rate_limit") is not None:
        terms["rate_limit"] = rate_limit(options["rate_limit"], name)
    return terms


def call_terms(options: Mapping[str, Any], name: str) -> dict[str, Any]:
    """Return the terms of a single call. Raises Unsupported."""
    _require(options, CALL, f"a call of task {name!r}")
    terms = _common(options)
    if (eta := options.get("eta")) is not None:
        terms["scheduled_at"] = eta
    if (countdown := options.get("countdown")) is not None:
        terms["delay"] = countdown
    if (task_id := options.get("task_id")) is not None:
        terms["id"] = _id(task_id)
    return terms


def retries(options: Mapping[str, Any]) -> int | None:
    """Return the number of retries of a task; None: without limit."""
    given = {**options, **(options.get("retry_kwargs") or {})}
    found: int | None = given.get("max_retries", RETRIES)
    return found


def rate_limit(text: object, name: str) -> dict[str, Any]:
    """Return the limit of a text such as `10/m`; it holds for all workers. Raises Unsupported."""
    match = RATE.fullmatch(str(text))
    if match is None:
        raise Unsupported(f"rate_limit={text!r}: use a form such as '10/m'")
    window = {"limit": int(match["limit"]), "period": PERIODS_S[match["unit"]]}
    return {"key": name, "rate": window}


def _common(options: Mapping[str, Any]) -> dict[str, Any]:
    found = {name: options.get(name) for name in ("queue", "priority")}
    found["expires_at"] = options.get("expires")
    soft, hard = options.get("soft_time_limit"), options.get("time_limit")
    found["timeout"] = hard if soft is None else soft
    terms = {name: value for name, value in found.items() if value is not None}
    return {**terms, "result_ttl": 0} if options.get("ignore_result") else terms


def _policy(options: Mapping[str, Any], *, is_automatic: bool) -> dict[str, Any]:
    limit = retries(options)
    policy: dict[str, Any] = {
        "max_attempts": UNLIMITED if limit is None else limit + 1,
        "non_retryable_errors": ["timeout"],  # a task beyond its time limit has failed
    }
    backoff = options.get("retry_backoff")
    delay = (options.get("retry_kwargs") or {}).get("countdown")
    if delay is None:
        delay = options.get("default_retry_delay", DELAY_S)
    if not (is_automatic and backoff):
        steady = {"initial_interval": delay, "backoff_strategy": "constant", "jitter": False}
        return {**policy, **steady, "max_interval": max(delay, 1)}
    longest = options.get("retry_backoff_max", BACKOFF_MAX_S)
    return {
        **policy, "initial_interval": int(backoff), "backoff_strategy": "exponential",
        "backoff_coefficient": 2, "max_interval": longest,
        "jitter": bool(options.get("retry_jitter", True)),
    }  # fmt: skip


def _require(options: Mapping[str, Any], known: frozenset[str], owner: str) -> None:
    for name, value in options.items():
        if name in known | IGNORED or (name == "serializer" and value == "json"):
            continue
        instead = INSTEAD.get(name)
        advice = f"use {instead}" if instead else f"known are {', '.join(sorted(known))}"
        raise Unsupported(f"{owner}: the option {name!r} is not supported: {advice}")


def _id(task_id: object) -> str:
    found = str(task_id)
    if len(found) != 36 or found[14] != "7":  # noqa: PLR2004 - of a UUID
        raise Unsupported(f"task_id={found!r} must be a UUIDv7; leave it out to get one")
    return found
