"""What jobs store between their attempts, encoded: the database holds no plaintext. Contract 35."""

import asyncio
import json
from collections.abc import Iterator
from contextlib import nullcontext
from typing import Any

import pytest
from django.apps import apps

from ojs_tasks import JobFailed, current_job, job, step
from ojs_tasks.codecs import Codec, CodecFailed, Encryption, Gzip, Key, KeyRing
from ojs_tasks.testing import in_memory, make_due, run_available
from tests.ojs_tasks.codecs.conftest import NEW, OLD, Configure
from tests.spec import spec

pytestmark = pytest.mark.usefixtures("db")
SECRET = "4111 1111 1111 1111"  # noqa: S105 - a card number of tests
CARD = {"number": SECRET, "note": "for you alone " * 20}
Checkpoint = apps.get_model("ojs_durable", "Checkpoint")
Signal = apps.get_model("ojs_durable", "Signal")


@pytest.fixture
def encoded(configure: Configure, codecs: list[Codec]) -> Iterator[None]:
    """Encode everything that the settings can encode."""
    configure(CODECS=codecs, ENCRYPT_RESULTS=True, ENCRYPT_STATE=True)
    yield
    assert SECRET not in everything()


def everything() -> str:
    """Return each value of each table of the server."""
    models = [one for one in apps.get_models() if one._meta.db_table.startswith("ojs_")]
    return "".join(repr(list(one._default_manager.values())) for one in models if one._meta.managed)


def run() -> list[Any]:
    found = [(one.state, one.result) for one in run_available(raises=False)]
    assert SECRET not in everything()
    return found


def stored() -> dict[str, Any]:
    """Return the only checkpoint as the database has it."""
    found: dict[str, Any] = json.loads(Checkpoint.objects.get().state)
    return found


def fetched() -> dict[str, str]:
    return CARD


async def afetched() -> dict[str, str]:
    return CARD


@spec("contract 35")
def test_step_results_and_signals_are_encoded(encoded: None) -> None:
    @job("card.charge")
    def charge(card: dict[str, str]) -> list[Any]:
        first = step("fetch", fetched)
        approval = step.wait_for("approved")
        again = step("again", fetched)
        return [first == again == card, approval]

    handle = charge.enqueue(CARD)
    assert run() == [("scheduled", None)]
    record = stored()["__steps"]["fetch"]
    handle.signal("approved", {"card": SECRET})
    (signal,) = Signal.objects.values_list("payload", flat=True)
    assert SECRET not in everything()

    assert run() == [("completed", [True, {"card": SECRET}])]
    assert handle.refresh().result(0) == [True, {"card": SECRET}]
    assert record["state"] == "done"
    assert record["result"]["encoding"] == "gzip/plain+binary/encrypted"
    assert record["result"]["key_id"] == NEW.id
    assert '"ojs_encoded"' in signal


@spec("contract 35")
def test_results_of_started_jobs_and_of_coroutines_are_encoded(encoded: None) -> None:
    @job("card.token", retry={"max_attempts": 1})
    def token(number: int) -> str:
        if number < 0:
            raise ValueError("negative")
        return f"{SECRET} {number}"

    @job("card.parent")
    async def parent() -> list[Any]:
        found = await asyncio.gather(step.arun_job(token.s(1), name="one"), step("fetch", afetched))
        try:
            await step.arun_job(token.s(-1), name="two")
        except JobFailed as problem:
            return [*found, problem.type]
        return []

    handle = parent.enqueue()
    run()

    assert handle.refresh().result(0) == [f"{SECRET} 1", CARD, "ValueError"]


@pytest.mark.parametrize("has_steps", [True, False])
@spec("contract 35")
def test_checkpoints_of_progress_reports_are_encoded(encoded: None, has_steps: bool) -> None:
    seen: list[Any] = []

    @job("card.import", retry={"initial_interval": 3600})
    def load() -> int:
        if has_steps:
            step("first", fetched)
        seen.append(current_job().last_checkpoint)
        if current_job().attempt == 1:
            current_job().progress(0.5, checkpoint={"card": SECRET})
            if has_steps:
                step("second", fetched)
            raise OSError("the worker died")
        return 1

    load.enqueue()
    assert run() == [("retryable", None)]
    kept = stored()
    make_due()
    run()

    assert seen[0] is None
    assert seen[1]["card"] == SECRET
    if has_steps:
        assert kept.keys() == {"__rest", "__steps"}
        assert seen[1]["__steps"]["first"]["result"] == CARD
    else:
        assert kept["ojs_encoded"] is True


