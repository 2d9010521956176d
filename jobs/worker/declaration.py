"""The declaration of a worker of this project: the versions that its handlers accept."""

from jobs import extensions
from jobs.domain.dispatch.claim import Declaration
from ojs_tasks.registry import declared


def declaration() -> Declaration | None:
    """Return the versions that the handlers accept, as a worker declares them; None: any."""
    handlers = declared()
    return extensions.read_declaration(handlers, is_exclusive=False) if handlers else None
