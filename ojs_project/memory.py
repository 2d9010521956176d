"""How the C library and the kernel keep the memory of a process."""

import ctypes
import re
from pathlib import Path
from typing import Final

M_ARENA_MAX: Final = -8  # of glibc's malloc.h
LARGE: Final = 2 * 1024 * 1024  # bytes of a large page of x86 and ARM
MADV_COLLAPSE: Final = 25  # of Linux 6.1's mman.h
HEAP: Final = re.compile(r"([0-9a-f]+)-([0-9a-f]+) rw-p \S+ \S+ 0 *(\[heap\])?")  # no file


def share_heap() -> None:
    """Let all threads share one heap, where the C library is glibc.

    Each thread would have one of its own and keep what its largest request needed: a process of
    eight threads then holds a fifth more than it uses.
    """
    try:
        mallopt = ctypes.CDLL(None).mallopt
    except (OSError, AttributeError):  # another C library
        return
    mallopt(M_ARENA_MAX, 1)


def use_large_pages() -> None:
    """Put what is loaded by now into large pages, where the kernel is one that can.

    A request goes all over the heap, and finding the addresses of small pages, anew after each
    wait for the database, was a tenth of its time. Where it does not work nothing changes.
    """
    try:
        madvise = ctypes.CDLL(None).madvise
        mapped = Path("/proc/self/maps").read_text().splitlines()
    except (OSError, AttributeError):  # another system
        return
    madvise.argtypes = (ctypes.c_size_t, ctypes.c_size_t, ctypes.c_int)
    for found in filter(None, map(HEAP.fullmatch, mapped)):
        start, end = -(-int(found[1], 16) // LARGE) * LARGE, int(found[2], 16) // LARGE * LARGE
        if start < end:
            madvise(start, end - start, MADV_COLLAPSE)
