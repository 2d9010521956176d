"""Check jobs of handlers at import, when models may not be ready yet."""

from jobs.domain.envelope import parse_job
from ojs_tasks.server import Draft


def check(draft: Draft) -> None:
    """Raise the server's refusal of an envelope with default limits."""
    parse_job(draft)
