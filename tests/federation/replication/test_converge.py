"""Regions with the same revisions agree, in any order. Spec: federation 5.1, 5.2.

The test has three mirrors. Each is a schema with the tables of copies and of the record. They take
the same revisions in any order, in any batches and any number of times. Partitions between them
heal at last.
"""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import pytest
from django.db import connection, transaction
from hypothesis import given, settings
from hypothesis import strategies as st
from pytest_django.plugin import DjangoDbBlocker

from federation.domain.order import latest, place
from federation.domain.replica import Replica, decode, encode
from federation.models import FederatedJob
from federation.services.replication.copies import as_replica
from federation.services.replication.merge import merge
from tests.effort import examples
from tests.federation.replication.rig import AP, EU, LOCAL, later, replica
from tests.spec import spec

REGIONS = (LOCAL, EU, AP)
TABLES = ("ojs_federation_job", "ojs_event")
IDS = [f"01912e4a-7b3c-7def-8a12-00000000000{n}" for n in range(4)]
JOBS = [f"01912e4a-7b3c-7def-9a12-00000000000{n}" for n in range(8)]


@pytest.fixture(scope="module")
def mirrors(django_db_setup: None, django_db_blocker: DjangoDbBlocker) -> Iterator[None]:
    """Create a schema for each region."""
    with django_db_blocker.unblock(), connection.cursor() as cursor:
        for region in REGIONS:
            cursor.execute(f"CREATE SCHEMA mirror_{region}")
            for table in TABLES:
                cursor.execute(
                    f"CREATE TABLE mirror_{region}.{table} (LIKE public.{table} INCLUDING ALL)"
                )
        yield
        for region in REGIONS:
            cursor.execute(f"DROP SCHEMA mirror_{region} CASCADE")


@contextmanager
def at(region: str) -> Iterator[None]:
    """Work on the mirror of a region."""
    with transaction.atomic(), connection.cursor() as cursor:
        cursor.execute(f"SET LOCAL search_path = mirror_{region}, public")
        yield


def empty() -> None:
    """Delete all copies."""
    for region in REGIONS:
        with at(region), connection.cursor() as cursor:
            cursor.execute("DELETE FROM ojs_federation_job")


STATES = ("available", "active", "retryable", "completed", "discarded")
# few ids, times and regions, so that copies conflict
SEED = st.tuples(st.sampled_from(REGIONS), st.integers(0, 7), st.integers(0, 3), st.integers(0, 3))


@st.composite
def histories(draw: st.DrawFn) -> list[Replica]:
    """Return all revisions that the regions made of their jobs."""
    made: list[Replica] = []
    jobs = draw(st.lists(SEED, min_size=1, max_size=10, unique_by=lambda one: (one[0], one[1])))
    for region, job, federation_id, ms in jobs:
        for revision in range(1, draw(st.integers(1, 4)) + 1):
            state = draw(st.sampled_from(STATES))
            made.append(
                replica(
                    origin_region=region, job_id=JOBS[job], federation_id=IDS[federation_id],
                    enqueued_at=later(ms / 2), revision=revision, state=state, attempt=revision,
                    completed_at=later(9) if state in ("completed", "discarded") else None,
                    tenant="a" if job % 3 else "b",
                )
            )  # fmt: skip
    return made


def rows(region: str) -> list[tuple[Any, ...]]:
    """Return the copies of a region without its own facts: time and sender of each copy."""
    with at(region):
        found = FederatedJob.objects.order_by("origin_region", "job_id")
        return [(encode(as_replica(one)), one.winner) for one in found]


def expected(made: Sequence[Replica]) -> list[tuple[Any, ...]]:
    """Return the copies that every region should have; the model is domain/order.py."""
    told = [decode(encode(one), "jobs[0]") for one in made]
    newest = latest(told)
    won = set()
    for one in newest:
        group = [
            other for other in newest
            if (other.tenant, other.federation_id) == (one.tenant, one.federation_id)
        ]  # fmt: skip
        best = max(group, key=place)
        won.add((best.origin_region, best.job_id))
    return [
        (encode(one), (one.origin_region, one.job_id) in won)
        for one in sorted(newest, key=lambda one: (one.origin_region, one.job_id))
    ]


@pytest.mark.usefixtures("mirrors")
@settings(max_examples=examples(120))
@given(data=st.data())
@spec("FED-5.2")
def test_mirrors_converge_whatever_comes_when(
    django_db_blocker: DjangoDbBlocker, data: st.DataObject
) -> None:
    made = data.draw(histories())
    with django_db_blocker.unblock():
        empty()
        # during the partition: some revisions, to any region, any number of times
        parts = st.lists(st.sampled_from(made), min_size=1, max_size=8)
        for region, batch in data.draw(
            st.lists(st.tuples(st.sampled_from(REGIONS), parts), max_size=12)
        ):
            with at(region):
                merge(batch, region)
        # after the partition: each region gets all revisions, in its own order and batches
        for region in REGIONS:
            rest = data.draw(st.permutations(made))
            size = data.draw(st.integers(1, len(rest)))
            for n in range(0, len(rest), size):
                with at(region):
                    merge(rest[n : n + size], region)

        found = [rows(region) for region in REGIONS]

    assert found[0] == found[1] == found[2] == expected(made)
