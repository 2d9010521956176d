"""A server, its backlog, and the order in which the database handed out jobs."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

import orjson

from bench.database import Database
from bench.fairness.fetchers import Answer, Api, Fetched, Fetchers
from bench.stack import Stack
from bench.statements import script

NOBODY: Final = "_default"  # the tenant of jobs that name none

STARTS = """
SELECT job_id::text, seq, queue, tenant, extract(epoch FROM at)::float8 FROM ojs_event
 WHERE kind = 3 AND queue = ANY (%s) ORDER BY seq
"""


@dataclass(frozen=True, slots=True)
class Start:
    """A job that was handed out, from its event."""

    seq: int
    queue: str
    tenant: str
    at: float


@dataclass(frozen=True, slots=True)
class Order:
    """The jobs of all claims: claims in the order of events, jobs in the order of decision.

    Claims with a rotation run one after the other under a lock that each holds until its commit.
    Each writes its events under the lock, so the numbers of the events order the claims. The answer
    of a claim has the order of its turns.
    """

    claims: tuple[tuple[Answer, tuple[Start, ...]], ...]
    starts: tuple[Start, ...]
    overlaps: int  # claims whose events lie between another claim's: none with a rotation

    def queues(self) -> list[str]:
        """Return the queue of each turn."""
        return [start.queue for start in self.starts]

    def by_number(self) -> list[Start]:
        """Return the jobs by event, for claims without a rotation, which have no other order."""
        return sorted(self.starts, key=lambda start: start.seq)


@dataclass(frozen=True, slots=True)
class Stage:
    """One server with its database; each scenario uses its own queues."""

    stack: Stack
    number: int  # of fetchers
    seed: int

    @property
    def database(self) -> Database:
        """The server's database."""
        return self.stack.database

    def fetchers(self, number: int | None = None) -> Fetchers:
        """Return the clients."""
        return Fetchers(self.stack.port, self.stack.key, number or self.number, self.seed)

    def pool(self, name: str, **body: Any) -> dict[str, str]:
        """Define a pool; returns the members of a FETCH by its workers."""
        api = Api(self.stack.port, self.stack.key)
        api.send("PUT", f"admin/pools/{name}", body)
        api.close()
        return {"pool": name}

    def fill(self, numbers: Mapping[str, int] | Mapping[tuple[str, str], int]) -> None:
        """Store a number of jobs in each queue, or for each queue and tenant."""
        parts = [
            {"queue": queue, "tenant": tenant, "jobs": number}
            for (queue, tenant), number in map(_of_tenant, numbers.items())
        ]
        for n in range(0, len(parts), 1000):
            text = orjson.dumps(parts[n : n + 1000]).decode()
            self.database.run(*script("backlog", parts=text).split(";"))

    def last_event(self) -> int:
        """Return the number of the latest event."""
        return self.database.number("SELECT coalesce(max(seq), 0) FROM ojs_event")

    def order(self, queues: Sequence[str], fetched: Fetched) -> Order:
        """Sort fetched jobs in the order of the record."""
        with self.database.connect() as connection:
            rows = connection.execute(STARTS.encode(), [list(queues)]).fetchall()
        starts = {row[0]: Start(*row[1:]) for row in rows}
        claims = [
            (answer, tuple(starts[job_id] for job_id in answer.ids))
            for answer in fetched.answers
            if answer.ids
        ]
        claims.sort(key=lambda claim: min(start.seq for start in claim[1]))
        return Order(
            tuple(claims),
            tuple(start for _, taken in claims for start in taken),
            _overlaps([taken for _, taken in claims]),
        )


def _of_tenant(item: tuple[Any, int]) -> tuple[tuple[str, str], int]:
    key, number = item
    return (key if isinstance(key, tuple) else (key, NOBODY)), number


def _overlaps(claims: Sequence[Sequence[Start]]) -> int:
    last, found = -1, 0
    for taken in claims:
        found += min(start.seq for start in taken) < last
        last = max(last, *(start.seq for start in taken))
    return found
