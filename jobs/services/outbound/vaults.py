"""Encrypt stored secrets, for all applications."""

from collections.abc import Sequence
from functools import cache
from typing import Any

from django.conf import settings
from django.db.models import QuerySet

from jobs.conf import conf, read_anew
from jobs.database import atomic
from jobs.domain.outbound.vault import Resealed, Vault


@cache
def vault(purpose: str, own_key: str = "") -> Vault:
    """Return the vault of a purpose; `own_key` encrypts instead of the server's keys.

    The server's keys are `OJS_ENCRYPTION_KEYS`, of which the first encrypts, followed by Django's
    SECRET_KEY and SECRET_KEY_FALLBACKS.
    """
    given = (*conf().encryption_keys, settings.SECRET_KEY, *settings.SECRET_KEY_FALLBACKS)
    return Vault([str(key) for key in (own_key, *given) if key], purpose)


def reseal(rows: QuerySet[Any], columns: Sequence[str], opener: Vault) -> Resealed:
    """Encrypt the secrets in some columns anew with the first key. Unreadable secrets stay.

    Locks: the rows, in the order of their keys.
    """
    done = lost = 0
    with atomic():
        for row in rows.order_by("pk").select_for_update(of=("self",)):
            for column in columns:
                sealed = getattr(row, column)
                if sealed is None:
                    continue
                try:
                    setattr(row, column, opener.reseal(bytes(sealed)))
                except ValueError:
                    lost += 1
                else:
                    done += 1
            row.save(update_fields=list(columns))
    return Resealed(done, lost)


for name in ("OJS", "SECRET_KEY", "SECRET_KEY_FALLBACKS"):
    read_anew(vault, setting=name)
