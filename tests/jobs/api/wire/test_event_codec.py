"""JSON envelope of events. Spec: contract 12.3, 25."""

from datetime import UTC, datetime

import pytest

from jobs.api.wire.event_codec import encode_event
from jobs.domain.record.events import NAMES, Kind
from jobs.domain.record.place import Place
from jobs.services.record.events import StoredEvent
from tests.spec import spec


def _event(kind: Kind, job_id: str | None) -> StoredEvent:
    return StoredEvent(
        id="evt_1", place=Place(1, 1, 1), at=datetime(2026, 5, 4, tzinfo=UTC), kind=kind,
        job_id=job_id, queue=None, type="mail.send", tenant=None, to_state=None, from_state=None,
        attempt=None, worker_id=None, took_ms=None, data={}, trace_id=None, tenant_id=None,
        is_below_horizon=True, unique_key=None,
    )  # fmt: skip


@pytest.mark.parametrize("job_id", [None, "0197a0c2-5b1e-7c44-9a10-6f2d8c3b7e55"])
@pytest.mark.parametrize("kind", NAMES)
@spec("contract 25.1")
def test_every_event_of_a_type_tells_the_type(kind: Kind, job_id: str | None) -> None:
    data = encode_event(_event(kind, job_id))["data"]

    assert data["type"] == data["job_type"] == "mail.send"
