"""An order with payment, approval and compensation: a saga in plain Python.

Each effect is a step: its result is stored, and no later attempt repeats it. A refusal of the bank
or of the approver is a result, no exception, so that each later attempt takes the same way. An
exception means that a service is down, and the step is tried again.
"""

from collections.abc import Callable
from datetime import timedelta
from typing import Any

from ojs_tasks import SignalTimeout, job, step

APPROVED_FROM = 1000  # amounts below need no approval
ledger: list[str] = []  # in the place of the services that a shop calls


def reserve(order: str) -> str:
    """Reserve the goods."""
    ledger.append(f"reserve {order}")
    return f"stock-{order}"


def charge(order: str, amount: int) -> dict[str, str]:
    """Charge the customer; the name of the order is the key that makes a repetition harmless."""
    ledger.append(f"charge {order} {amount}")
    return {"refused": "no cover"} if amount > 5000 else {"payment": f"payment-{order}"}  # noqa: PLR2004


def ship(order: str) -> str:
    """Send the goods; return the label."""
    ledger.append(f"ship {order}")
    return f"label-{order}"


def release(stock: str) -> None:
    """Undo `reserve`."""
    ledger.append(f"release {stock}")


def refund(payment: str) -> None:
    """Undo `charge`."""
    ledger.append(f"refund {payment}")


@job("order.fulfil", queue="examples", retry={"max_attempts": 20})
def fulfil(order: str, amount: int) -> dict[str, str]:
    """Reserve, charge, wait for the approval of large orders, ship; undo it all after a refusal."""
    undo: list[tuple[str, Callable[[Any], None], Any]] = []
    undo.append(("release", release, step("reserve", reserve, order)))
    paid = step("charge", charge, order, amount, retry={"max_attempts": 5})
    if "refused" in paid:
        return compensated(undo, paid["refused"])
    undo.append(("refund", refund, paid["payment"]))
    if amount >= APPROVED_FROM and (reason := refusal()):
        return compensated(undo, reason)
    return {"state": "shipped", "label": step("ship", ship, order)}


def refusal() -> str | None:
    """Wait three days for a person; return why the order is refused, None if it is not."""
    try:
        answer = step.wait_for("approval", timeout=timedelta(days=3))
    except SignalTimeout:
        return "nobody approved it"
    return None if answer["approved"] else str(answer["reason"])


def compensated(undo: list[tuple[str, Callable[[Any], None], Any]], reason: str) -> dict[str, str]:
    """Undo what was done, the latest first; each is a step, too."""
    for name, function, argument in reversed(undo):
        step(name, function, argument, retry={"max_attempts": 50})
    return {"state": "refused", "reason": reason}
