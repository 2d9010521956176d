"""Promises about tenants that share a queue: a burst delays no other tenant; fair shares."""

from collections.abc import Iterator, Sequence
from string import ascii_uppercase

from bench.fairness.fetchers import Fetched
from bench.fairness.finding import Finding, at_least, at_most
from bench.fairness.queues import MARGIN, MIXED, POINTS, WINDOW
from bench.fairness.shares import shares_of, worst_jain, worst_share
from bench.fairness.stage import Stage, Start

OWN, TIMES = 10, 2  # jobs of each other tenant, and their bound
JAIN, TOGETHER = 0.99, 0.95


def burst(stage: Stage, jobs: int) -> Iterator[Finding]:
    """One tenant's backlog does not delay 25 other tenants whose jobs arrive after it."""
    first, others = ascii_uppercase[0], ascii_uppercase[1:]
    for most in (1, MIXED):
        queue = f"burst-{most}"
        stage.fill({(queue, first): jobs})
        marks: list[int] = []

        def come(fetched: Fetched, queue: str = queue, marks: list[int] = marks) -> None:
            fetched.wait_for(MARGIN)
            stage.fill({(queue, tenant): OWN for tenant in others})
            marks.append(stage.last_event())

        bound = TIMES * OWN * len(ascii_uppercase)
        asked = MARGIN + 6 * bound + stage.number * most
        wish = {"queues": [queue]}
        fetched = stage.fetchers().fetch(wish, min(asked, jobs), most, come)
        starts = stage.order([queue], fetched).by_number()
        last = starts_of_others(starts, first, marks[0])
        missing = OWN * len(others) - sum(start.tenant != first for start in starts)
        title = f"A has {jobs:,}, B to Z come with {OWN} each, fetch(1..{most})"
        yield at_most("tenants", f"{title}: turns until their last start", bound, last)
        yield at_most("tenants", f"{title}: of their jobs not started by then", 0, missing)


def starts_of_others(starts: Sequence[Start], first: str, since: int) -> int:
    """Return after how many starts since the event `since` the last one of another tenant came.

    It is 0 where all of them had started by then: they arrive in several statements, and fast
    claims need not wait for the last of these.
    """
    after = [start.tenant for start in starts if start.seq > since]
    return max((n for n, tenant in enumerate(after, 1) if tenant != first), default=0)


def together(stage: Stage, starts: int) -> Iterator[Finding]:
    """Tenants that share over several queues get their shares of all queues together."""
    weights = {"A": 5, "B": 3, "C": 1, "D": 1}
    for most in (1, MIXED):
        how = f"fetch(1..{most})"
        asked = starts + stage.number * most + MARGIN
        queues, names = [f"together-{most}-{n}" for n in range(8)], [f"t{n}" for n in range(20)]
        fairness: dict[str, object] = {"scope": "pool"}
        # half of them are in two queues only, the rest in all
        stage.fill({
            (queue, name): asked // 10
            for n, name in enumerate(names)
            for k, queue in enumerate(queues)
            if n % 2 or k in {n // 2 % 8, (n // 2 + 3) % 8}
        })  # fmt: skip
        wish = stage.pool(f"together-{most}", queues=queues, tenant_fairness=fairness)
        fetched = stage.fetchers().fetch(wish, starts, most)
        order = [start.tenant for start in stage.order(queues, fetched).starts]
        found = worst_jain(order, names, WINDOW)
        title = f"20 equal of 8 queues, {how}: Jain's index of any {WINDOW:,}"
        yield at_least("tenants", title, TOGETHER, found)

        queues = [f"weights-{most}-{n}" for n in range(4)]
        fairness = {"scope": "pool", "weights": {"A": 5, "B": 3}}
        stage.fill({
            (queue, tenant): asked
            for k, queue in enumerate(queues) for n, tenant in enumerate(weights)
            if n < 2 or k % 2 == n % 2  # noqa: PLR2004 - the light ones are in two each
        })  # fmt: skip
        wish = stage.pool(f"weights-{most}", queues=queues, tenant_fairness=fairness)
        fetched = stage.fetchers().fetch(wish, starts, most)
        order = [start.tenant for start in stage.order(queues, fetched).starts]
        worst = 100 * worst_share(order, shares_of(weights), WINDOW)
        title = f"5:3:1:1 of 4 queues, {how}: points off in any {WINDOW:,}"
        yield at_most("tenants", title, POINTS, worst)


def shared(stage: Stage, starts: int) -> Iterator[Finding]:
    """Tenants of a queue get equal shares, or shares by their weights."""
    for most in (1, MIXED):
        asked = starts + stage.number * most + MARGIN
        how = f"fetch(1..{most})"
        queue, names = f"equal-{most}", [f"t{n}" for n in range(20)]
        stage.fill({(queue, name): asked // 10 for name in names})
        fetched = stage.fetchers().fetch({"queues": [queue]}, starts, most)
        order = [start.tenant for start in stage.order([queue], fetched).starts]
        found = worst_jain(order, names, WINDOW)
        yield at_least("tenants", f"20 equal, {how}: Jain's index of any {WINDOW:,}", JAIN, found)

        queue, weights = f"weighted-{most}", {"A": 5, "B": 3, "C": 1, "D": 1}
        stage.fill({(queue, tenant): asked for tenant in weights})
        fairness = {"weights": {"A": 5, "B": 3}, "default_weight": 1}
        wish = stage.pool(queue, queues=[queue], tenant_fairness=fairness)
        fetched = stage.fetchers().fetch(wish, starts, most)
        order = [start.tenant for start in stage.order([queue], fetched).starts]
        worst = 100 * worst_share(order, shares_of(weights), WINDOW)
        yield at_most("tenants", f"5:3:1:1, {how}: points off in any {WINDOW:,}", POINTS, worst)
