"""Export of jobs as a file: written in slices, downloaded whole, and removed later."""

import csv
import io
import json
from datetime import timedelta
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.test import Client
from django.urls import reverse
from django.utils import timezone

from console import operations, walk
from console.models import ExportPart, Operation
from jobs.models import Audit
from tests.console.test_operations import run_tasks
from tests.factories import stored_ids


def export(console: Client, **form: Any) -> Operation:
    """Run an export to its end."""
    answer = console.post(reverse("ojs_console:operation_new"), {"verb": "export", **form})
    assert answer.status_code == 302
    run_tasks()
    return Operation.objects.latest("pk")


def content(console: Client, operation: Operation) -> str:
    """Download the file of an export."""
    answer = console.get(reverse("ojs_console:operation_file", args=[operation.pk]))
    assert answer.status_code == 200
    return b"".join(answer.streaming_content).decode()  # type: ignore[attr-defined]  # it streams


def test_csv_has_the_chosen_columns_of_what_matches(
    console: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(walk, "SLICE", 3)
    ids = stored_ids(8, queue="mail", args=["a, b", {"n": 1}])
    stored_ids(2, queue="other")

    operation = export(console, state="available", queue="mail", columns=["state", "args"])

    rows = list(csv.reader(io.StringIO(content(console, operation))))
    assert rows[0] == ["id", "type", "state", "args"]
    assert [row[0] for row in rows[1:]] == sorted(ids, reverse=True)
    assert json.loads(rows[1][3]) == ["a, b", {"n": 1}]
    assert (operation.done, operation.slices > 2) == (8, True)
    assert Audit.objects.filter(action="jobs.bulk_exported").count() == 1


def test_json_lines_are_whole_envelopes(console: Client) -> None:
    (job_id,) = stored_ids(1, meta={"order": 7})
    operation = export(console, format="jsonl")
    (line,) = content(console, operation).splitlines()
    envelope = json.loads(line)
    assert (envelope["id"], envelope["meta"], envelope["state"]) == (
        job_id, {"order": 7}, "available",
    )  # fmt: skip


@pytest.mark.parametrize("form", ["csv", "jsonl"])
def test_nothing_that_matches_is_a_file_too(console: Client, form: str) -> None:
    operation = export(console, state="completed", format=form)
    assert operation.state == "done"
    file = reverse("ojs_console:operation_file", args=[operation.pk])
    assert console.get(file).status_code == (200 if form == "csv" else 404)


@pytest.mark.parametrize("text", ["=1+1", "+1", "-1", "@x", "\t=1"])
def test_a_spreadsheet_computes_nothing(console: Client, text: str) -> None:
    stored_ids(1, queue="q", meta={"tenant_id": "t"}, type="a.b", version="1.0.0", args=[text])
    Operation.objects.all().delete()
    from console.exports import _cell  # noqa: PLC0415 - only this function makes cells

    assert _cell(text) == f"'{text}"
    assert "['=" not in content(console, export(console, columns=["args"]))


def test_an_export_takes_no_more_than_it_may(
    console: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(walk, "SLICE", 4)
    monkeypatch.setattr(operations, "MOST_EXPORTED", 6)
    ids = stored_ids(9)
    operation = export(console, columns=["state"])
    assert (operation.done, operation.is_cut, operation.state) == (6, True, "done")
    rows = content(console, operation).splitlines()[1:]
    assert [row.partition(",")[0] for row in rows] == sorted(ids, reverse=True)[:6]
    page = console.get(reverse("ojs_console:operation", args=[operation.pk])).content.decode()
    assert "the limit of an export" in page


def test_a_file_is_removed_after_a_day(console: Client) -> None:
    stored_ids(2)
    operation = export(console)
    late = timezone.now() - timedelta(hours=operations.EXPORT_KEPT_HOURS + 1)
    Operation.objects.update(ended_at=late)
    operations.tend()
    assert not ExportPart.objects.exists()
    assert Operation.objects.filter(pk=operation.pk).exists()
    file = reverse("ojs_console:operation_file", args=[operation.pk])
    assert console.get(file).status_code == 404
    page = console.get(reverse("ojs_console:operation", args=[operation.pk])).content.decode()
    assert "The server has deleted the file." in page


def test_a_file_that_is_not_whole_is_not_given_out(console: Client) -> None:
    stored_ids(2)
    console.post(reverse("ojs_console:operation_new"), {"verb": "export"})
    operation = Operation.objects.get()
    file = reverse("ojs_console:operation_file", args=[operation.pk])
    assert console.get(file).status_code == 404


def test_who_may_only_look_exports_nothing(console: Client, viewer: User) -> None:
    stored_ids(1)
    operation = export(console)
    client = Client()
    client.force_login(viewer)
    assert client.get(reverse("ojs_console:operation_file", args=[operation.pk])).status_code == 403
    assert Client().get(
        reverse("ojs_console:operation_file", args=[operation.pk])
    )["Location"].startswith("/console/login/")  # fmt: skip
