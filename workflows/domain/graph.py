"""The shape of a step graph. Spec: contract 8.1."""

from collections.abc import Sequence

from workflows.domain.kinds import Kind

Edges = Sequence[Sequence[int]]  # for each step the positions of its dependencies


def kind_of_graph(edges: Edges) -> Kind:
    """Name the shape of a graph without callbacks."""
    if all(list(after) == ([n - 1] if n else []) for n, after in enumerate(edges)):
        return Kind.CHAIN
    return Kind.DAG if any(edges) else Kind.GROUP


def dependents(edges: Edges) -> list[list[int]]:
    """Return for each step the positions of the steps that depend on it, ascending."""
    found: list[list[int]] = [[] for _ in edges]
    for position, after in enumerate(edges):
        for before in after:
            found[before].append(position)
    return found


def cycle(edges: Edges) -> list[int]:
    """Return the positions on a cycle or behind it, ascending; empty for an acyclic graph."""
    waits = [len(after) for after in edges]
    following = dependents(edges)
    free = [position for position, number in enumerate(waits) if not number]
    for position in free:  # grows during the iteration
        for after in following[position]:
            waits[after] -= 1
            if not waits[after]:
                free.append(after)
    return [position for position, number in enumerate(waits) if number]


def layers(edges: Edges) -> list[int]:
    """Return for each step of an acyclic graph the length of its longest path from a first step."""
    depth = [0] * len(edges)
    waits = [len(after) for after in edges]
    following = dependents(edges)
    free = [position for position, number in enumerate(waits) if not number]
    for position in free:  # grows during the iteration
        for after in following[position]:
            depth[after] = max(depth[after], depth[position] + 1)
            waits[after] -= 1
            if not waits[after]:
                free.append(after)
    return depth
