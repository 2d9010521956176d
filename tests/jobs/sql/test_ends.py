"""Ended jobs of all queues by their ends: the same jobs as in a sorted list, with fewer reads."""

from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from random import Random
from typing import Any

import pytest
from django.db import connection
from pytest_django.plugin import DjangoDbBlocker

from jobs.models import Finished
from jobs.services.upkeep.reset import reset
from tests.jobs.sql.test_plans import CUSTOM, GENERIC, set_mode
from tests.jobs.sql.volume import analyze, touched_by

KINDS = (6, 7, 8, 9)
NOON = datetime(2026, 11, 22, 12, tzinfo=UTC)
ENDS = "SELECT id::text FROM ojs_ends(%s, %s::smallint[], %s, %s, %s, %s, %s, %s)"
SORTED = """
SELECT f.id::text FROM ojs_finished AS f
 WHERE (%(queue)s::text IS NULL OR f.queue = %(queue)s) AND f.kind = ANY (%(kinds)s::smallint[])
   AND f.finished_at >= coalesce(%(since)s::timestamptz, '-infinity')
   AND f.finished_at < coalesce(%(until)s::timestamptz, 'infinity')
   AND (%(at)s::timestamptz IS NULL
        OR CASE WHEN %(ascending)s
                THEN (f.finished_at, f.id) > (%(at)s::timestamptz, %(after)s::uuid)
                ELSE (f.finished_at, f.id) < (%(at)s::timestamptz, %(after)s::uuid) END)
 ORDER BY CASE WHEN %(ascending)s THEN f.finished_at END, CASE WHEN %(ascending)s THEN f.id END,
          f.finished_at DESC, f.id DESC LIMIT %(looked)s
"""


def rows(sql: str, params: Sequence[Any] | Mapping[str, Any]) -> list[str]:
    """Run a statement and return the ids."""
    with connection.cursor() as cursor:
        cursor.execute(sql, params)
        return [row[0] for row in cursor.fetchall()]


def made(spread: str, random: Random) -> None:
    """Store ends in twenty queues: evenly, most in a few queues, or queue after queue."""
    names = [f"q{n:02}" for n in range(20)]
    with connection.cursor() as cursor:
        cursor.execute("INSERT INTO ojs_queue (name) SELECT * FROM unnest(%s::text[])", [names])
    noted = []
    for n in range(2_000):
        queue = random.randrange(20)
        if spread == "few" and random.random() < 0.9:
            queue //= 8
        hours = queue * 2.0 if spread == "apart" else 0.0
        ago = timedelta(hours=hours, seconds=random.randrange(600))
        noted.append((names[queue], random.choice(KINDS), NOON - ago, n))
    Finished.objects.bulk_create(
        Finished(queue=q, kind=kind, finished_at=at, id=f"00000000-0000-7000-8000-{n:012x}")
        for q, kind, at, n in noted
    )


@pytest.mark.usefixtures("store")
@pytest.mark.parametrize("spread", ["alike", "few", "apart"])
@pytest.mark.parametrize("ascending", [False, True])
def test_ends_are_those_of_one_sorted_list_page_by_page(spread: str, *, ascending: bool) -> None:
    random = Random(f"{spread} {ascending}")  # noqa: S311 - data of a test
    made(spread, random)
    for _ in range(40):
        looked = random.choice([1, 7, 60, 500, 3_000])
        wanted: dict[str, Any] = {
            "queue": random.choice([None, None, None, "q00", "q19", "none"]),
            "kinds": random.choice([[6], [9], [8, 9], list(KINDS), []]),
            "since": random.choice([None, None, NOON - timedelta(minutes=random.randrange(3_000))]),
            "until": random.choice([None, None, NOON - timedelta(seconds=random.randrange(900))]),
            "at": None, "after": None, "ascending": ascending, "looked": looked,
        }  # fmt: skip
        for _page in range(3):
            expected = rows(SORTED, wanted)
            assert set(rows(ENDS, list(wanted.values()))) == set(expected), wanted
            if not expected:
                break
            place = Finished.objects.get(id=expected[-1])
            wanted |= {"at": place.finished_at, "after": str(place.id)}


MANY = """
INSERT INTO ojs_queue (name) SELECT 'q' || n FROM generate_series(0, 399) AS n;
INSERT INTO ojs_finished (queue, kind, finished_at, id)
SELECT 'q' || n % 400, 9, now() - CASE WHEN n % 400 < {hot} THEN 0 ELSE 24 END * interval '1 hour'
                               - n * interval '1 second',
       ('00000000-0000-7000-8000-' || lpad(to_hex(n), 12, '0'))::uuid
  FROM generate_series(0, 79999) AS n
"""


@pytest.fixture(scope="module", params=[0, 3, 40, 110])
def hot(
    request: pytest.FixtureRequest, django_db_setup: None, django_db_blocker: DjangoDbBlocker
) -> Iterator[int]:
    """Load 400 queues of 200 ended jobs; the given number of queues has the latest ends."""
    with django_db_blocker.unblock():
        reset()
        with connection.cursor() as cursor:
            cursor.execute(MANY.format(hot=request.param))
        analyze()
        yield request.param
        connection.close()
        reset()


@pytest.mark.xdist_group("plans of ends")
@pytest.mark.parametrize("mode", [CUSTOM, GENERIC])
@pytest.mark.parametrize("ascending", [False, True])
def test_what_is_read_does_not_grow_with_the_queues(
    hot: int, mode: str, *, ascending: bool
) -> None:
    """Reading up to the bound in each queue would take 80,000 entries."""
    set_mode(mode)
    looked = 200
    wanted = [None, [9], None, None, None, None, ascending, looked]

    touched = touched_by(lambda: rows(ENDS, wanted))

    assert "ojs_finished" not in touched.scanned
    assert touched.entries["ojs_finished_pkey"] <= 4 * 5 * looked + 400
