"""Answers of views: jobs/api/wire/answer.py."""

import pytest
from django.http import HttpResponse
from django.http.response import BadHeaderError

from jobs.api.wire.answer import Answer


@pytest.mark.parametrize("value", ["plain", "caf\xe9", "\u4e16", b"bytes", ""])
def test_headers_are_those_of_django(value: str) -> None:
    answer, django = Answer({}), HttpResponse(content_type=Answer({}).headers["Content-Type"])
    for response in (answer, django):
        response.headers["X-Name"] = value
        response.headers["x-second"] = "2"

    assert list(answer.headers.items()) == list(django.headers.items())
    assert answer.headers["X-SECOND"] == "2"
    assert "x-NAME" in answer.headers
    assert "x-third" not in answer.headers
    del answer.headers["X-Name"]
    assert "x-name" not in answer.headers


@pytest.mark.parametrize(
    ("name", "value"), [("X-A", "a\r\nX-B: b"), ("X-A\n", "a"), ("X-A", "\u4e16\n")]
)
def test_a_header_cannot_contain_a_line_break(name: str, value: str) -> None:
    with pytest.raises(BadHeaderError):
        Answer({}).headers[name] = value
