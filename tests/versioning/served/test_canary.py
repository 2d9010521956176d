"""A canary on a real server, rolled back by the server's loops. Spec: job-versioning 10."""

from typing import Any

from tests.processes import until
from tests.scheduling.served.conftest import Served, served
from tests.spec import spec

__all__ = ["served"]
TYPE = "invoice.generate"
ROUTING = f"admin/routing/{TYPE}"


def fetch(served: Served, version: str) -> list[dict[str, Any]]:
    """Fetch as a worker of one version, until no job is left."""
    handlers = [{"type": TYPE, "versions": version}]
    found: list[dict[str, Any]] = []
    while more := served.fetch(100, queues=["default"], handlers=handlers):
        found += more
    return found


@spec("job-versioning 10")
def test_a_new_version_that_fails_is_taken_back(served: Served) -> None:
    rules = [{"version": "2.0", "weight": 20}, {"version": "1.0", "weight": 80}]
    guard = {"error_rate_threshold": 0.05, "significance": 0.05}
    served.send("PUT", ROUTING, {"rules": rules, "auto_rollback": guard}, 201)
    jobs = [{"type": TYPE, "args": []}] * 100
    for _ in range(3):
        served.send("POST", "jobs/batch", {"jobs": jobs}, 201)

    new, old = fetch(served, "2.0"), fetch(served, "1.0")
    assert 30 <= len(new) <= 90
    assert len(new) + len(old) == 300
    # both versions end jobs all the time: a look at only one version would prove nothing
    for n, (job, other) in enumerate(zip(new, old[:100], strict=False)):
        served.ack(other)
        if n % 3:
            served.ack(job)
        else:
            error = {"code": "broken", "message": "it broke"}
            served.send("POST", "workers/nack", {"job_id": job["id"], "error": error})

    until(lambda: served.send("GET", ROUTING)["rolled_back_at"] is not None, "a rollback")
    shown = served.send("GET", ROUTING)
    assert shown["rules"] == [{"version": "1.0", "weight": 100}]
    assert shown["rolled_back_from"] == "2.0"
    served.send("POST", "jobs/batch", {"jobs": jobs}, 201)
    assert fetch(served, "2.0") == []
    assert len(fetch(served, "1.0")) >= 100
