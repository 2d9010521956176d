"""The buttons of operators: each runs an action by a POST."""

from django.contrib import messages
from django.http import Http404, HttpRequest, HttpResponse, HttpResponseRedirect
from django.urls import reverse
from django.utils.http import url_has_allowed_host_and_scheme

from console.actions import ACTIONS, Run
from console.callers import caller_of
from console.permits import ACTS
from console.shown import Secret
from console.views.base import PageView
from jobs.domain.errors import OJSError


class Act(PageView):
    """Run an action and redirect to the page of its button, or show the secret that it made."""

    http_method_names = ["post"]
    template_name = "ojs/console/secret.html"
    title = "Secret"

    @property
    def posting(self) -> str:
        """Return the permit of the action. Raises Http404."""
        self._action()
        return ACTS[self.kwargs["verb"]]

    def post(self, request: HttpRequest, verb: str) -> HttpResponse:
        """Redirect to a page that shows the outcome; show a secret at once."""
        back = _back(request)
        try:
            done = self._action()(request.POST, caller_of(request))
        except OJSError as problem:
            messages.error(request, str(problem).capitalize() + ".")
            return HttpResponseRedirect(back)
        if isinstance(done, Secret):
            shown = self.get_context_data(told=done.told, secret=done.secret, back=back)
            return self.render_to_response(shown, headers={"Cache-Control": "no-store"})
        messages.success(request, done)
        return HttpResponseRedirect(back)

    def _action(self) -> Run:
        action = ACTIONS.get(self.kwargs["verb"])
        if action is None:
            raise Http404
        return action


def _back(request: HttpRequest) -> str:
    wanted = request.POST.get("next", "")
    if url_has_allowed_host_and_scheme(wanted, {request.get_host()}):
        return wanted
    return reverse("ojs_console:overview")
