"""Members of a JSON body, read one by one. Spec: contract 1 to 3."""

import pytest

from jobs.api.wire import members
from jobs.api.workers import worker_codec
from jobs.domain.errors import InvalidRequest


def test_a_problem_of_an_item_names_its_place() -> None:
    with pytest.raises(InvalidRequest) as refused:
        members.decode_item(worker_codec.decode_ack, 3, {})
    assert refused.value.details["index"] == 3

    with pytest.raises(InvalidRequest, match=r"acks\[1\] must be an object"):
        members.items({"acks": [{}, 5]}, "acks", 10)
