"""The examples of the manual, run unchanged."""

import json
import subprocess
from pathlib import Path
from typing import Any

import httpx
import pytest

from docs.site import markdown
from jobs.domain.states import State
from ojs_tasks import registry
from ojs_tasks.testing import run_available
from tests.conftest import ROOT
from tests.processes import DEADLINE_S


def blocks(page: Path, language: str) -> list[str]:
    """Return the code blocks of a page in one language."""
    found = markdown.blocks(page.read_text())
    return [block.text for block in found if block.language == language]


@pytest.fixture
def no_handlers(monkeypatch: pytest.MonkeyPatch) -> None:
    """Start without registered handlers."""
    monkeypatch.setattr(registry, "_handlers", {})


def curl(line: str, server: str, **environment: str) -> dict[str, Any]:
    """Run a curl line in a shell and return the answer."""
    assert "http://127.0.0.1:8000" in line
    done = subprocess.run(
        ["/bin/sh", "-c", line.replace("http://127.0.0.1:8000", server)],
        env={"PATH": "/usr/bin:/bin", **environment},
        capture_output=True, text=True, check=True,
    )  # fmt: skip
    found: dict[str, Any] = json.loads(done.stdout)
    return found


def test_the_first_job_with_curl(server: str) -> None:
    (lines,) = [block for block in blocks(ROOT / "README.md", "sh") if block.startswith("curl")]
    enqueue, fetch, ack = lines.split("\n\n")
    httpx.post(f"{server}/ojs/v1/admin/reset", timeout=DEADLINE_S).raise_for_status()

    stored = curl(enqueue, server)["job"]
    taken = curl(fetch, server)["jobs"]
    done = curl(ack, server, JOB=taken[0]["id"])

    assert [job["id"] for job in taken] == [stored["id"]]
    assert (done["acknowledged"], done["state"]) == (True, "completed")
    shown = httpx.get(f"{server}/ojs/v1/jobs/{stored['id']}", timeout=DEADLINE_S).json()["job"]
    assert shown["result"] == {"pages": 2}


@pytest.mark.usefixtures("store", "no_handlers")
def test_the_worker_in_python() -> None:
    scope: dict[str, Any] = {}
    for block in blocks(ROOT / "README.md", "python"):
        exec(block, scope)  # noqa: S102 - our own manual

    (run,) = run_available()  # the second job is delayed

    assert (run.type, run.state) == ("mail.send", State.COMPLETED)
    assert run.result == {"sent_to": "ada@example.org", "subject": "News"}


@pytest.mark.usefixtures("store", "no_handlers")
def test_the_handlers_of_the_manual() -> None:
    code = blocks(ROOT / "docs" / "handlers.md", "python")
    scope: dict[str, Any] = {}
    exec(code[0], scope)  # noqa: S102 - our own manual
    (enqueueing,) = [block for block in code if block.startswith("render.enqueue(")]
    exec(enqueueing, scope)  # noqa: S102
    assert [run.state for run in run_available(["reports", "urgent"])] == [State.COMPLETED]
