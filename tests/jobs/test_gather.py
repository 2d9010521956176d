"""Joined single enqueues of several threads: jobs/gather.py."""

import threading
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future
from typing import Any, cast

import pytest
from django.conf import settings
from django.db import InterfaceError, OperationalError, connection, transaction
from django.test import override_settings
from django.test.utils import CaptureQueriesContext

from jobs import baton, bounds, connection_pool, gather, queries
from jobs.domain.access.caller import Caller
from jobs.domain.dispatch.claim import FetchRequest, Strategy
from jobs.domain.errors import BackendError, Duplicate, OJSError
from jobs.domain.states import CODES, State
from jobs.gather import Gathering, now
from jobs.models import Job, Later, Lease, Ready
from jobs.queries import ago
from jobs.services.dispatch import fetch as dispatch
from jobs.services.dispatch.fetch import fetch_soon
from jobs.services.enqueue import insert
from jobs.services.enqueue.enqueue import enqueue
from jobs.services.lanes import configuration, lanes
from jobs.services.outcome.ack import Ack, ack_soon
from jobs.services.read.show import show_soon
from jobs.trips import Line, Trip
from tests.concurrency import DEADLINE_S, at_once, threads
from tests.factories import DraftFactory, JobFactory
from tests.processes import until


def trips(run: Callable[[Sequence[int]], Sequence[int]]) -> Callable[..., Trip[Sequence[int]]]:
    """Return the function that begins trips; each of them runs `run` when its result is read."""
    return lambda items: Trip(None, lambda: run(items))


class Road:
    """The function that a gathering runs: it records each group and blocks until `is_open`."""

    def __init__(self) -> None:
        self.groups: list[list[int]] = []
        self.is_open = threading.Event()
        self.fails: dict[int, Exception] = {}

    def __call__(self, items: Sequence[int]) -> list[int]:
        self.groups.append(list(items))
        assert self.is_open.wait(DEADLINE_S)
        for item in items:
            if item in self.fails:
                raise self.fails[item]
        return [item * 10 for item in items]


@pytest.fixture
def road(monkeypatch: pytest.MonkeyPatch) -> Road:
    """Return a closed road, and let requests wait without a practical limit."""
    monkeypatch.setattr(gather, "PATIENCE_S", DEADLINE_S)
    return Road()


def behind(
    gathering: Gathering[int, int], start: Callable[[Callable[[], int]], "Future[int]"]
) -> list["Future[int]"]:
    """Start one request, and three more that wait until it returns."""
    going = [start(lambda: gathering.ask(1))]
    until(lambda: gathering._under_way == 1)
    for number in (2, 3, 4):
        going.append(start(lambda number=number: gathering.ask(number)))  # type: ignore[misc]
        until(lambda number=number: len(gathering._waiting) == number - 1)  # type: ignore[misc]
    return going


def test_who_comes_alone_goes_at_once(road: Road) -> None:
    road.is_open.set()
    gathering = Gathering(trips(road))

    assert [gathering.ask(1), gathering.ask(2)] == [10, 20]

    assert road.groups == [[1], [2]]


def test_who_comes_meanwhile_goes_together_and_gets_its_own_answer(road: Road) -> None:
    gathering = Gathering(trips(road))
    with threads(4) as start:
        going = behind(gathering, start)
        road.is_open.set()

        assert [future.result() for future in going] == [10, 20, 30, 40]

    assert road.groups == [[1], [2, 3, 4]]
    assert (gathering._under_way, gathering._waiting) == (0, [])


def test_a_refusal_of_one_is_not_that_of_the_others(road: Road) -> None:
    gathering = Gathering(trips(road), common=ConnectionError)
    road.fails[3] = ValueError("three")
    with threads(4) as start:
        going = behind(gathering, start)
        road.is_open.set()

        assert [going[n].result() for n in (0, 1, 3)] == [10, 20, 40]
        with pytest.raises(ValueError, match="three"):
            going[2].result()

    assert road.groups[:2] == [[1], [2, 3, 4]]
    assert sorted(road.groups[2:]) == [[2], [3], [4]]


