"""A draft in its stored form."""

from typing import NamedTuple

from jobs.domain import jsonio
from jobs.domain.draft import JobDraft, attributes


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
    shown = attributes(draft)
    return Written(
        _kept(draft.args),
        _kept(draft.meta),
        _kept(shown),
        shown["timeout_ms"],
        None if draft.version is None else jsonio.dumps(draft.version).decode(),
    )


def _kept(value: object) -> bytes:
    # orjson's bytes keep the buffer they were written in, 4 KiB or more; a batch has thousands
    return b"%b" % jsonio.dumps(value)
