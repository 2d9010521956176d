"""Jobs of a project with codecs: the server sees no plaintext, handlers no ciphertext."""

from collections.abc import Callable
from contextlib import nullcontext
from typing import Any

import pytest

from jobs.models import Event, Job
from ojs_tasks import chain, current_job, job
from ojs_tasks.checks import check_codecs
from ojs_tasks.codecs import Codec, CodecKeyUnknown, Encryption, Gzip, Key, KeyRing
from ojs_tasks.codecs.configured import coding
from ojs_tasks.testing import assert_enqueued, in_memory, run_available, run_now
from tests.ojs_tasks.codecs.conftest import NEW, OLD, Configure
from tests.spec import spec

pytestmark = pytest.mark.usefixtures("db")
SECRET = "4111 1111 1111 1111"  # noqa: S105 - a card number of tests
CARD = {"number": SECRET, "note": "for you alone " * 20}


def stored() -> dict[str, Any]:
    """Return arguments and meta of the only job, as the database has them."""
    found = Job.objects.get()
    return {"args": found.args, "meta": found.meta}


def everything() -> str:
    """Return each value of each job and event."""
    return repr(list(Job.objects.values())) + repr(list(Event.objects.values()))


@spec("contract 35")
def test_the_server_stores_no_plaintext(configure: Configure, codecs: list[Codec]) -> None:
    configure(CODECS=codecs)
    seen: list[Any] = []

    @job("card.charge", meta={"shop": "north"})
    def charge(card: dict[str, str], *, amount: int) -> None:
        seen.append((card, amount))

    handle = charge.enqueue(CARD, amount=250)

    (value,) = stored()["args"]
    assert value["encoding"] == "gzip/plain+binary/encrypted"
    assert stored()["meta"] == {
        "shop": "north",
        "ojs.codec.encodings": ["gzip/plain", "binary/encrypted"],
        "ojs.codec.key_id": NEW.id,
    }
    assert SECRET not in everything()
    assert handle.snapshot.args == [CARD, {"__kwargs__": {"amount": 250}}]
    assert handle.refresh().snapshot.args == [CARD, {"__kwargs__": {"amount": 250}}]

    (run,) = run_available()

    assert seen == [(CARD, 250)]
    assert run.error is None
    assert SECRET not in everything()


@spec("contract 35")
def test_chosen_parameters_alone_are_encoded(configure: Configure, codecs: list[Codec]) -> None:
    configure(CODECS=codecs)
    seen: list[Any] = []

    @job("card.charge", encrypt=["card"])
    def charge(order: int, card: str = "", note: str = "") -> None:
        seen.append((order, card, note))

    charge.enqueue(7, SECRET, note="open")
    charge.enqueue(7, card=SECRET, note="open")

    for args in Job.objects.values_list("args", flat=True):
        first, *_, keywords = args
        assert (first, keywords["__kwargs__"]["note"]) == (7, "open")
    assert SECRET not in everything()
    run_available()
    assert seen == [(7, SECRET, "open")] * 2


def test_a_lone_chosen_parameter_is_encoded(configure: Configure, codecs: list[Codec]) -> None:
    configure(CODECS=codecs)
    seen: list[Any] = []

    @job("card.check", encrypt=["card"])
    def check(card: list[str]) -> None:
        seen.append(card)

    check.enqueue([SECRET])

    assert SECRET not in everything()
    run_available()
    assert seen == [[SECRET]]


def test_a_type_may_stay_plain(configure: Configure, codecs: list[Codec]) -> None:
    configure(CODECS=codecs, ENCRYPT_RESULTS=True)

    @job("mail.send", encrypt=False)
    def send(address: str) -> str:
        return address

    send.enqueue("ada@example.org")

    assert stored() == {"args": ["ada@example.org"], "meta": {}}
    assert run_available()[0].result == "ada@example.org"


@pytest.mark.parametrize("names", [["cart"], ["args"], ["keywords"]])
def test_chosen_parameters_must_exist(names: list[str]) -> None:
    with pytest.raises(ValueError, match=f"encrypt names '{names[0]}'"):

        @job("card.charge", encrypt=names)
        def charge(card: str, *args: str) -> None: ...


@spec("contract 35")
def test_results_are_encoded_when_asked(configure: Configure, codecs: list[Codec]) -> None:
    configure(CODECS=codecs, ENCRYPT_RESULTS=True)

    @job("card.token")
    def token() -> dict[str, str]:
        return CARD

    @job("card.use")
    def use() -> Any:
        return current_job().parent_results

    handle = token.enqueue()
    run_available()
    assert SECRET not in everything()
    assert handle.refresh().result(timeout=0) == CARD

    flow = chain(token.s(), use.s()).enqueue()
    run_available()
    assert SECRET not in everything()
    assert flow.refresh().result(timeout=0) == [CARD]


