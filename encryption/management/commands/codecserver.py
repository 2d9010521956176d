"""manage.py codecserver: decode arguments for the browsers of operators."""

from typing import Any
from urllib.parse import urlsplit

from django.conf import settings
from django.core.management.base import BaseCommand, CommandError, CommandParser
from django.core.wsgi import get_wsgi_application

from encryption.conf import conf
from jobs.domain.extras import missing
from ojs_tasks.codecs import Encryption, Gzip, KeyRing, Zstd
from ojs_tasks.codecs.configured import coding

KEYS = "OJS_CODEC_KEYS"


class Command(BaseCommand):
    """Serve POST /codec/decode and /codec/encode."""

    help = (
        "Decode arguments for the browsers of operators. It needs the keys of the codecs, in"
        " OJS['CODECS'] or in OJS_CODEC_KEYS. Run it apart from the server, which has none."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        """Declare the options."""
        parser.add_argument("--bind", default="127.0.0.1:8300", help="address:port")
        parser.add_argument(
            "--origin", required=True, help="of the console, such as https://jobs.example.org"
        )
        parser.add_argument("--keys", help=f"a file with the keys; default: the variable {KEYS}")
        parser.add_argument("--threads", type=int, default=4)

    def handle(self, *_arguments: Any, **options: Any) -> None:
        """Serve until a signal ends the process."""
        if problem := missing("the codec server", "gunicorn"):
            raise CommandError(problem)
        if not conf().codec_server_url:
            raise CommandError("OJS_CODEC_SERVER_URL must be the address that browsers use")
        origin = urlsplit(options["origin"])
        if origin.scheme not in {"https", "http"} or not origin.netloc or origin.path.strip("/"):
            raise CommandError("--origin must be an origin such as https://jobs.example.org")
        try:
            configure(f"{origin.scheme}://{origin.netloc}", options["keys"])
        except (ValueError, OSError) as problem:
            raise CommandError(str(problem)) from None
        serve(options["bind"], options["threads"])


def configure(origin: str, keys: str | None) -> None:
    """Make the settings of this process those of a codec server. Raises ValueError or OSError."""
    if not settings.OJS.get("CODECS"):
        ring = KeyRing.from_file(keys) if keys else KeyRing.from_env(KEYS)
        settings.OJS = {**settings.OJS, "CODECS": [*_compression(), Encryption(ring)]}
    coding()
    settings.ROOT_URLCONF = "encryption.codec_server.urls"
    settings.MIDDLEWARE = ["django.middleware.common.CommonMiddleware"]
    settings.CODEC_SERVER_ORIGIN = origin


def serve(bind: str, threads: int) -> None:
    """Serve with gunicorn."""
    from gunicorn.app.base import BaseApplication  # noqa: PLC0415 - of the extra `server`

    class Server(BaseApplication):  # type: ignore[misc]  # gunicorn has no types
        def load_config(self) -> None:
            chosen = {"bind": bind, "threads": threads, "workers": 1, "loglevel": "warning"}
            for name, value in {**chosen, "worker_class": "gthread"}.items():
                self.cfg.set(name, value)
            self.cfg.set("control_socket_disable", True)  # noqa: FBT003 - its own interface

        def load(self) -> Any:
            return get_wsgi_application()

    Server().run()


def _compression() -> list[Any]:
    try:
        return [Gzip(), Zstd()]
    except ImportError:
        return [Gzip()]
