"""JSON of arguments: the error names the place of a value without a JSON form."""

from datetime import date
from typing import Any
from uuid import UUID

import pytest

from ojs_tasks import enqueue
from ojs_tasks.arguments import joined
from ojs_tasks.documents import dumps
from ojs_tasks.signatures import Signature
from ojs_tasks.testing import enqueued, in_memory

DAY = date(2026, 5, 4)
KEY = UUID(int=1)


class Order:
    """Such as a model."""

    pk = 1


@pytest.mark.parametrize(
    ("args", "message"),
    [
        (
            joined([1, {"of": [Order()]}], {}),
            r"args\[1\].of\[0\] is of the class Order: pass its id",
        ),
        (joined([1], {"order": {2, 3}}), r"JSON: order is of the class set$"),
        ([2**70, KEY, object()], r"args\[2\] is of the class object$"),
    ],
)
def test_a_value_without_json_is_named(args: list[Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        dumps({"type": "shop.pay", "args": args})


def test_times_and_uuids_become_text_also_beside_a_long_integer_and_in_memory() -> None:
    text = [DAY.isoformat(), str(KEY)]

    assert dumps([DAY, KEY]).decode() == str(text).replace("'", '"').replace(", ", ",")
    assert dumps([2**70, KEY]).decode() == f'[{2**70},"{KEY}"]'
    with in_memory():
        enqueue([Signature[None]("shop.pay", [DAY, KEY])])
        assert [list(one.args) for one in enqueued("shop.pay")] == [text]
