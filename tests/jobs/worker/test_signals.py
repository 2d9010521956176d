"""Signals of a worker process."""

import subprocess
import sys

from tests.processes import DEADLINE_S

HOLDING_A_LOCK = """
import signal, threading
from ojs_tasks.worker.signals import answer

lock, answered = threading.Lock(), threading.Event()

def act():
    with lock:
        answered.set()

answer({signal.SIGTERM: act})
with lock:
    signal.raise_signal(signal.SIGTERM)
    signal.raise_signal(signal.SIGTERM)
answered.wait()
"""


def test_a_signal_may_arrive_while_the_main_thread_holds_the_lock_its_action_needs() -> None:
    subprocess.run([sys.executable, "-c", HOLDING_A_LOCK], check=True, timeout=DEADLINE_S)
