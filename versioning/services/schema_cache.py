"""Cache the schemas of this process and notice their changes.

Schemas of a type are read at its first use, as of a configuration version
(`jobs.services.lanes.configuration`). Each enqueue names the version that it follows from, and
stores nothing if that is not the latest. So a schema takes effect from its commit on, in every
process, and cached types cost no statement. Compiled documents are cached by their digest, so a new
configuration version compiles none again.
"""

from collections import OrderedDict
from collections.abc import Iterable
from dataclasses import dataclass, field
from threading import Lock
from typing import NamedTuple

from jobs.caches import VersionedCache
from jobs.conf import read_anew
from jobs.domain.wire import jsonio
from jobs.services.lanes import configuration
from versioning.domain.schema import Mode, read
from versioning.domain.schema_version import Key
from versioning.domain.validator import Validator
from versioning.models import Schema

COMPILED = 1_000  # compiled documents


@dataclass(frozen=True, slots=True)
class Entry:
    """One schema without its document."""

    id: int
    version: str
    mode: Mode
    digest: str


@dataclass(frozen=True, slots=True)
class Entries:
    """The schemas of a type."""

    by_key: dict[Key, Entry]

    def of(self, key: Key) -> Entry | None:
        """Return the schema of a version: the exact patch, else the latest patch."""
        exact = self.by_key.get(key)
        if exact is not None:
            return exact
        alike = [other for other in self.by_key if other[:2] == key[:2]]
        return self.by_key[max(alike)] if alike else None

    @property
    def latest(self) -> Entry | None:
        """The schema of the highest version."""
        return self.by_key[max(self.by_key)] if self.by_key else None


NONE = Entries({})


class Schemas(NamedTuple):
    """Schemas as of one configuration version; `by_type` grows at the first use of types."""

    version: int
    by_type: dict[str, Entries]


@dataclass(slots=True)
class _Compiled:
    """The validators used last, by digest: they stay valid when schemas change."""

    lock: Lock = field(default_factory=Lock)
    kept: OrderedDict[tuple[str, bool], Validator] = field(default_factory=OrderedDict)

    def cache_clear(self) -> None:
        """Drop all validators."""
        with self.lock:
            self.kept.clear()


def of_types(types: Iterable[str], version: int) -> dict[str, Entries]:
    """Return the schemas of types, as of a configuration version or a later version.

    One statement if some are new to this process.
    """
    by_type = cache.current(version).by_type
    missing = [one for one in set(types) if one not in by_type]
    if not missing:
        return by_type
    # read after the version: schemas may be newer than the version, never older
    return cache.grow(by_type, _read(missing))


def _empty(version: int | None) -> Schemas:
    return Schemas(configuration.version() if version is None else version, {})


def _read(types: Iterable[str]) -> dict[str, Entries]:
    found = dict.fromkeys(types, NONE)
    rows = Schema.objects.filter(type__in=list(found)).values_list(
        "type", "major", "minor", "patch", "id", "version", "mode", "digest"
    )
    for name, major, minor, patch, pk, version, mode, digest in rows:
        if found[name] is NONE:
            found[name] = Entries({})
        found[name].by_key[Key(major, minor, patch)] = Entry(pk, version, Mode(mode), digest)
    return found


def validator(entry: Entry, *, asserts_formats: bool) -> Validator | None:
    """Return the compiled document of a schema; None: it has been deleted meanwhile.

    One statement if it is new to this process.
    """
    key = entry.digest, asserts_formats
    with compiled.lock:
        if key in compiled.kept:
            compiled.kept.move_to_end(key)
            return compiled.kept[key]
    text = Schema.objects.filter(pk=entry.id, digest=entry.digest).values_list("document").first()
    if text is None:
        return None
    made = Validator(read(jsonio.loads(text[0].encode())), asserts_formats=asserts_formats)
    with compiled.lock:
        compiled.kept[key] = made
        if len(compiled.kept) > COMPILED:
            compiled.kept.popitem(last=False)
    return made


cache = VersionedCache(_empty, setting="OJS_VERSIONING")
compiled = _Compiled()
read_anew(compiled, setting="OJS_VERSIONING")
