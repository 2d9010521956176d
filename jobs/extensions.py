"""The seam: what an extension may add to the core, and in which order they are asked.

`OJS["EXTENSIONS"]` is one ordered list of dotted paths, like Django's MIDDLEWARE. A hook that is
not overridden costs nothing: the lists below hold only extensions that have it.
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from functools import cache
from typing import Any

from django.utils.module_loading import import_string

from jobs.conf import conf
from jobs.domain.caller import Caller
from jobs.domain.claim import ClaimPlan, FetchRequest
from jobs.domain.envelope import JobDraft
from jobs.domain.transition import Transition


@dataclass(frozen=True, slots=True)
class Loop:
    """Periodic work: `run` does one batch and returns how many rows it changed."""

    name: str
    run: Callable[[], int]
    interval_ms: int
    # how long until the next row is due, in ms, at most interval_ms; null: always the interval
    due_in_ms: Callable[[], int | None] | None = None


@dataclass(frozen=True, slots=True)
class Facts:
    """What an extension declares in the manifest. Spec: contract 3.9."""

    name: str
    uri: str
    version: str
    tier: str = "official"  # or "experimental"
    capabilities: dict[str, bool] = field(default_factory=dict)


class Extension:
    """Base of all extensions; every hook does nothing."""

    def prepare(self, draft: JobDraft, caller: Caller) -> JobDraft | None:
        """Change, drop (None) or refuse (raise) one draft, outside any transaction, without SQL."""
        return draft

    def gates(self, drafts: Sequence[JobDraft], caller: Caller) -> bool:
        """Tell whether `admit` must run for these; false keeps enqueue at one statement."""
        return False

    def admit(self, drafts: Sequence[JobDraft], caller: Caller) -> None:
        """Lock, count and refuse, once per request, in the transaction of the insert."""

    def plan(self, plan: ClaimPlan, request: FetchRequest) -> ClaimPlan:
        """Reorder or narrow a claim; data only, from the extension's own cache."""
        return plan

    def observe(self, transitions: Sequence[Transition]) -> None:
        """Follow up on `watched` jobs that ended, in the transaction that ended them."""

    def loops(self) -> Iterable[Loop]:
        """Contribute periodic work to `runworker`."""
        return ()

    def manifest(self) -> Facts | None:
        """Declare capabilities."""
        return None


@cache
def installed() -> tuple[Extension, ...]:
    """All extensions in configured order. Raises ImportError or TypeError on a wrong path."""
    found = tuple(import_string(path)() for path in conf().extensions)
    for extension in found:
        if not isinstance(extension, Extension):
            raise TypeError(f"{type(extension).__name__} is not a jobs.extensions.Extension")
    return found


@cache
def having(hook: str) -> tuple[Any, ...]:
    """The bound `hook` methods of the extensions that override it, in order."""
    return tuple(
        getattr(extension, hook)
        for extension in installed()
        if getattr(type(extension), hook) is not getattr(Extension, hook)
    )
