"""Schedules in code whose arguments are encoded. Spec: contract 35."""

from typing import Any

import pytest

from jobs.models import Job
from ojs_tasks import job, periodic
from ojs_tasks.codecs import Codec, Encryption, Gzip, KeyRing
from ojs_tasks.declared import reconcile
from ojs_tasks.testing import run_available
from scheduling.models import CronEntry
from scheduling.services.cron_fire import fire
from tests.ojs_tasks.codecs.conftest import NEW, OLD, Configure
from tests.scheduling.conftest import make_due
from tests.spec import spec

SECRET = "4111 1111 1111 1111"  # noqa: S105 - a card number of tests
NOTE, DIGEST_KEY = "monthly", b"k" * 32
seen: list[Any] = []


@pytest.fixture(autouse=True)
def no_schedules(store: None, monkeypatch: pytest.MonkeyPatch) -> None:
    """Begin without handlers and schedules."""
    forget(monkeypatch)
    seen.clear()


def forget(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("ojs_tasks.registry._handlers", {})
    monkeypatch.setattr("ojs_tasks.declared._schedules", {})
    monkeypatch.setattr("ojs_tasks.codecs.choices._choices", {})


def declare(*args: Any, **terms: Any) -> None:
    @periodic("0 6 * * *", name="charge", args=args)
    @job("card.charge", **terms)
    def charge(card: str = "", note: str = "") -> None:
        seen.append((card, note))


def changed(monkeypatch: pytest.MonkeyPatch, *args: Any, **terms: Any) -> list[str]:
    """Reconcile new code; return the names of schedules that it changed."""
    forget(monkeypatch)
    declare(*args, **terms)
    done = reconcile()
    assert (done.refused, done.added, done.removed) == ({}, [], [])
    return list(done.changed)


def template() -> dict[str, Any]:
    found: dict[str, Any] = CronEntry.objects.get().template
    return found


@spec("contract 35")
def test_arguments_of_schedules_are_encoded_and_their_jobs_run(
    configure: Configure, codecs: list[Codec]
) -> None:
    configure(CODECS=codecs, CODEC_DIGEST_KEY=DIGEST_KEY)
    declare(SECRET, NOTE)

    assert reconcile().added == ["charge"]
    make_due("charge")
    fire()

    assert SECRET not in repr(list(CronEntry.objects.values())) + repr(list(Job.objects.values()))
    assert template()["meta"]["ojs.codec.key_id"] == NEW.id
    run_available()
    assert seen == [(SECRET, NOTE)]


@spec("contract 35")
def test_a_worker_that_starts_changes_a_schedule_only_with_its_arguments_or_key(
    configure: Configure, codecs: list[Codec], monkeypatch: pytest.MonkeyPatch
) -> None:
    configure(CODECS=[Gzip(), Encryption(KeyRing.of(OLD))], CODEC_DIGEST_KEY=DIGEST_KEY)
    declare(SECRET, NOTE)
    reconcile()
    before = template()

    assert changed(monkeypatch, SECRET, NOTE) == []
    assert template() == before
    assert changed(monkeypatch, SECRET, NOTE, encrypt=["card"]) == ["charge"]
    assert changed(monkeypatch, SECRET, NOTE) == ["charge"]
    assert changed(monkeypatch, f"{SECRET}0", NOTE) == ["charge"]
    configure(CODECS=codecs)
    assert changed(monkeypatch, f"{SECRET}0", NOTE) == ["charge"]
    assert template()["meta"]["ojs.codec.key_id"] == NEW.id
    assert changed(monkeypatch, f"{SECRET}0", NOTE, encrypt=False) == ["charge"]
    assert template()["args"] == [f"{SECRET}0", NOTE]


def test_a_schedule_with_encoded_arguments_needs_a_key_for_digests(
    configure: Configure, codecs: list[Codec], monkeypatch: pytest.MonkeyPatch
) -> None:
    configure(CODECS=codecs)

    with pytest.raises(ValueError, match="CODEC_DIGEST_KEY") as refused:
        declare(SECRET)

    assert "in the schedule 'charge'" in refused.value.__notes__
    forget(monkeypatch)
    declare()  # without arguments
    assert reconcile().added == ["charge"]
    assert template()["args"] == []
