"""Checkpoints, signals and waits of a job in memory."""

import json
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

from ojs_tasks.worker.ports import Suspend


@dataclass
class Durability:
    """What a job in memory keeps between its attempts."""

    state: Any = None
    sequence: int = 0
    signals: list[dict[str, Any]] = field(default_factory=list)
    wait: Suspend | None = None
    is_woken: bool = False
    _sent: int = 0

    @property
    def members(self) -> dict[str, Any]:
        """The members of the envelope with which the next attempt begins."""
        if not self.sequence:
            return {}
        found: dict[str, Any] = {
            "state": self.state, "sequence": self.sequence, "signals": self.signals,
            "created_at": datetime.now(UTC).isoformat(),
        }  # fmt: skip
        if self.wait is not None:
            found["resumed"] = {
                "step": self.wait.step, "by": "signal" if self.is_woken else "time"
            }  # fmt: skip
        return {"checkpoint": found, "last_checkpoint": self.state}

    def suspend(self, wait: Suspend) -> bool:
        """Note a wait; returns whether a signal has ended it already."""
        self.wait = wait
        self.is_woken = any(one["name"] in wait.signals for one in self.signals)
        return self.is_woken

    def send(self, name: str, payload: Any) -> bool:
        """Keep a signal; returns whether the job waits for it."""
        self._sent += 1
        kept = json.loads(json.dumps(payload))
        self.signals.append({"id": self._sent, "name": name, "payload": kept})
        return self.wake(name)

    def wake(self, name: str) -> bool:
        """Note that what a wait names has come; returns whether the job waits for it."""
        self.is_woken = self.wait is not None and name in self.wait.signals
        return self.is_woken

    def save(self, state: bytes, taken: Sequence[int]) -> None:
        """Keep a checkpoint, and drop the signals that it contains."""
        self.keep(json.loads(state))
        self.signals = [one for one in self.signals if one["id"] not in taken]

    def keep(self, state: Any) -> None:
        """Keep a checkpoint."""
        self.state = json.loads(json.dumps(state))
        self.sequence += 1
