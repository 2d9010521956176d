"""Drafts in their stored form."""

import tracemalloc
from typing import Any

from jobs.domain.enqueue.written import Writer, written
from tests.factories import DraftFactory


def test_a_thousand_small_drafts_take_no_more_memory_than_their_text() -> None:
    drafts = DraftFactory.create_batch(1000, args=[1, "x" * 50])
    tracemalloc.start()
    try:
        kept = [written(draft) for draft in drafts]
        taken, _ = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()

    assert taken < 3 * sum(one.size for one in kept) + 600 * len(kept)


def test_drafts_of_a_request_are_written_as_they_are_alone() -> None:
    members: list[dict[str, Any]] = [
        {}, {"tags": ["a"]}, {"tags": ["a", "b"]}, {"timeout_ms": 5000}, {"timeout": 5},
        {"retry": {"max_attempts": 2}}, {"retry": {"backoff_coefficient": 3}}, {"strange": 1},
        {"strange": 2}, {"result_ttl": 9}, {"unique": {"keys": ["type"]}}, {"version": 2},
        {"version": "2"}, {"meta": {"a": 1}}, {"visibility_timeout_ms": 5000},
        {"rate_limit": {"key": "k", "concurrency": 1}}, {"schema": "https://a.example/b"},
    ]  # fmt: skip
    drafts = [DraftFactory.create(**one) for one in members for _ in range(2)]
    writer = Writer()

    assert [writer.written(one) for one in drafts] == [written(one) for one in drafts]
