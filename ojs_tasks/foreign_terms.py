"""The names that other libraries give to job options, and the terms to use instead."""

from collections.abc import Collection, Mapping
from difflib import get_close_matches
from typing import Final, NamedTuple

from ojs_tasks.exceptions import UnknownTerm

NEAR: Final = 0.8  # of 1: how similar a name must be to the name of another library


class Foreign(NamedTuple):
    """A name of another library, and what to do instead."""

    whose: str
    instead: str


def refusal(
    owner: str, name: str, known: Collection[str], foreign: Mapping[str, Foreign]
) -> UnknownTerm:
    """Return the error of an unknown name: with the advice for it, else with the nearest name."""
    if name in foreign:
        whose, instead = foreign[name]
        return UnknownTerm(f"{owner}: {name!r} is {whose} name: {instead}")
    if near := get_close_matches(name.lower(), known, 1):
        advice = f"did you mean {near[0]!r}?"
    elif near := get_close_matches(name.lower(), foreign, 1, NEAR):
        advice = foreign[near[0]].instead
    else:
        advice = f"the terms are {', '.join(sorted(known))}"
    return UnknownTerm(f"{owner} has no term {name!r}: {advice}")


def _use(library: str, **names: str) -> dict[str, Foreign]:
    return {name: Foreign(library, f"use {use}") for name, use in names.items()}


def _know(library: str, **names: str) -> dict[str, Foreign]:
    return {name: Foreign(library, fact) for name, fact in names.items()}


_RETRY: Final = 'retry={"max_attempts": 4}, which counts the first attempt, too'
_BACKOFF: Final = 'retry={"initial_interval": 10, "max_interval": 300}'
_CONTEXT: Final = "current_job() inside the function"
_WORKFLOW: Final = "chain(…), group(…) or batch(…)"
_QUEUE: Final = "queue=…"
_EXPIRY: Final = "expires_at=3600"
_TYPE: Final = "the first argument of @job"
_ARGUMENTS: Final = "enqueue(…) with the function's arguments"

# A name that several libraries use is listed under the most common library
FOREIGN: Final[dict[str, Foreign]] = {
    **_use("huey's", retries=_RETRY, retry_delay=_BACKOFF, context=_CONTEXT),
    **_use(
        "dramatiq's",
        actor_name=_TYPE, max_age=_EXPIRY, min_backoff=_BACKOFF, max_backoff=_BACKOFF,
        retry_when="autoretry_for=(SomeError,)", store_results="result_ttl=3600",
    ),
    **_use(
        "django.tasks'", queue_name=_QUEUE, run_after="scheduled_at=…", takes_context=_CONTEXT
    ),
    **_use(
        "RQ's",
        job_timeout="timeout=60", job_id="options(id=…)", at_front='priority="high"', ttl=_EXPIRY,
        depends_on=_WORKFLOW, on_success=_WORKFLOW, on_failure=_WORKFLOW, description="meta={…}",
        enqueue_in="delay=60", enqueue_at="scheduled_at=…", at="scheduled_at=…",
        repeat="@periodic", failure_ttl="the server's retention settings",
    ),
    **_use(
        "django-q2's",
        cluster=_QUEUE, broker=_QUEUE, hook="batch([…], on_complete=…)", iter_count="batch([…])",
        group_id="group(…)", save="result_ttl=0 for results that are not kept",
        task_name="tags=[…] or meta={…}", ack_failure=_RETRY, cached="result_ttl=3600",
        q_options="the terms themselves", sync="ojs_tasks.testing.run_available()",
    ),
    **_use(
        "procrastinate's",
        lock='rate_limit={"key": …, "concurrency": 1}', queueing_lock="unique={…}",
        schedule_in="delay=60", schedule_at="scheduled_at=…", pass_context=_CONTEXT,
        task_kwargs=_ARGUMENTS, aliases="a handler for each type",
    ),
    **_use(
        "Celery's",
        countdown="delay=60", eta="scheduled_at=…", expires=_EXPIRY, max_retries=_RETRY,
        default_retry_delay=_BACKOFF, retry_backoff=_BACKOFF, retry_backoff_max=_BACKOFF,
        retry_jitter='retry={"jitter": True}', retry_kwargs=_RETRY, retry_policy=_RETRY,
        bind=_CONTEXT, task_id="options(id=…)", ignore_result="result_ttl=0", routing_key=_QUEUE,
        exchange=_QUEUE, time_limit="timeout=60", soft_time_limit="timeout=60",
        throws="dont_retry_for=(SomeError,)", dont_autoretry_for="dont_retry_for=(SomeError,)",
        name=_TYPE, base="a plain function", headers="meta={…}", shadow="tags=[…]",
        link=_WORKFLOW, link_error=_WORKFLOW, chain=_WORKFLOW, chord=_WORKFLOW, group=_WORKFLOW,
        args=_ARGUMENTS, kwargs=_ARGUMENTS,
    ),
    **_know(
        "Celery's",
        acks_late="jobs are always acknowledged after their end",
        reject_on_worker_lost="a job whose worker is lost always runs again",
        acks_on_failure_or_timeout="a failed attempt follows the retry policy",
        track_started="the state active is always visible",
        serializer="arguments are always JSON", compression="arguments are stored as they are",
        typing="arguments are always checked at the enqueue",
    ),
    **_use(
        "the wire's",
        timeout_ms="timeout=60, in seconds", delay_until="scheduled_at=…", metadata="meta={…}",
        visibility_timeout_ms="visibility_timeout=60, in seconds", type=_TYPE,
        max_attempts='retry={"max_attempts": 3}', options="the terms themselves",
    ),
}  # fmt: skip

# The same for the members of `retry`, `unique` and `rate_limit`
FOREIGN_MEMBERS: Final[dict[str, Foreign]] = {
    **_use(
        "Celery's",
        max_retries='"max_attempts", which counts the first attempt, too',
        interval_start='"initial_interval"', interval_step='"backoff_strategy": "linear"',
        interval_max='"max_interval"', countdown='"initial_interval"',
        default_retry_delay='"initial_interval"',
    ),
    **_use(
        "RQ's",
        max='"max_attempts", which counts the first attempt, too', interval='"initial_interval"',
    ),
    **_use(
        "the wire's",
        initial_interval_ms='"initial_interval", in seconds',
        max_interval_ms='"max_interval", in seconds', backoff='"backoff_strategy"',
        period_ms='"period", in seconds', within='"period"', key='"keys" and "args_keys"',
        dimensions='"keys"',
    ),
}  # fmt: skip
