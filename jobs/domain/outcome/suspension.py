"""An attempt that ends because its job waits for a time or for a signal. Spec: contract 34.2."""

from ojs_tasks.worker.ports import Suspend as Suspension

__all__ = ["Suspension"]
