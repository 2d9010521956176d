"""manage.py simulate_scheduling."""

from io import StringIO
from pathlib import Path

import orjson
import pytest
from django.core.management import call_command
from django.core.management.base import CommandError

SCENARIO = """
duration: 20s
workers: [{pool: p, slots: 2}]
jobs:
  - {queue: a, arrivals: {burst: 60}, runs: 1s}
  - {queue: b, tenant: blue, arrivals: {burst: 60}, runs: 1s}
pools: {p: {queues: [a, b]}}
"""
CHANGES = "pools: {p: {queues: {a: 3, b: 1}, strategy: weighted}}"


@pytest.fixture
def files(store: None, tmp_path: Path) -> Path:
    """Return a folder with a scenario and changes."""
    (tmp_path / "scenario.yaml").write_text(SCENARIO)
    (tmp_path / "changes.yaml").write_text(CHANGES)
    return tmp_path


def said(*arguments: str) -> str:
    """Return the output of the command."""
    out = StringIO()
    call_command("simulate_scheduling", *arguments, stdout=out)
    return out.getvalue()


def test_a_table_compares_before_and_after(files: Path) -> None:
    found = said(f"--scenario={files}/scenario.yaml", f"--changes={files}/changes.yaml")

    assert "120 jobs, 20.0 s, steps of 10 ms" in found
    rows = [line.split() for line in found.splitlines()]
    assert [row[:5] for row in rows if row[:1] == ["queue"]] == [
        ["queue", "a", "before", "60", "21"], ["queue", "b", "before", "60", "21"],
    ]  # fmt: skip
    assert next(row[0:3] for row in rows if row[:1] == ["after"]) in (
        ["after", "60", "31"], ["after", "60", "32"],
    )  # fmt: skip
    assert "tenant blue" in found


def test_json_has_everything(files: Path) -> None:
    found = orjson.loads(said(f"--scenario={files}/scenario.yaml", "--json", "--seed=3"))

    assert found["jobs"] == 120
    assert found["after"] is None
    assert set(found["before"]["queues"]["a"]) == {
        "jobs", "started", "share", "p50_ms", "p95_ms", "p99_ms", "max_ms",
    }  # fmt: skip


@pytest.mark.parametrize(
    ("arguments", "problem"),
    [
        (["--minutes=0"], "minutes must be"),
        (["--minutes=5"], "minutes hold no job"),
        (["--scenario=none.yaml"], "cannot be read"),
        (["--minutes=5", "--max-jobs=0"], "--max-jobs"),
        (["--minutes=5", "--scenario=x"], "not allowed with"),
        ([], "required"),
    ],
)
def test_what_is_wrong_is_told(store: None, arguments: list[str], problem: str) -> None:
    with pytest.raises(CommandError, match=problem):
        said(*arguments)


def test_what_is_wrong_in_a_file_is_told_with_its_path(files: Path) -> None:
    (files / "changes.yaml").write_text("pools: {p: {queues: [a], strategy: best}}")

    with pytest.raises(CommandError, match=r"changes\.pools\.p\.strategy must be one of"):
        said(f"--scenario={files}/scenario.yaml", f"--changes={files}/changes.yaml")

    (files / "changes.yaml").write_text(" ")
    with pytest.raises(CommandError, match="is empty"):
        said(f"--scenario={files}/scenario.yaml", f"--changes={files}/changes.yaml")
