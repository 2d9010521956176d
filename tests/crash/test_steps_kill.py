"""kill -9 before and after each commit of a job with ten steps. Spec: contract 34.3."""

import json
import signal
import subprocess
import sys
from collections import Counter
from pathlib import Path

import pytest

from jobs.domain.states import CODES, State
from tests.conftest import ROOT
from tests.crash.steps_victim import COMMITS, STEPS
from tests.project.conftest import clean_environment
from tests.spec import spec


@pytest.mark.usefixtures("store")
@spec("contract 34.3")
def test_run_that_dies_at_any_commit_ends_right_with_each_result_stored_once(
    database_url: str, tmp_path: Path
) -> None:
    environment = {
        **clean_environment(), "DATABASE_URL": database_url, "OJS_SECRET_KEY": "x" * 50,
        "DJANGO_SETTINGS_MODULE": "ojs_project.settings",
    }  # fmt: skip

    done = subprocess.run(
        [sys.executable, "-m", "tests.crash.steps_victim", str(tmp_path)],
        cwd=ROOT, env=environment, capture_output=True, text=True, check=False,
    )  # fmt: skip

    assert done.returncode == 0, done.stdout + done.stderr
    runs = [json.loads(line) for line in done.stdout.splitlines() if line.startswith("{")]
    assert len(runs) == 2 * COMMITS
    for run in runs:
        died_at, is_before = run["commit"], run["is_before"]
        repeated = {died_at: 2} if is_before and died_at < STEPS else {}
        assert run["signal"] == signal.SIGKILL, run
        assert run["state"] == CODES[State.COMPLETED], run
        assert run["result"] == [n * n for n in range(STEPS)], run
        assert Counter(run["effects"]) == Counter({**dict.fromkeys(range(STEPS), 1), **repeated})
        assert run["saves"] == [f"step-{n}" for n in range(STEPS)], run
