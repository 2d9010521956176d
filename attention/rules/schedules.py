"""Rules about schedules and workflows."""

from typing import Final

from attention.domain.rule import (
    Hit,
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
from jobs.domain.states import State, state_of

MANY: Final = 10  # runs, workflows


def _failing_text(hit: Hit) -> str:
    return f"The last {number(hit.facts['runs'], 'run')} of schedule {hit.facts['name']} failed."


def _failing_cause(hit: Hit) -> str:
    why = hit.facts["why"]
    return f"The latest run: {why}" if why else "The latest run has no error message."


def _failing_remedies(hit: Hit) -> list[Remedy]:
    job = hit.facts["job"]
    shown = [page("Show the failed job", "job", job)] if job else []
    return [
        act("Run now", "cron-trigger", hit.subject),
        act("Pause schedule", "cron-pause", hit.subject), *shown,
        page("Show schedule", "cron", hit.subject),
    ]  # fmt: skip


def _missed_cause(hit: Hit) -> str:
    if hit.facts["is_maintenance"]:
        return "No schedule fires during maintenance."
    return "The loop cron does not run: start manage.py runworker, or look at its log."


def _missed_remedies(hit: Hit) -> list[Remedy]:
    ends = [act("End maintenance", "end-maintenance", "server")]
    return [
        *(ends if hit.facts["is_maintenance"] else []),
        page("Show schedule", "cron", hit.subject), page("Show loops", "system"),
    ]  # fmt: skip


def _waits_text(hit: Hit) -> str:
    if hit.jobs == 1:
        return f"Workflow {hit.facts['name']} has made no step for long."
    return f"{number(hit.jobs, 'workflow')} named {hit.facts['name']} have made no step for long."


def _waits_cause(hit: Hit) -> str:
    facts = hit.facts
    if facts["is_due"]:
        return f"The server refuses the job of step {facts['step']}, and tries again."
    if facts["state"] is None:
        return f"Step {facts['step']} waits for other steps."
    state = state_of(facts["state"])
    where = {
        State.AVAILABLE: f"waits in queue {facts['queue']} for a worker",
        State.ACTIVE: "runs on a worker",
        State.SCHEDULED: "is scheduled for a later time",
        State.RETRYABLE: "has failed and waits for its next attempt",
        State.PENDING: "waits for its activation from outside",
    }
    return f"Step {facts['step']} is not done: its job {where.get(state, 'has ended')}."


def _waits_remedies(hit: Hit) -> list[Remedy]:
    facts = hit.facts
    job = [page("Show the job it waits for", "job", facts["job"])] if facts["job"] else []
    return [
        page("Show workflow", "workflow", facts["workflow"]), *job,
        act("Cancel workflow", "cancel-workflow", facts["workflow"]),
    ]  # fmt: skip


def _are_many(hit: Hit) -> Severity:
    return Severity.CRITICAL if hit.jobs >= MANY else Severity.WARNING


RULES: Final = (
    Rule(
        "cron_failing", "The runs of a schedule fail", Subject.SCHEDULE, find.cron_failing,
        _failing_text, _failing_cause, _are_many, _failing_remedies,
        (Threshold("runs", "Failed runs in a row", 3, 1, 100),),
        app="ojs_scheduling", is_exact=True,
    ),
    Rule(
        "cron_missed", "A schedule has not fired", Subject.SCHEDULE, find.cron_missed,
        lambda hit: f"Schedule {hit.facts['name']} should have run and did not.",
        _missed_cause, always(Severity.WARNING), _missed_remedies,
        (Threshold("grace_s", "Seconds after the time of the run", 120, 10, 86_400),),
        app="ojs_scheduling", is_exact=True,
    ),
    Rule(
        "workflow_waits", "A workflow makes no step", Subject.WORKFLOW, find.workflow_waits,
        _waits_text, _waits_cause, _are_many, _waits_remedies,
        (
            Threshold("after_m", "Minutes without a step", 30, 1, 525_600),
            Threshold("factor", "Times the usual run time of a running step", 5, 2, 1_000),
        ),
        app="ojs_workflows", is_exact=True, every_s=30,
    ),
)  # fmt: skip
