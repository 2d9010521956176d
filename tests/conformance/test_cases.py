"""The published conformance cases against a real server and its loops."""

from typing import Any

import httpx
import pytest

from tests.conformance.cases import NOT_SERVED, load
from tests.conformance.runner import Case

CASES = load()


@pytest.mark.parametrize("case", CASES, ids=[case["test_id"] for case in CASES])
def test_case_against_running_server_passes(case: dict[str, Any], server: str) -> None:
    with httpx.Client(base_url=server, timeout=30) as client:
        client.post("/ojs/v1/admin/reset").raise_for_status()

        failures = Case(case, client).run()

    assert failures == []


def test_no_case_of_a_served_extension_is_left_out(server: str) -> None:
    served = httpx.get(f"{server}/ojs/manifest", timeout=30).json()["extensions"]

    assert not NOT_SERVED & {f"ext-{name}" for name in served}
