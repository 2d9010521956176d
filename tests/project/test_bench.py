"""The benchmarks: their own SQL fits the server's tables, and their figures are right."""

import json
import os
import subprocess
import sys

import pytest
from django.db import connection

from bench.fairness.shares import (
    jain,
    longest_wait,
    shares_of,
    widest_gap,
    worst_jain,
    worst_share,
)
from bench.fairness.stage import Start
from bench.fairness.tenants import starts_of_others
from bench.names import CLAIMED
from bench.statements import claim, complete, text
from jobs.domain.states import CODES, State
from jobs.services.read.show import show
from tests.conftest import ROOT
from tests.factories import stored

PARTS = sorted(path.parent.name for path in (ROOT / "bench").glob("*/__main__.py"))


@pytest.mark.usefixtures("store")
def test_the_limit_of_claiming_claims_and_acknowledges() -> None:
    jobs = stored(3, queue=CLAIMED)
    acks, acknowledge = text("cycle", claim=claim(2), complete=complete()).split("\\gset")

    with connection.cursor() as cursor:
        cursor.execute(acks.replace(":client_id", "0"))
        (claimed,) = cursor.fetchone()
        cursor.execute(acknowledge.replace(":acks", f"'{json.dumps(claimed)}'"))

    expected = [CODES[State.AVAILABLE], CODES[State.COMPLETED], CODES[State.COMPLETED]]
    assert sorted(show(job.id).state for job in jobs) == expected


# --- how fairness is counted ----------------------------------------------------------------------


def test_the_worst_share_is_that_of_any_window() -> None:
    shares = shares_of({"a": 3, "b": 1})

    assert shares == {"a": 0.75, "b": 0.25}
    assert worst_share("aaabaaab", shares, 4) == 0
    assert worst_share("aaabbaaa", shares, 4) == 0.25
    assert worst_share("aaabaaac", shares, 4) == 0.25
    with pytest.raises(ValueError, match="window"):
        worst_share("aaa", shares, 4)


def test_a_burst_holds_up_nobody_who_had_started_before_the_count() -> None:
    starts = [Start(seq, "q", tenant, 0.0) for seq, tenant in enumerate("AAABABAA")]

    assert starts_of_others(starts, "A", since=-1) == 6
    assert starts_of_others(starts, "A", since=3) == 2
    assert starts_of_others(starts, "A", since=5) == 0


def test_a_wait_counts_while_there_are_jobs() -> None:
    assert longest_wait("aaabaaaab", {"a": 9, "b": 2}) == {"a": 1, "b": 4}
    assert longest_wait("baaaa", {"a": 9, "b": 1}) == {"a": 1, "b": 0}
    assert longest_wait("baaaabaa", {"a": 9, "b": 1}, [(3, "b", 2)]) == {"a": 1, "b": 2}


def test_turns_apart_are_those_of_any_run() -> None:
    assert widest_gap("abcabc", "abc") == 1
    assert widest_gap("abbbca", "abc") == 3
    assert widest_gap("ccc", "ab") == 0


def test_jains_index_is_one_for_equals_and_small_for_one_who_has_all() -> None:
    assert jain([5, 5, 5]) == 1
    assert jain([9, 0, 0]) == pytest.approx(1 / 3)
    assert worst_jain("abababaa", "ab", 4) == pytest.approx(0.8)
    assert worst_jain("abab", "ab", 2) == 1


@pytest.mark.parametrize("module", ["bench", *(f"bench.{one}" for one in PARTS)])
def test_a_benchmark_starts_without_settings(module: str) -> None:
    bare = {name: value for name, value in os.environ.items() if name != "DJANGO_SETTINGS_MODULE"}

    done = subprocess.run(
        [sys.executable, "-m", module, "--help"],
        cwd=ROOT, env=bare, capture_output=True, text=True, check=False,
    )  # fmt: skip

    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.startswith("usage: ")
