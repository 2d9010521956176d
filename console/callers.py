"""Who acts, as the audit log names them."""

from typing import Final

from django.http import HttpRequest

from jobs.domain.caller import Caller

PREFIX: Final = "console:"  # before the names of users


def caller_of(request: HttpRequest) -> Caller:
    """Return whoever is logged in."""
    who = f"{PREFIX}{request.user.get_username()}"
    return Caller(who, address=request.META.get("REMOTE_ADDR"))
