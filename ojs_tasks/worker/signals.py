"""Handle signals in a thread of their own.

A Python signal handler runs between two instructions of the main thread. At this moment the thread
may hold a lock (inside `Event.wait`, or inside the handler of the signal before). A handler that
takes the same lock then waits for ever. Handlers here only put a number into a queue, which is
reentrant.
"""

import signal
import threading
from collections.abc import Callable, Mapping
from queue import SimpleQueue


def answer(actions: Mapping[signal.Signals, Callable[[], object]]) -> None:
    """Call the action of each of these signals, in the order they arrive, from now on.

    For the main thread only. Several of one kind may arrive as one.
    """
    arrived: SimpleQueue[int] = SimpleQueue()

    def follow() -> None:
        while True:
            actions[signal.Signals(arrived.get())]()

    threading.Thread(target=follow, name="ojs-signals", daemon=True).start()
    for number in actions:
        signal.signal(number, lambda number, _frame: arrived.put(number))
