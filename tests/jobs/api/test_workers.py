"""Endpoints under /ojs/v1/workers."""

from typing import Any

import pytest
from django.test import Client

OJS = "application/openjobspec+json"


@pytest.mark.parametrize(
    ("member", "value"),
    [
        ("started_at", "yesterday"),
        ("started_at", 1_700_000_000),
        ("started_at", ""),
        ("state", {}),
        ("state", ""),
        ("state", "asleep"),
    ],
)
def test_heartbeat_with_a_wrong_member_names_it(api: Client, member: str, value: Any) -> None:
    body = {"worker_id": "w1", member: value}

    answer = api.post("/ojs/v1/workers/heartbeat", body, content_type=OJS)

    assert answer.status_code == 400
    assert answer.json()["error"]["details"]["field"] == member
