"""The drawing of a workflow: steps in columns by their longest path from a first step.

A drawing of thousands of steps is unreadable, so surplus steps share one box with counts.
"""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field

from workflows.domain.graph import layers
from workflows.domain.kinds import Callback
from workflows.domain.rows import StepRow
from workflows.services.display import own_state
from workflows.services.show import Whole

COLUMNS, ROWS = 24, 10  # most columns and rows; surplus steps share a box
WIDTH, HEIGHT = 190, 44
GAP_X, GAP_Y = 56, 14
MARGIN = 4
LINES = 1500
ABREAST = 5  # boxes in a row if no step depends on another
LABEL, NOTE = 20, 27  # characters that fit
# order of importance for an operator
INTEREST = (
    "failed", "retryable", "active", "available", "scheduled", "pending", "cancelled", "waiting",
    "skipped", "completed",
)  # fmt: skip


@dataclass(slots=True)
class Node:
    """A box, in pixels; `job_id` and `workflow_id` are the targets of its link."""

    state: str
    label: str
    note: str
    title: str
    x: int = 0
    y: int = 0
    job_id: str | None = None
    workflow_id: str | None = None

    @property
    def middle(self) -> int:
        """Return the height at which lines begin and end."""
        return self.y + HEIGHT // 2


@dataclass(slots=True)
class Drawing:
    """Boxes and the lines between them, as SVG paths."""

    width: int
    height: int
    nodes: list[Node] = field(default_factory=list)
    lines: list[str] = field(default_factory=list)
    box_width: int = WIDTH
    box_height: int = HEIGHT


def draw(whole: Whole) -> Drawing:
    """Arrange a workflow."""
    edges = _edges(whole)
    columns = _columns(whole.steps, layers(edges))
    places: dict[int, Node] = {}
    drawn = [_column(steps, whole, places) for steps in columns]
    if len(drawn) == 1:
        drawn = [drawn[0][n::ABREAST] for n in range(min(ABREAST, len(drawn[0])))]
    tallest = max(map(len, drawn), default=0)
    drawing = Drawing(
        width=len(drawn) * (WIDTH + GAP_X) - GAP_X + 2 * MARGIN,
        height=tallest * (HEIGHT + GAP_Y) - GAP_Y + 2 * MARGIN,
    )
    for n, nodes in enumerate(drawn):
        top = MARGIN + (tallest - len(nodes)) * (HEIGHT + GAP_Y) // 2
        for m, node in enumerate(nodes):
            node.x, node.y = MARGIN + n * (WIDTH + GAP_X), top + m * (HEIGHT + GAP_Y)
            drawing.nodes.append(node)
    drawing.lines = _lines(edges, places)
    return drawing


def _edges(whole: Whole) -> list[list[int]]:
    members = [step.index for step in whole.steps if step.callback == Callback.NONE]
    return [step.depends_on if step.callback == Callback.NONE else members for step in whole.steps]


def _columns(steps: Sequence[StepRow], depths: Sequence[int]) -> list[list[StepRow]]:
    """Sort steps into columns; if there are too many, the middle columns become one."""
    last = max(depths, default=0)
    head = COLUMNS // 2

    def place(depth: int) -> int:
        if last < COLUMNS or depth < head:
            return depth
        return max(head, depth - last + COLUMNS - 1)

    columns: list[list[StepRow]] = [[] for _ in range(min(last + 1, COLUMNS))]
    for step, depth in zip(steps, depths, strict=True):
        columns[place(depth)].append(step)
    return columns


def _column(steps: list[StepRow], whole: Whole, places: dict[int, Node]) -> list[Node]:
    """Make the boxes of one column and store in `places` the box of each step."""
    shown = steps
    if len(steps) > ROWS and _is_chain(steps):
        shown = []
    elif len(steps) > ROWS:
        by_interest = sorted(steps, key=lambda step: INTEREST.index(own_state(step)))
        shown = sorted(by_interest[: ROWS - 1], key=lambda step: step.index)
    nodes = [_node(step, whole) for step in shown]
    places |= {step.index: node for step, node in zip(shown, nodes, strict=True)}
    kept = {step.index for step in shown}
    if rest := [step for step in steps if step.index not in kept]:
        nodes.append(_gathered(rest))
        places |= dict.fromkeys((step.index for step in rest), nodes[-1])
    return nodes


def _is_chain(steps: Sequence[StepRow]) -> bool:
    """Return whether a column is the merged middle of a long workflow."""
    own = {step.index for step in steps}
    return any(own.intersection(step.depends_on) for step in steps)


def shown_state(step: StepRow, whole: Whole) -> str:
    """Return the state of a step; a step that an ended workflow did not need is skipped."""
    state = own_state(step)
    return "skipped" if state == "waiting" and whole.row.finished_at else state


def _node(step: StepRow, whole: Whole) -> Node:
    state = shown_state(step, whole)
    note = f"{step.name} · {state}"
    if step.callback != Callback.NONE:
        note = f"{Callback(step.callback).wire} · {state}"
    elif step.child_id is not None:
        inner = whole.inside[step.index].row
        note = f"{inner.completed} of {inner.members} · {state}"
    return Node(
        state, _short(step.type, LABEL), _short(note, NOTE), f"{step.name}: {step.type}, {state}",
        job_id=step.job_id, workflow_id=step.child_id,
    )  # fmt: skip


def _gathered(steps: Sequence[StepRow]) -> Node:
    counted = Counter(own_state(step) for step in steps)
    found = [(state, counted[state]) for state in INTEREST if counted[state]]
    text = ", ".join(f"{number} {state}" for state, number in found)
    return Node(found[0][0], f"{len(steps):,} more", _short(text, NOTE), text)


def _short(text: str, most: int) -> str:
    return text if len(text) <= most else text[: most - 1] + "…"


def _lines(edges: Sequence[Sequence[int]], places: dict[int, Node]) -> list[str]:
    lines: dict[str, None] = {}  # in order, without duplicates: merged steps share their lines
    for n, after in enumerate(edges):
        for before in after:
            start, end = places[before], places[n]
            if start is not end and len(lines) < LINES:
                lines[_curve(start, end)] = None
    return list(lines)


def _curve(start: Node, end: Node) -> str:
    x, y, to_x, to_y = start.x + WIDTH, start.middle, end.x, end.middle
    bend = (to_x - x) // 2
    return f"M{x} {y}C{x + bend} {y} {to_x - bend} {to_y} {to_x} {to_y}"
