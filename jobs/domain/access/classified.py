"""Classified jobs: their arguments are hidden in the console. Spec: contract 31.4.

A job sets `meta.data_classification`; workers and API keys receive the whole job.
"""

from dataclasses import replace
from typing import Any, Final

import orjson

from jobs.domain.job import Job

MEMBER: Final = "data_classification"
SEEN: Final = "job.arguments_seen"  # in the audit log
HIDDEN: Final = "(classified)"  # shown in place of a classified job's contents
CLOSED: Final = frozenset({"confidential", "restricted"})


def redacted(job: Job) -> Job:
    """Return a job without its arguments and its result."""
    hidden = orjson.dumps(HIDDEN)
    return replace(job, args=orjson.dumps([HIDDEN]), result=job.result and hidden)


def classification(job: Job) -> str | None:
    """Return why a job's arguments and result are hidden from operators; None: they are shown."""
    return word_of(orjson.loads(job.meta))


def word_of(meta: dict[str, Any]) -> str | None:
    """Return the same by a job's meta, as `ojs_matches` does in SQL.

    Letter case does not count: `Restricted` is accepted, too.
    """
    said = meta.get(MEMBER)
    word = said.strip().lower() if isinstance(said, str) else None
    return word if word in CLOSED else None
