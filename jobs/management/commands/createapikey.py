"""manage.py createapikey: make, list and revoke API keys."""

from datetime import datetime, timedelta
from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser
from django.utils import timezone

from jobs.domain.durations import parse_duration
from jobs.domain.keys import GROUPS, SCOPES
from jobs.models import ApiKey
from jobs.services.api_keys import NewKey, create, revoke


class Command(BaseCommand):
    """Make an API key and show it once."""

    help = "Make an API key; --list shows all, --revoke PREFIX ends one."

    def add_arguments(self, parser: CommandParser) -> None:
        """Declare the options."""
        known = ", ".join([*sorted(GROUPS), *sorted(SCOPES)])
        parser.add_argument("name", nargs="?")
        parser.add_argument("--scopes", default="admin", help=f"comma-separated: {known}")
        parser.add_argument("--tenant", help="bind the key to a tenant")
        parser.add_argument("--queues-enqueue", default="", help="comma-separated globs")
        parser.add_argument("--queues-fetch", default="", help="comma-separated globs")
        parser.add_argument("--job-types", default="", help="comma-separated globs")
        parser.add_argument("--expires-in", help="an ISO 8601 duration, such as P90D")
        parser.add_argument("--list", action="store_true")
        parser.add_argument("--revoke", metavar="PREFIX")

    def handle(self, *_arguments: Any, **options: Any) -> None:
        """Do what the options say."""
        if options["list"]:
            self._list()
        elif options["revoke"]:
            self._revoke(options["revoke"])
        elif options["name"]:
            self._create(options)
        else:
            raise CommandError("name the key")

    def _create(self, options: dict[str, Any]) -> None:
        try:
            _, text = create(
                NewKey(
                    name=options["name"],
                    scopes=_split(options["scopes"]),
                    tenant=options["tenant"],
                    queues_enqueue=_split(options["queues_enqueue"]),
                    queues_fetch=_split(options["queues_fetch"]),
                    job_types=_split(options["job_types"]),
                    expires_at=_time_after(options["expires_in"]),
                    created_by="manage.py",
                )
            )
        except ValueError as problem:
            raise CommandError(str(problem)) from None
        self.stdout.write(text)

    def _revoke(self, text: str) -> None:
        prefix = text.removeprefix("ojs_").partition("_")[0]  # as --list shows it
        if not revoke(prefix):
            raise CommandError(f"no valid key has the prefix {prefix}")
        self.stdout.write(f"revoked ojs_{prefix}_…")

    def _list(self) -> None:
        for key in ApiKey.objects.order_by("created_at"):
            is_expired = key.expires_at and key.expires_at <= timezone.now()
            state = "revoked" if key.revoked_at else "expired" if is_expired else "valid"
            used = key.last_used_at.isoformat(timespec="minutes") if key.last_used_at else "never"
            self.stdout.write(
                f"ojs_{key.prefix}_…  {state:8} {key.name}  scopes {','.join(key.scopes)}"
                f"  tenant {key.tenant or '-'}  used {used}"
            )


def _time_after(duration: str | None) -> datetime | None:
    if duration is None:
        return None
    try:
        return timezone.now() + timedelta(milliseconds=parse_duration(duration))
    except ValueError as problem:
        raise CommandError(f"--expires-in {problem}") from None


def _split(text: str) -> tuple[str, ...]:
    return tuple(part.strip() for part in text.split(",") if part.strip())
