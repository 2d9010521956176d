"""What encrypts the secrets that are stored, for all applications."""

from functools import cache

from django.conf import settings

from jobs.conf import conf, read_anew
from jobs.domain.vault import Vault


@cache
def vault(purpose: str, own_key: str = "") -> Vault:
    """Return the vault of a purpose; `own_key` seals before the keys of the server do.

    The keys of the server are `OJS_ENCRYPTION_KEYS`, the first of which seals, and behind them
    Django's SECRET_KEY and SECRET_KEY_FALLBACKS.
    """
    given = (*conf().encryption_keys, settings.SECRET_KEY, *settings.SECRET_KEY_FALLBACKS)
    return Vault([str(key) for key in (own_key, *given) if key], purpose)


for name in ("OJS", "SECRET_KEY", "SECRET_KEY_FALLBACKS"):
    read_anew(vault, setting=name)
