"""manage.py reseal: encrypt the stored secrets with the first key."""

from typing import Any

from django.core.management.base import BaseCommand, CommandError

from jobs.domain.outbound.vault import Resealed
from jobs.extensions import OperationsHooks, implementers


class Command(BaseCommand):
    """Prepare for the removal of an old key."""

    help = "Encrypt the secrets of webhooks and regions with the first of OJS_ENCRYPTION_KEYS."

    def handle(self, *_arguments: Any, **_options: Any) -> None:
        """Encrypt the secrets of all extensions; fail if one cannot be decrypted."""
        total = Resealed()
        for extension in implementers(OperationsHooks.reseal):
            total = total.plus(extension.reseal())
        self.stdout.write(f"{total.done} secrets are encrypted with the first key.")
        if total.lost:
            raise CommandError(f"no key decrypts {total.lost} secrets: set them again")
