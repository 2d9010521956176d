"""Store the progress that running handlers report."""

from collections.abc import Sequence

from asgiref.sync import sync_to_async

from jobs.extensions import checkpoints
from jobs.extensions.checkpoints import Kept
from jobs.services.outcome.progress import Progress, report
from ojs_tasks.context import Context, Report
from ojs_tasks.exceptions import StepError


class Reports:
    """The `Reporter` of workers with a database; it has no state."""

    def report(self, context: Context, report_: Report) -> None:
        """Store a report, which also extends the lease. Raises Conflict without the lease."""
        fraction, message, data, checkpoint = report_
        wanted = Progress(fraction, message, data, checkpoint=checkpoint)
        report(context.job.id, wanted, worker_id=context.worker_id)

    def save(self, context: Context, state: bytes, taken: Sequence[int]) -> None:
        """Save a checkpoint. Raises Conflict without the lease, StepError without the extension."""
        wanted = Kept(
            context.job.id, state.decode(), context.worker_id, context.attempt, tuple(taken)
        )
        if not checkpoints.save(wanted):
            raise StepError("steps need the app 'durable' and its extension")

    async def asave(self, context: Context, state: bytes, taken: Sequence[int]) -> None:
        """Save a checkpoint as `save` does, from a coroutine."""
        await sync_to_async(self.save)(context, state, taken)

    async def areport(self, context: Context, report_: Report) -> None:
        """Store a report as `report` does, from a coroutine."""
        await sync_to_async(self.report)(context, report_)
