"""Register, find, compare and delete schemas. Spec: contract 30.1, 30.2, 30.5."""

import hashlib
from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from typing import Any

import orjson
from django.db.models import QuerySet
from django.db.models.functions import Now

from jobs.domain.access.caller import SYSTEM, Caller
from jobs.domain.errors import NotFound, Unprocessable
from jobs.domain.wire import jsonio
from jobs.extensions import Document as Stored
from jobs.services.audit.audit import audited
from jobs.services.audit.config_log import Subject, configured, recorded
from jobs.services.lanes import configuration
from versioning.conf import conf
from versioning.domain.comparison import changes
from versioning.domain.compatibility import Bump, Change, Compatibility, OnBreaking, demanded
from versioning.domain.declaration import handles
from versioning.domain.schema import Document, Mode, read
from versioning.domain.schema_errors import BreakingChange, SchemaConflict, SchemaInUse
from versioning.domain.schema_version import Key, parse_key
from versioning.domain.validator import Validator
from versioning.domain.version import Range, Version
from versioning.models import Schema
from versioning.services.acceptance import of_workers
from versioning.services.documents import AT, SCHEMA

KIND = "schema"
MOST_VERSIONS = 200  # of one type: an answer shows all of them
NEWEST = ("-major", "-minor", "-patch")


@dataclass(frozen=True, slots=True)
class Registration:
    """A requested registration; versions as written."""

    type: str
    version: str
    document: Any
    mode: Mode
    replaces: bool = False  # a different document of this version
    must_be_new: bool = False
    compatible_with: Sequence[str] = ()
    uri: str | None = None

    @property
    def key(self) -> Key:
        """The comparison key of the version."""
        return parse_key(self.version)


@dataclass(frozen=True, slots=True)
class Registered:
    """The result of a registration; `breaking` compares with the version `before`."""

    schema: Schema
    is_new: bool
    breaking: list[Change] = field(default_factory=list)
    before: Schema | None = None


# --- reading --------------------------------------------------------------------------------------


def find(job_type: str, version: str) -> Schema:
    """Return the schema of a version. Raises NotFound."""
    try:
        key = parse_key(version)
    except ValueError:
        raise _missing(job_type, version) from None
    found = _of_key(job_type, key).first()
    if found is None:
        raise _missing(job_type, version)
    return found


def find_uri(uri: str) -> Schema:
    """Return the schema that a URI names. Raises NotFound."""
    found = Schema.objects.filter(uri=uri).first()
    if found is None:
        raise NotFound.of(KIND, uri)
    return found


def versions(job_type: str) -> list[Schema]:
    """Return the schemas of a type, newest first. Raises NotFound if there is none."""
    found = list(Schema.objects.filter(type=job_type).order_by(*NEWEST))
    if not found:
        raise NotFound.of(KIND, job_type)
    return found


def latest_of(job_type: str) -> Schema:
    """Return the schema of the highest version. Raises NotFound."""
    found = Schema.objects.filter(type=job_type).order_by(*NEWEST).first()
    if found is None:
        raise NotFound.of(KIND, job_type)
    return found


def is_latest(schema: Schema) -> bool:
    """Return whether no version of the type is higher."""
    key = schema.major, schema.minor, schema.patch
    return max(_keys(schema.type), default=key) == key


def page(*, containing: str, limit: int, offset: int) -> tuple[list[Schema], int]:
    """List the latest schema of each type, types by name; returns a page and the total."""
    found = Schema.objects.all()
    if containing:
        found = found.filter(type__contains=containing)
    latest = found.order_by("type", *NEWEST).distinct("type")
    total = found.values("type").distinct().count()
    return list(latest[offset : offset + limit]), total


def numbers_of_versions(types: Sequence[str]) -> dict[str, int]:
    """Count the versions of types."""
    found: dict[str, int] = {}
    for name in Schema.objects.filter(type__in=types).values_list("type", flat=True):
        found[name] = found.get(name, 0) + 1
    return found


def document_of(schema: Schema) -> Document:
    """Return the parsed document of a schema."""
    return read(jsonio.loads(schema.document.encode()))


