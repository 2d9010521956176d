"""Leave out tests that need a browser, the built site or conformance cases, and report which.

For the browser see tests/browser.py, for the site tests/docs/site.py, and for the published
conformance cases tests/conformance/cases.py. No test is skipped for any other reason.
"""

import os
from collections import Counter
from collections.abc import Sequence
from typing import Any

import pytest

from tests import browser
from tests.conformance import cases
from tests.docs import site

LEFT: Counter[str] = Counter()  # tests that were left out, by file
NO_BROWSER = f"browser tests are left out, as no browser was found; {browser.HOW}"


def pytest_configure() -> None:
    """Look for a browser once; the processes of the run inherit the result."""
    if "PYTEST_XDIST_WORKER" not in os.environ:
        try:
            os.environ[browser.VARIABLE] = browser.find() or browser.NONE
        except browser.NoBrowser as problem:
            raise pytest.UsageError(str(problem)) from None


def has_browser() -> bool:
    """Return whether browser tests can run."""
    return os.environ[browser.VARIABLE] != browser.NONE


def pytest_report_header() -> list[str]:
    """Report at the start which tests are left out."""
    return _lines()


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Leave out the tests whose fixture cannot be made: no browser, built site or published case.

    pytest would skip the test of a case if there is none.
    """
    missing = {name for name, is_there in _needs().items() if not is_there}
    left = [item for item in items if missing & set(getattr(item, "fixturenames", ()))]
    if not left:
        return
    LEFT.update(str(item.path.relative_to(config.rootpath)) for item in left)
    items[:] = [item for item in items if item not in left]
    config.hook.pytest_deselected(items=left)


def _needs() -> dict[str, bool]:
    """Return whether each of these fixtures can be made."""
    return {
        "browser": has_browser(),
        "built_site": site.is_built(),
        "published_case": cases.FOLDER is not None,
    }


def pytest_sessionfinish(session: pytest.Session) -> None:
    """Send the counts of this process to the process that reports."""
    output = getattr(session.config, "workeroutput", None)
    if output is not None:
        output["left_out"] = dict(LEFT)


@pytest.hookimpl(optionalhook=True)
def pytest_testnodedown(node: Any) -> None:
    """Add the counts of a process; all collect the same tests, so count each file once."""
    LEFT.update({name: n for name, n in _names(node).items() if name not in LEFT})


def _names(node: Any) -> dict[str, int]:
    told: dict[str, int] = getattr(node, "workeroutput", {}).get("left_out", {})
    return told


def pytest_terminal_summary(terminalreporter: Any) -> None:
    """Report at the end which tests were left out."""
    for line in _lines():
        terminalreporter.write_line(line, yellow=True)
    if LEFT:
        terminalreporter.write_line(_counted(sorted(LEFT.items())), yellow=True)


def _counted(left: Sequence[tuple[str, int]]) -> str:
    files = ", ".join(f"{name} ({number})" for name, number in left)
    return f"{sum(number for _, number in left)} tests were left out: {files}"


def _lines() -> list[str]:
    missing = [] if has_browser() else [NO_BROWSER]
    missing += [] if site.is_built() else [site.NONE]
    return [*missing, *([cases.NONE] if cases.FOLDER is None else [])]
