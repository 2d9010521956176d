"""Reconcile the schedules in code with the database of this process."""

from collections.abc import Sequence

from jobs.domain.errors import OJSError
from ojs_tasks.local.check_schedules import definition_of
from ojs_tasks.server import Draft, Reconciled
from scheduling.domain.definition import Definition
from scheduling.services.cron_declared import reconcile


def reconcile_schedules(owner: str, bodies: Sequence[Draft]) -> Reconciled:
    """Make the schedules of a project these, in one transaction."""
    wanted: list[Definition] = []
    refused: dict[str, str] = {}
    for body in bodies:
        try:
            wanted.append(definition_of(body))
        except OJSError as problem:
            refused[body["name"]] = problem.message
    done = reconcile(owner, wanted, kept=refused.keys())
    return Reconciled(done.added, done.changed, done.removed, {**refused, **done.refused})