def test_steps_show_names_and_times_but_no_results(encoded: None) -> None:
    from durable.domain.steps import steps_of  # noqa: PLC0415 - an app

    @job("card.charge")
    def charge() -> None:
        step("fetch", fetched)
        step.wait_for("approved")

    charge.enqueue()
    run()

    fetch, wait = steps_of(stored())
    assert (fetch.name, fetch.state, fetch.attempts) == ("fetch", "done", 1)
    assert (wait.name, wait.state, wait.signal) == ("approved", "waiting", "approved")


def test_types_that_stay_plain_store_plain_state(configure: Configure, codecs: list[Codec]) -> None:
    configure(CODECS=codecs, ENCRYPT_STATE=True)

    @job("mail.send", encrypt=False)
    def send() -> None:
        step("fetch", len, "abc")
        step.wait_for("sent")

    send.enqueue()
    run_available()

    assert stored()["__steps"]["fetch"]["result"] == 3


def test_state_stays_plain_unless_asked(configure: Configure, codecs: list[Codec]) -> None:
    configure(CODECS=codecs)

    @job("mail.send")
    def send() -> Any:
        step("fetch", len, "abc")
        return step.wait_for("sent")

    handle = send.enqueue()
    run_available()
    handle.signal("sent", 7)
    result = stored()["__steps"]["fetch"]["result"]
    payloads = list(Signal.objects.values_list("payload", flat=True))

    assert (result, payloads) == (3, ["7"])
    assert run_available()[0].result == 7


@spec("contract 35")
def test_state_that_was_stored_before_the_setting_or_with_an_older_key_is_read(
    configure: Configure, codecs: list[Codec]
) -> None:
    configure(CODECS=[Gzip(), Encryption(KeyRing.of(OLD))], ENCRYPT_STATE=False)

    @job("card.charge")
    def charge() -> list[Any]:
        plain = step("plain", fetched)
        step.wait_for("one")
        old = step("old", fetched)
        step.wait_for("two")
        return [plain == old, step("new", fetched) == old]

    handle = charge.enqueue()
    run_available()
    configure(ENCRYPT_STATE=True)
    handle.signal("one", SECRET)
    run_available()
    configure(CODECS=codecs)
    handle.signal("two", SECRET)
    records = stored()["__steps"]

    assert run_available()[0].result == [True, True]
    assert [records[one]["result"]["key_id"] for one in ("plain", "old")] == [OLD.id] * 2
    assert SECRET not in everything()


@pytest.mark.parametrize("is_in_memory", [False, True])
def test_signals_that_other_senders_left_plain_are_taken(
    configure: Configure, codecs: list[Codec], is_in_memory: bool
) -> None:
    configure(CODECS=codecs, ENCRYPT_STATE=True)

    @job("card.charge")
    def charge() -> Any:
        return [step.wait_for("coded"), step.wait_for("plain"), step.wait_for("empty")]

    with in_memory() if is_in_memory else nullcontext():
        handle = charge.enqueue()
        run_available()
        handle.signal("coded", SECRET)
        configure(ENCRYPT_STATE=False)
        handle.signal("plain", {"by": "ada"})
        handle.signal("empty")
        configure(ENCRYPT_STATE=True)
        runs = run_available()

        assert runs[-1].result == [SECRET, {"by": "ada"}, None]


@spec("contract 35")
def test_worker_without_the_key_runs_no_handler_on_its_state(
    configure: Configure, codecs: list[Codec]
) -> None:
    configure(CODECS=codecs, ENCRYPT_STATE=True)
    calls: list[int] = []

    @job("card.charge", encrypt=True, retry={"max_attempts": 9})
    def charge() -> None:
        step("fetch", fetched)
        calls.append(1)
        step.wait_for("approved")

    charge.enqueue()
    run_available()
    make_due()
    wrong = KeyRing.of(Key(NEW.id, b"x" * 32))
    configure(CODECS=[Gzip(), Encryption(wrong)])
    (run,) = run_available(raises=False)

    assert run.error is not None
    assert (run.error["code"], run.error["retryable"], calls) == (CodecFailed.code, False, [1])
    assert SECRET not in repr(run.error)
