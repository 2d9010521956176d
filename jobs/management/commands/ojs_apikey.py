"""manage.py ojs_apikey: make, rotate, revoke and list API keys. Spec: contract 31.2."""

from datetime import datetime, timedelta
from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser
from django.utils import timezone

from jobs.domain.access import keys
from jobs.domain.access.caller import Caller
from jobs.domain.wire.durations import parse_short_duration
from jobs.models import ApiKey
from jobs.services.access import api_keys

CALLER = Caller("manage.py")


class Command(BaseCommand):
    """Make, rotate, revoke and list API keys; the text of a key is shown once."""

    help = "Make, rotate, revoke and list API keys."

    def add_arguments(self, parser: CommandParser) -> None:
        """Declare one sub-command per verb."""
        verbs = parser.add_subparsers(dest="verb", required=True, metavar="VERB")
        made = verbs.add_parser("create", help="make a key and show it")
        made.add_argument("name")
        add_options(made)
        renewed = verbs.add_parser("rotate", help="give a key a new secret and show it")
        renewed.add_argument("prefix")
        renewed.add_argument(
            "--grace", default="P1D", help="how long the old secret stays valid (default P1D)"
        )
        verbs.add_parser("revoke", help="end a key").add_argument("prefix")
        verbs.add_parser("list", help="list the keys, without their secrets")

    def handle(self, *_arguments: Any, **options: Any) -> None:
        """Run the verb."""
        if options["verb"] == "create":
            self.stdout.write(create(options))
        elif options["verb"] == "rotate":
            self.stdout.write(rotate(options["prefix"], options["grace"]))
        elif options["verb"] == "revoke":
            self.stdout.write(revoke(options["prefix"]))
        else:
            for line in listed():
                self.stdout.write(line)


def add_options(parser: CommandParser) -> None:
    """Declare the members of a key."""
    names = ", ".join([*sorted(keys.GROUPS), *sorted(keys.SCOPES)])
    parser.add_argument("--scopes", default="admin", help=f"comma-separated: {names}")
    parser.add_argument("--tenant", help="bind the key to a tenant")
    parser.add_argument("--queues-enqueue", default="", help="comma-separated globs")
    parser.add_argument("--queues-fetch", default="", help="comma-separated globs")
    parser.add_argument("--job-types", default="", help="comma-separated globs")
    parser.add_argument("--pool", help="bind workers that use the key to a pool")
    parser.add_argument("--region", help="bind a peer's key to its region")
    parser.add_argument(
        "--tls-subject", help="subject of a client certificate that works in place of the key"
    )
    parser.add_argument("--expires-in", help="a duration, such as P90D or 90d")


def create(options: dict[str, Any]) -> str:
    """Make a key; returns its text. Raises CommandError."""
    until = options["expires_in"]
    try:
        _, text = api_keys.create(
            api_keys.NewKey(
                name=options["name"],
                scopes=_split(options["scopes"]),
                tenant=options["tenant"],
                queues_enqueue=_split(options["queues_enqueue"]),
                queues_fetch=_split(options["queues_fetch"]),
                job_types=_split(options["job_types"]),
                expires_at=None if until is None else _after(until),
                tls_subject=options["tls_subject"],
                pool=options["pool"],
                region=options["region"],
            ),
            CALLER,
        )
    except ValueError as problem:
        raise CommandError(str(problem)) from None
    return text


def rotate(named: str, grace: str) -> str:
    """Give a key a new secret; returns its new text. Raises CommandError."""
    text = api_keys.rotate(_prefix(named), _duration("--grace", grace), CALLER)
    if text is None:
        raise CommandError(f"no valid key has the prefix {_prefix(named)}")
    return text


def revoke(named: str) -> str:
    """End a key; returns the message. Raises CommandError."""
    prefix = _prefix(named)
    if not api_keys.revoke(prefix, CALLER):
        raise CommandError(f"no valid key has the prefix {prefix}")
    return f"revoked {keys.shown(prefix)}"


def listed() -> list[str]:
    """Return a line for each key."""
    now = timezone.now()
    return [_line(key, now) for key in ApiKey.objects.order_by("created_at")]


def _line(key: ApiKey, now: datetime) -> str:
    is_expired = key.expires_at and key.expires_at <= now
    state = "revoked" if key.revoked_at else "expired" if is_expired else "valid"
    used = key.last_used_at.isoformat(timespec="minutes") if key.last_used_at else "never"
    line = (
        f"{keys.shown(key.prefix)}  {state:8} {key.name}  scopes {','.join(key.scopes)}"
        f"  tenant {key.tenant or '-'}  pool {key.pool or '-'}"
        f"  region {key.region or '-'}  used {used}"
    )
    until = key.previous_valid_until
    if state == "valid" and until and until > now:
        line += f"  old secret until {until.isoformat(timespec='minutes')}"
    return line


def _prefix(named: str) -> str:
    """Return the prefix in a key as a list shows it."""
    return named.removeprefix("ojs_").partition("_")[0]


def _after(duration: str) -> datetime:
    return timezone.now() + _duration("--expires-in", duration)


def _duration(option: str, raw: str) -> timedelta:
    try:
        return timedelta(milliseconds=parse_short_duration(raw))
    except ValueError as problem:
        raise CommandError(f"{option} {problem}") from None


def _split(text: str) -> tuple[str, ...]:
    return tuple(part.strip() for part in text.split(",") if part.strip())
