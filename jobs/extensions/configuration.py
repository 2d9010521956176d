"""Hooks into the cached configuration of extensions."""

from collections.abc import Sequence

from jobs.extensions.registry import Extension, implementers


class ConfigurationHooks(Extension):
    """Hooks of an extension that caches its configuration."""

    def invalidate_cache(self) -> None:
        """Invalidate the cached configuration behind the claim hooks and the lane hooks.

        Called when a cached configuration version turns out to be stale, in any thread.
        """

    def configuration_tables(self) -> Sequence[str]:
        """Name the tables of this configuration: a scratch store copies them."""
        return ()


def invalidate_caches() -> None:
    """Invalidate the cached configuration of all extensions."""
    for extension in implementers(ConfigurationHooks.invalidate_cache):
        extension.invalidate_cache()
