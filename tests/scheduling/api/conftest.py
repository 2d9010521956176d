"""Clients of the core's API, and keys."""

from tests.jobs.api.conftest import api, new_key, with_keys  # noqa: F401 - fixtures
