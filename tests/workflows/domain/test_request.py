"""Both request forms and every check. Spec: contract 8.1, D35."""

from typing import Any

import pytest

from jobs.domain.envelope import parse_job
from jobs.domain.errors import InvalidRequest, OJSError, Unsupported
from tests.spec import spec
from tests.workflows.flows import batch, chain, graph, group, job
from workflows.domain.kinds import Callback, Kind
from workflows.domain.plan import Plan
from workflows.domain.request import MAX_JOBS, parse_workflow


def parsed(body: dict[str, Any]) -> Plan:
    return parse_workflow(body, parse_job)


def problems(body: dict[str, Any]) -> dict[str, str]:
    """Return the messages by path of a refused request."""
    with pytest.raises(InvalidRequest) as caught:
        parsed(body)
    assert (caught.value.code, caught.value.status) == ("invalid_request", 400)
    found = caught.value.details["validation_errors"]
    assert caught.value.message == f"{found[0]['path']}: {found[0]['message']}"
    return {problem["path"]: problem["message"] for problem in found}


def callback(name: str, *after: str, mark: str | None = None) -> dict[str, Any]:
    """Return a callback step of a graph."""
    return job("back", id=name, depends_on=list(after), options={"callback_type": mark})


@pytest.mark.parametrize(
    ("body", "kind"),
    [
        (chain(job()), Kind.CHAIN),
        (group(job()), Kind.GROUP),
        (batch(job(), on_success=job()), Kind.BATCH),
        (graph(a=""), Kind.CHAIN),
        (graph(a="", b="a", c="b"), Kind.CHAIN),
        (graph(a="", b=""), Kind.GROUP),
        (graph(a="", b="", c="a b"), Kind.DAG),
        (graph(b="a", a=""), Kind.DAG),
        (graph(a="", b="a", c="a b"), Kind.DAG),
        (graph(a="", b="") | {"type": "dag"}, Kind.GROUP),
        ({"steps": [job(id="a"), callback("x", "a", mark="on_failure")]}, Kind.BATCH),
        ({"steps": [job(id="a"), callback("x", mark="on_failure")]}, Kind.BATCH),
        ({"steps": [job(id="a"), job(id="b"), callback("on-failure", "b", "a")]}, Kind.BATCH),
        ({"steps": [job(id="a"), callback("on_complete", "a")]}, Kind.BATCH),
        ({"steps": [job(id="a"), job(id="b"), callback("on-success", "a")]}, Kind.DAG),
        ({"steps": [job(id="a"), job(id="b", depends_on=["a"]), callback("on-success", "b")]},
         Kind.CHAIN),
    ],
)  # fmt: skip
@spec("contract 8.1")
def test_a_request_is_treated_by_its_shape(body: dict[str, Any], kind: Kind) -> None:
    assert parsed(body).kind is kind


@spec("contract 8.1")
def test_callbacks_of_a_graph_come_last_in_their_own_order() -> None:
    marked = [callback("on-failure", "a", "b"), job(id="a"), callback("on_complete", "a", "b"),
              job(id="b")]  # fmt: skip

    plan = parsed({"steps": marked})

    assert [step.id for step in plan.steps] == ["a", "b", "on_complete", "on-failure"]
    assert [step.callback for step in plan.steps] == [
        Callback.NONE, Callback.NONE, Callback.ON_COMPLETE, Callback.ON_FAILURE,
    ]  # fmt: skip
    assert not any(step.depends_on for step in plan.steps)


@spec("contract 8.1")
def test_steps_without_a_name_are_counted() -> None:
    plan = parsed(chain(job(), job(id="mine"), job()))

    assert [step.id for step in plan.steps] == ["step-0", "mine", "step-2"]
    assert parsed(chain(job(), name="x")).name == "x"
    assert parsed(chain(job())).name == ""


@spec("contract 8.1")
def test_the_name_of_a_step_is_not_the_id_of_its_job() -> None:
    (step,) = parsed(chain(job(id="first"))).steps

    assert step.draft is not None
    assert step.draft.id != "first"
    assert step.draft.extra == {}


@spec("contract 8.1")
def test_dependencies_keep_their_order_and_count_once() -> None:
    plan = parsed({"steps": [job(id="a"), job(id="b"), job(id="c", depends_on=["b", "a", "b"])]})

    assert plan.steps[2].depends_on == (1, 0)


