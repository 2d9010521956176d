"""Read both request forms into a plan, and collect each problem with its path.

Typed form: `type` with `steps`, or with `jobs` and `callbacks`. Step graph: steps with
`depends_on`. Spec: contract 8.1, D35.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

from jobs.domain.enqueue.draft import JobDraft
from jobs.domain.errors import InvalidRequest, InvalidRetryPolicy
from jobs.domain.wire.ids import is_id
from ojs_tasks.children import CANCEL, PARENT, WITH_PARENT
from workflows.domain.errors import invalid
from workflows.domain.graph import cycle, kind_of_graph
from workflows.domain.kinds import CALLBACKS, Callback, Kind
from workflows.domain.options import merged_defaults, with_defaults
from workflows.domain.plan import Plan, StepPlan

MAX_DEPTH: Final = 3
MAX_JOBS: Final = 10_000
MAX_NAME: Final = 255
TENANT_ID: Final = "tenant_id"  # member of `meta`
LISTED: Final = 100  # problems reported at once
OWN_MEMBERS: Final = frozenset({"id", "depends_on"})  # of a step, not of its job

ReadJob = Callable[[Mapping[str, Any]], JobDraft]
Raw = Mapping[str, Any]


def parse_workflow(raw: Raw, read_job: ReadJob) -> Plan:
    """Check a whole request; `read_job` checks one PUSH request.

    Raises InvalidRequest with `details.validation_errors`, and any other error of `read_job`.
    """
    reader = _Reader(read_job)
    plan = reader.plan(raw)
    if reader.problems:
        raise invalid(reader.problems)
    return plan


class _TooMany(Exception):
    """Ends the check: enough problems were found, or the workflow has too many jobs."""


class _Reader:
    """Collects the problems of a request."""

    def __init__(self, read_job: ReadJob) -> None:
        self.problems: list[dict[str, Any]] = []
        self._read_job = read_job
        self._jobs = 0

    def plan(self, raw: Raw) -> Plan:
        try:
            found = self._plan(raw, "$", 1, {})
            if self._jobs > MAX_JOBS:
                self.refuse("$", f"has more than {MAX_JOBS} jobs")
        except _TooMany:
            return Plan(Kind.GROUP, "", 1)
        return found

    def refuse(self, path: str, message: str) -> None:
        self.problems.append({"path": path, "message": message})
        if len(self.problems) >= LISTED:
            raise _TooMany

    def _plan(self, raw: Raw, path: str, depth: int, outer: Raw) -> Plan:
        plan = Plan(Kind.GROUP, self._name(raw, path), depth)
        meta = self._meta(raw, path)
        plan.tenant = self._tenant(raw, meta, path)
        plan.parent_job = self._parent(meta, path, depth)
        plan.ends_with_parent = self._ends_with_parent(meta, path)
        if depth > MAX_DEPTH:
            self.refuse(path, f"is nested deeper than {MAX_DEPTH} levels")
            return plan
        defaults = merged_defaults(outer, self._defaults(raw, path))
        given = raw.get("type")
        if given is None or given == Kind.DAG:
            self._graph(plan, raw, path, defaults)
        elif isinstance(given, str) and given in set(Kind):
            plan.kind = Kind(given)
            self._typed(plan, raw, path, defaults)
        else:
            self.refuse(f"{path}.type", "must be chain, group or batch")
        return plan

    def _name(self, raw: Raw, path: str) -> str:
        name = raw.get("name")
        if name is None:
            return ""
        if not isinstance(name, str) or len(name) > MAX_NAME:
            self.refuse(f"{path}.name", f"must be a string of at most {MAX_NAME} characters")
            return ""
        return name

    def _meta(self, raw: Raw, path: str) -> Raw:
        meta = raw.get("meta")
        if meta is not None and not isinstance(meta, Mapping):
            self.refuse(f"{path}.meta", "must be an object")
            return {}
        return meta or {}

    def _parent(self, meta: Raw, path: str, depth: int) -> str | None:
        """Read the job whose step starts the workflow."""
        given = meta.get(PARENT)
        if given is None:
            return None
        if depth > 1:
            self.refuse(f"{path}.meta.{PARENT}", "is not part of a nested workflow")
        elif not isinstance(given, str) or not is_id(given):
            self.refuse(f"{path}.meta.{PARENT}", "must be the id of a job")
        else:
            return given
        return None

    def _ends_with_parent(self, meta: Raw, path: str) -> bool:
        given = meta.get(CANCEL)
        if given is not None and (given != WITH_PARENT or meta.get(PARENT) is None):
            self.refuse(f"{path}.meta.{CANCEL}", f"must be {WITH_PARENT!r}, beside {PARENT}")
        return given == WITH_PARENT

    def _tenant(self, raw: Raw, meta: Raw, path: str) -> str | None:
        """Read the tenant of the workflow from `meta`, where jobs name it, too."""
        for name in ("tenant", TENANT_ID):
            if raw.get(name) is not None:
                self.refuse(
                    f"{path}.{name}", f"is not allowed: name the tenant in meta.{TENANT_ID}"
                )
        tenant = meta.get(TENANT_ID)
        if tenant is not None and not isinstance(tenant, str):
            self.refuse(f"{path}.meta.{TENANT_ID}", "must be a string")
            return None
        return tenant

    def _defaults(self, raw: Raw, path: str) -> Raw:
        options = raw.get("options")
        if options is not None and not isinstance(options, Mapping):
            self.refuse(f"{path}.options", "must be an object")
            return {}
        return options or {}

    # --- the typed form ---------------------------------------------------------------------------

    def _typed(self, plan: Plan, raw: Raw, path: str, defaults: Raw) -> None:
        is_chain = plan.kind is Kind.CHAIN
        name, other = ("steps", "jobs") if is_chain else ("jobs", "steps")
        if raw.get(other) is not None:
            self.refuse(f"{path}.{other}", f"is not part of a {plan.kind}, use {name}")
        items = self._items(raw, name, path)
        for position, item in enumerate(items):
            step = self._step(item, f"{path}.{name}[{position}]", position, plan.depth, defaults)
            step.depends_on = (position - 1,) if is_chain and position else ()
            plan.steps.append(step)
        self._check_ids(plan.steps, f"{path}.{name}")
        for position, item in enumerate(items):
            self._check_order(plan, position, item, f"{path}.{name}[{position}]")
        self._callbacks(plan, raw.get("callbacks"), f"{path}.callbacks", defaults)

    def _items(self, raw: Raw, name: str, path: str) -> Sequence[Any]:
        items = raw.get(name)
        if not isinstance(items, list) or not items:
            self.refuse(f"{path}.{name}", "must be an array of at least one step")
            return ()
        return items

    def _check_order(self, plan: Plan, position: int, item: Any, path: str) -> None:
        """Refuse dependencies in a typed form that contradict its type."""
        given = item.get("depends_on") if isinstance(item, Mapping) else None
        implied = [plan.steps[before].id for before in plan.steps[position].depends_on]
        if given is not None and given not in ([], implied):
            self.refuse(f"{path}.depends_on", f"contradicts the order of a {plan.kind}")

    def _callbacks(self, plan: Plan, raw: Any, path: str, defaults: Raw) -> None:
        if plan.kind is not Kind.BATCH:
            if raw is not None:
                self.refuse(path, f"is not part of a {plan.kind}")
            return
        if raw is not None and not isinstance(raw, Mapping):
            self.refuse(path, "must be an object")
            return
        for name in sorted(set(raw or {}) - CALLBACKS.keys()):
            self.refuse(f"{path}.{name}", f"must be one of {', '.join(CALLBACKS)}")
        given = {name: item for name in CALLBACKS if (item := (raw or {}).get(name)) is not None}
        if not given:
            self.refuse(path, "a batch needs at least one callback")
        for name, item in given.items():
            plan.steps.append(self._callback(item, f"{path}.{name}", name, plan, defaults))

    def _callback(self, item: Any, path: str, name: str, plan: Plan, defaults: Raw) -> StepPlan:
        if isinstance(item, Mapping) and _is_nested(item):
            self.refuse(path, "must be a job")
            item = None
        step = self._step(item, path, len(plan.steps), plan.depth, defaults)
        if not (isinstance(item, Mapping) and item.get("id") is not None):
            step.id = name
        step.callback = CALLBACKS[name]
        self._jobs -= 1
        return step

    # --- the step graph ---------------------------------------------------------------------------

    def _graph(self, plan: Plan, raw: Raw, path: str, defaults: Raw) -> None:
        for name in ("jobs", "callbacks"):
            if raw.get(name) is not None:
                self.refuse(f"{path}.{name}", "needs a type; a step graph has steps")
        items = self._items(raw, "steps", path)
        path = f"{path}.steps"
        steps = [
            self._step(item, f"{path}[{position}]", position, plan.depth, defaults)
            for position, item in enumerate(items)
        ]
        self._check_ids(steps, path)
        named = {step.id: position for position, step in enumerate(steps)}
        edges = [
            self._edges(item, f"{path}[{position}].depends_on", named)
            for position, item in enumerate(items)
        ]
        for position in cycle(edges):
            self.refuse(f"{path}[{position}].depends_on", "is part of a cycle")
        callbacks = self._graph_callbacks(items, edges, path)
        self._jobs -= len(callbacks)
        self._arrange(plan, steps, edges, callbacks)
        if callbacks and not plan.members:
            self.refuse(path, "a batch needs at least one job besides its callbacks")

    def _edges(self, item: Any, path: str, named: Mapping[str, int]) -> list[int]:
        given = item.get("depends_on") if isinstance(item, Mapping) else None
        if given is None:
            return []
        if not isinstance(given, list) or not all(isinstance(name, str) for name in given):
            self.refuse(path, "must be an array of step ids")
            return []
        for name in given:
            if name not in named:
                self.refuse(path, f"names the unknown step {name[:MAX_NAME]!r}")
        return [named[name] for name in dict.fromkeys(given) if name in named]

    def _graph_callbacks(
        self, items: Sequence[Any], edges: list[list[int]], path: str
    ) -> dict[int, Callback]:
        """Find the callback steps by their mark, or by their id if they wait for all jobs."""
        marked = {n: self._mark(item, f"{path}[{n}]") for n, item in enumerate(items)}
        found: dict[int, Callback] = {
            n: CALLBACKS[mark] for n, mark in marked.items() if mark in CALLBACKS
        }
        meant = {n: CALLBACKS[name] for n, item in enumerate(items) if (name := _implied(item))}
        jobs = [n for n in range(len(items)) if n not in found and n not in meant]
        is_flat = not any(edges[n] for n in jobs)
        for n, callback in meant.items():
            if n not in found and is_flat and jobs and sorted(edges[n]) == jobs:
                found[n] = callback
        jobs = [n for n in range(len(items)) if n not in found]
        for n in sorted(found):
            if any(edges[job] for job in jobs):
                self.refuse(
                    f"{path}[{n}]",
                    "is a callback of a batch, so its jobs must not depend on each other",
                )
            elif edges[n] and sorted(edges[n]) != jobs:
                self.refuse(f"{path}[{n}].depends_on", "of a callback must name all jobs")
            if list(found.values()).count(found[n]) > 1:
                self.refuse(f"{path}[{n}]", f"must be the only {found[n].wire} callback")
            if _is_nested(items[n]):
                self.refuse(f"{path}[{n}]", "must be a job: it is a callback")
        return found

    def _mark(self, item: Any, path: str) -> str | None:
        options = item.get("options") if isinstance(item, Mapping) else None
        mark = options.get("callback_type") if isinstance(options, Mapping) else None
        if mark is None:
            return None
        if not isinstance(mark, str) or mark not in CALLBACKS:
            self.refuse(f"{path}.options.callback_type", f"must be one of {', '.join(CALLBACKS)}")
            return None
        return mark

    def _arrange(
        self,
        plan: Plan,
        steps: list[StepPlan],
        edges: list[list[int]],
        callbacks: Mapping[int, Callback],
    ) -> None:
        """Put the members first, then the callbacks, and set the kind of the plan."""
        members = [n for n in range(len(steps)) if n not in callbacks]
        place = {old: new for new, old in enumerate(members)}
        for old in members:
            steps[old].depends_on = tuple(place[n] for n in edges[old] if n in place)
        plan.steps = [steps[n] for n in members]
        for old in sorted(callbacks, key=lambda n: callbacks[n]):
            steps[old].callback = callbacks[old]
            plan.steps.append(steps[old])
        plan.kind = (
            Kind.BATCH if callbacks else kind_of_graph([step.depends_on for step in plan.steps])
        )

    # --- one step ---------------------------------------------------------------------------------

    def _step(self, item: Any, path: str, position: int, depth: int, defaults: Raw) -> StepPlan:
        step = StepPlan(f"step-{position}", "")
        if not isinstance(item, Mapping):
            self.refuse(path, "must be an object")
            return step
        step.id = self._id(item, path, step.id)
        if _is_nested(item):
            step.child = self._plan(item, path, depth + 1, defaults)
            step.type = step.child.kind.value
            return step
        self._jobs += 1
        if self._jobs > MAX_JOBS + len(CALLBACKS):
            self.refuse("$", f"has more than {MAX_JOBS} jobs")
            raise _TooMany
        own = {name: value for name, value in item.items() if name not in OWN_MEMBERS}
        step.request = with_defaults(own, defaults)
        step.draft = self._job(step.request, item, path)
        if step.draft is not None:
            step.type = step.draft.type
        return step

    def _id(self, item: Raw, path: str, default: str) -> str:
        given = item.get("id")
        if given is None:
            return default
        if not isinstance(given, str) or not 1 <= len(given) <= MAX_NAME:
            self.refuse(f"{path}.id", f"must be a string of 1 to {MAX_NAME} characters")
            return default
        return given

    def _job(self, request: Raw, item: Raw, path: str) -> JobDraft | None:
        try:
            return self._read_job(request)
        except (InvalidRequest, InvalidRetryPolicy) as problem:
            for found in problem.details.get("errors", ()):
                name = str(found["field"])
                self.refuse(f"{path}{_place(item, name)}", str(found["message"]))
            if "errors" not in problem.details:
                self.refuse(path, problem.message)
        return None

    def _check_ids(self, steps: Sequence[StepPlan], path: str) -> None:
        seen: set[str] = set()
        for position, step in enumerate(steps):
            if step.id in seen:
                self.refuse(
                    f"{path}[{position}].id",
                    f"{step.id!r} is used by another step: ids must be unique",
                )
            seen.add(step.id)


def _is_nested(item: Raw) -> bool:
    """Return whether the item is a workflow; a job may have the type `group`, but no members."""
    if item.get("jobs") is not None or item.get("steps") is not None:
        return True
    kind = item.get("type")
    return isinstance(kind, str) and kind in set(Kind) - {Kind.DAG} and "args" not in item


def _implied(item: Any) -> str | None:
    """Return the callback that the id of a step stands for, such as `on-failure`."""
    given = item.get("id") if isinstance(item, Mapping) else None
    name = given.replace("-", "_") if isinstance(given, str) else None
    return name if name in CALLBACKS else None


def _place(item: Raw, field: str) -> str:
    """Return the place of a job's attribute: at top level, or in its options."""
    first = field.partition(".")[0]
    options = item.get("options")
    inside = isinstance(options, Mapping) and options.get(first) is not None
    return f".options.{field}" if inside else f".{field}"
