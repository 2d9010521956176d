"""The agent: it thinks once in each turn, and sends nothing without approval."""

from typing import Any

import pytest

from ojs_tasks.testing import make_due, run_available
from tests.examples.conftest import Example

pytestmark = pytest.mark.usefixtures("place")

FOUND = "the answer to why?"


@pytest.mark.parametrize(
    ("answer", "result", "sent"),
    [
        ({"approved": True}, f"sent: {FOUND}", [FOUND]),
        ({"approved": False}, "refused: send_mail", []),
        (None, "refused: send_mail", []),
    ],
)
def test_agent_asks_before_it_sends(
    example: Example, monkeypatch: pytest.MonkeyPatch, answer: Any, result: str, sent: list[str]
) -> None:
    agent = example("agent")
    thoughts: list[int] = []
    think = agent.think

    async def counted(notes: list[str]) -> Any:
        thoughts.append(len(notes))
        return await think(notes)

    monkeypatch.setattr(agent, "think", counted)
    handle = agent.run.enqueue("why?")
    run_available()
    before = list(agent.outbox)
    if answer is None:
        make_due()
    else:
        handle.signal("approval", answer)
    run_available()

    assert handle.refresh().result(0) == result
    assert (before, agent.outbox) == ([], sent)
    assert thoughts == [1, 2, 3]
