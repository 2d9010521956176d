"""The results of the palette, and the suggestions of filters, as JSON for scripts."""

from typing import Any

from django.http import HttpRequest, HttpResponse, JsonResponse
from django.template.loader import render_to_string
from django.views import View

from console.access import Allowed, Guarded
from console.lookup import ACTED, Entry, read_text, results, suggestions
from jobs.domain.errors import InvalidRequest


class Palette(Guarded, View):
    """Finds objects by a part of their name; with `of`, values of one filter."""

    http_method_names = ["get"]

    def get(self, request: HttpRequest) -> HttpResponse:
        """Answer `results` or `values`; 400 for unreadable input."""
        field = request.GET.get("of")
        try:
            text = read_text(request.GET)
            if field is not None:
                return _answer({"values": suggestions(field, text, request)})
        except InvalidRequest as problem:
            body = {"error": str(problem), "field": problem.details["field"]}
            return _answer(body, problem.status)
        return _answer({"results": _encoded(results(text, request), request)})


def _answer(body: dict[str, Any], status: int = 200) -> HttpResponse:
    return JsonResponse(body, status=status, headers={"Cache-Control": "no-store"})


def _encoded(found: list[Entry], request: HttpRequest) -> list[dict[str, str]]:
    """Encode results; the first of each kind have the forms of their permitted actions as HTML."""
    places: dict[str, int] = {}
    listed = []
    for one in found:
        places[one.kind] = place = places.get(one.kind, 0) + 1
        forms = _forms(one, request) if place <= ACTED else ""
        listed.append(
            {"kind": one.kind, "name": one.name, "fact": one.fact, "url": one.url, "forms": forms}
        )
    return listed


def _forms(one: Entry, request: HttpRequest) -> str:
    if one.acts is None:
        return ""
    template, context = one.acts
    shown = {**context, "may": Allowed(request)}
    return str(render_to_string(f"ojs/console/{template}", shown, request)).strip()
