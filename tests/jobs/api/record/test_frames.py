"""The frames of a stream of server-sent events. Spec: contract 25.3."""

import json

import pytest

from jobs.api.record.frames import gap_frame
from jobs.domain.record.place import Place
from tests.spec import spec


@pytest.mark.parametrize(("tenant", "missed"), [(None, 5_000), ("north", 1)])
@spec("contract 25.3")
def test_a_gap_tells_a_tenant_no_number_of_all(tenant: str | None, missed: int) -> None:
    told = gap_frame("all", Place(1, 10), Place(2, 5_010), tenant=tenant).decode()

    assert json.loads(told.partition("data: ")[2])["estimated_missed_count"] == missed
