"""The buttons of operators: each runs an action by a POST."""

from django.contrib import messages
from django.http import Http404, HttpRequest, HttpResponse, HttpResponseRedirect, QueryDict

from console.access import denied, refusal
from console.actions.action import Action
from console.actions.table import ACTIONS
from console.callers import caller_of, page_of, require_reason, told
from console.shown import Secret
from console.views.base import PageView
from jobs.domain.access.caller import Caller
from jobs.domain.errors import OJSError
from jobs.permits import table
from jobs.services.audit.audit import audited


class Act(PageView):
    """Run an action and redirect to the page of its button, or show the secret that it made."""

    http_method_names = ["post"]
    template_name = "ojs/console/secret.html"
    title = "Secret"

    @property
    def posting(self) -> str:
        """Return the permit of the action. Raises Http404."""
        return self._action().permit

    def post(self, request: HttpRequest, verb: str) -> HttpResponse:
        """Redirect to a page that shows the outcome, with a button to undo it; show a secret."""
        back = page_of(request)
        try:
            who = caller_of(request)
            permit = self._action().further(request.POST)
            if permit and (why := refusal(request, table().named[permit])):
                return denied(request, why)
            require_reason(request, is_needed=self._action().needs_reason)
            done = _run(self._action(), request.POST, who)
        except OJSError as problem:
            messages.error(request, str(problem).capitalize() + ".")
            return HttpResponseRedirect(back)
        if isinstance(done, Secret):
            shown = self.get_context_data(message=done.message, secret=done.secret, back=back)
            return self.render_to_response(shown, headers={"Cache-Control": "no-store"})
        told(request, done)
        return HttpResponseRedirect(back)

    def _action(self) -> Action:
        action = ACTIONS.get(self.kwargs["verb"])
        if action is None:
            raise Http404
        return action


def _run(action: Action, form: QueryDict, who: Caller) -> str | Secret:
    if not action.audit:
        return action.run(form, who)
    with audited(who, action.audit, form.get("id", "")):
        return action.run(form, who)
