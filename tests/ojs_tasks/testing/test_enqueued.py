"""`enqueued` and the assertions: which jobs a test has enqueued."""

import pytest
from django.db import transaction
from pytest_django import DjangoCaptureOnCommitCallbacks

from ojs_tasks import job
from ojs_tasks.handlers import Handler
from ojs_tasks.testing import assert_enqueued, assert_not_enqueued, enqueued, run_now

Mail = Handler[[str], None]


@pytest.fixture
def mail() -> "Handler[..., None]":
    """Give a handler."""

    @job("mail.send", queue="mail")
    def send(address: str, *, subject: str = "") -> None: ...

    return send


@pytest.mark.usefixtures("place")
def test_jobs_are_found_by_type_arguments_and_queue(mail: "Handler[..., None]") -> None:
    mail.enqueue("ada@example.org", subject="News")
    mail.options(queue="urgent").enqueue("bob@example.org")

    assert [one.args for one in enqueued(mail)] == [["ada@example.org"], ["bob@example.org"]]
    assert len(enqueued("mail.send", args=("ada@example.org",), kwargs={"subject": "News"})) == 1
    assert enqueued("mail.send", args=["ada@example.org"], kwargs={}) == []
    assert [one.kwargs for one in enqueued(queue="mail")] == [{"subject": "News"}]
    assert len(enqueued(count=2)) == 2


@pytest.mark.usefixtures("place")
def test_jobs_that_have_run_are_found(mail: "Handler[..., None]") -> None:
    with run_now():
        mail.enqueue("ada@example.org")

    (found,) = assert_enqueued(mail)
    assert found.state == "completed"


@pytest.mark.usefixtures("place")
def test_a_missing_job_is_described_by_the_nearest_ones(mail: "Handler[..., None]") -> None:
    @job("a.one")
    def one() -> None: ...

    one.enqueue()
    mail.enqueue("bob@example.org", subject="News")

    with pytest.raises(AssertionError) as raised:
        assert_enqueued(mail, args=["ada@example.org"], kwargs={"subject": "News"})

    assert str(raised.value).splitlines() == [
        "expected at least 1 enqueued('mail.send', args=['ada@example.org'],"
        " kwargs={'subject': 'News'}), found 0",
        "other jobs, the nearest first:",
        "  mail.send('bob@example.org', subject='News') queue='mail' available: other args",
        "  a.one() queue='default' available: other type, args, kwargs",
    ]


@pytest.mark.usefixtures("place")
def test_a_wrong_number_shows_the_jobs_that_were_found(mail: "Handler[..., None]") -> None:
    assert_not_enqueued(mail)
    mail.enqueue("ada@example.org")

    with pytest.raises(AssertionError, match=r"expected 2 enqueued.*found 1\n  mail\.send"):
        enqueued(mail, count=2)
    with pytest.raises(AssertionError, match="expected 0 enqueued"):
        assert_not_enqueued("mail.send")


@pytest.mark.usefixtures("place")
def test_without_jobs_the_message_says_so() -> None:
    with pytest.raises(AssertionError, match="no job was enqueued"):
        assert_enqueued("mail.send")


@pytest.mark.usefixtures("place")
def test_arguments_are_a_sequence() -> None:
    with pytest.raises(TypeError, match="not the text 'ada'"):
        enqueued("mail.send", args="ada")


@pytest.mark.django_db
def test_jobs_of_commit_callbacks_are_found_once_they_run(
    mail: "Handler[..., None]",
    django_capture_on_commit_callbacks: DjangoCaptureOnCommitCallbacks,
) -> None:
    with django_capture_on_commit_callbacks(execute=True), run_now():
        transaction.on_commit(lambda: mail.enqueue("ada@example.org"))
        assert_not_enqueued(mail)

    assert_enqueued(mail)
