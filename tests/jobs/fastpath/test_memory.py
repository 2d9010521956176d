"""The memory of a server process."""

import ctypes

import pytest

from jobs.fastpath import memory


def test_heap_stays_as_it_is_in_large_pages() -> None:
    kept = [ctypes.create_string_buffer(bytes([n % 256]) * 4096) for n in range(2048)]

    memory.use_large_pages()

    assert all(block.raw[:4096] == bytes([n % 256]) * 4096 for n, block in enumerate(kept))


@pytest.mark.parametrize(
    ("line", "is_heap"),
    [
        ("55d0-55e0 rw-p 00000000 00:00 0                          [heap]", True),
        ("7f00-7f10 rw-p 00000000 00:00 0 ", True),
        ("7f00-7f10 rw-p 00000000 00:00 0", True),
        ("7f00-7f10 rw-p 00000000 00:00 0                          [stack]", False),
        ("7f00-7f10 ---p 00000000 00:00 0 ", False),
        ("7f00-7f10 rw-s 00000000 00:01 77                         /dev/zero (deleted)", False),
        ("7f00-7f10 rw-p 0001f000 08:01 131                        /usr/lib/libc.so.6", False),
    ],
)
def test_large_pages_are_for_memory_without_a_file(line: str, *, is_heap: bool) -> None:
    assert (memory.HEAP.fullmatch(line) is not None) is is_heap
