"""W3C trace context. Spec: contract 32.2."""

import pytest

from jobs.domain.wire.tracing import trace_context, trace_ids

PARENT = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"


@pytest.mark.parametrize("parent", [PARENT, PARENT.replace("00-", "01-", 1) + "-more"])
def test_a_trace_is_taken_with_its_state(parent: str) -> None:
    assert trace_context(parent, "a=1,b=2") == {"traceparent": parent, "tracestate": "a=1,b=2"}


@pytest.mark.parametrize(
    "parent",
    [
        None,
        "",
        PARENT.upper(),
        PARENT + "-more",
        PARENT + "\n",
        PARENT.replace("00-", "ff-", 1),
        PARENT.replace("00-", "0-", 1),
        PARENT[:-1],
        "00-" + "0" * 32 + "-b7ad6b7169203331-01",
        "00-0af7651916cd43dd8448eb211c80319c-" + "0" * 16 + "-01",
        "01" + PARENT[2:] + "-" + "x" * 300,
    ],
)
def test_what_is_no_trace_is_ignored_with_its_state(parent: str | None) -> None:
    assert trace_context(parent, "a=1") == {}


@pytest.mark.parametrize("state", [None, "", "x" * 513, "a=\x01", "a=1\n"])
def test_a_state_that_is_none_leaves_the_trace(state: str | None) -> None:
    assert trace_context(PARENT, state) == {"traceparent": PARENT}


@pytest.mark.parametrize("parent", [PARENT, PARENT.replace("00-", "01-", 1) + "-more-yet"])
def test_the_ids_of_a_trace_are_read_from_its_parent(parent: str) -> None:
    assert trace_ids(parent) == (PARENT[3:35], PARENT[36:52])


@pytest.mark.parametrize("parent", [None, "", 7, PARENT[:-1], PARENT + "-more", {"a": 1}])
def test_what_is_no_parent_has_no_ids(parent: object) -> None:
    assert trace_ids(parent) is None
