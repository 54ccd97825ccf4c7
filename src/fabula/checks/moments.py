"""Queries with their windows, and rankings of answers: windows that are no stretch of their video, answers twice."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from fabula.checks._check import Check, CheckRequest, Facts, Kind, Mended, Place, Report, report
from fabula.checks._repair import DEEDS, Deed, straight
from fabula.checks.segments import PAST
from fabula.core.errors import InputError, SpecError
from fabula.core.notes import Notes
from fabula.data.moments import Id, Query, Ranking, Rankings, VideoNumbers
from fabula.data.stories import Corpus, Event, Segment, Story
from fabula.documents.document import Document, open_document
from fabula.documents.fields import Source
from fabula.documents.files import check_path, has_lines, write_text
from fabula.io import moments as files
from fabula.io.answers.readers.fabula import read as read_windows
from fabula.io.kinds import is_free_text, name_shared_kind
from fabula.io.moments.lines import write_queries

TABLES = (".csv", ".tsv", ".xlsx")
Flags = NDArray[np.bool_]
STORIES = ('"results"', '"database"', '"timestamps"', '"segments"')  # what files of stories begin with


@dataclass(frozen=True, slots=True)
class Answers:
    """Rankings with the list that each stands in, and what the references know of queries and videos."""

    rankings: Sequence[tuple[str, Ranking]]
    numbers: VideoNumbers
    queries: Mapping[str, Query]  # by the id as text: one file may write numbers, the other not

    def durations(self) -> dict[int, float]:
        """By the number of the video."""
        return {self.numbers[q.video]: q.duration for q in self.queries.values() if q.duration is not None}


def walk_rankings(facts: Facts) -> Iterator[Ranking]:
    """Rankings; of answers in words, the windows that our reader finds in them."""
    for _, ranking in facts.more.rankings if isinstance(facts.more, Answers) else ():
        if ranking.answer is None:
            yield ranking
        else:
            yield Ranking(ranking.id, np.array(read_windows(ranking.answer), np.float64).reshape(-1, 2))


def flagged(fault: Callable[[NDArray[np.float64]], Flags]) -> Callable[[Facts], Iterator[Place]]:
    """A place for every window that has the fault."""

    def find(facts: Facts) -> Iterator[Place]:
        for ranking in walk_rankings(facts):
            for i in np.flatnonzero(fault(ranking.spans)).tolist():
                yield Place(ranking.id, i, span(ranking, i))

    return find


def span(ranking: Ranking, i: int) -> str:
    return f"[{ranking.spans[i, 0]:g}, {ranking.spans[i, 1]:g}]"


def lasts(ranking: Ranking, answers: Answers, durations: Mapping[int, float]) -> NDArray[np.float64]:
    """The duration of each answer's video; infinite where nobody knows it. [N]"""
    query = answers.queries.get(str(ranking.id))
    if ranking.videos is None:
        long = query.duration if query is not None and query.duration is not None else np.inf
        return np.full(len(ranking), long)
    return np.array([durations.get(v, np.inf) for v in ranking.videos.tolist()])


def past(facts: Facts) -> Iterator[Place]:
    if not isinstance(facts.more, Answers):
        return
    durations = facts.more.durations()
    for ranking in walk_rankings(facts):
        long = lasts(ranking, facts.more, durations)
        for i in np.flatnonzero(ranking.spans.max(axis=1, initial=-np.inf) > long + PAST).tolist():
            yield Place(ranking.id, i, f"{span(ranking, i)}, the video lasts {long[i]:g} s")


def doubles(ranking: Ranking) -> list[int]:
    """The answers that stood there already: the same window of the same video."""
    known: set[tuple[float, ...]] = set()
    videos = [0] * len(ranking) if ranking.videos is None else ranking.videos.tolist()
    found = []
    for i, row in enumerate(zip(videos, *ranking.spans.T.tolist(), strict=True)):
        if row in known:
            found.append(i)
        known.add(row)
    return found


def twice(facts: Facts) -> Iterator[Place]:
    for ranking in walk_rankings(facts):
        if again := doubles(ranking):
            yield Place(ranking.id, again[0], span(ranking, again[0]) + (f"; {len(again)} such" if again[1:] else ""))


