"""The order: shipped, refused by the bank, by a person, and by nobody."""

from typing import Any

import pytest

from ojs_tasks.testing import make_due, run_available
from tests.examples.conftest import Example

pytestmark = pytest.mark.usefixtures("place")

BOUGHT = ["reserve 7", "charge 7 2000"]
UNDONE = [*BOUGHT, "refund payment-7", "release stock-7"]


@pytest.mark.parametrize(
    ("amount", "answer", "result", "ledger"),
    [
        (20, None, {"state": "shipped", "label": "label-7"},
         ["reserve 7", "charge 7 20", "ship 7"]),
        (2000, {"approved": True}, {"state": "shipped", "label": "label-7"}, [*BOUGHT, "ship 7"]),
        (2000, {"approved": False, "reason": "fraud"}, {"state": "refused", "reason": "fraud"},
         UNDONE),
        (2000, None, {"state": "refused", "reason": "nobody approved it"}, UNDONE),
        (9000, None, {"state": "refused", "reason": "no cover"},
         ["reserve 7", "charge 7 9000", "release stock-7"]),
    ],
)  # fmt: skip
def test_order_ends_with_each_effect_once(
    example: Example, amount: int, answer: Any, result: dict[str, str], ledger: list[str]
) -> None:
    order = example("order")
    handle = order.fulfil.enqueue("7", amount)
    run_available()
    if answer is not None:
        handle.signal("approval", answer)
    else:
        make_due()
    run_available()

    assert handle.refresh().result(0) == result
    assert order.ledger == ledger


def test_services_that_are_down_are_called_again(
    example: Example, monkeypatch: pytest.MonkeyPatch
) -> None:
    order = example("order")
    release = order.release
    down = ["down", "down"]

    def flaky(stock: str) -> None:
        if down:
            raise OSError(down.pop())
        release(stock)

    monkeypatch.setattr(order, "release", flaky)
    handle = order.fulfil.enqueue("7", 9000)
    for _ in range(3):
        run_available(raises=False)
        make_due()

    assert handle.refresh().result(0) == {"state": "refused", "reason": "no cover"}
    assert order.ledger == ["reserve 7", "charge 7 9000", "release stock-7"]
