"""The types of handlers, as mypy and pyright see them: both report errors in the same lines."""

import re
import subprocess
import sys
from pathlib import Path

import orjson
from mypy import api

from tests.conftest import ROOT

CALLS = ROOT / "tests" / "ojs_tasks" / "typed_calls.py"
EXPECTED = {
    number: found[1]
    for number, line in enumerate(CALLS.read_text().splitlines(), 1)
    if (found := re.search(r"# E: ([\w-]+)$", line))
}


def test_mypy_reports_the_wrong_calls_and_no_others(tmp_path: Path) -> None:
    shown, problem, _ = api.run(
        ["--strict", "--config-file=", "--hide-error-context", "--no-error-summary",
         f"--cache-dir={tmp_path}", "--follow-imports=silent", str(CALLS)]
    )  # fmt: skip

    found = re.findall(r"typed_calls\.py:(\d+): error: .*\[([\w-]+)\]$", shown, re.MULTILINE)
    assert {int(line): code for line, code in found} == EXPECTED, shown + problem


def test_pyright_reports_the_wrong_calls_and_no_others(tmp_path: Path) -> None:
    (tmp_path / "pyrightconfig.json").write_bytes(
        orjson.dumps(
            {"include": [str(CALLS)], "extraPaths": [str(ROOT)], "typeCheckingMode": "standard"}
        )
    )

    shown = subprocess.run(
        [sys.executable, "-m", "basedpyright", "--outputjson", "-p", str(tmp_path),
         "--pythonpath", sys.executable],
        capture_output=True, timeout=300, check=False,
    )  # fmt: skip

    reports = orjson.loads(shown.stdout)["generalDiagnostics"]
    found = {
        one["range"]["start"]["line"] + 1: one["message"]
        for one in reports
        if one["severity"] == "error"
    }
    assert found.keys() == EXPECTED.keys(), found