def test_what_fails_for_all_fails_once(road: Road) -> None:
    gathering = Gathering(trips(road), common=ConnectionError)
    road.fails[3] = ConnectionError("away")
    with threads(4) as start:
        going = behind(gathering, start)
        road.is_open.set()

        assert going[0].result() == 10
        for future in going[1:]:
            with pytest.raises(ConnectionError, match="away"):
                future.result()

    assert road.groups == [[1], [2, 3, 4]]


def test_nobody_waits_longer_than_patience_lasts(
    road: Road, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(gather, "PATIENCE_S", 0)
    gathering = Gathering(trips(road))
    with threads(2) as start:
        going = [start(lambda: gathering.ask(1)), start(lambda: gathering.ask(2))]
        until(lambda: len(road.groups) == 2)  # both requests run and block
        road.is_open.set()

        assert [future.result() for future in going] == [10, 20]

    assert (gathering._under_way, gathering._waiting) == (0, [])


def test_many_threads_get_each_their_own_answers() -> None:
    seen: list[int] = []

    def run(items: Sequence[int]) -> list[int]:
        seen.extend(items)
        return [item * 10 for item in items]

    gathering = Gathering(trips(run))

    def ask(thread: int) -> None:
        for n in range(500):
            number = thread * 1000 + n
            assert gathering.ask(number) == number * 10

    at_once([lambda thread=thread: ask(thread) for thread in range(8)])  # type: ignore[misc]

    assert len(seen) == len(set(seen)) == 4000
    assert (gathering._under_way, gathering._waiting) == (0, [])


# --- gathered enqueues ----------------------------------------------------------------------------


@pytest.fixture
def gathering(store: None) -> Iterator[None]:
    """Gather enqueues, as a server does."""
    with override_settings(OJS={**settings.OJS, "GATHER_ENQUEUES": True}):
        yield
    connection_pool.close_idle()


def put(**members: Any) -> str:
    """Enqueue a job and return its id."""
    job = enqueue([DraftFactory.create(**members)])[0]
    assert job is not None
    return job.id


@pytest.mark.usefixtures("gathering")
def test_every_acknowledged_enqueue_of_many_threads_is_stored_once() -> None:
    def produce(thread: int) -> list[tuple[str, int]]:
        return [(put(queue=f"q{n % 3}", args=[thread, n]), thread * 1000 + n) for n in range(100)]

    def change_configuration() -> list[tuple[str, int]]:
        for _ in range(100):
            queries.raise_config_version()
        return []

    producers = [lambda thread=thread: produce(thread) for thread in range(8)]
    told = at_once([*producers, change_configuration])

    expected = {job_id: number for part in told for job_id, number in part}
    stored = {
        str(job.id): job.args[0] * 1000 + job.args[1] for job in Job.objects.only("id", "args")
    }
    assert stored == expected
    assert len(expected) == Ready.objects.count() == 800


@pytest.fixture
def asked(gathering: None, monkeypatch: pytest.MonkeyPatch) -> Callable[..., Any]:
    """Return a function that makes requests to store a job.

    Its argument `older` lowers the configuration version that the request names.
    """
    seen: list[Any] = []

    def keep(asked: Any) -> Any:
        seen.extend(asked)
        return insert._begin(asked)

    monkeypatch.setattr(insert.gathering, "_begin", keep)
    put(queue="first")
    version, row = seen[0]

    def another(*, older: int = 0, **members: Any) -> tuple[int, dict[str, Any]]:
        return version - older, row | {"id": DraftFactory.create().id} | members

    return another


def test_a_group_is_one_statement_and_keeps_what_each_request_says(
    asked: Callable[..., Any],
) -> None:
    with connection_pool.borrowed() as lent:
        pass  # the pool lends this connection next
    with CaptureQueriesContext(lent) as captured:
        stored = insert._begin([asked(request_id="req_a"), asked(request_id="req_b")]).result()

    assert len(captured) == 1
    assert [[one.n for one in placed] for placed in stored] == [[0], [0]]
    requests = set(Job.objects.exclude(request_id=None).values_list("request_id", flat=True))
    assert requests == {"req_a", "req_b"}


@pytest.mark.parametrize("older", [(1, 0), (0, 1), (1, 0, 1, 0), (0, 2, 1)])
def test_only_enqueues_with_the_latest_version_are_stored(
    asked: Callable[..., Any], older: tuple[int, ...]
) -> None:
    group = [asked(older=n) for n in older]

    placed = insert._begin(group).result()

    assert [len(places) for places in placed] == [0 if n else 1 for n in older]
    wanted = {row["id"] for n, (_, row) in zip(older, group, strict=True) if not n}
    stored = {str(one) for one in Job.objects.filter(queue="first").values_list("id", flat=True)}
    assert stored & {row["id"] for _, row in group} == wanted


@pytest.mark.usefixtures("gathering")
def test_one_whose_lane_is_gone_does_not_harm_the_others() -> None:
    put(queue="here"), put(queue="there")
    known = dict(lanes._ids)
    gone = next(key for key in known if key.queue == "there")
    lanes._ids[gone] = 1 << 40

    ids = at_once(
        [lambda: put(queue="here"), lambda: put(queue="there"), lambda: put(queue="here")]
    )

    assert len(set(ids)) == 3
    assert lanes._ids[gone] == known[gone]
    assert Ready.objects.count() == 5


@pytest.mark.usefixtures("gathering")
def test_a_changed_configuration_is_read_again() -> None:
    put(queue="here")
    queries.configure("here", {"max_depth": 1}, None)
    version_before = configuration.version()
    queries.raise_config_version()

    assert put(queue="there")

    assert configuration.of_queues({"there"}).version > version_before


@pytest.mark.usefixtures("gathering")
def test_within_a_transaction_a_job_waits_for_its_commit() -> None:
    with transaction.atomic():
        job_id = put()
        transaction.set_rollback(True)

    assert not Job.objects.filter(id=job_id).exists()
    assert connection_pool._idle == []


@pytest.mark.usefixtures("gathering")
def test_an_id_that_the_producer_chose_goes_by_itself() -> None:
    job_id = put(id=DraftFactory.create().id, id_given=True)

    assert connection_pool._idle == []
    with pytest.raises(Duplicate):
        put(id=job_id, id_given=True)


@pytest.mark.usefixtures("gathering")
def test_the_connection_used_last_is_used_next_and_one_that_the_server_ended_is_made_anew() -> None:
    put()
    (first,) = connection_pool._idle
    put()
    assert connection_pool._idle == [first]
    with first.cursor() as cursor:
        cursor.execute("SELECT pg_backend_pid()")
        pid = cursor.fetchone()[0]
    with connection.cursor() as cursor:
        cursor.execute("SELECT pg_terminate_backend(%s, 10000)", [pid])

    assert put()  # immediately: the borrower replaces the broken connection
    assert connection_pool._idle == [first]


@pytest.mark.usefixtures("gathering")
def test_who_asked_is_kept_with_each_job() -> None:
    caller = Caller("somebody", request_id="req_mine")

    job = enqueue([DraftFactory.create()], caller)[0]

    assert job is not None
    assert Job.objects.get(id=job.id).request_id == "req_mine"


# --- items without a thread -----------------------------------------------------------------------


def collected(gathering: Gathering[int, int], *items: int) -> list[int]:
    """Submit items; returns the list that gets their answers."""
    answers: list[int] = []
    for item in items:
        gathering.submit(item, lambda outcome: answers.append(outcome()))
    return answers


def test_items_of_one_thread_are_collected_until_it_starts_them(road: Road) -> None:
    road.is_open.set()
    gathering = Gathering(trips(road))
    answers = collected(gathering, 1, 2, 3)
    assert (answers, road.groups) == ([], [])

    gather.start_collected()

    assert (answers, road.groups) == ([10, 20, 30], [[1, 2, 3]])
    assert (gathering._under_way, gathering._waiting) == (0, [])


class Watched:
    """A watch whose trips end when the test says so."""

    def __init__(self, room: int) -> None:
        self.room = room
        self.arrivals: list[Callable[[], None]] = []

    def take_room(self) -> bool:
        self.room -= 1
        if self.room < 0:
            self.room = 0
            return False
        return True

    def give_room(self) -> None:
        self.room += 1

    def watch(self, line: Line, arrived: Callable[[], None]) -> None:
        self.arrivals.append(arrived)

    def end_first(self) -> None:
        """End the trip that runs longest, as the thread with the baton does."""
        baton.hold(lambda: None)
        self.arrivals.pop(0)()
        gather.start_collected()
        baton.pass_on()


@pytest.fixture
def watched() -> Iterator[Watched]:
    """Return the watch of this process, with room for two trips."""
    made = Watched(2)
    gather.watch_by(made)
    yield made
    gather.watch_by(None)


def flying(road: Road) -> Callable[..., Trip[Sequence[int]]]:
    """Return the function that begins trips whose answers are missing."""
    return lambda items: Trip(cast("Line", object()), lambda: road(items))


@pytest.mark.parametrize("at_once", [1, 2])
def test_watched_groups_run_beside_each_other_up_to_the_bound(
    road: Road, watched: Watched, at_once: int
) -> None:
    road.is_open.set()
    gathering = Gathering(flying(road), most=1, at_once=at_once)
    answers: list[int] = []
    for number in (1, 2, 3):
        gathering.submit(number, lambda outcome: answers.append(outcome()))
        gather.start_collected()

    assert len(watched.arrivals) == at_once
    while watched.arrivals:
        watched.end_first()

    assert answers == [10, 20, 30]
    assert (gathering._under_way, gathering._waiting, watched.room) == (0, [], 2)


def test_items_without_room_for_a_trip_start_when_another_trip_ends(
    road: Road, watched: Watched
) -> None:
    road.is_open.set()
    gatherings = [Gathering(flying(road)) for _ in range(3)]
    answers: list[int] = []
    for number, gathering in enumerate(gatherings):
        gathering.submit(number, lambda outcome: answers.append(outcome()))
        gather.start_collected()

    assert len(watched.arrivals) == 2
    while watched.arrivals:
        watched.end_first()

    assert answers == [0, 10, 20]
    assert watched.room == 2


def test_items_that_come_meanwhile_follow_in_the_same_thread(road: Road) -> None:
    gathering = Gathering(trips(road))
    answers = collected(gathering, 1)
    with threads(1) as start:
        leading = start(gather.start_collected)
        until(lambda: road.groups == [[1]])
        more = collected(gathering, 2, 3)
        gather.start_collected()
        assert more == []
        road.is_open.set()
        leading.result()

    assert (answers, more, road.groups) == ([10], [20, 30], [[1], [2, 3]])
    gather.start_late()
    assert gathering not in gather._crowded


def test_a_waiting_thread_takes_over_the_items_that_wait_with_it(road: Road) -> None:
    gathering = Gathering(trips(road))
    with threads(2) as start:
        first = start(lambda: gathering.ask(1))
        until(lambda: gathering._under_way == 1)
        answers = collected(gathering, 2)
        second = start(lambda: gathering.ask(3))
        until(lambda: len(gathering._waiting) == 2)
        road.is_open.set()

        assert [first.result(), second.result()] == [10, 30]

    assert (answers, sorted(road.groups[1])) == ([20], [2, 3])


def test_items_do_not_wait_longer_than_patience_lasts(
    road: Road, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(gather, "PATIENCE_S", 0)
    gathering = Gathering(trips(road))
    with threads(2) as start:
        first = start(lambda: gathering.ask(1))
        until(lambda: gathering._under_way == 1)
        answers = collected(gathering, 2)
        assert gather.is_crowded()
        late = start(gather.start_late)
        until(lambda: len(road.groups) == 2)
        road.is_open.set()
        first.result(), late.result()

    assert (answers, road.groups) == ([20], [[1], [2]])
    gather.start_late()
    assert gathering not in gather._crowded


def test_as_many_groups_of_collected_items_begin_as_may_run_at_once(road: Road) -> None:
    gathering = Gathering(trips(road), most=1, at_once=2)
    with threads(2) as start:
        first = start(lambda: gathering.ask(1))
        until(lambda: gathering._under_way == 1)
        answers = collected(gathering, 2, 3)
        second = start(gather.start_collected)
        until(lambda: len(gathering._waiting) < 2)
        road.is_open.set()
        first.result(), second.result()

    assert (sorted(answers), road.groups) == ([20, 30], [[1], [2], [3]])


def test_a_function_that_fails_keeps_no_answer_from_other_items(
    road: Road, caplog: pytest.LogCaptureFixture
) -> None:
    def fail(_: Callable[[], int]) -> None:
        raise ValueError("fault")

    road.is_open.set()
    gathering = Gathering(trips(road))
    gathering.submit(1, fail)
    answers = collected(gathering, 2)

    gather.start_collected()

    assert (answers, gathering._under_way) == ([20], 0)
    assert [record.message for record in caplog.records] == ["gather.failed"]


def test_a_refused_item_gets_its_own_problem(road: Road) -> None:
    road.is_open.set()
    road.fails[2] = ValueError("two")
    gathering = Gathering(trips(road))
    outcomes: list[Any] = []
    for item in (1, 2):
        gathering.submit(item, outcomes.append)

    gather.start_collected()

    assert outcomes[0]() == 10
    with pytest.raises(ValueError, match="two"):
        outcomes[1]()


def test_a_later_result_is_made_of_its_parts(road: Road) -> None:
    road.is_open.set()
    later = gather.Later(Gathering(trips(road)), 4, lambda outcome: outcome() + 1).then(str)
    found: list[str] = []

    later.submit(lambda outcome: found.append(outcome()))
    gather.start_collected()

    assert [*found, later.now(), gather.now("there")] == ["41", "41", "there"]


# --- claims in one round trip ---------------------------------------------------------------------


def fetched(*requests: FetchRequest) -> list[queries.Claimed | Exception]:
    """Begin several fetches in this thread, then run them; returns the answer or error of each."""
    found: list[queries.Claimed | Exception] = []

    def done(outcome: Callable[[], queries.Claimed]) -> None:
        try:
            found.append(outcome())
        except Exception as problem:
            found.append(problem)

    for request in requests:
        begun = fetch_soon(request)
        assert isinstance(begun, gather.Later)
        begun.submit(done)
    gather.start_collected()
    return found


def ids_of(found: "list[queries.Claimed | Exception]") -> list[list[str]]:
    """Return the ids of the jobs that each fetch claimed."""
    return [[job.id for job in one.jobs] for one in found if isinstance(one, queries.Claimed)]


@pytest.fixture
def serving(gathering: None, monkeypatch: pytest.MonkeyPatch) -> None:
    """Let this process serve requests."""
    monkeypatch.setattr("jobs.bounds._Process.work", bounds.Work.REQUESTS)


@pytest.mark.usefixtures("serving")
def test_fetches_that_come_together_get_a_job_each_in_order() -> None:
    a, b, c = put(queue="hot"), put(queue="hot"), put(queue="other")

    found = fetched(
        FetchRequest(("hot",), 1, worker_id="w1"),
        FetchRequest(("other",), 5, worker_id="w2"),
        FetchRequest(("hot",), 5, worker_id="w3"),
        FetchRequest(("empty",), 1, worker_id="w4"),
    )

    assert ids_of(found) == [[a], [c], [b], []]
    workers = dict(Lease.objects.values_list("id", "worker_id"))
    assert {str(job): worker for job, worker in workers.items()} == {a: "w1", c: "w2", b: "w3"}


@pytest.mark.usefixtures("serving")
def test_fetches_that_come_together_are_one_run_of_the_gathering(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    sizes: list[int] = []

    def begin(calls: Sequence[queries.Claim]) -> Trip[list[queries.Claimed | Exception]]:
        sizes.append(len(calls))
        return queries.begin_claims(calls)

    monkeypatch.setattr(dispatch._first_claims, "_begin", begin)

    fetched(*[FetchRequest(("hot",), 1) for _ in range(5)])

    assert sizes == [5]


@pytest.mark.usefixtures("serving")
def test_a_shared_claim_with_stale_facts_is_repeated_alone() -> None:
    first, second, third = put(queue="hot"), put(queue="hot"), put(queue="hot")
    assert ids_of(fetched(FetchRequest(("hot",), 1))) == [[first]]
    queries.raise_config_version()

    found = fetched(FetchRequest(("hot",), 1), FetchRequest(("hot",), 1))

    assert ids_of(found) == [[second], [third]]


@pytest.mark.usefixtures("serving")
def test_a_shared_claim_promotes_due_jobs() -> None:
    due = JobFactory.create(queue="hot", state=State.SCHEDULED).id
    Later.objects.update(due_at=ago(1))

    assert ids_of(fetched(FetchRequest(("hot",), 1), FetchRequest(("other",), 1))) == [[due], []]


@pytest.mark.usefixtures("serving")
def test_an_error_of_a_shared_claim_is_the_error_of_its_fetch(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    put(queue="hot")

    def begin(calls: Sequence[queries.Claim]) -> Trip[list[queries.Claimed | Exception]]:
        return queries.begin_claims(calls[1:]).then(lambda found: [BackendError("no"), *found])

    monkeypatch.setattr(dispatch._first_claims, "_begin", begin)

    refused, claimed = fetched(FetchRequest(("hot",), 1), FetchRequest(("hot",), 1))

    assert isinstance(refused, BackendError)
    assert len(ids_of([claimed])[0]) == 1


@pytest.mark.usefixtures("serving")
@pytest.mark.parametrize("kind", [OperationalError, InterfaceError])
def test_no_shared_claim_is_repeated_after_an_error_of_the_connection(
    kind: type[Exception], monkeypatch: pytest.MonkeyPatch
) -> None:
    put(queue="hot")
    begun: list[int] = []

    def begin(calls: Sequence[queries.Claim]) -> Trip[list[queries.Claimed | Exception]]:
        begun.append(len(calls))

        def lost(_: object) -> list[queries.Claimed | Exception]:
            raise kind("the connection is lost")

        return queries.begin_claims(calls).then(lost)

    monkeypatch.setattr(dispatch._first_claims, "_begin", begin)

    found = fetched(FetchRequest(("hot",), 1), FetchRequest(("hot",), 1))

    assert [type(one) for one in found] == [kind, kind]
    assert begun == [2]


@pytest.mark.usefixtures("serving")
def test_claims_that_wait_for_other_claims_share_no_round_trip() -> None:
    first, second = put(queue="a"), put(queue="b")

    wanted = FetchRequest(("a", "b"), 1, strategy=Strategy.ROUND_ROBIN.wire)
    found = [fetch_soon(wanted), fetch_soon(wanted)]

    assert ids_of(found) == [[first], [second]]  # type: ignore[arg-type]


@pytest.mark.usefixtures("serving")
def test_many_threads_that_fetch_at_once_claim_each_job_once() -> None:
    put_ids = [put(queue=f"q{n % 3}") for n in range(300)]

    def drain(thread: int) -> list[str]:
        mine: list[str] = []
        for n in range(200):
            found = now(fetch_soon(FetchRequest((f"q{(n + thread) % 3}",), 2, f"w{thread}")))
            mine += [job.id for job in found.jobs]
        return mine

    got = at_once([lambda thread=thread: drain(thread) for thread in range(8)])  # type: ignore[misc]

    assert sorted(job_id for mine in got for job_id in mine) == sorted(put_ids)


# --- plans ----------------------------------------------------------------------------------------


@pytest.mark.usefixtures("gathering")
def test_no_hot_statement_is_planned_per_call(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("jobs.bounds._Process.work", bounds.Work.REQUESTS)
    for _ in range(8):
        job_id = put(queue="hot")
        claimed = now(fetch_soon(FetchRequest(("hot",), 1, worker_id="w1")))
        assert now(show_soon(job_id)).state == CODES[State.ACTIVE]
        assert [job.id for job in claimed.jobs] == [job_id]
        assert not isinstance(now(ack_soon(Ack(job_id))), OJSError)
    (lent,) = connection_pool._idle

    with lent.cursor() as cursor:
        cursor.execute(
            "SELECT generic_plans, custom_plans FROM pg_prepared_statements WHERE name LIKE 'ojs_%'"
        )
        plans = cursor.fetchall()

    assert len(plans) == 4  # enqueue, claim, read, ack
    assert all(generic >= 8 and custom == 0 for generic, custom in plans)
