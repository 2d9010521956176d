"""The form of routing rules, and the API request that it stands for."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from console.refusals import Wrong, number, told
from jobs.domain.caller import Caller
from jobs.domain.errors import OJSError
from versioning.api.routing_codec import encode_rules
from versioning.api.schema_codec import known_type
from versioning.domain.canary_request import parse_wanted
from versioning.models import Routing
from versioning.services import routing

TEXTS: Final = (
    "type", "rules", "mode", "on_no_worker", "fallback_after", "threshold", "window",
    "min_samples", "significance", "cool_down", "steps", "bake_time", "plan_samples", "revision",
    "instead", "reason",
)  # fmt: skip
FLAGS: Final = ("guard", "plan")
EMPTY: Final = {
    "type": "", "rules": "", "mode": "compatible", "on_no_worker": "hold",
    "fallback_after": "PT30S", "guard": "", "threshold": "0.05", "window": "PT5M",
    "min_samples": "20", "significance": "", "cool_down": "PT0S", "plan": "",
    "steps": "5 25 50 100", "bake_time": "PT30M", "plan_samples": "0", "revision": "0",
    "instead": "", "reason": "",
}  # fmt: skip
# by names of the API; the longest name that begins a field's path decides
FIELDS: Final = {
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
    Choice("compatible", "counts: a worker has to accept it, too, and rules that do not fit it "
                         "are passed"),
    Choice("override", "does not count"),
)  # fmt: skip
ON_NO_WORKER: Final = (
    Choice("hold", "jobs are held until somebody does"),
    Choice("fallback", "jobs go by their own versions after a while"),
)


def wrong(problem: OJSError) -> Wrong:
    """Return the field and the text of a refusal."""
    return told(problem, FIELDS, _inside)


def _inside(path: str) -> str:
    """Describe `[1].weight` and `[1]` with counting from one."""
    place, _, member = path.removeprefix("[").partition("]")
    if not place.isdecimal():
        return path
    return f"Line {int(place) + 1}: {member[1:]}" if member else f"number {int(place) + 1}"


def read(form: Mapping[str, str]) -> dict[str, str]:
    """Return the fields of a form, to show them again after an error."""
    texts = {name: form.get(name, "").replace("\x00", "").strip() for name in TEXTS}
    return texts | {name: "on" if form.get(name) else "" for name in FLAGS}


def fields_of(row: Routing | None) -> dict[str, str]:
    """Return rules as fields of their form, with the defaults of a new form for absent members."""
    if row is None:
        return dict(EMPTY)
    shown = encode_rules(row)
    return {
        **EMPTY,
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


def store(fields: Mapping[str, str], before: Routing | None, who: Caller) -> tuple[Routing, bool]:
    """Store rules as the API does, in place of the revision that the form was made from.

    Returns the rules, and whether they are new. Raises OJSError.
    """
    job_type = known_type(fields["type"], "type")
    return routing.put(parse_wanted(job_type, _body(fields, before)), who)


def _body(fields: Mapping[str, str], before: Routing | None) -> dict[str, Any]:
    known = {str(one["version"]): one["version"] for one in before.rules} if before else {}
    meant = fields["instead"] or fields["revision"]
    return {
        "rules": [_rule(line, known) for line in fields["rules"].splitlines() if line.strip()],
        "mode": fields["mode"] or None,
        "on_no_worker": fields["on_no_worker"] or None,
        "fallback_after": fields["fallback_after"] or None,
        "auto_rollback": _guard(fields) if fields["guard"] else None,
        "plan": _plan(fields) if fields["plan"] else None,
        "revision": int(meant) if meant.isdecimal() and len(meant) <= DIGITS else 0,
    }


def _rule(line: str, known: Mapping[str, Any]) -> dict[str, Any]:
    """Read a version and its weight; a version that was a number in the former rules stays one."""
    version, _, weight = line.strip().partition(" ")
    return {
        "version": known.get(version, version),
        "weight": number(weight.strip().removesuffix("%").strip()),
    }


def _guard(fields: Mapping[str, str]) -> dict[str, Any]:
    return {
        "error_rate_threshold": number(fields["threshold"]),
        "evaluation_window": fields["window"] or None,
        "min_samples": number(fields["min_samples"]),
        "significance": number(fields["significance"]),
        "cool_down": fields["cool_down"] or None,
    }


def _plan(fields: Mapping[str, str]) -> dict[str, Any]:
    steps = fields["steps"].replace(",", " ").replace("%", " ").split()
    return {
        "steps": [number(one) for one in steps],
        "bake_time": fields["bake_time"] or None,
        "min_samples": number(fields["plan_samples"]),
    }
