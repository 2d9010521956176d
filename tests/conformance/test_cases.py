"""The published conformance cases against a real server and its loops."""

from typing import Any

import httpx
import pytest

from tests.conformance.cases import load
from tests.conformance.runner import Case

CASES = load()


@pytest.mark.parametrize("published_case", CASES, ids=[case["test_id"] for case in CASES])
def test_case_against_running_server_passes(published_case: dict[str, Any], server: str) -> None:
    with httpx.Client(base_url=server, timeout=30) as client:
        client.post("/ojs/v1/admin/reset").raise_for_status()

        failures = Case(published_case, client).run()

    assert failures == []
