"""The cost of fairness: the product's claim in several situations, in turns on one connection.

The backend's own CPU time counts, which Linux reports in nanoseconds. It depends least on other
processes of the machine. Without it, the wall-clock time counts.
"""

import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from statistics import median
from typing import Any

import psycopg

from bench.database import Database, Row
from bench.fairness.finding import Finding, at_most
from bench.fairness.stage import Stage
from bench.statements import HEARD_MS, LEASE_MS, PLACE, script_of

CLAIMS = {1: 100, 50: 20}  # by their size: how many in a slice
WARM = 5
ONE_QUEUE, HUNDRED, MANY_TENANTS, OF_A_SCOPE = 1.1, 2.0, 2.0, 2.0


@dataclass(frozen=True, slots=True)
class Situation:
    """A claim in one situation, and the time of each slice of it per job."""

    title: str
    given: Mapping[str, Any]
    cpu_us: list[float] = field(default_factory=list)
    wall_us: list[float] = field(default_factory=list)

    def at(self) -> float:
        """Return the CPU time of the backend per job in us, or the wall-clock time without it."""
        return median(self.cpu_us) or median(self.wall_us)


def of_queues(stage: Stage, slices: int) -> Iterator[Finding]:
    """Compare the claim of a FETCH without a pool with the claim of 100 weighted queues."""
    version = stage.database.number("SELECT version FROM ojs_terms WHERE id = 1")
    for count, claims in CLAIMS.items():
        names = [f"cost{count}-{n}" for n in range(100)]
        # as many lanes and jobs beside each other as there are in the other cases
        bare, one, many = f"cost{count}-bare", f"cost{count}-one", names
        total = (slices + 1) * claims * count
        stage.fill({bare: total, one: total, **dict.fromkeys(many, total // 25 + 10 * count)})
        situations = [
            Situation("bare", {"queues": [bare]}),
            Situation("one queue", {"queues": [one], "configuration": version}),
            Situation("100 queues, weighted", {
                "queues": many, "configuration": version, "rotation": f"cost{count}", "strategy": 2,
                "weights": [float(1 + n % 10) for n in range(100)],
            }),
        ]  # fmt: skip
        _measure(stage.database, situations, count, slices)
        yield _compared(count, situations[1], situations[0], ONE_QUEUE)
        yield _compared(count, situations[2], situations[0], HUNDRED)


def of_tenants(stage: Stage, slices: int, tenants: int, each: int) -> Iterator[Finding]:
    """Compare claims from a queue that many tenants share and from a queue of a single tenant."""
    stage.fill({("alone", "t0"): tenants * each})
    for queue in ("shared", "scoped"):
        stage.fill({(queue, f"t{n}"): each for n in range(tenants)})
    stage.database.run("VACUUM (ANALYZE)")
    version = stage.database.number("SELECT version FROM ojs_terms WHERE id = 1")
    for count in CLAIMS:
        situations = [
            Situation("one tenant", {"queues": ["alone"], "configuration": version}),
            Situation(f"{tenants:,} tenants", {"queues": ["shared"], "configuration": version}),
            Situation(f"{tenants:,} tenants of a scope", {
                "queues": ["scoped"], "configuration": version, "scopes": ["s"],
            }),
        ]  # fmt: skip
        _measure(stage.database, situations, count, slices)
        yield _compared(count, situations[1], situations[0], MANY_TENANTS)
        yield _compared(count, situations[2], situations[1], OF_A_SCOPE)


def _measure(database: Database, situations: list[Situation], count: int, slices: int) -> None:
    text = script_of("claim")
    statement, nothing = text.encode(), dict.fromkeys(PLACE.findall(text))
    with database.connect() as connection:
        pid = connection.info.backend_pid
        for n in range(slices + 1):
            for situation in situations:
                sent = {**nothing, "limit": count, "worker_id": "cost", "names_pool": False,
                        "default_lease_ms": LEASE_MS, "heard_ms": int(HEARD_MS),
                        **situation.given}  # fmt: skip
                claims = CLAIMS[count] if n else WARM
                cpu, began = _cpu_ns(pid), time.perf_counter()
                jobs = _claimed(connection, statement, sent, claims)
                if n:
                    situation.wall_us.append((time.perf_counter() - began) * 1e6 / jobs)
                    situation.cpu_us.append((_cpu_ns(pid) - cpu) / 1e3 / jobs)


def _claimed(
    connection: "psycopg.Connection[Row]", statement: bytes, sent: Mapping[str, Any], claims: int
) -> int:
    jobs = 0
    for _ in range(claims):
        jobs += connection.execute(statement, sent, prepare=True).rowcount
    return jobs


def _cpu_ns(pid: int) -> int:
    try:
        return int(Path(f"/proc/{pid}/schedstat").read_text().split()[0])
    except (OSError, ValueError):
        return 0


def _compared(count: int, situation: Situation, with_: Situation, bound: float) -> Finding:
    note = f"{situation.at():.0f} and {with_.at():.0f} us of a backend per job, clock "
    note += f"{median(situation.wall_us):.0f} and {median(with_.wall_us):.0f}"
    title = f"fetch({count}): {situation.title} against {with_.title}"
    return at_most("cost", title, bound, situation.at() / with_.at(), note)
