"""manage.py ojs: operate jobs and queues from a shell.

    manage.py ojs enqueue mail.send '["ada@example.org"]' --queue mail --in PT5M
    manage.py ojs inspect JOB            manage.py ojs cancel JOB --reason "…"
    manage.py ojs retry JOB              manage.py ojs queues
    manage.py ojs pause QUEUE            manage.py ojs resume QUEUE
    manage.py ojs stats                  manage.py ojs reconcile

Extensions add verbs, such as `versions TYPE --remove 1.x`. Every verb takes `--json` for scripts;
the shapes are those of the HTTP API.
"""

import json
import sys
from collections.abc import Callable, Iterable, Sequence
from functools import partial
from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser

from jobs import queries
from jobs.api.queues.queues import encode_stats
from jobs.api.wire import job_codec, members
from jobs.domain.access.caller import Caller
from jobs.domain.errors import OJSError
from jobs.domain.job import Job
from jobs.domain.states import State, state_of
from jobs.domain.wire import jsonio
from jobs.extensions import OperationsHooks, Verb, implementers
from jobs.models import Queue
from jobs.services.enqueue.enqueue import enqueue
from jobs.services.operate import operate
from jobs.services.operate.queues import pause, resume, stats
from jobs.services.read.show import show
from jobs.services.record.reconcile import reconcile

CALLER = Caller("manage.py")


class Command(BaseCommand):
    """Operate jobs and queues."""

    help = "Enqueue, inspect, retry and cancel jobs; list, pause and resume queues."

    def add_arguments(self, parser: CommandParser) -> None:
        """Declare one sub-command per verb."""
        verbs = parser.add_subparsers(dest="verb", required=True, metavar="VERB")
        one = verbs.add_parser("enqueue", help="store a job")
        one.add_argument("type")
        one.add_argument("arguments", nargs="?", default="[]", metavar="ARGS", help="a JSON array")
        one.add_argument("--queue")
        one.add_argument("--priority", type=int)
        one.add_argument("--meta", help="a JSON object")
        one.add_argument("--in", dest="delay", metavar="DURATION", help="ISO 8601, such as PT5M")
        for name, text in (
            ("inspect", "show a job"),
            ("retry", "run a discarded or cancelled job again"),
            ("cancel", "end a job"),
        ):
            verbs.add_parser(name, help=text).add_argument("job")
        verbs.choices["cancel"].add_argument("--reason")
        for name in ("pause", "resume"):
            verbs.add_parser(name, help=f"{name} a queue").add_argument("queue")
        verbs.add_parser("queues", help="list queues with their numbers")
        verbs.add_parser("stats", help="jobs by state, over all queues")
        verbs.add_parser("reconcile", help="compare the counts with the jobs and correct them")
        for verb in _contributed():
            verb.declare(verbs.add_parser(verb.name, help=verb.help))
        for choice in verbs.choices.values():
            choice.add_argument("--json", action="store_true", help="print JSON")

    def handle(self, *_arguments: Any, **options: Any) -> None:
        """Run the verb; a refusal of the server ends the command with its message."""
        found = {verb.name: verb for verb in _contributed()}.get(options["verb"])
        act: Callable[[dict[str, Any]], None] = (
            getattr(self, f"_{options['verb']}") if found is None else partial(self._run, found)
        )
        try:
            act(options)
        except OJSError as problem:
            raise CommandError(f"{problem.code}: {problem.message}") from None

    def _run(self, verb: Verb, options: dict[str, Any]) -> None:
        text, code = verb.run(options)
        self.stdout.write(text)
        if code:
            sys.exit(code)

    def _enqueue(self, options: dict[str, Any]) -> None:
        body: dict[str, Any] = {
            "type": options["type"],
            "args": _parsed("args", options["arguments"]),
        }
        if options["meta"] is not None:
            body["meta"] = _parsed("meta", options["meta"])
        chosen = {"queue": options["queue"], "priority": options["priority"]}
        chosen |= {"scheduled_at": options["delay"] and f"+{options['delay']}"}
        body["options"] = {name: value for name, value in chosen.items() if value is not None}
        stored = enqueue([job_codec.decode_job(body)])[0]
        if stored is None:
            raise CommandError("middleware dropped the job")
        self._print_job(stored, options)

    def _inspect(self, options: dict[str, Any]) -> None:
        self._print_job(show(options["job"]), options, details=True)

    def _retry(self, options: dict[str, Any]) -> None:
        self._print_job(operate.retry_job(options["job"], None, CALLER), options)

    def _cancel(self, options: dict[str, Any]) -> None:
        job, _ = operate.cancel_job(options["job"], CALLER, options["reason"])
        self._print_job(job, options)

    def _pause(self, options: dict[str, Any]) -> None:
        name = members.queue_name("queue", options["queue"])
        self._print_queues([encode_stats(pause(name, CALLER)[0])], options)

    def _resume(self, options: dict[str, Any]) -> None:
        name = members.queue_name("queue", options["queue"])
        self._print_queues([encode_stats(resume(name, CALLER)[0])], options)

    def _queues(self, options: dict[str, Any]) -> None:
        names = Queue.objects.values_list("name", flat=True)
        self._print_queues([encode_stats(stats(name)) for name in names], options)

    def _stats(self, options: dict[str, Any]) -> None:
        summed = {state.value: 0 for state in State}
        for counts in queries.depths().values():
            for code, jobs in counts.items():
                summed[state_of(code).value] += jobs
        if options["json"]:
            self.stdout.write(json.dumps(summed))
            return
        for state, jobs in summed.items():
            self.stdout.write(f"{state:10} {jobs:>12,}")

    def _reconcile(self, options: dict[str, Any]) -> None:
        found = [
            drift._asdict() | {"state": drift.state and state_of(drift.state).value}
            for drift in reconcile()
        ]
        if options["json"]:
            self.stdout.write(json.dumps(found))
            return
        for drift in found:
            names = (drift["table"], drift["tenant"], drift["queue"], drift["state"])
            about = " ".join(name for name in names if name)
            self.stdout.write(f"{about}: {drift['excess']:+,} corrected")
        self.stdout.write(f"{len(found)} counts differed from the jobs.")

    def _print_job(self, job: Job, options: dict[str, Any], *, details: bool = False) -> None:
        envelope = json.loads(jsonio.dumps(job_codec.encode_job(job)))
        if options["json"]:
            self.stdout.write(json.dumps(envelope))
        elif details:
            self.stdout.write(json.dumps(envelope, indent=2, ensure_ascii=False))
        else:
            self.stdout.write(f"{job.id}  {envelope['state']}  {job.type}  queue {job.queue}")

    def _print_queues(self, shown: Sequence[dict[str, Any]], options: dict[str, Any]) -> None:
        if options["json"]:
            self.stdout.write(json.dumps([queue["queue"] for queue in shown]))
            return
        columns = [state.value for state in State]
        self.stdout.write(_row("queue", "status", columns))
        for queue in shown:
            self.stdout.write(_row(queue["name"], queue["status"], [queue[c] for c in columns]))


def _contributed() -> list[Verb]:
    found = implementers(OperationsHooks.verbs)
    return [verb for extension in found for verb in extension.verbs()]


def _row(name: str, status: str, cells: Iterable[object]) -> str:
    return f"{name:24} {status:8}" + "".join(f"{cell:>11}" for cell in cells)


def _parsed(name: str, text: str) -> Any:
    try:
        return json.loads(text)
    except ValueError as problem:
        raise CommandError(f"{name} is not JSON: {problem}") from None
