"""Runbooks: the list, a note, and a saved procedure."""

from typing import Any, Final

from django.http import Http404, HttpRequest, HttpResponse, HttpResponseRedirect
from django.urls import reverse

from attention.domain.runbook import MOST_TEXT, Place, Procedure, parse_place
from attention.rules import BY_ID
from attention.services import notes, procedures
from console import runbooks
from console.callers import caller_of, told
from console.markdown import rendered
from console.procedure_form import ABOUTS, VERBS, ProcedureForm, fields_of
from console.views.base import PageView
from jobs.domain.access.caller import MAX_REASON
from jobs.domain.errors import InvalidRequest, NotFound, OJSError
from jobs.domain.states import State

SIZE: Final = 200
PAGES: Final = {"queue": "queue", "type": "type", "alert": "attention_rule"}


class Runbooks(PageView):
    """All notes and procedures."""

    template_name = "ojs/console/runbooks.html"
    title = "Runbooks"

    def get_context_data(self, **kwargs: Any) -> dict[str, Any]:
        """Read both lists."""
        listed, total = notes.page(limit=SIZE, offset=0)
        saved, number = procedures.page(limit=SIZE, offset=0)
        return super().get_context_data(
            notes=listed,
            more_notes=total - len(listed),
            procedures=saved,
            more_procedures=number - len(saved),
            rules=BY_ID,
            **kwargs,
        )


class NotePage(PageView):
    """A note with its form; a preview shows the text before it is saved."""

    template_name = "ojs/console/note.html"
    http_method_names = ["get", "post"]

    def get(self, request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponse:
        """Show the note."""
        found = notes.of([self._place()])
        return self._form(found[0].text if found else "", exists=bool(found))

    def post(self, request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponse:
        """Save the note, or show its preview or the error."""
        place, text = self._place(), request.POST.get("text", "").replace("\x00", "")
        exists = bool(notes.of([place]))
        if request.POST.get("do") == "preview":
            return self._form(text[:MOST_TEXT], exists=exists)
        try:
            notes.write(place, text, caller_of(request))
        except OJSError as problem:
            return self._form(text, exists=exists, problem=str(problem))
        told(request, f"The note of {ABOUTS[place.about].lower()} {place.name} is saved.")
        return HttpResponseRedirect(page_of(place))

    def _place(self) -> Place:
        try:
            return parse_place(self.kwargs["about"], self.kwargs["name"])
        except InvalidRequest as problem:
            raise Http404 from problem

    def _form(self, text: str, *, exists: bool, problem: str = "") -> HttpResponse:
        place = self._place()
        facts = self.get_context_data(
            place=place,
            key=f"{place.about}:{place.name}",
            label=ABOUTS[place.about],
            back=page_of(place),
            text=text,
            html=rendered(text),
            exists=exists,
            problem=problem,
            most=MOST_TEXT,
            title=f"Note of {ABOUTS[place.about].lower()} {place.name}",
        )
        return self.render_to_response(facts, status=400 if problem else 200)


class ProcedurePage(PageView):
    """A saved procedure with its form."""

    template_name = "ojs/console/procedure.html"
    http_method_names = ["get", "post"]

    def get(self, request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponse:
        """Show the form; a link proposes the object and the queue or type."""
        before = self._before()
        if before is not None:
            return self._form(ProcedureForm(initial=fields_of(before)), before)
        asked = {name: request.GET.get(name, "") for name in ("about", "subject")}
        given = {name: text.replace("\x00", "") for name, text in asked.items()}
        if given["about"] in {"queue", "type"}:
            given[given["about"]] = "{subject}"
        return self._form(ProcedureForm(initial={"state": "discarded", **given}), None)

    def post(self, request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponse:
        """Save the procedure, or show the errors."""
        before = self._before()
        named = {} if before is None else {"name": before.name}
        form = ProcedureForm({**request.POST.dict(), **named})
        if not form.stored(lambda: procedures.put(form.wanted, caller_of(request))):
            return self._form(form, before, 400)
        told(request, f"Procedure {form.wanted.name} is saved.")
        return HttpResponseRedirect(reverse("ojs_console:procedure", args=[form.wanted.name]))

    def _before(self) -> Procedure | None:
        if "name" not in self.kwargs:
            return None
        try:
            return procedures.find(self.kwargs["name"])
        except NotFound as problem:
            raise Http404 from problem

    def _form(
        self, form: ProcedureForm, before: Procedure | None, status: int = 200
    ) -> HttpResponse:
        subject = before.place.name if before else ""
        facts = self.get_context_data(
            before=before,
            step=runbooks.step(self.request, before, subject) if before else None,
            back=page_of(before.place) if before else "",
            fields=form.shown,
            wrong=form.wrong if form.is_bound else None,
            abouts=ABOUTS,
            verbs=VERBS,
            states=[one.value for one in State],
            rules=BY_ID.values(),
            most_reason=MAX_REASON,
            title=f"Procedure {before.name}" if before else "New procedure",
        )
        return self.render_to_response(facts, status=status)


def page_of(place: Place) -> str:
    """Return the page of an object with a runbook."""
    return reverse(f"ojs_console:{PAGES[place.about]}", args=[place.name])
