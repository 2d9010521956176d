"""The API's fixtures, for the endpoints of this app."""

from tests.jobs.api.conftest import api, new_key, with_keys

__all__ = ["api", "new_key", "with_keys"]