def problems(schema: Schema, args: Sequence[Any]) -> list[str]:
    """Check arguments by a schema, with formats asserted."""
    return Validator(document_of(schema), asserts_formats=True).problems(args)


def _keys(job_type: str) -> list[tuple[int, int, int]]:
    rows = Schema.objects.filter(type=job_type).values_list("major", "minor", "patch")
    return [(major, minor, patch) for major, minor, patch in rows]


def _of_key(job_type: str, key: Key) -> QuerySet[Schema]:
    return Schema.objects.filter(type=job_type, major=key.major, minor=key.minor, patch=key.patch)


def _missing(job_type: str, version: str) -> NotFound:
    return NotFound.of(KIND, f"{job_type}@{version}")


# --- comparing ------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Difference:
    """The differences between two versions of a type."""

    old: Schema
    new: Schema
    changes: list[Change]
    breaking: list[Change]
    demanded: Bump
    given: Bump


def difference(job_type: str, old: str | None, new: str | None) -> Difference:
    """Compare two versions; None: `new` is the latest, `old` the version before `new`.

    Raises NotFound.
    """
    after = latest_of(job_type) if new is None else find(job_type, new)
    if old is not None:
        return compared(find(job_type, old), after)
    lower = [key for key in _keys(job_type) if key < (after.major, after.minor, after.patch)]
    if not lower:
        raise NotFound(f"{job_type} has no schema before version {after.version}")
    return compared(_of_key(job_type, Key(*max(lower))).get(), after)


def compared(before: Schema, after: Schema) -> Difference:
    """Compare two schemas by the mode of the settings."""
    mode = Compatibility(conf().schema_compatibility_mode)
    found = changes(document_of(before), document_of(after))
    breaking = [one for one in found if one.breaks(mode)]
    return Difference(before, after, found, breaking, demanded(found, mode), _given(before, after))


def _given(before: Schema, after: Schema) -> Bump:
    if before.major != after.major:
        return Bump.MAJOR
    return Bump.NONE if before.minor == after.minor else Bump.MINOR


def _before(wanted: Registration) -> Schema | None:
    """Return the nearest lower version of the same major."""
    key = wanted.key
    lower = [one for one in _keys(wanted.type) if one < key and one[0] == key.major]
    return _of_key(wanted.type, Key(*max(lower))).get() if lower else None


def _breaking(wanted: Registration, row: Schema) -> tuple[list[Change], Schema | None]:
    """Return the breaking changes against the version before. Raises BreakingChange."""
    policy = OnBreaking(conf().schema_compatibility)
    before = None if policy is OnBreaking.OFF else _before(wanted)
    if before is None:
        return [], None
    if (before.major, before.minor) in {parse_key(one).routed for one in wanted.compatible_with}:
        return [], before
    found = compared(before, row).breaking
    if found and policy is OnBreaking.ENFORCE:
        first = found[0]
        raise BreakingChange(
            f"{wanted.type} {wanted.version} breaks {before.version}: {first.path or '/'}: "
            f"{first.message}",
            details={
                "compared_with": before.version,
                "required_version": f"{before.major + 1}.0",
                "breaking_changes": [shown(one) for one in found],
            },
        )
    return found, before


def shown(change: Change) -> dict[str, Any]:
    """Return a change as answers show it."""
    mode = Compatibility(conf().schema_compatibility_mode)
    is_breaking = change.breaks(mode)
    flags = {"backward": change.backward, "forward": change.forward}
    return {
        "path": change.path,
        "kind": change.kind,
        "message": change.message,
        "rule": str(change.rule),
        "breaking": is_breaking,
        "breaks": [name for name, is_so in flags.items() if is_so],
        "required_bump": str(Bump.MAJOR if is_breaking else Bump.MINOR),
    }


# --- changing -------------------------------------------------------------------------------------


