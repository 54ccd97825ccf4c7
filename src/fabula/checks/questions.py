"""Questions: has each an answer, is the right option one of the options, is there anything to compare with?"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from fabula.checks._check import Check, CheckRequest, Facts, Kind, Mended, Place, Report, report
from fabula.core.errors import SpecError
from fabula.core.notes import Notes
from fabula.data.questions import Response
from fabula.data.stories import Corpus
from fabula.documents.document import Document
from fabula.io import questions as files

FAMILIES = ("questions", "ids")


@dataclass(frozen=True, slots=True)
class Responses:
    """The questions of a file."""

    responses: Mapping[str, Response]


def each(facts: Facts) -> Iterator[Response]:
    return iter(facts.more.responses.values() if isinstance(facts.more, Responses) else ())


def unclear(facts: Facts) -> Iterator[Place]:
    """The right option is none of the options."""
    return (Place(r.id, None, repr(r.gold)[:60]) for r in each(facts) if r.gold and r.right is None)


def silent(facts: Facts) -> Iterator[Place]:
    return (Place(r.id) for r in each(facts) if r.answer is not None and not r.answer.strip())


def twins(facts: Facts) -> Iterator[Place]:
    for r in each(facts):
        options = [option.strip().casefold() for option in r.options]
        if len(set(options)) < len(options):
            yield Place(r.id, None, ", ".join(r.options)[:80])


def repeated_question(facts: Facts) -> Iterator[Place]:
    for r in each(facts):
        if len({a.question for a in r.asked}) < len(r.asked):
            yield Place(r.id, None, f"{len(r.asked)} questions")


def eventless(facts: Facts) -> Iterator[Place]:
    return (Place(r.id) for r in each(facts) if r.events is not None and not r.events)


def same_answer(facts: Facts) -> Iterator[Place]:
    """One answer to all questions of the file."""
    answers = [r.answer.strip() for r in each(facts) if r.answer is not None]
    if len(answers) > 2 and len(set(answers)) == 1:
        yield Place(None, None, f"{answers[0][:60]!r} to all {len(answers):,} questions")


CHECKS = (
    Check("no-such-option", "error", "The right option is none of the options: no answer can be right.", unclear),
    Check("same-options", "warning", "Two options are the same text: the right one cannot be told by what is said.",
          twins),
    Check("wordless-answer", "warning", "An answer without a word: some evaluators leave it out of the mean.", silent),
    Check("one-answer", "warning", "Every question has the same answer.", same_answer),
    Check("question-twice", "warning", "A question stands twice in one list: it counts twice.", repeated_question),
    Check("eventless-reference", "info", "A reference without events: published evaluators give it a recall of 1.",
          eventless),
)  # fmt: skip


def look(request: CheckRequest) -> tuple[Report, str]:
    notes = Notes()
    responses = files.read_responses(request.path, notes, request.format, "either")
    known: frozenset[str | int] | None = None
    if request.refs:
        ids = (id for ref in request.refs for id in files.read_responses(ref, notes, request.refs_format))
        known = request.limit(ids, notes)
    words = tuple((id, None, r.answer) for id, r in responses.items())
    facts = Facts(corpus=Corpus({}), words=words, known=known, part="answer", more=Responses(responses))
    return report(facts, notes, FAMILIES), files.choose_format(request.path, request.format, "either").name


def mend(request: CheckRequest, target: Path) -> Mended:
    raise SpecError("--fix mends segments and ids; answers are words, and words are never touched")


def knows(head: Document) -> bool:
    return files.SHELF.find_shared(head) is not None or files.SHELF.is_certain(head)


KIND = Kind(
    name="questions",
    tasks=("questions",),
    knows=knows,
    named=lambda format: format in {rule.name for rule in files.SHELF.rules},
    look=look,
    mend=mend,
    last=1,
)
