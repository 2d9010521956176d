"""Whether operator tasks will start: `manage.py qcluster` runs them."""

from django_q.status import Stat


def is_served() -> bool:
    """Tell whether a cluster is running."""
    return bool(Stat.get_all())
