"""How the C library keeps memory for the threads of a process."""

import ctypes

ARENAS = 2
M_ARENA_MAX = -8  # of glibc's malloc.h


def share_heaps() -> None:
    """Let all threads share two heaps, where the C library is glibc.

    Each thread would have one of its own and keep what its largest request needed: a process of
    eight threads then holds a fifth more than it uses.
    """
    try:
        mallopt = ctypes.CDLL(None).mallopt
    except (OSError, AttributeError):  # another C library
        return
    mallopt(M_ARENA_MAX, ARENAS)
