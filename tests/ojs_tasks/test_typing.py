"""The types of handlers, as mypy sees them. pyright 1.1.414 reports errors in the
same lines."""

import re
from pathlib import Path

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
