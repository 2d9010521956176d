"""Applications learn whether the client of a request has gone."""

import socket
from collections.abc import Callable
from typing import Any

import pytest

from jobs.api.wire.media import GONE
from tests.processes import until
from tests.project.serving.conftest import Connect, Gate, Line


def close(line: Line) -> None:
    """Close the connection."""
    line.sock.close()


def end_sending(line: Line) -> None:
    """Close the client's side of the connection."""
    line.sock.shutdown(socket.SHUT_WR)


@pytest.mark.parametrize("leave", [close, end_sending])
def test_a_closed_connection_is_known_while_its_request_is_answered(
    serving: Connect, gate: Gate, leave: Callable[[Line], None]
) -> None:
    seen: list[Callable[[], bool]] = []

    def application(environ: dict[str, Any], start: Callable[..., Any]) -> Any:
        seen.append(environ[GONE])
        return gate(environ, start)

    line = serving(application=application)().get("/wait")
    gate.wait_for(1)
    (is_gone,) = seen
    assert not is_gone()

    leave(line)

    until(is_gone)
