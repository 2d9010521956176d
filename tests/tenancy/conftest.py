"""Fixtures for the tests of tenants."""

from tests.jobs.api.conftest import new_key, with_keys

__all__ = ["new_key", "with_keys"]
