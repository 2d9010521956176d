"""The published conformance cases against a real server and its loops."""

import importlib.util
import sys
from pathlib import Path
from typing import Any

import httpx
import pytest

FOLDER = Path(__file__).resolve().parent
_spec = importlib.util.spec_from_file_location("ojs_conformance", FOLDER / "run.py")
assert _spec is not None
assert _spec.loader is not None
runner = importlib.util.module_from_spec(_spec)
sys.modules["ojs_conformance"] = runner  # dataclasses look their module up
_spec.loader.exec_module(runner)
CASES: list[dict[str, Any]] = runner.load(FOLDER / "cases")


@pytest.mark.parametrize("case", CASES, ids=[case["test_id"] for case in CASES])
def test_case_against_running_server_passes(case: dict[str, Any], server: str) -> None:
    with httpx.Client(base_url=server, timeout=30) as client:
        client.post("/ojs/v1/admin/reset").raise_for_status()

        failures = runner.Case(case, client).run()

    assert failures == []
