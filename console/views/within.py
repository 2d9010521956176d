"""Which of the own tenants is looked at: for who is restricted to several."""

from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.urls import reverse
from django.views import View

from console.access import Guarded
from jobs.services.access.staff import CHOSEN, tenants_of


class Within(Guarded, View):
    """Keep the choice in the session; it changes nothing but what its owner sees."""

    http_method_names = ["post"]

    def post(self, request: HttpRequest) -> HttpResponse:
        """Choose, and begin with the overview: other pages may show things of another tenant."""
        wanted = request.POST.get("tenant", "")
        if wanted in (tenants_of(request.user) or ()):
            request.session[CHOSEN] = wanted
        return HttpResponseRedirect(reverse("ojs_console:overview"))
