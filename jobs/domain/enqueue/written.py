"""A draft in its stored form."""

from typing import Any, Final, NamedTuple

from jobs.domain.enqueue.draft import JobDraft, attributes
from jobs.domain.wire import jsonio

EMPTY: Final = b"{}"


class Written(NamedTuple):
    """A draft's JSON members, serialized once for the database and the answer."""

    args: bytes
    meta: bytes
    attributes: bytes
    timeout_ms: int
    version: str | None  # JSON: text stays text, a number stays a number

    @property
    def size(self) -> int:
        """The number of bytes that count for a bound of the queue. Spec: contract 27.4."""
        return len(self.args) + len(self.meta) + len(self.attributes)


def written(draft: JobDraft) -> Written:
    """Serialize a draft."""
    return Writer().written(draft)


class Writer:
    """Serializes the drafts of one request; attributes that drafts share are written once."""

    def __init__(self) -> None:
        """Begin without a draft."""
        self._known: dict[tuple[Any, ...], tuple[bytes, int, JobDraft]] = {}

    def written(self, draft: JobDraft) -> Written:
        """Serialize a draft, which must live as long as this object."""
        if draft.extra:
            attributes, timeout_ms = _attributes(draft)
        else:
            # the objects of a kept draft are not replaced by others with the same number
            key = (
                id(draft.retry), id(draft.unique), id(draft.rate_limit), draft.timeout_ms,
                draft.timeout_in_seconds, draft.visibility_ms, draft.visibility_in_seconds,
                draft.schema, draft.result_ttl, *draft.tags,
            )  # fmt: skip
            known = self._known.get(key)
            if known is None:
                known = self._known[key] = (*_attributes(draft), draft)
            attributes, timeout_ms, _ = known
        meta = _kept(draft.meta) if draft.meta else EMPTY
        version = None if draft.version is None else jsonio.dumps(draft.version).decode()
        return Written(_kept(draft.args), meta, attributes, timeout_ms, version)


def _attributes(draft: JobDraft) -> tuple[bytes, int]:
    shown = attributes(draft)
    return _kept(shown), shown["timeout_ms"]


def _kept(value: object) -> bytes:
    # orjson's bytes keep the buffer they were written in, 4 KiB or more; a batch has thousands
    return b"%b" % jsonio.dumps(value)
