"""Rules about queues and pools: jobs that wait, and why."""

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

WITHOUT_WORKER: Final = "queue_without_worker"
OBJECTIVE: Final = "queue_objective"
FAR: Final = 4  # times the objective


def _jobs_wait(hit: Hit) -> str:
    return f"{number(hit.jobs, 'job')} {'waits' if hit.jobs == 1 else 'wait'}"


def _queue(hit: Hit) -> Remedy:
    return page("Show queue", "queue", hit.subject)


def _waiting(hit: Hit) -> Remedy:
    return page("Show waiting jobs", "jobs", queue=hit.subject, state="available")


def _by_operator(hit: Hit) -> str:
    actor, reason = hit.facts.get("actor"), hit.facts.get("reason")
    who = f"{actor} paused it" if actor else "An operator paused it"
    return f"{who}: {reason}" if reason else f"{who}, without a reason."


def _alone_cause(hit: Hit) -> str:
    if quiet := hit.facts["quiet"]:
        return f"An operator has told {', '.join(quiet)} to take no new jobs."
    if hit.facts["gone_at"]:
        return "All workers that fetched it have stopped or died."
    return "No worker has named this queue within a day: check the queues that workers start with."


def _alone_remedies(hit: Hit) -> list[Remedy]:
    resume = [act(f"Resume worker {name}", "unquiet", name) for name in hit.facts["quiet"]]
    return [*resume, page("Show workers", "workers", ended="1"), _queue(hit), _waiting(hit)]


def _full_text(hit: Hit) -> str:
    facts = hit.facts
    return (
        f"Queue {hit.subject} is {facts['percent']} % full: "
        f"{facts['held']:,} of {facts['bound']:,} {facts['unit']}."
    )


def _full_cause(hit: Hit) -> str:
    effects = {
        "reject": "Producers get errors when it is full.",
        "block": "Producers wait when it is full.",
        "drop_oldest": "When it is full, each new job removes the oldest job.",
    }
    effect = effects.get(str(hit.facts["strategy"]), "Producers get errors when it is full.")
    if hit.facts["is_paused"]:
        cause = "The queue is paused."
    elif not hit.facts["started"]:
        cause = "No job has started for 15 minutes; the page of the queue explains it."
    else:
        cause = "More jobs come than workers start."
    return f"{cause} {effect}"


def _is_full(hit: Hit) -> Severity:
    return Severity.CRITICAL if hit.facts["held"] >= hit.facts["bound"] else Severity.WARNING


def _grows_text(hit: Hit) -> str:
    facts = hit.facts
    return (
        f"Queue {hit.subject} grows: {hit.jobs:,} available jobs, "
        f"{facts['had']:,} were available {facts['window_m']} minutes ago."
    )


def _grows_cause(hit: Hit) -> str:
    facts = hit.facts
    if not facts["started"]:
        return "No job of the queue has started in this time."
    return (
        f"In this time {number(facts['enqueued'], 'job')} came and "
        f"{number(facts['started'], 'job')} started: the workers do not keep up."
    )


def _late_text(hit: Hit) -> str:
    return (
        f"Jobs of queue {hit.subject} wait {in_words(hit.facts['wait_ms'])} until they start; "
        f"the objective is {in_words(hit.facts['slo_ms'])}."
    )


def _late_cause(hit: Hit) -> str:
    if hit.jobs:
        return f"{_jobs_wait(hit)} now: the queue needs more workers, or more of their slots."
    return "The backlog is gone: jobs that waited for long have started lately."


def _is_far(hit: Hit) -> Severity:
    is_far = hit.facts["wait_ms"] > FAR * hit.facts["slo_ms"]
    return Severity.CRITICAL if is_far else Severity.WARNING


def _burns_text(hit: Hit) -> str:
    facts = hit.facts
    window = "hour" if facts["is_fast"] else "6 hours"
    return (
        f"Queue {hit.subject} misses its objective: {facts['late']:,} of {facts['started']:,} "
        f"starts of the last {window} took more than {in_words(facts['within_ms'])}."
    )


def _burns_cause(hit: Hit) -> str:
    facts = hit.facts
    used = 720 / facts["burn_rate"]  # of the hours in 30 days
    rate = f"{facts['burn_rate']:g} times as fast as {facts['percent']:g} % permit"
    return f"The error budget burns {rate}: at this rate it lasts {in_words(used * 3_600_000)}."


def _burns_far(hit: Hit) -> Severity:
    return Severity.CRITICAL if hit.facts["is_fast"] else Severity.WARNING


def _starved_cause(hit: Hit) -> str:
    if pools := hit.facts["pools"]:
        named = ", ".join(pools)
        return f"The workers of pool {named} are busy with other queues, or their slots are full."
    return "The workers that take its jobs are busy with other queues, or their slots are full."


def _starved_remedies(hit: Hit) -> list[Remedy]:
    pools = [page(f"Show pool {name}", "pool", name) for name in hit.facts["pools"] or ()]
    queue = hit.facts["queue"]
    return [
        page("Show queue", "queue", queue), *pools,
        page("Show waiting jobs", "jobs", queue=queue, state="available"),
    ]  # fmt: skip


