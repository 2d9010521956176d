"""Parse the jobs of one request: members that are equal in many jobs are checked once."""

import marshal
from collections.abc import Mapping
from typing import Any, Final

from jobs.domain.enqueue.draft import JobDraft
from jobs.domain.enqueue.server_limits import DEFAULT_LIMITS, Limits, check_meta
from jobs.domain.envelope import check_sizes, parse_job
from jobs.domain.wire.ids import is_id, new_id

MOST_KNOWN: Final = 16  # drafts of a request with different members
OWN: Final = frozenset({"id", "args", "meta"})  # members that differ from job to job
MARSHAL: Final = 2  # the version; later versions write equal values in different ways


class RequestParser:
    """Parses the jobs of one request as `parse_job` does.

    Many jobs of a request differ only in their arguments and their meta. The members that equal
    those of an earlier job are not checked again.
    """

    def __init__(self, limits: Limits = DEFAULT_LIMITS) -> None:
        """Begin without a job."""
        self._limits = limits
        self._known: dict[bytes, JobDraft] = {}

    def parse(self, raw: Mapping[str, Any]) -> JobDraft:
        """Return the draft of a job. Raises as `parse_job`."""
        job_id, args, meta = raw.get("id"), raw.get("args"), raw.get("meta")
        key = _key_of(raw)
        known = self._known.get(key)
        if (
            known is None
            or type(args) is not list
            or not (meta is None or type(meta) is dict)
            or not (job_id is None or is_id(job_id))
        ):
            job = parse_job(raw, limits=self._limits)
            if not job.extra and len(self._known) < MOST_KNOWN and not _has_metadata(raw):
                self._known[key] = job.like(
                    "", [], {}, id_given=False
                )  # middleware may change the other one
            return job
        check_sizes(raw, self._limits)
        if meta:
            meta = {**meta}
            check_meta(meta, self._limits)
        return known.like(job_id or new_id(), args, meta or {}, id_given=job_id is not None)


def _key_of(raw: Mapping[str, Any]) -> bytes:
    """Return bytes that are equal only for equal members; 1, 1.0 and true differ."""
    return marshal.dumps([one for one in raw.items() if one[0] not in OWN], MARSHAL)


def _has_metadata(raw: Mapping[str, Any]) -> bool:
    options = raw.get("options")
    return isinstance(options, Mapping) and options.get("metadata") is not None
