"""A short run of each fault of `make faults`, by `make test-long`. See bench/faults."""

import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from bench.faults.__main__ import run
from bench.faults.hurt import FAULTS

pytestmark = [pytest.mark.xdist_group("crash"), pytest.mark.long]

SEED = 7


@pytest.fixture
def folder() -> Iterator[Path]:
    """Return an empty folder that PostgreSQL's account may enter."""
    made = Path(tempfile.mkdtemp(prefix="ojs-faults-"))
    made.chmod(0o711)
    yield made
    shutil.rmtree(made)


@pytest.mark.parametrize(
    "faults",
    [
        ["http", "loops"],
        ["backend", "restart"],
        ["stall"],
        ["lease", "silence", "drain", "socket"],
        ["runworker-term", "runworker-stop", "runworker-kill"],
    ],
    ids="+".join,
)
def test_promises_hold_under(faults: list[str], folder: Path) -> None:
    findings = list(run(folder, faults, SEED, seconds=0))

    assert {one.fault for one in findings} == {*faults, "all"}
    # the speed of answers depends on the machine that runs the tests; only `make faults` judges it
    broken = [one for one in findings if not one.is_kept and "within" not in one.promise]
    assert broken == []


def test_every_fault_is_tried() -> None:
    tried = {
        name
        for mark in test_promises_hold_under.pytestmark  # type: ignore[attr-defined]
        for names in mark.args[1]
        for name in names
    }

    assert tried == set(FAULTS)
