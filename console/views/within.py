"""The choice of the visible tenant, for users restricted to several tenants."""

from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.urls import reverse
from django.views import View

from console.access import Guarded
from jobs.services.access.staff import CHOSEN, tenants_of


class Within(Guarded, View):
    """Stores the choice in the session; it changes only the view of this user."""

    http_method_names = ["post"]

    def post(self, request: HttpRequest) -> HttpResponse:
        """Store the choice and redirect to the overview, as other pages may show another tenant."""
        wanted = request.POST.get("tenant", "")
        if wanted in (tenants_of(request.user) or ()):
            request.session[CHOSEN] = wanted
        return HttpResponseRedirect(reverse("ojs_console:overview"))
