"""The choice of the display, which the browser keeps."""

from django.conf import settings
from django.contrib import messages
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.views import View

from console.access import Guarded
from console.callers import page_of
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
