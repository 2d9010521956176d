"""`limit`, `offset`, `cursor` and `page` of the lists."""

import orjson
import pytest
from django.test import Client

from jobs.api.server.docs import document
from jobs.api.wire.paging import pagination
from tests.spec import spec

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


@spec("contract 3.1")
def test_next_cursor_is_there_exactly_when_there_is_more() -> None:
    assert pagination(9, 5, 0, "off:5") == {
        "total": 9, "page": 1, "per_page": 5, "limit": 5, "offset": 0, "has_more": True,
        "next_cursor": "b2ZmOjU",
    }  # fmt: skip
    assert pagination(3, 5, 0, None) == {
        "total": 3, "page": 1, "per_page": 5, "limit": 5, "offset": 0, "has_more": False,
    }  # fmt: skip


def _lists() -> list[str]:
    """Return the paths of all lists: GET, no path parameter, `items` in the answer."""
    found = []
    for path, methods in orjson.loads(document())["paths"].items():
        answer = methods.get("get", {}).get("responses", {}).get("200")
        if answer is None or "{" in path:
            continue
        schema = next(iter(answer["content"].values()))["schema"]
        if "items" in schema.get("properties", ()):
            found.append(path)
    return found


# lists that the browser interface and the official clients read
CLIENT_LISTS = {
    "/ojs/v1/admin/queues", "/ojs/v1/admin/jobs", "/ojs/v1/admin/workers",
    "/ojs/v1/admin/dead-letter", "/ojs/v1/crons", "/ojs/v1/workflows", "/ojs/v1/rate-limits",
    "/ojs/v1/events", "/ojs/v1/unique-jobs", "/ojs/v1/webhooks/subscriptions",
    "/ojs/v1/webhooks/deliveries", "/ojs/v1/admin/tenants", "/ojs/v1/admin/pools",
    "/ojs/v1/admin/schemas", "/ojs/v1/admin/routing", "/ojs/v1/admin/audit",
    "/ojs/v1/admin/federation/regions",
}  # fmt: skip
OTHER_LISTS = ["/ojs/v1/jobs", "/ojs/v1/queues", "/ojs/v1/schemas"]


def test_document_names_every_list_of_the_clients() -> None:
    assert set(_lists()) >= CLIENT_LISTS


@pytest.mark.parametrize("path", sorted({*_lists(), *OTHER_LISTS}))
def test_every_list_answers_one_pagination_object(api: Client, path: str) -> None:
    answer = api.get(f"{path}?page=2&per_page=7")

    assert answer.status_code == 200, answer.content
    assert answer.json()["pagination"].items() >= {
        "page": 2, "per_page": 7, "limit": 7, "offset": 7, "has_more": False,
    }.items()  # fmt: skip


def test_admin_list_follows_cursors_to_its_end(api: Client) -> None:
    for n in range(5):
        api.post(f"/ojs/v1/queues/q{n}/pause", content_type=OJS)

    found, query = [], "per_page=2"
    while query:
        answer = api.get(f"/ojs/v1/admin/queues?{query}").json()
        found += [queue["name"] for queue in answer["items"]]
        cursor = answer["pagination"].get("next_cursor")
        assert answer["pagination"]["has_more"] is (cursor is not None)
        query = f"per_page=2&cursor={cursor}" if cursor else ""

    assert found == [f"q{n}" for n in range(5)]
