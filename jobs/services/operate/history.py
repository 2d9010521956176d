"""Read the history of the configuration, and restore versions of it. docs/undo.md."""

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from functools import cache

from django.db.models import QuerySet
from django.utils.module_loading import import_string

from jobs import queries
from jobs.conf import read_anew
from jobs.database import atomic
from jobs.domain.access.caller import Caller
from jobs.domain.errors import Conflict, NotFound
from jobs.domain.record.differences import Difference, differences
from jobs.extensions import ConfigKind, Document, kinds_of_extensions
from jobs.models import ConfigChange
from jobs.services.audit import documents
from jobs.services.audit.config_log import Subject, restoring

DIGITS = 32  # of the digest of a document
MOST = 10_000  # counted for a list


@dataclass(frozen=True, slots=True)
class HistoryFilter:
    """A filter: all members that are set must match. `kinds` are those that the caller may see."""

    kinds: tuple[str, ...]
    kind: str = ""
    name: str = ""
    tenant: str = ""
    actor: str = ""
    since: datetime | None = None
    until: datetime | None = None


@dataclass(frozen=True, slots=True)
class Preview:
    """The effect of a restore: the present document, the one to restore, their differences.

    `expected` identifies the present document: the restore refuses another one.
    """

    change: ConfigChange
    subject: Subject
    present: Document | None
    document: Document | None
    expected: str

    @property
    def differences(self) -> list[Difference]:
        """What the restore would change."""
        return differences(self.present, self.document)


@cache
def kinds() -> Mapping[str, ConfigKind]:
    """Return all kinds of configuration of this installation, by name."""
    return {one.name: one for one in (*documents.KINDS, *kinds_of_extensions())}


read_anew(kinds)


def page(
    wanted: HistoryFilter, *, before: int | None, size: int
) -> tuple[list[ConfigChange], int | None]:
    """List changes, latest first, from an id on; returns a page and the start of the next page."""
    found = _matching(wanted)
    if before is not None:
        found = found.filter(id__lt=before)
    rows = list(found[: size + 1])
    return rows[:size], rows[size - 1].pk if len(rows) > size else None


def listed(wanted: HistoryFilter, *, limit: int, offset: int) -> tuple[list[ConfigChange], int]:
    """List changes, latest first; returns a page and the total, counted up to MOST."""
    found = _matching(wanted)
    return list(found[offset : offset + limit]), found[:MOST].count()


def _matching(wanted: HistoryFilter) -> QuerySet[ConfigChange]:
    found = ConfigChange.objects.filter(kind__in=wanted.kinds)
    for name in ("kind", "name", "tenant", "actor"):
        if value := getattr(wanted, name):
            found = found.filter(**{name: value})
    if wanted.since is not None:
        found = found.filter(at__gte=wanted.since)
    if wanted.until is not None:
        found = found.filter(at__lte=wanted.until)
    return found.order_by("-id")


def get(number: int) -> ConfigChange:
    """Return a change. Raises NotFound."""
    found = ConfigChange.objects.filter(pk=number).first()
    if found is None or found.kind not in kinds():
        raise NotFound.of("change", str(number))
    return found


def preview(number: int, *, is_undo: bool = False) -> Preview:
    """Compare the version that a change left with the present one. Raises NotFound.

    With `is_undo`: the version before the change instead.
    """
    change = get(number)
    subject = Subject(kinds()[change.kind], change.name, change.tenant)
    present = subject.document()
    document = change.before if is_undo else change.after
    return Preview(change, subject, present, document, digest(present))


def restore(number: int, caller: Caller, *, expected: str, is_undo: bool = False) -> Preview:
    """Restore the version that a change left, by the service of its kind, in one transaction.

    With `is_undo`: the version before it. Raises NotFound; Conflict if the present version is not
    the `expected` one of the preview, and as the service. Locks: the configuration version, as all
    changes do, so the present version cannot change meanwhile.
    """
    with atomic():
        queries.lock_config_version()
        seen = preview(number, is_undo=is_undo)
        _expect(seen.subject, seen.expected, expected)
        if seen.present != seen.document:
            write = import_string(seen.subject.kind.write)
            with restoring(number):
                write(seen.subject.name, seen.subject.tenant, seen.document, caller)
    return seen


def take_back(number: int, caller: Caller) -> None:
    """Undo a change. Raises Conflict if the object was changed again since."""
    change = get(number)
    restore(number, caller, expected=digest(change.after), is_undo=True)


def digest(document: Document | None) -> str:
    """Identify a document, independent of the order of its members."""
    text = json.dumps(document, sort_keys=True)  # numbers of any size, unlike orjson
    return hashlib.sha256(text.encode()).hexdigest()[:DIGITS]


def refuse_changed(subject: Subject, expected: str) -> None:
    """Refuse an object whose present document has another digest. Raises Conflict.

    Call it in the transaction of a change, after `configuration.hold`.
    """
    _expect(subject, digest(subject.document()), expected)


def _expect(subject: Subject, present: str, expected: str) -> None:
    if present != expected:
        raise Conflict(
            f"{subject.kind.label.lower()} {subject.name} was changed again since",
            details={"kind": subject.kind.name, "name": subject.name, "expected": present},
        )
