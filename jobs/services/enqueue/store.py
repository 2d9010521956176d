"""Store prepared drafts: refusals, version keys and admission by extensions, bounds of queues.

Spec: contract 1.7, 2.2, 11.1.
"""

from collections.abc import Mapping, Sequence
from functools import partial

from jobs import extensions
from jobs.database import atomic
from jobs.domain.access.caller import SYSTEM, Caller
from jobs.domain.enqueue.draft import JobDraft
from jobs.domain.errors import OJSError
from jobs.domain.job import Job
from jobs.extensions import EnqueueHooks, implementers
from jobs.queries import Checking
from jobs.services.enqueue import backpressure, unique
from jobs.services.enqueue.insert import insert
from jobs.services.lanes import configuration
from jobs.services.lanes.queue_config import set_by_job


def store(
    drafts: Sequence[JobDraft], caller: Caller, *, keep_going: bool = False
) -> list[Job | OJSError]:
    """Store prepared drafts, in order; see `unique.store` for `keep_going`."""
    return configuration.repeat_if_stale(lambda: _store_once(drafts, caller, keep_going=keep_going))


def _store_once(
    drafts: Sequence[JobDraft], caller: Caller, *, keep_going: bool
) -> list[Job | OJSError]:
    config = configuration.of_queues({draft.queue for draft in drafts})
    for queue, rate in configuration.rates(config, drafts).items():
        # A `rate_limit` without a key is the limit of the queue: the latest job sets it.
        set_by_job(queue, rate, caller)
    return _store_configured(
        config, configuration.apply(config, drafts), caller, keep_going=keep_going
    )


def hold(drafts: Sequence[JobDraft]) -> None:
    """Take the locks that `store` takes before lanes, for a request that is stored in parts.

    Each part takes its locks in order, but would take them after the lanes of the part before it.
    """
    for extension in implementers(EnqueueHooks.lock_admission):
        extension.lock_admission(drafts)
    backpressure.hold(drafts)


def require_accepted(drafts: Sequence[JobDraft], caller: Caller = SYSTEM) -> None:
    """Check that extensions would accept these drafts now, for jobs that are stored later.

    Raises OJSError.
    """
    try:
        _refuse(refusals(drafts, caller), len(drafts))
    except OJSError as problem:
        if len(drafts) == 1:
            problem.details.pop("index", None)
        raise


def refusals(drafts: Sequence[JobDraft], caller: Caller) -> dict[int, OJSError]:
    """Return the reasons for which extensions refuse drafts, by position."""

    def run() -> dict[int, OJSError]:
        config = configuration.of_queues({draft.queue for draft in drafts})
        return _refusals(drafts, caller, config.version)

    return configuration.repeat_if_stale(run)


def _refusals(drafts: Sequence[JobDraft], caller: Caller, version: int) -> dict[int, OJSError]:
    """Return refusals. Raises Stale if they follow from a stale configuration version."""
    found = extensions.refusals(drafts, caller, version)
    if found and configuration.version() != version:
        raise configuration.Stale
    return found


def _refuse(found: Mapping[int, OJSError], number: int) -> None:
    for n, problem in found.items():
        problem.details["index"] = n
    if number == 1 and found:
        raise found[0]
    if found:
        raise OJSError.first_of([found[n] for n in sorted(found)])


def _store_configured(
    config: configuration.Configuration, drafts: list[JobDraft], caller: Caller, *, keep_going: bool
) -> list[Job | OJSError]:
    _refuse(_refusals(drafts, caller, config.version), len(drafts))
    for extension in implementers(EnqueueHooks.assign_version_keys):
        extension.assign_version_keys(drafts, config.version)
    admitting = [
        extension
        for extension in implementers(EnqueueHooks.needs_admission)
        if extension.needs_admission(drafts, caller, config.version)
    ]
    is_limited = admitting or backpressure.is_bounded(config, drafts)
    admit = partial(_admit, admitting, config, caller) if is_limited else None
    write = partial(insert, config, caller.request_id)
    if any(draft.unique is not None for draft in drafts):
        return unique.store(drafts, unique.InsertSteps(write, admit), caller, keep_going=keep_going)
    if admit is None:
        return _jobs(write(drafts, None, Checking.NONE))
    with atomic():
        admit(drafts)
        return _jobs(write(drafts, None, Checking.NONE))


def _admit(
    admitting: Sequence[EnqueueHooks],
    config: configuration.Configuration,
    caller: Caller,
    drafts: Sequence[JobDraft],
) -> None:
    for extension in admitting:
        # fewer drafts than before: duplicates are not stored
        if extension.needs_admission(drafts, caller, config.version):
            extension.admit(drafts, caller)
    backpressure.admit(backpressure.bounds(config, drafts), caller)


def _jobs(stored: unique.Stored) -> list[Job | OJSError]:
    return [job for job in stored if isinstance(job, Job)]
