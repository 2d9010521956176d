"""The form of routing rules, and the API request that it stands for."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from console.api_form import ApiForm, FlagField, TextField
from console.refusals import number
from jobs.domain.errors import OJSError
from versioning.api.routing_codec import encode_rules
from versioning.api.schema_codec import valid_type
from versioning.domain.canary_request import Wanted, parse_wanted
from versioning.models import Routing

API_NAMES: Final = {
    "type": "type", "rules": "rules", "version": "rules", "mode": "mode",
    "on_no_worker": "on_no_worker", "fallback_after": "fallback_after",
    "auto_rollback": "guard", "auto_rollback.error_rate_threshold": "threshold",
    "auto_rollback.evaluation_window": "window", "auto_rollback.min_samples": "min_samples",
    "auto_rollback.significance": "significance", "auto_rollback.cool_down": "cool_down",
    "plan": "plan", "plan.steps": "steps", "plan.bake_time": "bake_time",
    "plan.min_samples": "plan_samples",
}  # fmt: skip
DIGITS: Final = 18  # of a revision


@dataclass(frozen=True, slots=True)
class Choice:
    """A value of the API and its description."""

    name: str
    words: str


MODES: Final = (
    Choice("compatible", "respected: rules only apply to compatible versions"),
    Choice("override", "ignored: the rules decide"),
)  # fmt: skip
ON_NO_WORKER: Final = (
    Choice("hold", "jobs wait until a worker accepts it"),
    Choice("fallback", "jobs use the version they name, after a delay"),
)


class RulesForm(ApiForm):
    """New rules, or a change of `before`; `wanted` is the parsed result of a valid form.

    They replace the revision that the form was made from.
    """

    api_names = API_NAMES
    type = TextField()
    rules = TextField()
    mode = TextField("compatible")
    on_no_worker = TextField("hold")
    fallback_after = TextField("PT30S")
    guard = FlagField()
    threshold = TextField("0.05")
    window = TextField("PT5M")
    min_samples = TextField("20")
    significance = TextField()
    cool_down = TextField("PT0S")
    plan = FlagField()
    steps = TextField("5 25 50 100")
    bake_time = TextField("PT30M")
    plan_samples = TextField("0")
    revision = TextField("0")
    instead = TextField()
    reason = TextField()

    wanted: Wanted

    def __init__(self, *args: Any, before: Routing | None = None, **kwargs: Any) -> None:
        """Show `before`; without rules the form creates them."""
        self.before = before
        kwargs["initial"] = {**fields_of(before), **kwargs.get("initial", {})}
        super().__init__(*args, **kwargs)

    @staticmethod
    def inside(path: str) -> str:
        """Describe `[1].weight` and `[1]` with counting from one."""
        place, _, member = path.removeprefix("[").partition("]")
        if not place.isdecimal():
            return path
        return f"Line {int(place) + 1}: {member[1:]}" if member else f"number {int(place) + 1}"

    def clean(self) -> None:
        """Parse the rules as the API does."""
        given = self.cleaned_data
        try:
            job_type = valid_type(given["type"], "type")
            self.wanted = parse_wanted(job_type, _body(given, self.before))
        except OJSError as problem:
            self.refuse(problem)


def fields_of(row: Routing | None) -> dict[str, str]:
    """Return rules as fields of their form, without the members that the rules lack."""
    if row is None:
        return {}
    shown = encode_rules(row)
    return {
        "type": row.type,
        "rules": "\n".join(f"{one['version']} {one['weight']:.10g}" for one in shown["rules"]),
        "mode": shown["mode"],
        "on_no_worker": shown["on_no_worker"],
        "fallback_after": shown["fallback_after"],
        "revision": str(row.revision),
        **_guard_fields(shown["auto_rollback"]),
        **_plan_fields(shown["plan"]),
    }


def _guard_fields(guard: Mapping[str, Any] | None) -> dict[str, str]:
    if guard is None:
        return {}
    significance = guard["significance"]
    return {
        "guard": "on",
        "threshold": f"{guard['error_rate_threshold']:g}",
        "window": guard["evaluation_window"],
        "min_samples": str(guard["min_samples"]),
        "significance": "" if significance is None else f"{significance:g}",
        "cool_down": guard["cool_down"],
    }


def _plan_fields(plan: Mapping[str, Any] | None) -> dict[str, str]:
    if plan is None:
        return {}
    return {
        "plan": "on",
        "steps": " ".join(f"{one:g}" for one in plan["steps"]),
        "bake_time": plan["bake_time"],
        "plan_samples": str(plan["min_samples"]),
    }


def _body(fields: Mapping[str, Any], before: Routing | None) -> dict[str, Any]:
    versions = {str(one["version"]): one["version"] for one in before.rules} if before else {}
    meant = fields["instead"] or fields["revision"]
    return {
        "rules": [_rule(line, versions) for line in fields["rules"].splitlines() if line.strip()],
        "mode": fields["mode"] or None,
        "on_no_worker": fields["on_no_worker"] or None,
        "fallback_after": fields["fallback_after"] or None,
        "auto_rollback": _guard(fields) if fields["guard"] else None,
        "plan": _plan(fields) if fields["plan"] else None,
        "revision": int(meant) if meant.isdecimal() and len(meant) <= DIGITS else 0,
    }


def _rule(line: str, versions: Mapping[str, Any]) -> dict[str, Any]:
    """Read a version and its weight; a version that was a number in the former rules stays one."""
    version, _, weight = line.strip().partition(" ")
    return {
        "version": versions.get(version, version),
        "weight": number(weight.strip().removesuffix("%").strip()),
    }


def _guard(fields: Mapping[str, Any]) -> dict[str, Any]:
    return {
        "error_rate_threshold": number(fields["threshold"]),
        "evaluation_window": fields["window"] or None,
        "min_samples": number(fields["min_samples"]),
        "significance": number(fields["significance"]),
        "cool_down": fields["cool_down"] or None,
    }


def _plan(fields: Mapping[str, Any]) -> dict[str, Any]:
    steps = fields["steps"].replace(",", " ").replace("%", " ").split()
    return {
        "steps": [number(one) for one in steps],
        "bake_time": fields["bake_time"] or None,
        "min_samples": number(fields["plan_samples"]),
    }
