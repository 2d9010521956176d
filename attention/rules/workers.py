"""Rules about workers: stuck, gone, with a wrong clock."""

from typing import Final

from attention.domain.rule import (
    Hit,
    Radius,
    Remedy,
    Rule,
    Severity,
    Subject,
    Threshold,
    act,
    always,
    number,
    page,
)
from attention.queries import rules as find
from jobs.domain.wire.durations import in_words


def _stuck_text(hit: Hit) -> str:
    return (
        f"Worker {hit.subject} makes no progress: {number(hit.jobs, 'job')} of "
        f"{hit.facts['type']}, the latest started {in_words(hit.facts['last_start_ms'])} ago."
    )


def _stuck_cause(hit: Hit) -> str:
    host = f" on host {hit.facts['host']}" if hit.facts["host"] else ""
    return (
        f"The process{host} sends heartbeats, but none of its handlers ends: "
        "a handler waits for a resource without a timeout, or is in an endless loop."
    )


def _stuck_remedies(hit: Hit) -> list[Remedy]:
    return [
        act("Terminate the worker", "terminate", hit.subject),
        act("Remove it and return its jobs", "evict-worker", hit.subject),
        page("Show worker", "worker", hit.subject),
        page("Show its oldest job", "job", hit.facts["job"]),
    ]


def _gone_text(hit: Hit) -> str:
    facts = hit.facts
    lost = facts["usual"] - facts["live"]
    return f"{lost} of {number(facts['usual'], 'worker')} are gone."


def _gone_cause(hit: Hit) -> str:
    died, stopped = hit.facts["died"], hit.facts["stopped"]
    host = f" Most of them ran on host {hit.facts['host']}." if hit.facts["host"] else ""
    if not died:
        return f"{number(stopped, 'worker')} stopped in order, and nothing replaced them.{host}"
    if not stopped:
        return f"{number(died, 'worker')} fell silent: killed, or cut off from the server.{host}"
    return f"{number(died, 'worker')} fell silent, {stopped} stopped in order.{host}"


def _none_left(hit: Hit) -> Severity:
    return Severity.CRITICAL if not hit.facts["live"] or hit.jobs else Severity.WARNING


RULES: Final = (
    Rule(
        "workers_gone", "Workers are gone", Subject.SERVER, find.workers_gone,
        _gone_text, _gone_cause, _none_left,
        lambda _: [page("Show workers", "workers", ended="1")],
        (
            Threshold("percent", "Part of the workers in percent", 50, 10, 100),
            Threshold("min_workers", "Minimum usual number of workers", 2, 1, 10_000),
        ),
        is_exact=True,
    ),
    Rule(
        "worker_stuck", "A worker makes no progress", Subject.WORKER, find.worker_stuck,
        _stuck_text, _stuck_cause, always(Severity.WARNING), _stuck_remedies,
        (
            Threshold("after_s", "Seconds without a started job", 900, 10, 604_800),
            Threshold("factor", "Times the usual run time", 5, 2, 1_000),
        ),
        is_exact=True, radius=Radius.ACTIVE,
    ),
    Rule(
        "worker_skewed", "The clock of a worker is ahead", Subject.WORKER, find.worker_skewed,
        lambda hit: (
            f"The clock of worker {hit.subject} is ahead of this server: "
            "its start lies in the future."
        ),
        lambda _: "The host of the worker does not synchronize its clock.",
        always(Severity.NOTICE), lambda hit: [page("Show worker", "worker", hit.subject)],
    ),
)  # fmt: skip