def register(wanted: Registration, caller: Caller = SYSTEM) -> Registered:
    """Store a schema; effective from the commit on, in every process.

    Raises InvalidSchema, SchemaConflict if the version has another document, BreakingChange.
    Locks: the configuration version, which puts registrations in sequence.
    """
    document = read(wanted.document)
    Validator(document, asserts_formats=True)
    row = Schema(
        type=wanted.type, version=wanted.version, uri=wanted.uri,
        document=jsonio.dumps(wanted.document).decode(), digest=digest(wanted.document),
        target=document.target, mode=wanted.mode, compatible_with=list(wanted.compatible_with),
        **wanted.key._asdict(),
    )  # fmt: skip
    with configured(caller, _subject(wanted.type, wanted.version), "schema.registered") as data:
        configuration.change()
        stored = _of_key(wanted.type, wanted.key).first()
        _refuse_conflict(wanted, row, stored)
        if stored is None and len(_keys(wanted.type)) >= MOST_VERSIONS:
            raise Unprocessable.field(
                "version", f"is one too many: at most {MOST_VERSIONS} of a type"
            )
        breaking, before = _breaking(wanted, row)
        data |= {"is_new": stored is None, "mode": str(wanted.mode), "breaking": len(breaking)}
        if stored is not None:
            _take_over(row, stored)
        row.save()
    row.refresh_from_db()
    return Registered(row, stored is None, breaking, before)


def _refuse_used(found: Sequence[Schema]) -> None:
    workers = of_workers()
    for schema in found:
        version = Version(schema.major, schema.minor)
        exact = Range(version, version.following)
        declared = [handles(one.declaration).ranges.get(schema.type, ()) for one in workers]
        if any(exact in ranges for ranges in declared):
            raise SchemaInUse(
                f"workers that run handle version {schema.version} of {schema.type}",
                details={"type": schema.type, "version": schema.version},
            )


def digest(document: Any) -> str:
    """Return the digest of a document, independent of the order of its members."""
    try:
        text = orjson.dumps(document, option=orjson.OPT_SORT_KEYS)
    except TypeError:  # integers of any size
        text = jsonio.dumps(document)
    return hashlib.sha256(text).hexdigest()


def _refuse_conflict(wanted: Registration, row: Schema, stored: Schema | None) -> None:
    if stored is not None and (
        wanted.must_be_new or (stored.digest != row.digest and not wanted.replaces)
    ):
        raise _conflict(wanted, f"version {stored.version} of {wanted.type} is registered already")
    if wanted.uri is None:
        return
    named = Schema.objects.filter(uri=wanted.uri).first()
    if named is not None and (stored is None or named.pk != stored.pk):
        raise _conflict(wanted, f"the URI names version {named.version} of {named.type}")


def _conflict(wanted: Registration, message: str) -> SchemaConflict:
    return SchemaConflict(
        message,
        details={"type": wanted.type, "version": wanted.version, "reason": "schema_exists"},
    )


def _take_over(row: Schema, stored: Schema) -> None:
    """Make a row replace the stored row; the first spelling of its version stays."""
    row.pk, row.version, row.created_at = stored.pk, stored.version, stored.created_at
    row.uri = row.uri or stored.uri
    row.updated_at = Now()


def delete(found: Sequence[Schema], caller: Caller = SYSTEM, *, force: bool = False) -> None:
    """Delete schemas of a type; jobs of their versions are no longer checked.

    Raises SchemaInUse if live workers declare exactly one of these versions, unless `force`.
    """
    if not force:
        _refuse_used(found)
    with ExitStack() as stack:
        for one in found:
            subject = _subject(one.type, one.version)
            stack.enter_context(recorded(caller, subject, "schema.deleted"))
        data = stack.enter_context(audited(caller, "schema.deleted", found[0].type))
        configuration.change()
        data |= {"versions": [one.version for one in found], "force": force}
        Schema.objects.filter(pk__in=[one.pk for one in found]).delete()


def restore(name: str, _: str | None, document: Stored | None, caller: Caller) -> None:
    """Restore the schema of a version; None: delete it. Raises as `register` and `delete`."""
    kind, _, version = name.rpartition(AT)
    if document is None:
        delete([find(kind, version)], caller)
        return
    register(
        Registration(
            type=kind,
            version=version,
            document=jsonio.loads(document["document"].encode()),
            mode=Mode(document["mode"]),
            replaces=True,
            compatible_with=tuple(document["compatible_with"]),
            uri=document["uri"],
        ),
        caller,
    )


def _subject(kind: str, version: str) -> Subject:
    return Subject(SCHEMA, f"{kind}{AT}{version}")
