"""The worker class of gunicorn: a process that serves until a signal ends it."""

import os
import resource
import signal
import threading
from dataclasses import replace
from time import monotonic, sleep
from typing import TYPE_CHECKING, Any, Final

from gunicorn.sock import ssl_context
from gunicorn.workers.base import Worker

from jobs.domain.access import peers

if TYPE_CHECKING:
    from ojs_project.serving.server import Server

OTHER_FILES: Final = 1_024  # connections of the database, streams, modules
LOOK_S: Final = 0.25  # between two checks for late clients
END_LOOK_S: Final = 0.02  # between two checks whether all requests are answered


class OJSWorker(Worker):  # type: ignore[misc]  # gunicorn has no types
    """Serves requests with a fixed number of threads, none of which waits for a client."""

    def init_process(self) -> None:
        """Load the application and serve."""
        self._ending = threading.Event()
        super().init_process()

    def init_signals(self) -> None:
        """Let SIGTERM end the process at once until it serves."""
        super().init_signals()
        signal.signal(signal.SIGTERM, signal.SIG_DFL)
        signal.set_wakeup_fd(-1)

    def handle_exit(self, sig: int, frame: Any) -> None:
        """End after the received requests are answered."""
        self.alive = False
        self._ending.set()

    def handle_quit(self, sig: int, frame: Any) -> None:
        """Do the same: Ctrl-C signals all processes of a terminal."""
        self.handle_exit(sig, frame)

    def run(self) -> None:
        """Serve until a signal, then for as long as the received requests need."""
        server = self._server()
        signal.signal(signal.SIGTERM, self.handle_exit)
        server.start()
        while self.alive and self.ppid == os.getppid():
            self.notify()
            server.look()
            self._ending.wait(LOOK_S)
        self._end(server)

    def _server(self) -> "Server":
        # these imports need settings, which the parent process does not have
        from django.conf import settings  # noqa: PLC0415

        from jobs.conf import conf  # noqa: PLC0415
        from ojs_project.serving.limits import Limits  # noqa: PLC0415
        from ojs_project.serving.server import Server  # noqa: PLC0415

        trusted = peers.networks(conf().trusted_proxies)
        limits = replace(
            Limits.of(getattr(settings, "OJS_HTTP", {})), max_body_bytes=conf().max_body_bytes
        )
        _allow_files(limits.connections + OTHER_FILES)
        return Server(
            self.wsgi,
            [listener.sock for listener in self.sockets],
            threads=self.cfg.threads,
            limits=limits,
            is_trusted=lambda client: peers.is_within(client, trusted),
            tls=ssl_context(self.cfg) if self.cfg.is_ssl else None,
        )

    def _end(self, server: "Server") -> None:
        """Close idle connections, finish requests, and notify streams. Spec: contract 33.3."""
        from jobs.api.record.follow import feed  # noqa: PLC0415
        from jobs.services.workers.draining import drain  # noqa: PLC0415

        server.drain()
        drain()
        feed.close("shutdown")
        until = monotonic() + self.cfg.graceful_timeout
        while not server.is_idle and monotonic() < until:
            self.notify()
            server.look()
            sleep(END_LOOK_S)
        server.stop()


def _allow_files(number: int) -> None:
    """Raise the soft limit of open files, at most to the hard limit."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if soft != resource.RLIM_INFINITY and soft < number:
        most = number if hard == resource.RLIM_INFINITY else min(number, hard)
        resource.setrlimit(resource.RLIMIT_NOFILE, (most, hard))
