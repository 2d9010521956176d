"""The button of an action: a form that asks before it is sent.

Lists have two buttons in each of a hundred rows. A template of its own, included for each button,
took a third of the time of such a page, so the form is written here.
"""

from collections.abc import Mapping
from typing import Any, Final

from django.urls import reverse
from django.utils.html import format_html
from django.utils.safestring import SafeString

from console.actions.table import ACTIONS

FORM: Final = """<form method="post" action="{url}" data-ask="{ask}"{reason}>
<input type="hidden" name="csrfmiddlewaretoken" value="{token}">
<input type="hidden" name="id" value="{target}">{revision}
<input type="hidden" name="next" value="{back}">
<button{kind}>{label}{about}</button></form>"""
NEEDS_REASON: Final = SafeString(" data-needs-reason")


def act(context: Mapping[str, Any], name: str, target: object, **given: Any) -> SafeString:
    """Show the button of an action on a target; without a question (`ask`) it asks by its label.

    `given` overrides label, kind and question of the action. It may add a text for screen readers
    (`about`), a page to go back to (`back`) and a `revision`.
    """
    action = ACTIONS[name]
    label, about = given.get("label", action.label), given.get("about")
    kind, revision = given.get("kind", action.kind), given.get("revision")
    ask = given.get("ask", action.ask) or f"{label}{f' {about}' if about else ''}?"
    return format_html(
        FORM,
        url=reverse("ojs_console:act", args=[name]),
        ask=ask,
        reason=NEEDS_REASON if action.needs_reason else "",
        token=context.get("csrf_token", ""),
        target=target,
        revision="" if revision is None else _hidden(revision),
        back=given.get("back") or context["request"].get_full_path(),
        kind=format_html(' class="{}"', kind) if kind else "",
        label=label,
        about=format_html('<span class="visually-hidden"> {}</span>', about) if about else "",
    )


def _hidden(revision: object) -> SafeString:
    return format_html('<input type="hidden" name="revision" value="{}">', revision)
