"""Handles of jobs, on a server in memory."""

import asyncio
import sys
from collections.abc import Iterator
from datetime import timedelta
from types import ModuleType
from typing import Any

import pytest

import ojs_tasks
from ojs_tasks import JobCancelled, JobFailed, JobNotFound, job
from ojs_tasks.flows import WorkflowSnapshot
from ojs_tasks.server import Snapshot, use
from tests.ojs_tasks.servers import Memory


class Local(Exception):
    """An error with a class that this process knows."""


class Demanding(Exception):
    """An error whose constructor takes more than a message."""

    def __init__(self, one: int, two: int) -> None:
        super().__init__(one, two)


@pytest.fixture
def server() -> Iterator[Memory]:
    """Use a server whose jobs complete with the result 7."""
    yield from serving(Memory(state="completed", result=7))


def serving(memory: Memory) -> Iterator[Memory]:
    """Use a server in memory."""
    use(memory)
    yield memory
    use(None)


def enqueued() -> Any:
    """Enqueue a job."""
    return job("a.one")(lambda: 7).enqueue()


@pytest.mark.parametrize(
    ("timeout", "seconds"), [(None, None), (2, 2.0), (timedelta(minutes=1), 60.0), (0, 0.0)]
)
def test_a_result_is_awaited_for_the_time(server: Memory, timeout: Any, seconds: Any) -> None:
    handle = enqueued()

    assert handle.result(timeout) == 7
    assert asyncio.run(handle.aresult(timeout)) == 7
    assert server.waits == [seconds]  # the second call knows the result


def test_a_result_can_be_had_by_the_id(server: Memory) -> None:
    handle = enqueued()

    assert ojs_tasks.result(handle.id, 1) == 7
    assert asyncio.run(ojs_tasks.aresult(handle.id, 1)) == 7


@pytest.mark.usefixtures("server")
def test_a_handle_looks_again_and_cancels() -> None:
    handle = enqueued()

    assert (handle.state, handle.attempt, handle.errors, handle.progress) == (
        "available", 0, (), None,
    )  # fmt: skip
    assert handle.refresh() is handle
    assert asyncio.run(handle.arefresh()) is handle
    assert handle.cancel().state == "cancelled"
    assert asyncio.run(handle.acancel()).state == "cancelled"
    with pytest.raises(JobCancelled):
        handle.result()


@pytest.mark.usefixtures("server")
def test_a_handle_of_an_unknown_id_raises() -> None:
    with pytest.raises(JobNotFound):
        ojs_tasks.get("job-99")


@pytest.mark.usefixtures("server")
def test_handles_of_one_job_are_equal() -> None:
    handle = enqueued()

    assert handle == ojs_tasks.get(handle.id)
    assert len({handle, ojs_tasks.get(handle.id)}) == 1
    assert repr(handle) == "<JobHandle a.one job-0 available>"


@pytest.mark.parametrize(
    ("kind", "cause"),
    [
        ("Local", Local), ("ValueError", ValueError), ("Demanding", None), ("NoSuchClass", None),
        ("timeout", None), ("print", None), ("SystemExit", None), ("os.system", None),
        ("JobHandle", None), ("", None),
    ],
)  # fmt: skip
def test_the_exception_is_rebuilt_only_from_a_known_class(
    kind: str, cause: type[Exception] | None
) -> None:
    error = {"type": kind, "message": "why"}
    for _ in serving(Memory(state="discarded", error=error)):
        with pytest.raises(JobFailed, match="why") as raised:
            enqueued().result()

    assert type(raised.value.__cause__) is (cause or type(None))
    if cause:
        assert str(raised.value.__cause__) == "why"


def test_a_name_of_two_classes_is_not_rebuilt(monkeypatch: pytest.MonkeyPatch) -> None:
    other = ModuleType("other")
    monkeypatch.setattr(other, "Local", type("Local", (Exception,), {}), raising=False)
    monkeypatch.setitem(sys.modules, "other", other)
    for _ in serving(Memory(state="discarded", error={"type": "Local", "message": "why"})):
        with pytest.raises(JobFailed) as raised:
            enqueued().result()

    assert raised.value.__cause__ is None


def test_a_name_imports_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    """A module may load its members on access: the search must not cause it."""
    lazy = ModuleType("lazy")
    lazy.__getattr__ = pytest.fail  # type: ignore[method-assign]
    monkeypatch.setitem(sys.modules, "lazy", lazy)
    for _ in serving(Memory(state="discarded", error={"type": "Absent", "message": "why"})):
        with pytest.raises(JobFailed):
            enqueued().result()


def test_handles_are_equal_by_kind_and_id() -> None:
    shown = ojs_tasks.JobHandle[int](Snapshot("one", "a.one", "default", "available"))
    later = ojs_tasks.JobHandle[int](Snapshot("one", "a.one", "default", "completed"))
    other = ojs_tasks.JobHandle[int](Snapshot("two", "a.one", "default", "available"))
    flow = ojs_tasks.WorkflowHandle[int](WorkflowSnapshot("one", "chain", "", "running"))

    assert {shown, later, other, flow} == {later, other, flow}
    assert shown != "one"
    assert repr(shown) == "<JobHandle a.one one available>"
    assert repr(flow) == "<WorkflowHandle chain one running>"
    assert not hasattr(shown, "__dict__")
