"""The durable jobs of the soak. Each effect is recorded with a token of its own.

Its step's result is the token. So the records show how often an effect happened, and whether the
server ever stored two results of one step.
"""

import asyncio
import os
import secrets
from pathlib import Path
from typing import Any, Final

from bench.soak.names import (
    AORDER,
    APPROVED,
    BELOW,
    CHILD,
    EFFECT,
    EFFECTS_FILE,
    FOLDER,
    NAP_S,
    ORDER,
    QUEUE,
    RETRY,
    SEEN,
)
from ojs_project import env
from ojs_tasks import current_job, job, step

FILE: Final = Path(env.text(FOLDER) or ".") / EFFECTS_FILE


@job(CHILD, queue=QUEUE, retry=RETRY)  # type: ignore[arg-type]  # periods as on the wire
def child(number: int) -> dict[str, Any]:
    """Do one thing, and return its token."""
    return {"number": number, "token": _seen(BELOW, step(BELOW, _effect, BELOW))}


@job(ORDER, queue=QUEUE, retry=RETRY)  # type: ignore[arg-type]
def order(number: int) -> dict[str, Any]:
    """Do three things, with a sleep, a signal and another job between them."""
    first = _seen("first", step("first", _effect, "first"))
    step.sleep("nap", NAP_S)
    approval = step.wait_for(APPROVED)
    second = _seen("second", step("second", _effect, "second"))
    below = step.run_job(child.s(number))
    last = _seen("last", step("last", _effect, "last"))
    return {
        "number": number, "approval": approval, "child": below,
        "first": first, "second": second, "last": last,
    }  # fmt: skip


@job(AORDER, queue=QUEUE, retry=RETRY)  # type: ignore[arg-type]
async def aorder(number: int) -> dict[str, Any]:
    """Do the same as a coroutine, with steps and waits at once."""
    found = await asyncio.gather(
        step("first", _aeffect, "first"), step("second", _aeffect, "second")
    )
    first, second = _seen("first", found[0]), _seen("second", found[1])
    approval, below, _ = await asyncio.gather(
        step.wait_for(APPROVED), step.arun_job(child.s(number)), step.sleep("nap", NAP_S)
    )
    last = _seen("last", await step("last", _aeffect, "last"))
    return {
        "number": number, "approval": approval, "child": below,
        "first": first, "second": second, "last": last,
    }  # fmt: skip


def _effect(name: str) -> str:
    token = secrets.token_hex(8)
    _write(EFFECT, name, token)
    return token


async def _aeffect(name: str) -> str:
    return _effect(name)


def _seen(name: str, token: str) -> str:
    """Record the result that a step has returned in this attempt."""
    _write(SEEN, name, token)
    return token


def _write(kind: str, name: str, token: str) -> None:
    """Append in one call of the system, which the death of the process cannot undo."""
    file = os.open(FILE, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o644)
    try:
        os.write(file, f"{kind} {current_job().id} {name} {token}\n".encode())
    finally:
        os.close(file)
