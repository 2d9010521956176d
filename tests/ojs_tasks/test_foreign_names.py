"""Names of other libraries on our objects: the error names ours."""

import copy
import pickle
from typing import Any

import pytest

from ojs_tasks import Discard, JobHandle, Signature, WorkflowHandle, chain, job, registry
from ojs_tasks.flows import WorkflowSnapshot
from ojs_tasks.foreign_names import CALLS, RESULTS
from ojs_tasks.handlers import Handler
from ojs_tasks.server import Snapshot


@pytest.fixture
def handler(monkeypatch: pytest.MonkeyPatch) -> Handler[..., Any]:
    """Return a handler that no other test has."""
    monkeypatch.setattr(registry, "_handlers", {})

    @job("shop.add")
    def add(left: int, right: int = 2) -> int:
        return left + right

    return add


@pytest.fixture
def handle() -> JobHandle[Any]:
    """Return a handle without a server."""
    return JobHandle(Snapshot("1", "shop.add", "default", "available"))


@pytest.mark.parametrize(
    ("name", "right"),
    [
        ("delay", "enqueue"), ("apply_async", "options"), ("defer", "enqueue"), ("send", "enqueue"),
        ("enqeue", "did you mean 'enqueue'"),
    ],
)  # fmt: skip
def test_a_handler_names_its_own_call(handler: Any, name: str, right: str) -> None:
    with pytest.raises(AttributeError, match=right):
        getattr(handler, name)


def test_a_signature_and_a_workflow_name_their_own_calls(handler: Any) -> None:
    calls: list[Any] = [handler.s(1), chain(handler.s(1))]
    for call in calls:
        with pytest.raises(AttributeError, match="has no 'apply_async': use options"):
            call.apply_async()


def test_handles_name_their_own_properties(handle: Any) -> None:
    with pytest.raises(AttributeError, match="JobHandle has no 'get': use result"):
        handle.get()
    with pytest.raises(AttributeError, match="WorkflowHandle has no 'ready': use refresh"):
        WorkflowHandle(WorkflowSnapshot.__new__(WorkflowSnapshot)).ready  # type: ignore[attr-defined]  # noqa: B018


def test_no_advice_hides_a_name_of_ours() -> None:
    assert not {one for one in CALLS if hasattr(Handler, one) or hasattr(Signature, one)}
    assert not {one for one in RESULTS if hasattr(JobHandle, one)}


def test_unknown_names_break_neither_copies_nor_pickles(handler: Any, handle: Any) -> None:
    assert copy.copy(handler).type == "shop.add"
    assert pickle.loads(pickle.dumps(handle)) == handle  # noqa: S301 - of this test
    assert not hasattr(handler, "__len__")


def test_job_without_a_type_says_how_to_name_it() -> None:
    with pytest.raises(TypeError, match=r"needs the type of its jobs: @job\(\"shop.raising"):

        @job  # type: ignore[arg-type]
        def raising() -> None:
            raise Discard


def test_wrong_arguments_name_the_job_and_the_signature(handler: Any) -> None:
    with pytest.raises(TypeError, match=r"job 'shop.add': .*'rihgt': it takes \(left: int, right"):
        handler.enqueue(1, rihgt=2)
