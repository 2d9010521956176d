"""Job ids. Spec: contract 1.1, D3; contract 10.1: a batch keeps its order."""

import os

import pytest

from jobs.domain.wire.ids import is_id, new_id, request_id
from tests.concurrency import at_once

GOOD = "0197a0c2-5b1e-7c44-9a10-6f2d8c3b7e55"


@pytest.mark.parametrize("text", [GOOD, GOOD.replace("9a10", "8a10"), GOOD.replace("9a10", "ba10")])
def test_a_uuid_of_version_7_in_lower_case_is_an_id(text: str) -> None:
    assert is_id(text)


@pytest.mark.parametrize(
    "text",
    [
        GOOD.upper(),
        GOOD.replace("7c44", "4c44"),
        GOOD.replace("9a10", "7a10"),
        GOOD.replace("9a10", "ca10"),
        GOOD.replace("-", ""),
        f"{{{GOOD}}}",
        f"urn:uuid:{GOOD}",
        f"{GOOD} ",
        f"{GOOD}\n",
        GOOD[:-1],
        "",
        None,
        7,
        [GOOD],
    ],
)
def test_anything_else_is_not(text: object) -> None:
    assert not is_id(text)


def test_new_ids_ascend() -> None:
    ids = [new_id() for _ in range(10_000)]

    assert all(map(is_id, ids))
    assert ids == sorted(set(ids))


def test_second_halves_of_ids_are_random_but_for_the_variant() -> None:
    halves = [new_id()[19:] for _ in range(10_000)]

    assert len(set(halves)) == len(halves)
    assert {half[0] for half in halves} == set("89ab")
    assert all(
        {half[place] for half in halves} == set("0123456789abcdef")
        for place in (*range(1, 4), *range(5, 17))
    )


def test_a_forked_process_makes_second_halves_of_its_own() -> None:
    new_id()  # the child inherits the random bits that this process keeps for the next ids
    reading, writing = os.pipe()

    child = os.fork()
    if not child:
        os.write(writing, "".join(new_id() for _ in range(10)).encode())
        os._exit(0)

    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    told = os.read(reading, 4096).decode()
    of_child = {told[n + 19 : n + 36] for n in range(0, len(told), 36)}
    os.close(reading)
    os.close(writing)
    assert len(of_child) == 10
    assert of_child.isdisjoint(new_id()[19:] for _ in range(1000))


def test_new_ids_of_many_threads_ascend_in_each_and_never_meet() -> None:
    made = at_once([lambda: [new_id() for _ in range(2000)]] * 8)

    assert all(ids == sorted(ids) for ids in made)
    assert len({job_id for ids in made for job_id in ids}) == 8 * 2000


def test_a_request_id_is_a_prefixed_id() -> None:
    assert is_id(request_id().removeprefix("req_"))