OPTIONS: list[tuple[dict[str, Any], dict[str, Any], dict[str, Any]]] = [
    ({"queue": "low"}, {}, {"queue": "low"}),
    ({"queue": "low"}, {"options": {"queue": "high"}}, {"queue": "high"}),
    ({"queue": "low"}, {"queue": "high"}, {"queue": "high"}),
    ({"queue": "low"}, {"options": {"queue": None}}, {"queue": "low"}),
    ({"timeout_ms": 5000}, {"timeout": 7}, {"timeout_ms": 7000}),
    ({"metadata": {"a": 1, "b": 1}}, {"options": {"metadata": {"b": 2}}},
     {"meta": {"a": 1, "b": 2}}),
    ({"metadata": {"a": 1, "b": 1}}, {"meta": {"b": 2}}, {"meta": {"a": 1, "b": 2}}),
    ({"tags": ["x"]}, {"options": {"priority": 3}}, {"tags": ["x"], "priority": 3}),
]  # fmt: skip


@pytest.mark.parametrize(("defaults", "step", "wanted"), OPTIONS)
@spec("contract 8.1")
def test_options_are_defaults_of_every_step(
    defaults: dict[str, Any], step: dict[str, Any], wanted: dict[str, Any]
) -> None:
    for body in (chain(job(**step)), {"steps": [job(id="a", **step)]},
                 chain(group(job(**step)))):  # fmt: skip
        (draft,) = parsed(body | {"options": defaults}).drafts()

        assert {name: getattr(draft, name) for name in wanted} == wanted


@spec("contract 8.1")
def test_a_step_has_the_last_word_about_its_attempts() -> None:
    defaults = {"retry": {"max_attempts": 9, "initial_interval": "PT5S"}}
    (draft,) = parsed(chain(job(options={"max_attempts": 2}), options=defaults)).drafts()

    assert (draft.retry.max_attempts, draft.retry.initial_interval_ms) == (2, 5000)


@spec("contract 8.1")
def test_inner_options_come_before_outer_ones() -> None:
    inner = group(job(), options={"queue": "inner"})
    (draft,) = parsed(chain(inner, options={"queue": "outer", "priority": 4})).drafts()

    assert (draft.queue, draft.priority) == ("inner", 4)


@spec("contract 8.1")
def test_options_hold_for_callbacks() -> None:
    drafts = list(parsed(batch(job(), on_success=job()) | {"options": {"queue": "q"}}).drafts())

    assert [draft.queue for draft in drafts] == ["q", "q"]


