"""What this process knows of the federation.

Read anew after `refresh_ms` at the latest: what an operator or a loop of another process changed
counts from then on. A breaker is asked for again right before a call: see `breakers.py`.
"""

import logging

from django.db import transaction

from federation.services.registry import registry as stored
from federation.services.registry.configure import apply_settings
from federation.services.registry.registry import Registry
from jobs.conf import read_anew
from jobs.domain.errors import OJSError

logger = logging.getLogger("ojs.federation")


class _Settings:
    """Whether this process has applied its settings."""

    are_applied = False

    @classmethod
    def done(cls) -> None:
        """Have applied them."""
        cls.are_applied = True

    @classmethod
    def cache_clear(cls) -> None:
        """Apply them anew."""
        cls.are_applied = False


def registry() -> Registry:
    """Return the regions and how they are; registers those of the settings before.

    No statement while what was read is fresh.
    """
    if not _Settings.are_applied:
        try:
            apply_settings()
        except OJSError as problem:  # beside regions of operators they may break a rule
            logger.error("federation.settings_refused", extra={"problem": problem.message})  # noqa: TRY400
        transaction.on_commit(_Settings.done, robust=True)  # a rollback takes the regions back
    return stored.latest()


def reread() -> None:
    """Read the regions anew when they are asked for next: something was noted of them."""
    stored.forget()


def forget() -> None:
    """Read everything anew when it is asked for next, the settings too."""
    _Settings.cache_clear()
    stored.forget()


read_anew(_Settings, setting="OJS_FEDERATION")
