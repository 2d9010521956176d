"""The display, which the browser keeps, and the columns, which the server keeps for a user."""

from urllib.parse import urlsplit

from django.conf import settings
from django.contrib import messages
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect, QueryDict
from django.views import View

from console import saved
from console.access import Guarded
from console.callers import caller_of, page_of
from console.display import COOKIES, YEAR_S, parse_display
from jobs.domain.errors import InvalidRequest


class ChooseDisplay(Guarded, View):
    """Stores the choice in cookies; it changes only the view of this browser."""

    http_method_names = ["post"]

    def post(self, request: HttpRequest) -> HttpResponse:
        """Store the choice and redirect to the page of the form."""
        answer = HttpResponseRedirect(page_of(request))
        try:
            chosen = parse_display(request.POST)
        except InvalidRequest as problem:
            messages.error(request, f"{str(problem).capitalize()}.")
            return answer
        for name, cookie in COOKIES.items():
            answer.set_cookie(
                cookie,
                getattr(chosen, name),
                max_age=YEAR_S,
                secure=settings.SESSION_COOKIE_SECURE,
                httponly=True,
                samesite="Lax",
            )
        return answer


class ChooseColumns(Guarded, View):
    """Stores the columns that a user sees in the list of jobs, on every browser."""

    http_method_names = ["post"]

    def post(self, request: HttpRequest) -> HttpResponse:
        """Store the choice and redirect to the page of the form with these columns."""
        page = urlsplit(page_of(request))
        query = QueryDict(page.query, mutable=True)
        query.pop("columns", None)
        query.update(saved.set_columns(request.POST.getlist("columns"), caller_of(request)))
        return HttpResponseRedirect(page._replace(query=query.urlencode()).geturl())