REFUSED: list[tuple[dict[str, Any], str]] = [
    ({}, "$.steps"),
    ({"type": "pipeline", "steps": [job()]}, "$.type"),
    ({"type": 5, "steps": [job()]}, "$.type"),
    ({"type": ["chain"], "steps": [job()]}, "$.type"),
    ({"type": "chain"}, "$.steps"),
    ({"type": "chain", "steps": []}, "$.steps"),
    ({"type": "chain", "steps": {}}, "$.steps"),
    ({"type": "chain", "steps": [job()], "jobs": [job()]}, "$.jobs"),
    ({"type": "group", "steps": [job()]}, "$.jobs"),
    ({"type": "group", "jobs": []}, "$.jobs"),
    ({"type": "group", "jobs": [job()], "callbacks": {"on_success": job()}}, "$.callbacks"),
    ({"type": "batch", "jobs": [job()]}, "$.callbacks"),
    ({"type": "batch", "jobs": [job()], "callbacks": {}}, "$.callbacks"),
    ({"type": "batch", "jobs": [job()], "callbacks": {"on_success": None}}, "$.callbacks"),
    ({"type": "batch", "jobs": [job()], "callbacks": [job()]}, "$.callbacks"),
    (batch(job(), on_success=job(), on_end=job()), "$.callbacks.on_end"),
    (batch(job(), on_success=job("UPPER")), "$.callbacks.on_success.type"),
    (batch(job(), on_success=group(job())), "$.callbacks.on_success"),
    (chain(job(), job("UPPER")), "$.steps[1].type"),
    (chain({"args": []}), "$.steps[0].type"),
    (chain({"type": "a"}), "$.steps[0].args"),
    (chain(job(args={})), "$.steps[0].args"),
    (chain(job(options={"queue": "NO"})), "$.steps[0].options.queue"),
    (chain(job(queue="NO")), "$.steps[0].queue"),
    (chain(job(options=5)), "$.steps[0].options"),
    (chain(job(options={"retry": {"max_attempts": -1}})),
     "$.steps[0].options.retry.max_attempts"),
    (chain(5), "$.steps[0]"),  # type: ignore[arg-type]  # a client may send it
    (chain(None), "$.steps[0]"),  # type: ignore[arg-type]  # a client may send it
    (chain(job(id="a"), job(id="a")), "$.steps[1].id"),
    (chain(job(), job(id="step-0")), "$.steps[1].id"),
    (chain(job(id="")), "$.steps[0].id"),
    (chain(job(id=7)), "$.steps[0].id"),
    (chain(job(id="x" * 256)), "$.steps[0].id"),
    (chain(job(), job(depends_on=["x"])), "$.steps[1].depends_on"),
    (group(job(), job(depends_on=["step-0"])), "$.jobs[1].depends_on"),
    (chain(job(), name=5), "$.name"),
    (chain(job(), name="x" * 256), "$.name"),
    (chain(job(), options=[]), "$.options"),
    (chain(group(job("UPPER"))), "$.steps[0].jobs[0].type"),
    (chain({"type": "group"}), "$.steps[0].jobs"),
    (chain({"type": "nope", "jobs": [job()]}), "$.steps[0].type"),
    (chain(group(chain(group(job())))), "$.steps[0].jobs[0].steps[0]"),
    (graph(a="b"), "$.steps[0].depends_on"),
    (graph(a="a"), "$.steps[0].depends_on"),
    (graph(a="c", b="a", c="b"), "$.steps[0].depends_on"),
    ({"steps": [job(id="a", depends_on="b")]}, "$.steps[0].depends_on"),
    ({"steps": [job(id="a", depends_on=[5])]}, "$.steps[0].depends_on"),
    ({"steps": [job(id="a")], "jobs": [job()]}, "$.jobs"),
    ({"steps": [job(id="a")], "callbacks": {}}, "$.callbacks"),
    ({"steps": [callback("on-success", mark="on_success")]}, "$.steps"),
    ({"steps": [job(id="a"), callback("x", mark="on_end")]}, "$.steps[1].options.callback_type"),
    ({"steps": [job(id="a"), job(id="b"), callback("x", "a", mark="on_success")]},
     "$.steps[2].depends_on"),
    ({"steps": [job(id="a"), job(id="b", depends_on=["a"]), callback("x", mark="on_success")]},
     "$.steps[2]"),
    ({"steps": [job(id="a"), callback("x", mark="on_success"), callback("y", mark="on_success")]},
     "$.steps[1]"),
]  # fmt: skip


@pytest.mark.parametrize(("body", "path"), REFUSED, ids=[f"{n}" for n in range(len(REFUSED))])
@spec("contract 8.1")
def test_what_is_wrong_is_named_by_its_path(body: dict[str, Any], path: str) -> None:
    assert path in problems(body)


@spec("contract 8.1")
def test_all_problems_are_told() -> None:
    found = problems(chain(job("UPPER"), job(), job(args=5, queue="NO")))

    assert found.keys() == {"$.steps[0].type", "$.steps[2].args", "$.steps[2].queue"}


@spec("contract 8.1")
def test_at_most_a_hundred_problems_are_told() -> None:
    assert len(problems(group(*[job("UPPER") for _ in range(5000)]))) == 100


@spec("contract 8.1")
def test_ten_thousand_jobs_are_taken_and_no_more() -> None:
    parsed(batch(*[job()] * MAX_JOBS, on_complete=job()))

    assert "$" in problems(group(*[job()] * (MAX_JOBS + 1)))
    assert "$" in problems(chain(group(*[job()] * MAX_JOBS), job()))
    assert "$" in problems({"steps": [job(id=f"s{n}") for n in range(MAX_JOBS + 1)]})


@pytest.mark.parametrize("inner", [group(job()), chain(job()), batch(job(), on_success=job()),
                                   {"steps": [job(id="a")]}])  # fmt: skip
@spec("contract 8.1")
def test_workflows_nest_in_every_form(inner: dict[str, Any]) -> None:
    for body in (chain(inner), group(inner), {"steps": [inner | {"id": "x"}]}):
        (step,) = parsed(body).steps

        assert step.child is not None
        assert step.type == step.child.kind


@spec("contract 8.1")
def test_a_job_may_have_a_type_that_is_called_like_a_workflow() -> None:
    (step,) = parsed(chain(job("group"))).steps

    assert step.child is None


@spec("contract 8.1")
def test_other_refusals_of_a_job_keep_their_code(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(_request: object) -> Any:
        raise Unsupported("not here")

    with pytest.raises(OJSError) as caught:
        parse_workflow(chain(job()), refuse)
    assert caught.value.code == "unsupported"
