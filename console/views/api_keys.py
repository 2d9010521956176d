"""API keys: create, rotate and revoke them; only the answer that creates a secret shows it."""

import re
from datetime import timedelta
from typing import Any

from django.http import HttpRequest, HttpResponse
from django.utils import timezone

from console.callers import caller_of
from console.key_forms import GRACES, KeyForm
from console.views.base import PageView
from jobs.services.access import api_keys

SIZE = 50
PAGE = re.compile(r"[1-9][0-9]{0,3}")


class ApiKeys(PageView):
    """Keys by name, a page at a time, and a form for a new key."""

    template_name = "ojs/console/api_keys.html"
    title = "API keys"
    http_method_names = ["get", "post"]

    def get_context_data(self, **kwargs: Any) -> dict[str, Any]:
        """Read one page; two statements."""
        given = self.request.GET
        containing = given.get("name", "").replace("\x00", "").strip()
        with_ended = given.get("ended") == "1"
        number = int(given["page"]) if PAGE.fullmatch(given.get("page", "")) else 1
        found, total = api_keys.page(
            containing=containing, with_ended=with_ended, limit=SIZE, offset=(number - 1) * SIZE
        )
        return super().get_context_data(
            **{
                "keys": found,
                "total": total,
                "containing": containing,
                "with_ended": with_ended,
                "now": timezone.now(),
                "previous": number - 1 if number > 1 else None,
                "following": number + 1 if number * SIZE < total else None,
                "form": KeyForm(),
                "graces": GRACES,
                **kwargs,
            }
        )

    def post(self, request: HttpRequest) -> HttpResponse:
        """Create a key and show its text, or show the errors."""
        form = KeyForm(request.POST)
        if not form.is_valid():
            return self.render_to_response(self.get_context_data(form=form), status=400)
        key, text = api_keys.create(form.new, caller_of(request))
        return self._shown(text, f"Key {key.name} is created.")

    def _shown(self, text: str, message: str) -> HttpResponse:
        answer = self.render_to_response(self.get_context_data(secret=text, message=message))
        answer.headers["Cache-Control"] = "no-store"
        return answer


class ApiKeyRotate(ApiKeys):
    """A new secret for a key; the previous secret stays valid for a while."""

    http_method_names = ["post"]

    def post(self, request: HttpRequest) -> HttpResponse:
        """Show the new text, or that there is no such key."""
        prefix, minutes = request.POST.get("id", ""), request.POST.get("grace", "1440")
        grace = timedelta(minutes=int(minutes) if minutes in dict(GRACES) else 1440)
        text = api_keys.rotate(prefix.replace("\x00", ""), grace, caller_of(request))
        if text is None:
            shown = self.get_context_data(problem="There is no valid key with this prefix.")
            return self.render_to_response(shown, status=404)
        return self._shown(text, "The key has a new secret.")
