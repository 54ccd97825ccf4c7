"""Ask many calls at once, as a run does."""

from __future__ import annotations

from collections.abc import Iterable

from fabula.llm import Answer, Call, CallError, EndpointOptions
from fabula.llm.client import Note, ignore
from fabula.llm.session import Session


def ask_all(calls: Iterable[Call], options: EndpointOptions, note: Note = ignore) -> list[Answer | CallError]:
    with Session(options, note) as session:
        return session.ask(list(calls))
