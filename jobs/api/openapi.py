"""Describe operations beside their views; `jobs/api/document.py` joins them to one document.

A description is data on the view method that only the document reads: requests pay nothing.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, TypeVar

from jobs.api.schemas import Schema

View = TypeVar("View", bound=Callable[..., Any])


@dataclass(frozen=True, slots=True)
class Operation:
    """The description of one method of a view."""

    id: str
    answers: Mapping[int, Schema | None]  # by status; None: without a body
    refusals: tuple[int, ...] = ()  # besides the errors of every operation
    body: Schema | None = None
    needs_body: bool = True
    query: Mapping[str, Schema] = field(default_factory=dict)
    path: Mapping[str, Schema] = field(default_factory=dict)
    headers: Mapping[int, tuple[str, ...]] = field(default_factory=dict)  # more, by status
    media: Mapping[str, Schema] = field(default_factory=dict)  # more types of the 200
    aliases: Mapping[str, str] = field(default_factory=dict)  # other paths of the view: their ids
    extension: str | None = None  # the declared extension it belongs to


def operation(
    id: str, answers: Mapping[int, Schema | None], **facts: Any
) -> Callable[[View], View]:
    """Describe a view method; `facts` are the members of Operation.

    Its docstring gives the summary and the description.
    """

    def describe(method: View) -> View:
        method.operation = Operation(id, answers, **facts)  # type: ignore[attr-defined]
        return method

    return describe
