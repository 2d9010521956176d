"""Every server has every method of the protocol: mypy checks their types, these tests the rest."""

import inspect
from typing import Any

import pytest

from ojs_tasks.codecs.coding import Coding
from ojs_tasks.codecs.server import CodedServer
from ojs_tasks.local.server import LocalServer
from ojs_tasks.remote.server import RemoteServer
from ojs_tasks.server import Server
from ojs_tasks.testing.eager import Eager
from ojs_tasks.testing.memory import Memory
from tests.ojs_tasks import servers

METHODS = [name for name, one in vars(Server).items() if name[0] != "_" and callable(one)]


def test_each_server_is_one_for_the_type_checker() -> None:
    """Fails in mypy if a server lacks a method."""
    local: Server = LocalServer()
    remote: Server = RemoteServer({"SERVER": "http://127.0.0.1:1"})
    memory: Server = Memory()
    recorded: Server = servers.Memory()
    eager: Server = Eager(memory, Memory(), raises=True)
    coded: Server = CodedServer(memory, Coding(()))
    assert all((local, remote, memory, recorded, eager, coded))


@pytest.mark.parametrize(
    "kind", [LocalServer, RemoteServer, Memory, Eager, CodedServer, servers.Memory]
)
@pytest.mark.parametrize("name", METHODS)
def test_each_server_has_each_method(kind: type[Any], name: str) -> None:
    found, wanted = getattr(kind, name, None), getattr(Server, name)

    assert found is not None
    assert inspect.signature(found) == inspect.signature(wanted)
    assert inspect.iscoroutinefunction(found) == inspect.iscoroutinefunction(wanted)


def test_the_protocol_has_workflows_and_schedules() -> None:
    assert {"start_workflow", "await_workflow_end", "reconcile_schedules"} <= set(METHODS)


def test_a_test_in_memory_refuses_schedules() -> None:
    with pytest.raises(NotImplementedError, match="no schedules"):
        Memory().reconcile_schedules("shop", [])
