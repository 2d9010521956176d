"""The actions of operators on an API key by button."""

from typing import Final

from django.http import QueryDict

from console.actions.action import Action
from jobs.domain.access.caller import Caller
from jobs.domain.errors import NotFound
from jobs.services.access import api_keys


def _revoke(form: QueryDict, who: Caller) -> str:
    prefix = form.get("id", "").replace("\x00", "")
    if not api_keys.revoke(prefix, who):
        raise NotFound.of("API key", prefix)
    return "The key is revoked. The server refuses it from now on."


ACTIONS: Final = (
    Action(
        "key-revoke", "keys.change", _revoke, "Revoke", "danger",
        "Revoke this key permanently? The server refuses it within seconds.",
    ),
)  # fmt: skip
