"""The standing of a replica, and the pages and operations that it may serve.

A real standby serves them in tests/replica.
"""

import re
from time import monotonic

from console.pages import PAGES
from jobs.api.may_lag import LAG
from jobs.api.server.docs import document
from jobs.domain.wire import jsonio
from jobs.services.read import replica
from jobs.services.read.replica import Standing
from tests.conftest import ROOT

TABLE = (ROOT / "docs" / "replicas.md").read_text().partition("\n## Old data")[0]


def test_the_lag_includes_the_time_since_the_look() -> None:
    assert Standing(5, at=monotonic() - 2).lag_ms in range(2_005, 60_000)
    assert Standing(None, "away").lag_ms is None


def test_a_read_without_a_replica_runs_once() -> None:
    runs: list[int] = []

    assert replica.read(lambda: runs.append(1)) is None
    assert runs == [1]
    assert replica.lag_ms() is None


def test_the_manual_lists_the_operations_that_may_lag() -> None:
    paths = jsonio.loads(document())["paths"].values()
    marked = {
        operation["operationId"]
        for methods in paths
        for operation in methods.values()
        if LAG in operation["responses"].get("200", {}).get("headers", {})
    }

    assert marked
    assert set(re.findall(r"`([a-z]\w+)`", TABLE)) == marked


def test_the_manual_lists_the_pages_that_may_lag() -> None:
    (row,) = re.findall(r"^\| console \| the pages (.+); exports \|$", TABLE, re.MULTILINE)
    named = set(re.split(r", | and ", row))

    assert named == {page.label or f"a {page.name}" for page in PAGES if page.may_lag}
