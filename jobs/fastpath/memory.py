"""Settings of the garbage collector, the C library and the kernel for the memory of a process."""

import ctypes
import gc
import re
from pathlib import Path
from typing import Final

M_ARENA_MAX: Final = -8  # of glibc's malloc.h
LARGE: Final = 2 * 1024 * 1024  # bytes of a large page of x86 and ARM
MADV_COLLAPSE: Final = 25  # of Linux 6.1's mman.h
HEAP: Final = re.compile(r"([0-9a-f]+)-([0-9a-f]+) rw-p \S+ \S+ 0 *(\[heap\])?")  # maps no file
YOUNG: Final = (
    10_000  # objects; with Python's default of 700 the collector took 3 % of the API's time
)


def prepare_memory() -> None:
    """Prepare the memory of a process that has loaded everything, before its first request."""
    share_heap()
    gc.freeze()  # loaded objects stay: the collector need not scan them
    use_large_pages()
    gc.set_threshold(YOUNG, 10, 10)  # requests leave few cycles: collect less often


def share_heap() -> None:
    """Let all threads share one heap, where the C library is glibc.

    With a heap of its own, each thread would keep the memory of its largest request. A process of
    eight threads then holds a fifth more than it uses.
    """
    try:
        mallopt = ctypes.CDLL(None).mallopt
    except (OSError, AttributeError):  # another C library
        return
    mallopt(M_ARENA_MAX, 1)


def use_large_pages() -> None:
    """Move the memory that is loaded now into large pages, where the kernel supports it.

    A request reads all over the heap. Translating the addresses of small pages, anew after each
    wait for the database, took a tenth of its time. On other kernels nothing changes.
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
