"""Hooks into the cached configuration of extensions."""

from collections.abc import Sequence

from jobs.extensions.registry import Extension, implementers


class ConfigurationHooks(Extension):
    """Hooks of an extension that caches its configuration."""

    def clear_caches(self) -> None:
        """Clear the cached configuration behind the claim hooks and the lane hooks.

        Called when a cached configuration version turns out to be stale, in any thread.
        """

    def configuration_tables(self) -> Sequence[str]:
        """Name the tables of this configuration: a scratch store copies them."""
        return ()


def clear_caches() -> None:
    """Clear the cached configuration of all extensions."""
    for extension in implementers(ConfigurationHooks.clear_caches):
        extension.clear_caches()
