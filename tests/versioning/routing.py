"""Routing rules over HTTP, and workers of versions."""

from typing import Any

from django.db.models import Sum

from jobs.services.lanes import configuration
from jobs.services.upkeep.reset import clear_caches
from tests.concurrency import until, wait_until_complete
from tests.tenancy.wire import answer, send
from tests.versioning.wire import TYPE, fetched
from versioning.models import Apart, Outcome, Route
from versioning.services import canaries, redraw

SPLIT = [{"version": "2.0", "weight": 10}, {"version": "1.0", "weight": 90}]
GUARD: dict[str, Any] = {"error_rate_threshold": 0.05, "evaluation_window": "PT2M"}


def put(rules: Any = None, /, *, status: int = 201, name: str = TYPE, **more: Any) -> Any:
    """Put the rules of TYPE; without rules, put SPLIT."""
    body = {"rules": SPLIT if rules is None else rules, **more}
    return answer(send("PUT", f"admin/routing/{name}", body), status)


def get(name: str = TYPE) -> Any:
    """Return the rules of TYPE."""
    return answer(send("GET", f"admin/routing/{name}"))


def act(verb: str, body: Any = None, /, *, status: int = 200) -> Any:
    """Promote, pause, resume or roll back."""
    return answer(send("POST", f"admin/routing/{TYPE}/{verb}", body), status)


def of(version: str) -> list[dict[str, str]]:
    """Return the declaration of a worker of one version."""
    return [{"type": TYPE, "versions": version}]


def takes(version: str, count: int = 1_000) -> list[dict[str, Any]]:
    """Fetch as a worker of one version, until it has `count` jobs or no more come."""
    found: list[dict[str, Any]] = []
    while more := fetched(handlers=of(version), count=min(100, count - len(found) or 1)):
        found += more
        if len(found) >= count:
            break
    return found


def ack(jobs: list[dict[str, Any]]) -> None:
    """Complete jobs."""
    for job in jobs:
        answer(send("POST", "workers/ack", {"job_id": job["id"]}))


def fail(jobs: list[dict[str, Any]]) -> None:
    """Fail attempts of jobs, whose retries are due much later."""
    for job in jobs:
        error = {"code": "broken", "message": "it broke"}
        answer(send("POST", "workers/nack", {"job_id": job["id"], "error": error}))


def redrawn() -> None:
    """Draw waiting jobs anew."""
    while redraw.redraw():
        pass


def looked(ended: int) -> int:
    """Run the loop until it has counted `ended` attempts; return how many types it changed.

    It reads up to the oldest transaction of the cluster, including transactions of other tests.
    """
    wait_until_complete()  # a look at only some of the attempts may decide otherwise
    changed = 0

    def has_counted() -> bool:
        nonlocal changed
        changed += canaries.watch()
        found = Outcome.objects.aggregate(acked=Sum("acked"), failed=Sum("failed"))
        return bool((found["acked"] or 0) + (found["failed"] or 0) >= ended)

    until(has_counted)
    return changed


def join() -> None:
    """Undo the split of all types into jobs with and without a version, which stays otherwise."""
    Apart.objects.all().delete()
    Route.objects.filter(major=None).delete()
    configuration.change()
    clear_caches()
