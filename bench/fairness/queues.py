"""Promises about queue rotation: shares, the least share, cycles, no lost capacity."""

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from random import Random

from bench.fairness.fetchers import Answer, Fetched
from bench.fairness.finding import Finding, at_most
from bench.fairness.shares import longest_wait, shares_of, widest_gap, worst_share
from bench.fairness.stage import Order, Stage, Start

MIXED, WINDOW, POINTS = 50, 1000, 2.0  # jobs of a FETCH at most
SINGLE_WINDOW, SINGLE_POINTS = 5000, 1.0
MOST_QUEUES, MOST_WEIGHT = 100, 100
MARGIN = 100  # jobs above the share of a queue, so that no queue runs empty


@dataclass(frozen=True, slots=True)
class Size:
    """The size of a test."""

    vectors: int  # of random weights
    single: int  # vectors that are also fetched one by one
    starts: int
    single_starts: int


QUICK = Size(vectors=2, single=0, starts=1500, single_starts=5100)
WHOLE = Size(vectors=20, single=20, starts=4000, single_starts=5500)


def weighted(stage: Stage, size: Size) -> Iterator[Finding]:
    """Each queue has the share of its weight, for any weights and any sizes of fetches."""
    draw = Random(f"{stage.seed}.weights")  # noqa: S311 - must be repeatable
    vectors = [[5, 3, 1]]
    for _ in range(size.vectors):
        number = draw.randint(2, MOST_QUEUES)
        vectors.append([draw.randint(1, MOST_WEIGHT) for _ in range(number)])
    for n, vector in enumerate(vectors):
        title = "5:3:1" if n == 0 else f"{len(vector)} queues, random weights no. {n}"
        yield from _weighted(stage, f"w{n}", title, vector, size.starts, MIXED)
        if n <= size.single:
            yield from _weighted(stage, f"s{n}", title, vector, size.single_starts, 1)


def _weighted(
    stage: Stage, name: str, title: str, vector: list[int], starts: int, most: int
) -> Iterator[Finding]:
    weights = {f"{name}-{n}": weight for n, weight in enumerate(vector)}
    shares = shares_of(weights)
    # running fetches continue after the total is reached
    asked = starts + stage.number * most
    stocks = {queue: math.ceil(asked * part) + MARGIN for queue, part in shares.items()}
    stage.fill(stocks)
    wish = stage.pool(name, queues=weights, strategy="weighted")
    fetched = stage.fetchers().fetch(wish, starts, most)
    order = stage.order(list(weights), fetched)
    window, points = (SINGLE_WINDOW, SINGLE_POINTS) if most == 1 else (WINDOW, POINTS)
    worst = 100 * worst_share(order.queues(), shares, window)
    how = "fetch(1)" if most == 1 else f"fetch(1..{most})"
    yield at_most("weighted", f"{title}, {how}: points off in any {window:,}", points, worst)
    yield from _sound("weighted", f"{title}, {how}", order, fetched, sum(stocks.values()))


def least_ratio(stage: Stage, size: Size) -> Iterator[Finding]:
    """No queue waits longer than its least share allows, not even after it ran empty."""
    for n, (strategy, queues, ratio) in enumerate(
        (("strict", 2, 0.1), ("strict", 3, 0.05), ("strict", 3, 1 / 3), ("weighted", 10, 0.1),
         ("weighted", 5, 0.02))
    ):  # fmt: skip
        for most in (1, MIXED):
            yield _least(stage, f"r{n}-{most}", strategy, (queues, ratio), size.starts, most)
    yield _least_of_one_that_comes_back(stage, size.starts)


def _least(
    stage: Stage, name: str, strategy: str, among: tuple[int, float], starts: int, most: int
) -> Finding:
    number, ratio = among
    weights = {f"{name}-{n}": 1000 if n == 0 else 1 for n in range(number)}
    stocks = dict.fromkeys(weights, starts + stage.number * most + MARGIN)
    stage.fill(stocks)
    wish = stage.pool(
        name, queues=weights, strategy=strategy, starvation_prevention=_least_of(ratio)
    )
    order = stage.order(list(weights), stage.fetchers().fetch(wish, starts, most))
    longest = max(longest_wait(order.queues(), stocks).values())
    title = f"{strategy}, {number} queues of at least {ratio:.3g}, fetch(1..{most}): longest wait"
    return at_most("least share", title, _allowed(ratio), longest)


