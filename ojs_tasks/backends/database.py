"""`DatabaseBackend`: tasks as jobs in the database of this process."""

from functools import cached_property
from importlib import import_module
from typing import Any

from django.core.checks import CheckMessage, Error

from ojs_tasks.backends.base import OJSBackend
from ojs_tasks.installed import has_app
from ojs_tasks.server import LOCAL, Server, stand_in, with_codecs


class DatabaseBackend(OJSBackend):
    """Stores tasks with the server's apps. An enqueue joins the caller's transaction."""

    @property
    def server(self) -> Server:
        """The server of this process, or that of a test."""
        return stand_in(remote=False) or self._local

    @cached_property
    def _local(self) -> Server:
        made: Server = import_module(LOCAL).LocalServer()
        return with_codecs(made)

    def check(self, **kwargs: Any) -> list[CheckMessage]:
        """Return the problems of the settings of this backend."""
        if has_app("jobs"):
            return super().check(**kwargs)
        return [
            Error(
                f"TASKS[{self.alias!r}] stores tasks in the database without the server's apps.",
                hint="Add 'jobs' to INSTALLED_APPS, or use ojs_tasks.backends.HTTPBackend.",
                id="ojs_tasks.E104",
            )
        ]
