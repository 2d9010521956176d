"""An agent that works in turns, and asks a person before an action with consequences.

The answers of the model are steps: after a crash the agent does not think again, and it does no
action twice. While it waits for a person, for an hour or for days, it holds no slot.
"""

from datetime import timedelta
from typing import Any

from ojs_tasks import SignalTimeout, job, step

TURNS = 10
ASKS_FIRST = frozenset({"send_mail"})  # tools with consequences
outbox: list[str] = []


async def think(notes: list[str]) -> dict[str, Any]:
    """Choose the next tool. This one follows rules; call a language model here."""
    if not any(note.startswith("found:") for note in notes):
        return {"tool": "search", "input": notes[0]}
    if not any(note.startswith(("sent:", "refused:")) for note in notes):
        return {"tool": "send_mail", "input": notes[-1].removeprefix("found: ")}
    return {"tool": "answer", "input": notes[-1]}


async def act(tool: str, text: str) -> str:
    """Use a tool, and return what the agent notes about it."""
    if tool == "search":
        return f"found: the answer to {text}"
    outbox.append(text)
    return f"sent: {text}"


@job("agent.run", queue="examples", retry={"max_attempts": 10})
async def run(question: str) -> str:
    """Think and act in turns until there is an answer."""
    notes = [question]
    for turn in range(TURNS):
        chosen = await step(f"think-{turn}", think, notes, retry={"max_attempts": 5})
        if chosen["tool"] == "answer":
            return str(chosen["input"])
        if chosen["tool"] in ASKS_FIRST and not await is_approved(turn):
            notes.append(f"refused: {chosen['tool']}")
            continue
        notes.append(await step(f"act-{turn}", act, chosen["tool"], chosen["input"]))
    return "no answer in time"


async def is_approved(turn: int) -> bool:
    """Wait for a person, at most for a day."""
    try:
        answer = await step.wait_for(
            f"approval-{turn}", signal="approval", timeout=timedelta(days=1)
        )
    except SignalTimeout:
        return False
    return bool(answer["approved"])