def _pool_remedies(hit: Hit) -> list[Remedy]:
    return [
        page("Change the limit", "pool_edit", hit.subject), page("Show pool", "pool", hit.subject),
    ]  # fmt: skip


RULES: Final = (
    Rule(
        WITHOUT_WORKER, "A queue has jobs and no live worker", Subject.QUEUE,
        find.queue_without_worker,
        lambda hit: f"No live worker takes the jobs of queue {hit.subject}: {_jobs_wait(hit)}.",
        _alone_cause, always(Severity.CRITICAL), _alone_remedies,
        (
            Threshold("after_s", "Seconds without a worker", 60, 5, 86_400),
            Threshold("min_jobs", "Minimum waiting jobs", 1, 1, 1_000_000),
        ),
        is_exact=True, radius=Radius.WAITING,
    ),
    Rule(
        "queue_paused", "A paused queue has jobs", Subject.QUEUE, find.queue_paused,
        lambda hit: f"Queue {hit.subject} is paused, and {_jobs_wait(hit)}.",
        _by_operator, always(Severity.WARNING),
        lambda hit: [act("Resume queue", "resume", hit.subject), _queue(hit), _waiting(hit)],
        (
            Threshold("after_s", "Seconds since the pause", 60, 0, 604_800),
            Threshold("min_jobs", "Minimum waiting jobs", 1, 1, 1_000_000),
        ),
        is_exact=True, radius=Radius.WAITING,
    ),
    Rule(
        "queue_full", "A bounded queue is full", Subject.QUEUE, find.queue_full,
        _full_text, _full_cause, _is_full,
        lambda hit: [
            page("Change the bound", "queue", hit.subject, anchor="configuration"), _waiting(hit),
        ],
        (Threshold("percent", "Used part of the bound in percent", 95, 50, 100),),
        radius=Radius.WAITING,
    ),
    Rule(
        "queue_grows", "A queue grows", Subject.QUEUE, find.queue_grows,
        _grows_text, _grows_cause, always(Severity.WARNING),
        lambda hit: [_queue(hit), page("Show workers", "workers"), _waiting(hit)],
        (
            Threshold("min_jobs", "Minimum available jobs", 1_000, 10, 100_000_000),
            Threshold("factor", "Times the available jobs before", 2, 2, 100),
            Threshold("window_m", "Minutes between both counts", 15, 3, 60),
        ),
        yields_to=(WITHOUT_WORKER, "queue_full"), radius=Radius.WAITING,
    ),
    Rule(
        "queue_late", "Jobs of a queue wait beyond the objective", Subject.QUEUE, find.queue_late,
        _late_text, _late_cause, _is_far,
        lambda hit: [_queue(hit), page("Show workers", "workers"), _waiting(hit)],
        (
            Threshold("slo_s", "Objective: seconds from available to started", 300, 1, 604_800),
            Threshold("window_m", "Minutes that are judged", 5, 1, 60),
            Threshold("min_jobs", "Minimum started jobs", 10, 1, 1_000_000),
        ),
        has_overrides=True, yields_to=(OBJECTIVE,), radius=Radius.WAITING,
    ),
    Rule(
        OBJECTIVE, "A queue uses up its error budget", Subject.QUEUE, find.queue_objective,
        _burns_text, _burns_cause, _burns_far,
        lambda hit: [
            page("Show objective", "queue", hit.subject, anchor="objective"),
            page("Show workers", "workers"), _waiting(hit),
        ],
        (
            Threshold("fast_percent", "Percent of the budget used in 1 h: critical", 2, 1, 100),
            Threshold("slow_percent", "Percent of the budget used in 6 h: warning", 5, 1, 100),
            Threshold("min_late", "Minimum late starts in 1 h or 6 h", 5, 1, 1_000_000),
        ),
        yields_to=(WITHOUT_WORKER, "queue_paused"), radius=Radius.WAITING,
    ),
    Rule(
        "queue_starved", "A queue starves", Subject.QUEUE, find.queue_starved,
        lambda hit: f"Queue {hit.subject} has jobs, but none of them starts.",
        _starved_cause, always(Severity.CRITICAL), _starved_remedies,
        app="ojs_scheduling", is_exact=True, yields_to=(WITHOUT_WORKER, "queue_paused"),
        radius=Radius.WAITING,
    ),
    Rule(
        "pool_full", "A pool runs no more jobs", Subject.POOL, find.pool_full,
        lambda hit: f"Pool {hit.subject} runs as many jobs as it may, and {_jobs_wait(hit)}.",
        lambda hit: f"Its limit is {number(hit.facts['concurrency'] or 0, 'active job')}.",
        always(Severity.NOTICE), _pool_remedies,
        (Threshold("after_m", "Minutes with waiting jobs", 5, 1, 60),), app="ojs_scheduling",
    ),
)  # fmt: skip
