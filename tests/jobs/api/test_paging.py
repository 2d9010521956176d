"""`limit`, `offset`, `cursor` and `page` of the lists."""

import pytest
from django.test import Client

OJS = "application/openjobspec+json"


@pytest.mark.parametrize(
    ("query", "field"),
    [
        ("limit=0", "limit"),
        ("limit=x&per_page=5", "limit"),
        ("per_page=-1", "per_page"),
        ("page=0", "page"),
        ("page=x&cursor=b2ZmOjUw", "page"),
        ("offset=-1", "offset"),
        ("offset=-1&page=2", "offset"),
        ("offset=10000000", "offset"),
        ("cursor=x", "cursor"),
        ("cursor=b2ZmOi0x", "cursor"),
    ],
)
def test_list_with_a_wrong_window_names_the_parameter(api: Client, query: str, field: str) -> None:
    answer = api.get(f"/ojs/v1/queues?{query}")

    assert answer.status_code == 400
    assert answer.json()["error"]["details"]["field"] == field


def test_list_follows_cursors_to_its_end(api: Client) -> None:
    names = [f"q{n}" for n in range(5)]
    for name in names:
        api.post(f"/ojs/v1/queues/{name}/pause", content_type=OJS)

    found, query = [], "limit=2"
    while query:
        answer = api.get(f"/ojs/v1/queues?{query}").json()
        found += [queue["name"] for queue in answer["queues"]]
        cursor = answer["pagination"].get("next_cursor")
        assert answer["pagination"]["has_more"] is (cursor is not None)
        query = f"limit=2&cursor={cursor}" if cursor else ""

    assert found == names


def test_list_by_pages_equals_offsets(api: Client) -> None:
    for n in range(5):
        api.post(f"/ojs/v1/queues/q{n}/pause", content_type=OJS)

    by_page = api.get("/ojs/v1/queues?per_page=2&page=2").json()
    by_offset = api.get("/ojs/v1/queues?limit=2&offset=2").json()

    assert by_page == by_offset
    assert [queue["name"] for queue in by_page["queues"]] == ["q2", "q3"]
