"""Store the progress that running handlers report."""

from asgiref.sync import sync_to_async

from jobs.services.outcome.progress import Progress, report
from ojs_tasks.context import Context, Report


class Reports:
    """The `Reporter` of workers with a database; it has no state."""

    def report(self, context: Context, report_: Report) -> None:
        """Store a report, which also extends the lease. Raises Conflict without the lease."""
        fraction, message, data, checkpoint = report_
        wanted = Progress(fraction, message, data, checkpoint=checkpoint)
        report(context.job.id, wanted, worker_id=context.worker_id)

    async def areport(self, context: Context, report_: Report) -> None:
        """Store a report as `report` does, from a coroutine."""
        await sync_to_async(self.report)(context, report_)
