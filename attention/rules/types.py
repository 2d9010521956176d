"""Rules about the jobs of a type: failures, discarded jobs, run times."""

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
    number,
    page,
)
from attention.queries import rules as find
from jobs.domain.wire.durations import in_words

HALF: Final = 50  # percent
MANY: Final = 1_000  # jobs


def _error_text(hit: Hit) -> str:
    return (
        f"{hit.facts['percent']} % of the attempts of {hit.subject} fail: "
        f"{hit.facts['failed']:,} of {hit.facts['ended']:,}."
    )


def _error_cause(hit: Hit) -> str:
    past = hit.facts["past_percent"]
    before = (
        "The type has no past of three hours to compare with."
        if past is None
        else f"Usually {past} % fail."
    )
    error, message = hit.facts["error"], hit.facts["message"]
    if not error and not message:
        return before
    named = " — ".join(filter(None, (error, message)))
    return f"{before} The most frequent error is: {named}"


def _failing(hit: Hit) -> list[Remedy]:
    return [
        page("Show failed attempts", "jobs", type=hit.subject, state="retryable"),
        page("Show versions", "versions_of_type", hit.subject),
        act(f"Pause queue {hit.facts['queue']}", "pause", hit.facts["queue"]),
        page("Show dead letters", "dead_letter", type=hit.subject),
    ]


def _dead_text(hit: Hit) -> str:
    return (
        f"{number(hit.facts['discarded'], 'job')} of {hit.subject} "
        f"{'was' if hit.jobs == 1 else 'were'} discarded within an hour."
    )


def _dead_cause(hit: Hit) -> str:
    past = hit.facts["past"]
    usual = f"Even in a busy hour of the last week, {number(int(past), 'job')} ended like that."
    if not past:
        usual = "In the last week, hardly any job of this type ended like that."
    error = hit.facts["error"]
    return f"{usual} The most frequent error is {error}." if error else usual


def _dead_remedies(hit: Hit) -> list[Remedy]:
    return [
        page("Retry all", "operation_new", verb="retry", type=hit.subject, state="discarded"),
        page("Show dead letters", "dead_letter", type=hit.subject),
        act(f"Pause queue {hit.facts['queue']}", "pause", hit.facts["queue"]),
    ]


def _slow_text(hit: Hit) -> str:
    what = "has run" if hit.jobs == 1 else "have run"
    return (
        f"{number(hit.jobs, 'job')} of {hit.subject} {what} far beyond the usual time, "
        f"the longest for {in_words(hit.facts['longest_ms'])}."
    )


def _slow_cause(hit: Hit) -> str:
    usual = f"Jobs of this type usually take {in_words(hit.facts['usual_ms'])}."
    if hit.facts["workers"] == 1:
        return f"{usual} All of them run on worker {hit.facts['worker']}."
    return f"{usual} They run on {hit.facts['workers']} workers, so the jobs wait for a resource."


def _slow_remedies(hit: Hit) -> list[Remedy]:
    shown = [page("Show the longest job", "job", hit.facts["job"])]
    if hit.facts["worker"]:
        shown.append(page(f"Show worker {hit.facts['worker']}", "worker", hit.facts["worker"]))
    return [*shown, act("Cancel the longest job", "cancel", hit.facts["job"])]


def _fails_mostly(hit: Hit) -> Severity:
    return Severity.CRITICAL if hit.facts["percent"] >= HALF else Severity.WARNING


def _are_many(hit: Hit) -> Severity:
    return Severity.CRITICAL if hit.jobs >= MANY else Severity.WARNING


RULES: Final = (
    Rule(
        "error_rate", "Attempts of a type fail", Subject.TYPE, find.error_rate,
        _error_text, _error_cause, _fails_mostly, _failing,
        (
            Threshold("window_m", "Minutes that are judged", 5, 1, 60),
            Threshold("min_failed", "Minimum failed attempts", 10, 1, 1_000_000),
            Threshold("min_percent", "Minimum error rate in percent", 10, 1, 100),
            Threshold("factor", "Times the usual error rate", 3, 2, 100),
            Threshold("new_percent", "Error rate of a type without a past, in percent", 50, 1, 100),
        ),
        radius=Radius.FAILED,
    ),
    Rule(
        "dead_letters", "Many jobs of a type are discarded", Subject.TYPE, find.dead_letters,
        _dead_text, _dead_cause, _are_many, _dead_remedies,
        (
            Threshold("min_jobs", "Minimum discarded jobs within an hour", 20, 1, 1_000_000),
            Threshold("factor", "Times a busy hour of the last week", 3, 2, 100),
            Threshold(
                "new_percent", "Discarded jobs of a type without a past, in percent", 10, 1, 100
            ),
        ),
        radius=Radius.FAILED,
    ),
    Rule(
        "job_slow", "Jobs run beyond their usual time", Subject.TYPE, find.job_slow,
        _slow_text, _slow_cause, lambda _: Severity.WARNING, _slow_remedies,
        (
            Threshold("min_s", "Minimum run time in seconds", 60, 1, 604_800),
            Threshold("factor", "Times the usual run time", 10, 2, 1_000),
            Threshold("min_completed", "Minimum completed jobs of the type", 20, 1, 1_000_000),
        ),
        radius=Radius.ACTIVE,
    ),
)  # fmt: skip
