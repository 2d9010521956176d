"""Right and wrong calls for type checkers: `# E: code` marks the errors that mypy must report."""

from datetime import timedelta
from typing import assert_type

from ojs_tasks import (
    JobHandle,
    Workflow,
    WorkflowHandle,
    aenqueue,
    batch,
    chain,
    enqueue,
    group,
    job,
    periodic,
)
from ojs_tasks.signatures import Dropped, Signature


@job("report.render", queue="reports", timeout=timedelta(minutes=2), retry={"max_attempts": 5})
def render(month: str, *, pages: int = 10) -> dict[str, int]:
    return {"pages": pages}


@job("mail.send")
async def send(address: str) -> int:
    return len(address)


@periodic("0 6 * * *", args=["2026-05"])
@job("report.daily")
def daily(month: str) -> None: ...


def right() -> None:
    assert_type(render.enqueue("2026-05", pages=3), JobHandle[dict[str, int]] | Dropped)
    assert_type(render.options(delay=60).enqueue("2026-05"), JobHandle[dict[str, int]] | Dropped)
    assert_type(render.s("2026-05"), Signature[dict[str, int]])
    assert_type(render("2026-05"), dict[str, int])
    assert_type(send.enqueue("a"), JobHandle[int] | Dropped)
    assert_type(send.s("a"), Signature[int])
    assert_type(daily.enqueue("2026-06"), JobHandle[None] | Dropped)
    assert_type(enqueue([send.s("a")]), list[JobHandle[int] | Dropped])
    render.options(tenant="north", priority="high", unique={"period": 60}).enqueue("2026-05")


def right_workflows(calls: list[Signature[int]], handle: WorkflowHandle[int]) -> None:
    assert_type(chain(render.s("a"), send.s("a")), Workflow[int])
    assert_type(chain(send.s("a"), render.s("a"), name="x"), Workflow[dict[str, int]])
    assert_type(chain(*calls), Workflow[int])
    assert_type(group(send.s("a"), send.s("b")), Workflow[list[int]])
    assert_type(group(*calls), Workflow[list[int]])
    assert_type(chain(send.s("a"), group(*calls)), Workflow[list[int]])
    assert_type(batch(calls, on_complete=render.s("a")), Workflow[list[int | None]])
    assert_type(chain(send.s("a")).enqueue(), WorkflowHandle[int])
    assert_type(handle.result(timeout=1), int)
    assert_type(handle.progress.done, int)


async def right_asynchronous(handle: JobHandle[int]) -> None:
    assert_type(await send("a"), int)
    assert_type(await send.aenqueue("a"), JobHandle[int] | Dropped)
    assert_type(await render.aenqueue("a"), JobHandle[dict[str, int]] | Dropped)
    assert_type(await aenqueue([render.s("a")]), list[JobHandle[dict[str, int]] | Dropped])
    assert_type(handle.result(timeout=1), int)
    assert_type(await handle.aresult(timeout=timedelta(seconds=1)), int)


async def wrong(handle: JobHandle[int]) -> None:
    render.enqueue(5)  # E: arg-type
    render.enqueue()  # E: call-arg
    render.enqueue("2026-05", page=3)  # E: call-arg
    render.s("2026-05", pages="3")  # E: arg-type
    render.options(qeue="x")  # E: call-arg
    render.options(priority=1.5)  # E: arg-type
    render.options(retry={"max_retries": 3})  # E: arg-type
    render.options(idempotent=True)  # E: call-arg
    send.enqueue(5)  # E: arg-type
    daily.enqueue(6)  # E: arg-type
    await send.aenqueue(b"a")  # E: arg-type
    render.enqueue("2026-05").results()  # E: union-attr
    render.enqueue(handle.result())  # E: arg-type
    group(render)  # E: arg-type
    group(send.enqueue("a"), 5)  # E: arg-type
    batch([send.s("a")], on_complet=send.s("a"))  # E: call-arg
    batch([send.s("a")], on_failure=group(send.s("a")))  # E: arg-type
    render.enqueue(chain(send.s("a")).enqueue().result())  # E: arg-type


@job("a.b", countdown=5)  # E: call-arg
def wrong_term() -> None: ...


@job("a.b", timeout="60")  # E: arg-type
def wrong_value() -> None: ...
