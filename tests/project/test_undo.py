"""No operator's change of jobs goes around the undo log. docs/undo.md."""

import ast
import re
from collections.abc import Iterator
from pathlib import Path

from tests.conftest import ROOT

SQL = ROOT / "jobs" / "sql"
PARTS = SQL / "undo" / "parts"
# statements that change jobs for workers, loops, clients and extensions, but for no operator.
# A move of a tenant is taken back by a move in the other direction
OTHERS = {
    "activate", "bury", "complete", "discard", "drop", "enqueue", "expire_results", "fail",
    "postpone", "promote", "requeue", "reroute", "scratch_open", "suspend", "forget",
    "moving_pack", "moving_store", "moving_null_results",
}  # fmt: skip
# calls that change jobs, and the modules at the edges that run them in an operation
CHANGES = r"\b(act_on|bulk\.run|bulk\.by_id|bulk\.walk|purge|move_waiting|revive_one)\("
EDGES = ("api", "admin", "actions", "views", "console", "services/tenants.py")
OPENS = r"\b(undoable|undoable_steps|undo_log\.resumed)\("


def changing() -> Iterator[Path]:
    """Yield the statements that change a row of `ojs_job` or delete it."""
    for path in SQL.rglob("*.sql"):
        folder = path.relative_to(SQL).parts[0]
        written = re.search(r"(UPDATE|DELETE FROM|INSERT INTO) ojs_job\b", path.read_text())
        if written and folder not in {"functions", "undo"}:
            yield path


def test_each_statement_of_operators_keeps_the_jobs_as_they_were() -> None:
    kept = {path.stem.removeprefix("before_") for path in PARTS.glob("before_*.sql")}

    marked = {path.stem for path in changing() if "/* kept */" in path.read_text()}
    assert marked | {"hasten"} == kept
    assert {path.stem for path in changing()} - kept <= OTHERS


def test_statements_with_a_mark_run_by_the_one_function() -> None:
    source = (ROOT / "jobs" / "queries" / "lifecycle.py").read_text()
    run = {
        str(call.args[0].value)  # type: ignore[attr-defined]
        for call in ast.walk(ast.parse(source))
        if isinstance(call, ast.Call) and getattr(call.func, "id", "") == "run_kept"
    }

    marked = {
        p.stem for p in (ROOT / "jobs" / "sql").rglob("*.sql") if "/* kept */" in p.read_text()
    }
    assert run == marked


def test_modules_at_the_edges_change_jobs_only_in_an_operation() -> None:
    wrong = [
        str(path.relative_to(ROOT))
        for app in ("jobs", "console", "tenancy", "scheduling", "workflows", "versioning")
        for path in (ROOT / app).rglob("*.py")
        if any(f"/{edge}" in str(path) for edge in EDGES)
        and re.search(CHANGES, path.read_text())
        and not re.search(OPENS, path.read_text())
    ]

    assert not wrong
