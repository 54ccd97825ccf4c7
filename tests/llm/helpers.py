"""Ask many calls at once, as a run does."""

from __future__ import annotations

from collections.abc import Iterable

from fabula.llm import Answer, Call, CallError, EndpointOptions
from fabula.llm.client import Note, ignore
from fabula.llm.session import asking


def ask_all(calls: Iterable[Call], options: EndpointOptions, note: Note = ignore) -> list[Answer | CallError]:
    with asking(options, note) as session:
        return session.ask(list(calls))
