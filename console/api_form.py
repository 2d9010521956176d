"""The base of forms that stand for a request of the API."""

from collections.abc import Callable, Mapping
from typing import Any, ClassVar

from django import forms

from console.refusals import Wrong, refusal_of
from jobs.domain.errors import OJSError


class TextField(forms.CharField):
    """An optional text without NUL characters."""

    def __init__(self, initial: str = "") -> None:
        """Set the text of an empty form."""
        super().__init__(required=False, initial=initial)

    def to_python(self, value: Any) -> Any:
        """Remove NUL characters, which no text of the API may have."""
        return super().to_python(value.replace("\x00", "") if isinstance(value, str) else value)


class FlagField(forms.BooleanField):
    """An optional checkbox."""

    def __init__(self) -> None:
        """Permit an unchecked box."""
        super().__init__(required=False)


class ApiForm(forms.Form):
    """A form that refuses its data as the API does.

    `clean` of a form parses the request. An error appears beside its field, in the words of the
    API's refusal.
    """

    # The field of the form by names of the API. The longest name that begins a path decides: an
    # error of `queues[2].weight` appears at the field of `queues`.
    api_names: ClassVar[Mapping[str, str]]

    @staticmethod
    def inside(path: str) -> str:
        """Return the text for the rest of a path in its field, such as `[2].weight`."""
        return path

    def refuse(self, problem: OJSError) -> None:
        """Add the error of a refusal to its field, or to the whole form."""
        wrong = refusal_of(problem, self.api_names, self.inside)
        self.add_error(wrong.field if wrong.field in self.fields else None, wrong.text)

    def stored(self, store: Callable[[], object]) -> bool:
        """Store a valid form; return whether neither the form nor the service refused it."""
        if not self.is_valid():
            return False
        try:
            store()
        except OJSError as problem:
            self.refuse(problem)
            return False
        return True

    @property
    def wrong(self) -> Wrong | None:
        """Return the first error; None without errors."""
        for name, texts in self.errors.items():
            return Wrong(name if name in self.fields else "", str(texts[0]))
        return None

    @property
    def shown(self) -> dict[str, str]:
        """Return the fields as texts, with sent or initial values; a checked box is `on`."""
        return {name: _shown(field.to_python(self[name].value()))
                for name, field in self.fields.items()}  # fmt: skip


def _shown(value: Any) -> str:
    if isinstance(value, bool):
        return "on" if value else ""
    return str(value)
