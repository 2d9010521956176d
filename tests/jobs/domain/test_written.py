"""Drafts in their stored form."""

import tracemalloc

from jobs.domain.written import written
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
