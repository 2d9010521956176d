"""Rules about this server: loops, maintenance, the database, counts, retention."""

from typing import Final

from attention.domain.rule import (
    Hit,
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

ALL: Final = "all"


def _loop_text(hit: Hit) -> str:
    if hit.subject == ALL:
        return (
            "No loops have run lately: due jobs do not start and lost jobs do not return. "
            "Start manage.py runworker."
        )
    return f"Loop {hit.subject} does not get on."


def _loop_cause(hit: Hit) -> str:
    if hit.subject == ALL:
        return "No process runs manage.py runworker, or none of them reaches the database."
    return "Its run takes too long or fails: the log of manage.py runworker has the error."


def _maintenance_text(hit: Hit) -> str:
    why = f" {hit.facts['reason']}" if hit.facts.get("reason") else ""
    return f"Maintenance: no job starts.{why}"


def _maintenance_cause(hit: Hit) -> str:
    actor = hit.facts.get("actor")
    return f"{actor} has switched it on." if actor else "An operator has switched it on."


RULES: Final = (
    Rule(
        "loop_stuck", "Loops do not run", Subject.LOOP, find.loop_stuck, _loop_text, _loop_cause,
        lambda hit: Severity.CRITICAL if hit.subject == ALL else Severity.WARNING,
        lambda _: [page("Show loops", "system")], is_exact=True, is_public=True,
    ),
    Rule(
        "maintenance", "Maintenance holds back all jobs", Subject.SERVER, find.maintenance,
        _maintenance_text, _maintenance_cause, always(Severity.WARNING),
        lambda _: [act("End maintenance", "end-maintenance", "server")],
        is_exact=True, is_public=True,
    ),
    Rule(
        "database_slow", "The database is slow", Subject.SERVER, find.database_slow,
        lambda hit: f"The database takes {in_words(hit.facts['took_ms'])} for a look at all rules.",
        lambda _: "The host of the database is busy, or a table or an index has grown too large.",
        always(Severity.WARNING), lambda _: [page("Show the database", "system")],
        (Threshold("slow_ms", "Milliseconds for all statements", 3_000, 100, 60_000),),
        is_public=True,
    ),
    Rule(
        "counts_late", "The counts are late", Subject.LOOP, find.counts_late,
        lambda hit: f"All counts are {in_words(hit.facts['behind_ms'])} behind the jobs.",
        lambda _: "The loop fold does not keep up, or a long transaction holds the event record.",
        always(Severity.WARNING), lambda _: [page("Show loops", "system")],
        (Threshold("after_s", "Seconds behind", 60, 5, 86_400),), is_exact=True,
        yields_to=("loop_stuck",),
    ),
    Rule(
        "counts_drifted", "Counts were wrong", Subject.SERVER, find.counts_drifted,
        lambda hit: f"{number(hit.facts['counts'], 'count')} of {hit.subject} differed from "
        "the jobs and were corrected.",
        lambda _: "A row was changed by hand, a backup was restored in part, or the server has "
        "a defect.",
        always(Severity.NOTICE), lambda _: [page("Show the server", "system")],
        (Threshold("window_m", "Minutes that a correction stays listed", 60, 1, 10_080),),
    ),
    Rule(
        "retention_late", "Retention is behind", Subject.QUEUE, find.retention_late,
        lambda hit: f"Ended jobs of queue {hit.subject} are kept beyond their retention.",
        lambda _: "The loop retention does not run, or more jobs end than it removes.",
        always(Severity.NOTICE), lambda _: [page("Show loops", "system")],
        (Threshold("after_h", "Hours beyond the retention", 6, 1, 8_760),),
        is_exact=True, every_s=300,
    ),
)  # fmt: skip
