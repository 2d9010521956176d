"""Jobs whose arguments are not for everybody's eyes. Spec: contract 31.4.

What a job may say of itself in `meta.data_classification`; workers and API keys get it whole.
"""

from dataclasses import replace
from typing import Any, Final

import orjson

from jobs.domain.job import Job

MEMBER: Final = "data_classification"
SEEN: Final = "job.arguments_seen"  # in the audit log
HIDDEN: Final = "(classified)"  # shown in place of what a classified job carries
CLOSED: Final = frozenset({"confidential", "restricted"})


def redacted(job: Job) -> Job:
    """Return a job without its arguments and its result."""
    hidden = orjson.dumps(HIDDEN)
    return replace(job, args=orjson.dumps([HIDDEN]), result=job.result and hidden)


def classification(job: Job) -> str | None:
    """Return why a job's arguments and result are hidden from operators; None: they are not."""
    return word_of(orjson.loads(job.meta))


def word_of(meta: dict[str, Any]) -> str | None:
    """Return the same by a job's meta, as `ojs_matches` does in SQL.

    Letter case does not count: `Restricted` is meant, too.
    """
    said = meta.get(MEMBER)
    word = said.strip().lower() if isinstance(said, str) else None
    return word if word in CLOSED else None
