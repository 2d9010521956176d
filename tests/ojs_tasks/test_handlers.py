"""Handlers as producers use them, on a server in memory."""

import asyncio
from collections.abc import Iterator

import pytest

import ojs_tasks
from ojs_tasks import UnknownTerm, job
from ojs_tasks.server import use
from tests.ojs_tasks.servers import Memory


@pytest.fixture
def server() -> Iterator[Memory]:
    """Use a server in memory."""
    memory = Memory()
    use(memory)
    yield memory
    use(None)


def test_a_call_becomes_an_envelope(server: Memory) -> None:
    @job("mail.send", queue="mail", timeout=60)
    def send(address: str, *, subject: str = "") -> None: ...

    send.enqueue("ada@example.org", subject="News")

    assert server.drafts == [
        {
            "type": "mail.send", "queue": "mail", "timeout_ms": 60_000,
            "args": ["ada@example.org", {"__kwargs__": {"subject": "News"}}],
        }
    ]  # fmt: skip


def test_options_hold_for_their_own_call(server: Memory) -> None:
    @job("a.one", queue="slow")
    def one() -> None: ...

    one.options(queue="urgent", delay=60, tenant="north").enqueue()
    one.enqueue()

    assert server.drafts == [
        {"type": "a.one", "args": [], "queue": "urgent", "scheduled_at": "+PT60S",
         "meta": {"tenant_id": "north"}},
        {"type": "a.one", "args": [], "queue": "slow"},
    ]  # fmt: skip


def test_options_refuse_unknown_terms() -> None:
    with pytest.raises(UnknownTerm, match="did you mean 'queue'"):
        job("a.one")(print).options(qeue="x")  # type: ignore[call-arg]


def test_arguments_are_checked_at_the_enqueue(server: Memory) -> None:
    @job("a.one")
    def one(number: int) -> None: ...

    with pytest.raises(TypeError, match="missing a required argument"):
        one.enqueue()  # type: ignore[call-arg]
    with pytest.raises(TypeError, match="unexpected keyword"):
        one.s(1, more=2)  # type: ignore[call-arg]
    assert server.drafts == []


def test_an_asynchronous_handler_is_enqueued_in_both_ways(server: Memory) -> None:
    @job("a.one")
    async def one(number: int) -> int:
        return number

    one.enqueue(1)
    asyncio.run(one.aenqueue(2))

    assert [draft["args"] for draft in server.drafts] == [[1], [2]]


def test_several_calls_are_stored_at_once(server: Memory) -> None:
    @job("a.one")
    def one(number: int) -> int:
        return number

    calls = [one.s(1), one.options(priority=5).s(2), one.s(3).options(queue="x")]
    handles = ojs_tasks.enqueue(calls)
    asyncio.run(ojs_tasks.aenqueue(calls))

    assert server.calls == [3, 3]
    assert [handle.id for handle in handles] == ["job-0", "job-1", "job-2"]
    assert [draft.get("priority", draft.get("queue")) for draft in server.drafts[:3]] == [
        None, 5, "x",
    ]  # fmt: skip


def test_a_job_that_middleware_drops_has_no_handle(server: Memory) -> None:
    server.drops = True

    assert job("a.one")(lambda: None).enqueue() is None


def test_a_run_takes_the_arguments_apart() -> None:
    handler = job("a.one")(lambda number, *, name="": [number, name])

    assert handler.run([1, {"__kwargs__": {"name": "ada"}}]) == [1, "ada"]
    assert handler.run([{"name": 1}]) == [{"name": 1}, ""]
