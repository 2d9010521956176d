"""The members of an envelope that link a job to its workflow. Spec: contract 8.2, 8.3."""

from dataclasses import replace

import orjson

from jobs.domain.enqueue.draft import JobDraft


def member(draft: JobDraft, workflow_id: str, position: int, results: str | None) -> JobDraft:
    """Return the draft with the members that only the server sets; `results` is JSON text."""
    extra = {**draft.extra, "workflow_id": workflow_id, "workflow_step": position}
    if results is not None:
        extra["parent_results"] = orjson.Fragment(results)
    return replace(draft, watched=True, extra=extra)
