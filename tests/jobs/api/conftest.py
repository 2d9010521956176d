"""In-process API clients and their API keys."""

from collections.abc import Callable, Iterator
from typing import Any

import pytest
from django.test import Client

from jobs.models import ApiKey
from jobs.services.access import api_keys
from jobs.services.access.api_keys import NewKey, create

Api = Callable[..., Any]


@pytest.fixture
def api(store: None) -> Client:
    """Return an in-process client of the application, on an empty store."""
    return Client(raise_request_exception=False)


@pytest.fixture
def with_keys(store: None, settings: Any) -> Iterator[None]:
    """Require API keys; the default test settings require none."""
    settings.OJS = {**settings.OJS, "AUTH": "apikey"}
    api_keys.cache.clear()
    yield
    ApiKey.objects.all().delete()
    api_keys.cache.clear()


@pytest.fixture
def new_key(with_keys: None) -> Callable[..., dict[str, str]]:
    """Return a function that makes a key and returns the headers that present it."""

    def make(*scopes: str, **facts: Any) -> dict[str, str]:
        _, text = create(NewKey("test", scopes, **facts))
        return {"Authorization": f"Bearer {text}"}

    return make