def falling(facts: Facts) -> Iterator[Place]:
    for ranking in walk_rankings(facts):
        if ranking.scores is not None and len(up := np.flatnonzero(np.diff(ranking.scores) > 0)):
            yield Place(ranking.id, int(up[0]) + 1, "its score is above the one before")


def silent(facts: Facts) -> Iterator[Place]:
    return (Place(ranking.id) for ranking in walk_rankings(facts) if not len(ranking) and ranking.saliency is None)


def strange(facts: Facts) -> Iterator[Place]:
    """Videos that no reference names, once each."""
    if isinstance(facts.more, Answers) and facts.more.queries:
        known = {query.video for query in facts.more.queries.values()}
        answered = {
            v for ranking in walk_rankings(facts) if ranking.videos is not None for v in ranking.videos.tolist()
        }
        yield from (
            Place(None, None, repr(name))
            for name, number in facts.more.numbers.items()
            if number in answered and name not in known
        )


def turned(spans: NDArray[np.float64]) -> Flags:
    return np.asarray((spans[:, 1] < spans[:, 0]) & (spans >= 0).all(axis=1))


def empty(spans: NDArray[np.float64]) -> Flags:
    return np.asarray((spans[:, 1] == spans[:, 0]) & (spans >= 0).all(axis=1))


def negative(spans: NDArray[np.float64]) -> Flags:
    return np.asarray((spans < 0).any(axis=1))


CHECKS = (
    Check("reversed-answer", "error", "The window ends before it starts: it matches nothing.", flagged(turned), "swap"),
    Check("empty-answer", "error", "The window has no length: it matches nothing.", flagged(empty), "drop"),
    Check("negative-answer", "error", "The window begins before the video does.", flagged(negative), "clip"),
    Check("answer-past-duration", "warning", "The window ends after its video does.", past, "clip"),
    Check("duplicate-answer", "warning", "The same window of the same video again: it takes a place.", twice, "drop"),
    Check("unsorted-scores", "warning", "Answers are not listed by falling score; evaluators take either.", falling),
    Check("no-answer", "warning", "The query has an empty list of answers.", silent),
    Check("unknown-video", "info", "The answer's video is in no reference: it cannot be right.", strange),
)
OF_QUERIES = ("segments", "units", "ids", "words")
OF_ANSWERS = ("moments", "ids")


# The kind -------------------------------------------------------------------------------------------------------------


def role(request: CheckRequest) -> str:
    """Whether the file has queries or answers; an error lists the formats of both."""
    return find_role(open_document(request.path), request.format)


def find_role(head: Document, format: str | None) -> str:
    able, problem = [], None
    roles: tuple[files.Role, ...] = ("predictions", "references")
    for what in roles:
        try:
            files.choose_format(head, format, what)
            able.append(what)
        except (InputError, SpecError) as error:
            problem = error
    if problem is not None and not able:
        raise problem
    of_queries = len(able) == 2 and head.first_entry.keys() & {"video", "annotations"}
    return "references" if of_queries else able[0]


def read_queries(paths: Sequence[Path | Document], format: str | None, notes: Notes) -> dict[Id, Query]:
    """As they stand: nothing is judged yet."""
    return files.read_queries(paths, notes, format, judged=False)


def read_answers(request: CheckRequest, notes: Notes) -> tuple[Answers, str]:
    numbers = VideoNumbers()
    stream, name = files.read_rankings(request.path, numbers, notes, request.format)
    found: list[tuple[str, Ranking]] = []
    for which, answers in stream:
        found += [(which, ranking) for ranking in (answers if isinstance(answers, Rankings) else (answers,))]
    queries = read_queries(request.refs, request.refs_format, Notes()) if request.refs else {}
    return Answers(found, numbers, {str(id): query for id, query in queries.items()}), name


def look(request: CheckRequest) -> tuple[Report, str]:
    return look_at_answers(request) if role(request) == "predictions" else look_at_queries(request)


def look_at_answers(request: CheckRequest) -> tuple[Report, str]:
    notes = Notes()
    answers, name = read_answers(request, notes)
    known: frozenset[str | int] | None = request.limit(answers.queries, notes) if request.refs else None
    words = tuple((str(r.id), i, None) for _, r in answers.rankings for i in range(max(len(r), 1)))
    facts = Facts(corpus=Corpus({}), words=words, known=known, part="window", more=answers)
    return report(facts, notes, OF_ANSWERS), name


