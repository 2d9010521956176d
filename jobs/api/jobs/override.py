"""Read the changes of a manual retry. Spec: contract 3.6, 24.1, 28.2."""

from collections.abc import Mapping
from typing import Any, Final

import orjson

from jobs.api.schemas import obj
from jobs.api.schemas.jobs import JOB_REQUEST_MEMBERS
from jobs.domain.envelope import parse_job
from jobs.domain.errors import InvalidRequest, TenantMismatch
from jobs.domain.job import Job
from jobs.services.lanes.envelopes import limits
from jobs.services.outcome.revive import Override

TENANT: Final = "tenant_id"  # the member of `meta` that names the job's tenant
OVERRIDABLE = frozenset({"queue", "args", "meta", "priority", "retry"})
OVERRIDE = obj(
    {}, {name: JOB_REQUEST_MEMBERS[name] for name in sorted(OVERRIDABLE)},
    additionalProperties=False,
)  # fmt: skip


def decode_override(body: Mapping[str, Any], job: Job) -> Override | None:
    """Read the changes of a manual retry, by the rules of PUSH.

    Raises InvalidRequest and others.
    """
    raw, clears_checkpoint = body.get("override"), body.get("clear_checkpoint", False)
    if not isinstance(clears_checkpoint, bool):
        raise InvalidRequest.field("clear_checkpoint", "must be a boolean", clears_checkpoint)
    if raw is None:
        return Override(clear_checkpoint=True) if clears_checkpoint else None
    if not isinstance(raw, Mapping):
        raise InvalidRequest.field("override", "must be an object", raw)
    if unknown := sorted(set(raw) - OVERRIDABLE):
        raise InvalidRequest.field(f"override.{unknown[0]}", "cannot be changed by a retry")
    given: dict[str, Any] = {name: raw[name] for name in OVERRIDABLE & raw.keys()}
    # null is "not given" for members that PUSH may leave out; args may not be null
    given = {name: value for name, value in given.items() if value is not None or name == "args"}
    draft = parse_job({"type": job.type, "args": [], **given}, limits=limits())
    return Override(
        queue=draft.queue if "queue" in given else None,
        args=draft.args if "args" in given else None,
        meta=_meta(draft.meta, job) if "meta" in given else None,
        priority=draft.priority if "priority" in given else None,
        retry=draft.retry if "retry" in given else None,
        clear_checkpoint=clears_checkpoint,
    )


def _meta(given: Mapping[str, Any], job: Job) -> Mapping[str, Any]:
    """Return the new meta with the tenant that the job has. Raises TenantMismatch for another."""
    own = orjson.loads(job.meta).get(TENANT)
    if given.get(TENANT) not in {None, own}:
        raise TenantMismatch(
            "a retry keeps the tenant of its job",
            details={"reason": "tenant_mismatch", "field": f"override.meta.{TENANT}"},
        )
    return given if own is None else {**given, TENANT: own}