def test_arguments_of_workflows_are_encoded(configure: Configure, codecs: list[Codec]) -> None:
    configure(CODECS=codecs)
    seen: list[Any] = []

    @job("card.charge")
    def charge(card: str) -> None:
        seen.append(card)

    chain(charge.s(SECRET), charge.s(SECRET)).enqueue()

    assert SECRET not in everything()
    run_available()
    assert seen == [SECRET, SECRET]


# --- failures -------------------------------------------------------------------------------------


def attempt_with(configure: Configure, codecs: list[Any]) -> dict[str, Any]:
    """Run the attempt of a job whose worker has these codecs; return its error."""
    configure(CODECS=codecs)
    run, *_ = run_available(raises=False)  # on a slow machine the retry is due by then
    assert run.error is not None
    return run.error


@pytest.fixture
def charged(configure: Configure, codecs: list[Codec]) -> list[Any]:
    """Enqueue a job with codecs; return the list of its handler's calls."""
    configure(CODECS=codecs)
    seen: list[Any] = []

    @job("card.charge")
    def charge(card: Any) -> None:
        seen.append(card)

    charge.enqueue(CARD)
    return seen


@spec("contract 35")
def test_an_unknown_key_fails_the_attempt_for_a_retry(
    charged: list[Any], configure: Configure
) -> None:
    error = attempt_with(configure, [Gzip(), Encryption(KeyRing.of(OLD))])

    assert (error["code"], error["retryable"]) == ("codec_key_unknown", True)
    assert charged == []


@spec("contract 35")
def test_a_worker_without_codecs_runs_no_handler_with_ciphertext(
    charged: list[Any], configure: Configure
) -> None:
    error = attempt_with(configure, [])

    assert (error["code"], error["retryable"], charged) == ("codec_key_unknown", True, [])


@spec("contract 35")
def test_a_wrong_tag_ends_the_job(charged: list[Any], configure: Configure) -> None:
    error = attempt_with(configure, [Gzip(), Encryption(KeyRing.of(Key(NEW.id, b"x" * 32)))])

    assert (error["code"], error["retryable"], charged) == ("codec_failed", False, [])
    assert SECRET not in repr(error)


def test_a_producer_without_the_key_reads_states_but_no_result(
    configure: Configure, codecs: list[Codec]
) -> None:
    configure(CODECS=codecs, ENCRYPT_RESULTS=True)

    @job("card.token")
    def token(card: str) -> str:
        return SECRET

    handle = token.enqueue(SECRET)
    run_available()
    configure(CODECS=[Gzip(), Encryption(KeyRing.of(OLD))])

    assert handle.refresh().state == "completed"
    assert handle.snapshot.args[0]["ojs_encoded"] is True
    with pytest.raises(CodecKeyUnknown):
        handle.result(timeout=0)


# --- settings -------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("facts", "message"),
    [
        ({"CODECS": "gzip"}, "must be a list of codecs"),
        ({"CODECS": [Gzip]}, "must be a list of codecs"),
        ({"CODECS": [Gzip(), Gzip()]}, "two codecs for gzip/plain"),
        ({"CODEC_DIGEST_KEY": "text"}, "must be bytes"),
        ({"CODEC_DIGEST_KEY": b"short"}, "at least 16 bytes"),
        ({"ENCRYPT_RESULTS": "yes"}, "must be True or False"),
        ({"ENCRYPT_STATE": 1}, "must be True or False"),
    ],
)
def test_wrong_settings_are_reported(
    configure: Configure, facts: dict[str, Any], message: str
) -> None:
    configure(**facts)

    (problem,) = check_codecs()
    assert problem.id == "ojs.E033"
    assert message in problem.msg
    with pytest.raises(ValueError, match=message):
        coding()


@spec("contract 35")
def test_equal_arguments_of_unique_jobs_have_equal_digests(
    configure: Configure, codecs: list[Codec]
) -> None:
    configure(CODECS=codecs, CODEC_DIGEST_KEY=b"k" * 32)

    @job("card.charge", unique={"keys": ["type", "args"]})
    def charge(card: Any) -> None: ...

    once: Callable[..., Any] = charge.enqueue
    first = once({"a": 1, "b": 2})
    digest = stored()["meta"]["ojs.codec.digest"]

    assert len(digest) == 64
    assert first.state == "available"


@pytest.mark.parametrize("is_in_memory", [False, True])
def test_tests_see_decoded_jobs(
    configure: Configure, codecs: list[Codec], is_in_memory: bool
) -> None:
    configure(CODECS=codecs, ENCRYPT_RESULTS=True)

    @job("card.last")
    def last(card: str, *, digits: int) -> str:
        return card[-digits:]

    with in_memory() if is_in_memory else nullcontext():
        waits = last.enqueue(SECRET, digits=2)
        assert_enqueued(last, args=[SECRET], kwargs={"digits": 2})
        (run,) = run_available()
        assert run.result == waits.refresh().result(0) == SECRET[-2:]
        with run_now():
            flow = chain(last.s(SECRET, digits=3)).enqueue()
        assert flow.result(0) == SECRET[-3:]