def look_at_queries(request: CheckRequest) -> tuple[Report, str]:
    notes = Notes()
    queries = read_queries([request.path], request.format, notes)
    known: frozenset[str | int] | None = None
    if request.refs:
        known = request.limit(map(str, read_queries(request.refs, request.refs_format, Notes())), notes)
    stories = {str(q.id): story(q) for q in queries.values()}
    durations = {id: s.duration for id, s in stories.items() if s.duration is not None}
    words = tuple((str(q.id), None, q.text) for q in queries.values())
    facts = Facts(corpus=Corpus(stories), words=words, durations=durations, known=known, part="window")
    name = files.choose_format(open_document(request.path), request.format, "references").name
    return report(facts, notes, OF_QUERIES), name


def story(query: Query) -> Story:
    """A query's windows as a story, for the checks that stories have."""
    return Story(str(query.id), tuple(Event(Segment(s, e)) for s, e in query.windows), query.duration)


def mend(request: CheckRequest, target: Path) -> Mended:
    """As Fabula's own lines; answers of several lists in the format that has a place for them."""
    if not has_lines(target):
        raise SpecError(f"the copy is written as lines of JSON; call it {target.stem}.jsonl")
    deeds: list[Deed] = []
    if role(request) == "references":
        mended = [mended_query(q, deeds) for q in read_queries([request.path], request.format, Notes()).values()]
        lines = write_queries((q for q in mended if q.windows), Source(open_document(target)))
        write_text(check_path(target), lines)
        return Mended("moment-lines", [d.to_dict() for d in deeds], DEEDS)
    answers, _ = read_answers(request, Notes())
    durations = answers.durations()
    fixed = [(which, mended_ranking(r, lasts(r, answers, durations), deeds)) for which, r in answers.rankings]
    if {which for which, _ in fixed} <= {""}:
        files.write_rankings((ranking for _, ranking in fixed), answers.numbers, target)
        return Mended("moment-lines", [d.to_dict() for d in deeds], DEEDS)
    name, write = next((f.name, f.write_lists) for f in files.formats() if f.write_lists is not None)
    write_text(check_path(target), write(fixed, answers.numbers, Source(open_document(target))))
    return Mended(name, [d.to_dict() for d in deeds], DEEDS)


def mended_query(query: Query, deeds: list[Deed]) -> Query:
    """With windows that are stretches of their video; without any where nothing is left."""
    segments = [
        straight(Segment(start, end), str(query.id), i, query.duration, deeds)
        for i, (start, end) in enumerate(query.windows)
    ]
    return query._replace(windows=tuple((s.start, s.end) for s in segments if s is not None))


def mended_ranking(ranking: Ranking, long: NDArray[np.float64], deeds: list[Deed]) -> Ranking:
    spans, rows = ranking.spans.copy(), []
    again = set(doubles(ranking))
    for i, (start, end) in enumerate(ranking.spans.tolist()):
        whole = straight(Segment(start, end), str(ranking.id), i, float(long[i]), deeds)
        if whole is not None and i in again:
            deeds.append(Deed("drop-duplicate", str(ranking.id), i, (start, end)))
        elif whole is not None:
            spans[i] = whole.start, whole.end
            rows.append(i)
    return replace(
        ranking,
        spans=spans[rows],
        scores=None if ranking.scores is None else ranking.scores[rows],
        videos=None if ranking.videos is None else ranking.videos[rows],
    )


def knows(head: Document) -> bool:
    if (shared := name_shared_kind(head)) is not None:
        return shared == "moments"
    if files.SHELF.is_certain(head):
        return True
    if head.is_table:  # of grounding where it has the truth beside what was said
        return "answer" in head.text.partition("\n")[0]
    if files.SHELF.pattern_of(head) == "*.json" and any(word in head.text for word in STORIES):
        return False
    first = head.first_object
    if is_free_text(head) and (isinstance(first.get("id"), str) or "uid" in first):
        return False  # an answer about a video, which text names; queries have numbers, or --task says so
    try:
        return bool(find_role(head, None))
    except (InputError, SpecError):
        return False


def knows_name(format: str) -> bool:
    return format in {f.name for f in files.formats()}


KIND = Kind(
    name="moments",
    tasks=("moments", "highlights", "grounding"),
    knows=knows,
    named=knows_name,
    look=look,
    mend=mend,
    last=3,
)