def _least_of(ratio: float) -> Mapping[str, object]:
    return {"enabled": True, "rotation_interval": "PT30S", "min_dispatch_ratio": ratio}


def _allowed(ratio: float) -> int:
    """Return how many turns in a row may go to other queues: any N have floor(N x r)."""
    return math.floor(1 / ratio + 1e-9) - 1


def _least_of_one_that_comes_back(stage: Stage, starts: int) -> Finding:
    first, low, ratio, few = "back-first", "back-low", 0.1, 20
    stocks = {first: 2 * starts + MARGIN, low: few}
    stage.fill(stocks)
    wish = stage.pool("back", queues=[first, low], strategy="strict",
                      starvation_prevention=_least_of(ratio))  # fmt: skip
    marks: list[int] = []

    def refill(fetched: Fetched) -> None:
        fetched.wait_for(starts // 2)
        stage.fill({low: starts})
        marks.append(stage.last_event())

    order = stage.order([first, low], stage.fetchers().fetch(wish, starts, 1, refill))
    at = sum(start.seq <= marks[0] for start in order.starts)
    # one claim may have read before the refill's commit, and one turn may be owed from before
    longest = max(longest_wait(order.queues(), stocks, [(at + 2, low, starts)]).values())
    title = f"strict, a queue of at least {ratio} that ran empty and came back: longest wait"
    return at_most("least share", title, _allowed(ratio), longest)


def cycles(stage: Stage, size: Size) -> Iterator[Finding]:
    """Round-robin keeps queues with jobs within one turn of each other."""
    for most in (1, MIXED):
        names = [f"c{most}-{n}" for n in range(10)]
        stage.fill(dict.fromkeys(names, size.starts // 10 + stage.number * most + MARGIN))
        wish = stage.pool(f"c{most}", queues=names)
        order = stage.order(names, stage.fetchers().fetch(wish, size.starts, most))
        gap = widest_gap(order.queues(), names)
        title = f"10 queues, {stage.number} fetchers of 1..{most}: turns that two differ by"
        yield at_most("round-robin", title, stage.number, gap, "one per fetcher")


def conserved(stage: Stage, size: Size) -> Iterator[Finding]:
    """No fetch goes without a job while jobs are available, nor gets fewer than possible."""
    draw = Random(f"{stage.seed}.stocks")  # noqa: S311 - must be repeatable
    for strategy in ("round-robin", "weighted", "strict", "least-loaded"):
        name = f"wc-{strategy}"
        # most of the queues are empty, the rest end one after the other
        stocks = {f"{name}-{n}": draw.randint(1, size.starts // 5) if n % 5 == 0 else 0
                  for n in range(50)}  # fmt: skip
        stage.fill({queue: number for queue, number in stocks.items() if number})
        wish = stage.pool(name, queues=list(stocks), strategy=strategy, weights={
            queue: draw.randint(1, MOST_WEIGHT) for queue in stocks
        })  # fmt: skip
        total = sum(stocks.values())
        fetched = stage.fetchers().fetch(wish, total, MIXED)
        order = stage.order(list(stocks), fetched)
        title = f"{strategy}, 50 queues, 40 of them empty"
        # other strategies take no lock: their claims have no order that shows the visible jobs
        is_ordered = strategy in {"round-robin", "weighted"}
        yield from _sound("work", title, order, fetched, total, is_ordered=is_ordered)


def _sound(
    scenario: str, title: str, order: Order, fetched: Fetched, total: int, *,
    is_ordered: bool = True,
) -> Iterator[Finding]:  # fmt: skip
    """Every claim gave as many jobs as possible, and no job was handed out twice."""
    ids = [job_id for answer in fetched.answers for job_id in answer.ids]
    yield at_most(scenario, f"{title}: jobs handed out twice", 0, len(ids) - len(set(ids)))
    if is_ordered:
        yield at_most(scenario, f"{title}: claims inside one another", 0, order.overlaps)
        short = _short(order, total)
        yield at_most(scenario, f"{title}: fetches with less than there was", 0, short)
    early = _early(order.starts, fetched.answers)
    yield at_most(scenario, f"{title}: idle answers before the last start", 0, early)


def _short(order: Order, total: int) -> int:
    left, found = total, 0
    for answer, taken in order.claims:
        found += len(taken) < min(answer.asked, left)
        left -= len(taken)
    return found


def _early(starts: tuple[Start, ...], answers: list[Answer]) -> int:
    last = max(start.at for start in starts)
    return sum(not answer.ids and answer.at < last for answer in answers)
