"""The drills: programs that are missing, ports, jobs that can be sent again, scripts that parse."""

import socket
import subprocess
from collections import Counter
from datetime import datetime, timedelta
from pathlib import Path

import pytest

from bench.drills import cluster, failover, programs
from bench.drills.cluster import HOST, Ports
from bench.drills.load import LATER_S, mixed_body, once, twice
from jobs.domain.wire.ids import new_id, time_of
from tests.conftest import ROOT

SCRIPTS = [*ROOT.glob("bench/drills/*.sh"), *ROOT.glob("tests/deploy/*.sh")]


@pytest.mark.parametrize("path", SCRIPTS, ids=lambda path: path.name)
def test_scripts_are_executable_and_parse(path: Path) -> None:
    assert path.stat().st_mode & 0o111
    done = subprocess.run(["/bin/sh", "-n", path], check=False, capture_output=True, text=True)

    assert done.stderr == ""


def test_a_missing_program_is_named_and_left_out_in_ci(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(programs, "PACKAGES", {"no-such-program": "its-package"})
    monkeypatch.setattr("sys.argv", ["failover", "--ci"])

    assert failover.main() == 0
    assert capsys.readouterr().out == (
        "LEFT OUT the failover of PostgreSQL: no-such-program is missing:"
        " apt-get install its-package\n"
    )
    with pytest.raises(programs.DrillError, match="no-such-program is missing"):
        programs.check_programs()


def test_a_drill_takes_ports_that_no_process_uses(monkeypatch: pytest.MonkeyPatch) -> None:
    first = Ports.free().first
    monkeypatch.setattr(cluster, "FIRST_PORT", first)
    with socket.socket() as used:
        used.bind((HOST, first + 7))
        used.listen()
        with pytest.raises(programs.DrillError, match=f"port {first + 7} is in use"):
            Ports(first).check()

        assert Ports.free().first > first


def test_a_job_is_sent_again_with_the_same_request() -> None:
    ids = [new_id() for _ in range(2000)]
    bodies = {one: mixed_body(one) for one in ids}
    scheduled = {one for one in ids if "delay_until" in bodies[one]["options"]}

    assert bodies == {one: mixed_body(one) for one in ids}
    assert scheduled
    for one in scheduled:
        due = datetime.fromisoformat(bodies[one]["options"]["delay_until"])
        assert due - time_of(one) == timedelta(seconds=LATER_S)
    kinds = Counter(tuple(body["args"][1:]) for body in bodies.values())
    assert kinds.keys() == {(0,), (1.0,), (3.0,), (0, 1)}


def test_runs_are_counted_by_job() -> None:
    counts = Counter({"a": 1, "b": 2, "c": 3})

    assert once(counts, {"a", "b", "d"}) == 1
    assert twice(counts, {"a", "b", "c", "d"}) == 2
