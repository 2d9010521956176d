"""The cached federation of this process.

It is read again after `refresh_ms` at the latest; changes by operators and by loops of other
processes take effect then. The breaker is read again right before a call: see `breakers.py`.
"""

import logging

from federation.services.registry import registry as stored
from federation.services.registry.configure import apply_settings
from federation.services.registry.registry import Registry
from jobs import caches
from jobs.conf import read_anew
from jobs.database import on_commit
from jobs.domain.errors import OJSError

logger = logging.getLogger("ojs.federation")


class _Settings:
    """Whether this process has applied its settings."""

    are_applied = False

    @classmethod
    def done(cls) -> None:
        """Record that the settings are applied."""
        cls.are_applied = True

    @classmethod
    def cache_clear(cls) -> None:
        """Apply the settings again."""
        cls.are_applied = False


def registry() -> Registry:
    """Return the regions with their health; applies the settings before the first read.

    No statement while the cache is fresh.
    """
    if not _Settings.are_applied:
        try:
            apply_settings()
        except OJSError as problem:  # beside regions of operators they may break a rule
            logger.error("federation.settings_refused", extra={"problem": problem.message})  # noqa: TRY400
        on_commit(_Settings.done, robust=True)  # a rollback takes the regions back
    return stored.latest()


def reread() -> None:
    """Clear the cached regions after a change of their health or load."""
    stored.cache.clear()


def clear() -> None:
    """Clear the cached regions, and apply the settings again."""
    _Settings.cache_clear()
    stored.cache.clear()


caches.register(_Settings.cache_clear)
read_anew(_Settings, setting="OJS_FEDERATION")
