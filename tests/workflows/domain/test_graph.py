"""Shapes of graphs, and the division of counters into slots."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.spec import spec
from workflows.domain.graph import cycle, dependents, kind_of_graph, layers
from workflows.domain.kinds import Kind
from workflows.domain.plan import MOST_SLOTS, NARROW, slot_sizes, slots
from workflows.domain.progress import overall


@st.composite
def graphs(draw: st.DrawFn) -> list[list[int]]:
    """Return a graph in which every step depends on earlier steps only."""
    number = draw(st.integers(1, 8))
    return [sorted(draw(st.sets(st.integers(0, n - 1)))) if n else [] for n in range(number)]


@given(graphs())
@spec("contract 8.1")
def test_an_ordered_graph_has_no_cycle(edges: list[list[int]]) -> None:
    assert cycle(edges) == []
    assert all(layers(edges)[n] > layers(edges)[m] for n, after in enumerate(edges) for m in after)


@given(graphs())
def test_dependents_are_the_edges_turned_round(edges: list[list[int]]) -> None:
    pairs = {(before, n) for n, after in enumerate(edges) for before in after}

    assert pairs == {(n, after) for n, found in enumerate(dependents(edges)) for after in found}


@pytest.mark.parametrize(
    ("edges", "found"),
    [([[0]], [0]), ([[1], [0]], [0, 1]), ([[], [2], [1], [2]], [1, 2, 3]), ([[], [0]], [])],
)
@spec("contract 8.1")
def test_a_cycle_is_found(edges: list[list[int]], found: list[int]) -> None:
    assert cycle(edges) == found


@pytest.mark.parametrize(
    ("edges", "kind"),
    [([[]], Kind.CHAIN), ([[], [0], [1]], Kind.CHAIN), ([[], []], Kind.GROUP),
     ([[], [], [1]], Kind.DAG), ([[], [0], [0, 1]], Kind.DAG)],
)  # fmt: skip
@spec("contract 8.1")
def test_a_graph_is_named_by_its_shape(edges: list[list[int]], kind: Kind) -> None:
    assert kind_of_graph(edges) is kind


@given(st.integers(0, 10_000))
def test_every_member_counts_down_one_slot_and_no_slot_is_empty(number: int) -> None:
    shared = slots(number)

    assert (shared == 0) == (number <= NARROW)
    assert shared <= MOST_SLOTS
    if shared:
        sizes = slot_sizes(range(number), shared)
        assert (len(sizes), sum(sizes.values())) == (shared, number)


@spec("contract 29")
def test_progress_is_the_share_that_is_done() -> None:
    assert overall([]) == 0
    assert overall([1, 0.5, 0, 0]) == 0.375
