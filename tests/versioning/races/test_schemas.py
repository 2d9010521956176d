"""Concurrent registrations and enqueues. Spec: contract 30.1, 30.4."""

from collections import Counter
from dataclasses import replace

import pytest
from django.db import transaction

from jobs.models import Job
from jobs.services.enqueue.enqueue import enqueue
from tests.concurrency import at_once, threads, wait_until_blocked
from tests.factories import DraftFactory
from tests.spec import spec
from versioning.domain.schema import Mode
from versioning.domain.schema_errors import ArgsRefused, SchemaConflict
from versioning.models import Schema
from versioning.services.schemas import Registration, register

pytestmark = pytest.mark.usefixtures("store")

CLIENTS = 16


@spec("contract 30.1")
def test_one_of_many_different_documents_is_taken() -> None:
    def work(number: int) -> str:
        document = {"type": "array", "maxItems": number}
        try:
            register(Registration("a.b", "1.0", document, Mode.WARN))
        except SchemaConflict as problem:
            return problem.code
        return "taken"

    found = Counter(at_once(lambda number=number: work(number) for number in range(CLIENTS)))  # type: ignore[misc]  # the default binds

    assert found == {"taken": 1, "schema_conflict": CLIENTS - 1}
    assert Schema.objects.count() == 1


@spec("contract 30.1")
def test_equal_documents_are_all_taken() -> None:
    def work() -> bool:
        return register(Registration("a.b", "1.0", {"type": "array"}, Mode.WARN)).is_new

    assert sorted(at_once([work] * CLIENTS)) == [False] * (CLIENTS - 1) + [True]


@spec("contract 30.5")
def test_registrations_are_compared_one_after_another() -> None:
    with threads(1) as start:
        with transaction.atomic():
            register(Registration("a.b", "1.0", {"type": "array"}, Mode.WARN))
            closed = {"type": "array", "maxItems": 0}
            other = start(lambda: register(Registration("a.b", "1.1", closed, Mode.WARN)))
            wait_until_blocked()
        found = other.result()

    assert [one.kind for one in found.breaking] == ["narrowed"]


@spec("contract 30.4")
def test_schema_counts_from_its_commit_on() -> None:
    def send() -> bool:
        draft = replace(DraftFactory.create(type="a.b", args=[1]), version="1.0")
        return enqueue([draft])[0] is not None

    assert send()  # now this process caches the type
    with threads(1) as start, transaction.atomic():
        texts = {"type": "array", "items": {"type": "string"}}
        register(Registration("a.b", "1.0", texts, Mode.STRICT))
        assert start(send).result()

    with pytest.raises(ArgsRefused):
        send()
    assert Job.objects.count() == 2
