"""Find the region that has a job, and cancel the job there. Spec: contract 23.2."""

from collections.abc import Mapping, Sequence
from typing import Any

from federation.client.operations import OK, Answer, Steps, guarded
from federation.client.results import Located, RegionRefused, UnexpectedAnswer
from federation.client.state import State
from federation.domain.errors import NoHealthyRegion, RegionUnavailable, UnknownRegion
from federation.domain.exchange import API, Call, Reply
from jobs.domain.errors import NotFound
from jobs.domain.wire.ids import is_id

NOT_FOUND = 404


def get_job(
    state: State, id: str, region: str | None, headers: Mapping[str, str]
) -> Steps[Located]:
    """Return the job whose id or federation id is `id`.

    Without `region` the client asks all regions, and the local region's answer takes precedence.
    Raises NotFound only if all regions answered, NoHealthyRegion if an unreachable region may have
    the job.
    """
    places = _places(state, region)
    if not is_id(id):
        raise NotFound("there is no job with this id", details={"resource_type": "job"})
    answers = yield from _asked(state, places, f"{API}/jobs/{id}", headers)
    for place, answer in zip(places, answers, strict=True):
        if (job := _job(answer)) is not None:
            return Located(place, job)
    shown = yield from _asked(state, places, f"{API}/federation/jobs/{id}", headers)
    for answer in shown:
        if (found := _winner(answer)) is not None and state.config.region(found[0]) is not None:
            place, job_id = found
            (its,) = yield from _asked(state, [place], f"{API}/jobs/{job_id}", headers)
            if (job := _job(its)) is not None:
                return Located(place, job)
            raise _uncertain(state, [place], [its]) or _not_found(id)
    raise _uncertain(state, places, answers) or _not_found(id)


def cancel(state: State, id: str, region: str | None, headers: Mapping[str, str]) -> Steps[Located]:
    """Cancel a job in its region. Raises as `get_job`, and RegionRefused when it has ended."""
    found = yield from get_job(state, id, region, headers)
    path = f"{API}/jobs/{found.job['id']}"
    (answer,) = yield from guarded(state, [Call(found.region, "DELETE", path, headers=headers)])
    if not isinstance(answer, Reply):
        raise RegionUnavailable.because(found.region, answer.reason, _retry_in(state))
    if answer.status != OK:
        raise RegionRefused(found.region, answer)
    job = _job(answer)
    if job is None:
        raise UnexpectedAnswer(found.region, answer.status)
    return Located(found.region, job)


def _places(state: State, region: str | None) -> list[str]:
    if region is not None:
        if state.config.region(region) is None:
            raise UnknownRegion.named(region)
        return [region]
    local = state.config.local_region
    ids = [one.id for one in state.config.regions if one.enabled or one.id == local]
    return sorted(ids, key=lambda one: one != local)


def _asked(
    state: State, places: Sequence[str], path: str, headers: Mapping[str, str]
) -> Steps[list[Answer]]:
    return (yield from guarded(state, [Call(one, "GET", path, headers=headers) for one in places]))


def _job(answer: Answer) -> dict[str, Any] | None:
    body = answer.body if isinstance(answer, Reply) and answer.status == OK else None
    job = body.get("job", body) if isinstance(body, dict) else None
    return job if isinstance(job, dict) and isinstance(job.get("id"), str) else None


def _winner(answer: Answer) -> tuple[str, str] | None:
    """Return the region and job id that a federated server reports for a federation id."""
    body = answer.body if isinstance(answer, Reply) and answer.status == OK else None
    winner = body.get("winner") if isinstance(body, dict) else None
    if not isinstance(winner, dict) or not is_id(winner.get("job_id")):
        return None
    return str(winner.get("origin_region")), str(winner["job_id"])


def _uncertain(
    state: State, places: Sequence[str], answers: Sequence[Answer]
) -> NoHealthyRegion | None:
    reasons = [
        {"id": place, "reason": answer.report.reason}
        for place, answer in zip(places, answers, strict=True)
        if not (isinstance(answer, Reply) and answer.status == NOT_FOUND)
    ]
    return NoHealthyRegion.because(reasons, _retry_in(state)) if reasons else None


def _retry_in(state: State) -> float:
    return state.config.health_check.interval_seconds


def _not_found(id: str) -> NotFound:
    return NotFound(
        f"no region has a job '{id}'", details={"resource_type": "job", "resource_id": id}
    )
