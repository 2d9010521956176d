"""Expand, migrate and contract on a real server, old and new code at once.

Spec: job-versioning 9.1, 4.
"""

from tests.scheduling.served.conftest import Served, served
from tests.spec import spec
from tests.versioning.services.test_contract import TYPE, pass_time, versions

__all__ = ["served"]


def produce(served: Served, version: str) -> None:
    """Enqueue a job."""
    served.send("POST", "jobs", {"type": TYPE, "version": version, "args": []}, 201)


def work(served: Served, worker: str, accepted: str) -> list[str]:
    """Let a worker of these versions complete all its jobs; return the jobs' versions."""
    handlers = [{"type": TYPE, "versions": accepted}]
    served.send("POST", "workers/heartbeat", {"worker_id": worker, "handlers": handlers})
    jobs = served.fetch(100, queues=["default"], worker_id=worker)
    for job in jobs:
        served.ack(job)
    return sorted(job["version"] for job in jobs)


def said(served: Served) -> tuple[str, set[str]]:
    """Return whether handlers of 1.x may be removed, with the codes of the reasons."""
    removals = served.send("GET", f"admin/versions/{TYPE}")["removals"]
    one = next(one for one in removals if one["versions"] == "1.x")
    return one["safe"], {reason["code"] for reason in one["reasons"]}


@spec("job-versioning 9")
def test_expand_migrate_contract(served: Served) -> None:
    produce(served, "1.0")
    produce(served, "2.0")  # a producer that is deployed too early
    assert work(served, "old", "<2.0") == ["1.0"]
    assert said(served) == ("no", {"still_sent", "not_expanded"})

    assert work(served, "both", ">=1.0 <3.0") == ["2.0"]  # expand
    produce(served, "1.0")  # migrate: an old producer continues
    produce(served, "2.0")
    assert said(served) == ("no", {"jobs_left", "still_sent"})
    pass_time(6)
    assert said(served) == ("no", {"jobs_left"})
    assert versions("--remove", "1.x")[1] == 3

    assert work(served, "old", "<2.0") == ["1.0"]  # drain
    assert said(served) == ("yes", set())
    assert versions("--remove", "1.x")[1] == 0

    assert work(served, "new", ">=2.0 <3.0") == ["2.0"]  # contract
