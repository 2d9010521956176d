"""The chains of `next()` wrappers around enqueue and around handlers. Spec: contract 12.1, 12.2.

`OJS["ENQUEUE_MIDDLEWARE"]` and `OJS["EXECUTION_MIDDLEWARE"]` list dotted paths, the first
outermost; a path is also the name of its wrapper, unless it is written `name=path`. An app may
change a chain in its `AppConfig.ready()`; with the first job it is fixed.
"""

from collections.abc import Callable
from functools import cache

from jobs.conf import conf, read_anew
from jobs.domain.enqueue.draft import JobDraft
from jobs.domain.errors import ValidationFailed
from ojs_tasks.middleware import Chain, Link, Wrapper, configured, execution_chain

__all__ = [
    "Chain", "Link", "enqueue_chain", "enqueue_wrappers", "execution_chain", "ojs_validate",
]  # fmt: skip


def ojs_validate(
    draft: JobDraft, following: Callable[[JobDraft], JobDraft | None]
) -> JobDraft | None:
    """Refuse a job without arguments whose meta asks for it. Spec: contract 24.7."""
    if draft.meta.get("ojs_validate") is True and not draft.args:
        raise ValidationFailed.field("args", "must not be empty with meta.ojs_validate", [])
    return following(draft)


@cache
def enqueue_chain() -> Chain:
    """Return the chain around enqueue: the configured wrappers, then the server's own.

    Raises ImportError, TypeError or ValueError for a wrong setting.
    """
    return Chain([*configured(conf().enqueue_middleware), Link("ojs_validate", ojs_validate)])


@cache
def enqueue_wrappers() -> tuple[Wrapper, ...]:
    """Return the wrappers around enqueue, innermost first; the chain is fixed now."""
    return tuple(link.wrapper for link in reversed(enqueue_chain().fix()))


read_anew(enqueue_chain, execution_chain, enqueue_wrappers)
