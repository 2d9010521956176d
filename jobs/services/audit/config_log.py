"""The history of the configuration: each change of an object, in the transaction of the change.

Every service that writes configuration runs its change in `configured`, or in `recorded` if the
audit log has an entry already. No other code writes the tables of a kind; a test checks it.
docs/undo.md.
"""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from typing import Any, Final

from django.db.models import Subquery

from jobs import queries
from jobs.database import atomic
from jobs.domain.access.caller import SYSTEM, Caller
from jobs.extensions import ConfigKind, Document
from jobs.models import ConfigChange
from jobs.services.audit import undo_log
from jobs.services.audit.audit import audited

MOST: Final = 200  # changes of one object that are kept
CHANGE: Final = "config_change"  # member of `Undo.before`: the change to take back

_open: ContextVar[frozenset[tuple[str, str, str | None]]] = ContextVar("open", default=frozenset())
_restored: ContextVar[int | None] = ContextVar("restored", default=None)


@dataclass(frozen=True, slots=True)
class Subject:
    """An object with a configuration: its kind, its name, and its tenant if it has one."""

    kind: ConfigKind
    name: str
    tenant: str | None = None

    def document(self) -> Document | None:
        """Read the present configuration; None without one."""
        return self.kind.read(self.name, self.tenant)

    @property
    def key(self) -> tuple[str, str, str | None]:
        """Return what identifies it in the history."""
        return self.kind.name, self.name, self.tenant


@contextmanager
def configured(
    caller: Caller, subject: Subject, action: str, *, target: str = "", reason: str | None = None
) -> Iterator[dict[str, Any]]:
    """Run the block as an audited change of an object's configuration, which can be undone.

    As `audited` otherwise; `target` is that of the audit entry, by default the object's name.
    Locks: the configuration version, so that changes follow one another.
    """
    with (
        recorded(caller, subject, action, reason=reason),
        audited(caller, action, target or subject.name, reason=reason) as data,
    ):
        yield data


@contextmanager
def recorded(
    caller: Caller,
    subject: Subject,
    action: str,
    *,
    reason: str | None = None,
    can_undo: bool = True,
) -> Iterator[None]:
    """Run the block and keep the configuration before and after it, both or neither.

    A block without a difference keeps nothing. Inside of a change of the same object it only runs
    the block. Operators can undo their changes for a day, unless `can_undo` is false.
    """
    if subject.key in _open.get():
        yield
        return
    with atomic():
        queries.lock_config_version()
        before = subject.document()
        token = _open.set(_open.get() | {subject.key})
        try:
            yield
        finally:
            _open.reset(token)
        after = subject.document()
        if after != before:
            made = _keep(caller, subject, action, reason or caller.reason, (before, after))
            is_back = before is not None or subject.kind.can_vanish
            if can_undo and is_back and caller is not SYSTEM:
                _offer_undo(caller, subject, made)


@contextmanager
def restoring(change: int) -> Iterator[None]:
    """Note in the changes of the block that they restore the version of a change."""
    token = _restored.set(change)
    try:
        yield
    finally:
        _restored.reset(token)


def of_undo(before: Mapping[str, Any] | None) -> int | None:
    """Return the change that an entry of the undo log takes back; None: it is about jobs."""
    return None if before is None else before.get(CHANGE)


def _keep(
    caller: Caller,
    subject: Subject,
    action: str,
    reason: str | None,
    documents: tuple[Document | None, Document | None],
) -> ConfigChange:
    kind, name, tenant = subject.key
    made = ConfigChange.objects.create(
        kind=kind, name=name, tenant=tenant, actor=caller.name, action=action, reason=reason,
        request_id=caller.request_id, before=documents[0], after=documents[1],
        restored=_restored.get(),
    )  # fmt: skip
    same = ConfigChange.objects.filter(kind=kind, name=name, tenant=tenant)
    oldest = same.order_by("-id").values("id")[MOST : MOST + 1]
    same.filter(id__lte=Subquery(oldest)).delete()
    return made


def _offer_undo(caller: Caller, subject: Subject, made: ConfigChange) -> None:
    """Add the change to the operations that can be undone."""
    operation = undo_log.begin(
        caller, made.action, subject.name, reason=made.reason, before={CHANGE: made.pk}
    )
    undo_log.finish(operation, caller)
