"""A federation of this server, called us, with eu and ap; their jobs, revisions and batches."""

from datetime import UTC, datetime, timedelta
from typing import Any

import orjson
from django.test import Client

from federation.domain.config import Mode
from federation.domain.meta import FEDERATION_ID
from federation.domain.region import Region
from federation.domain.replica import Replica, encode
from federation.models import FederatedJob
from federation.services.registry.configure import put_configuration, put_region
from federation.services.replication.capture import capture as capture_once
from federation.services.replication.replication import required
from jobs.api.wire.media import OJS_TYPE
from jobs.domain.job import Job
from jobs.domain.wire.ids import new_id
from tests.concurrency import wait_until_complete
from tests.factories import stored

LOCAL, EU, AP = "us", "eu", "ap"
NOON = datetime(2026, 5, 4, 12, tzinfo=UTC)


def federate(
    *, mode: Mode | str = Mode.METADATA_ONLY, enabled: bool = True, **replication: Any
) -> None:
    """Register this server and its peers, and configure replication."""
    for n, region in enumerate((LOCAL, EU, AP), start=1):
        put_region(Region(region, f"http://127.0.0.1:{n}", allow_insecure=True))
    rules = {"enabled": enabled, "mode": str(mode), **replication}
    put_configuration({"topology": "active-active", "replication": rules})


def federated(federation_id: str | None = None, **members: Any) -> Job:
    """Store a job with a federation id; `meta` adds to it."""
    meta = {FEDERATION_ID: federation_id or new_id(), **members.pop("meta", {})}
    return stored(1, meta=meta, **members)[0]


def capture() -> int:
    """Read all new events into copies; return the number of events."""
    total = 0
    while True:
        wait_until_complete()  # in each round: a recorded conflict is a new event
        read = capture_once(required())
        if not read:
            return total
        total += read


def row(job: Job) -> FederatedJob:
    """Return the copy of a job of this region."""
    return FederatedJob.objects.get(origin_region=LOCAL, job_id=job.id)


def replica(**members: Any) -> Replica:
    """Return a revision of a job of another region."""
    defaults: dict[str, Any] = {
        "federation_id": new_id(), "origin_region": EU, "job_id": new_id(), "tenant": "_default",
        "type": "tests.noop", "queue": "default", "state": "available", "priority": 0,
        "attempt": 0, "created_at": NOON, "enqueued_at": NOON, "completed_at": None,
        "revision": 1_000,
    }  # fmt: skip
    return Replica(**{**defaults, **members})


def later(ms: float) -> datetime:
    """Return a time in milliseconds after noon."""
    return NOON + timedelta(milliseconds=ms)


def encoded(one: Replica, **changes: Any) -> dict[str, Any]:
    """Return a revision in its JSON form, with changed members."""
    return {**encode(one), **changes}


def send(method: str, path: str, body: object = None, **headers: str) -> Any:
    """Send a request to this server."""
    client = Client(raise_request_exception=False, headers=headers)
    text = b"" if body is None else orjson.dumps(body)
    return client.generic(method, f"/ojs/v1{path}", text, content_type=OJS_TYPE)


def replicate(*jobs: object, status: int = 200, sent_at: str | None = None, **headers: Any) -> Any:
    """Send a batch of revisions and return the answer."""
    shown = [encoded(one) if isinstance(one, Replica) else one for one in jobs]
    body = {"jobs": shown} | ({} if sent_at is None else {"sent_at": sent_at})
    answer = send("POST", "/federation/replicate", body, **headers)
    assert answer.status_code == status, answer.content
    return answer.json()


def counts(accepted: int = 0, ignored: int = 0, conflicts: int = 0) -> dict[str, int]:
    """Return the expected answer to a batch."""
    return {"accepted": accepted, "ignored": ignored, "conflicts": conflicts}
