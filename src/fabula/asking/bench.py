"""A benchmark file as what it asks of which film: any format of moments, questions or stories that Fabula reads."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from fabula import io
from fabula.asking.options import Subject
from fabula.asking.prompts import Kind
from fabula.core.errors import InputError
from fabula.core.notes import Notes, name_id
from fabula.data.moments import Query
from fabula.data.questions import Response, letter
from fabula.documents.document import open_document
from fabula.io import kinds, moments, questions
from fabula.media.decode import ENDINGS

SUBJECTS: dict[str, Subject] = {"moments": "grounding", "grounding": "grounding", "highlights": "highlights"}


@dataclass(frozen=True, slots=True)
class Inquiry:
    """One thing that is asked about one film."""

    id: str | int
    film: str  # its name, as the benchmark has it
    kind: Kind
    values: Mapping[str, str]  # of the prompt's variables


Groups = Mapping[str, Sequence[tuple[int, Inquiry]]]  # film → its questions, with their places in the benchmark


@dataclass(frozen=True)
class BenchFile:
    """What a file asks."""

    path: Path
    subject: Subject
    inquiries: tuple[Inquiry, ...]
    notes: Notes = field(default_factory=Notes)

    @property
    def kinds(self) -> list[Kind]:
        return list(dict.fromkeys(one.kind for one in self.inquiries))


def read_bench(path: str | Path, subject: Subject | None = None, format: str | None = None) -> BenchFile:
    """All that a benchmark file asks."""
    path, notes = Path(path), Notes()
    if not path.exists():
        raise InputError("no such file", file=path, hint="name a benchmark: fabula list formats shows what is read")
    subject = subject or find_subject(path, format)
    if subject in ("grounding", "highlights"):
        kind: Kind = "grounding" if subject == "grounding" else "highlights"
        found = [ask_query(query, kind, path) for query in read_queries(path, notes, format)]
    elif subject == "questions":
        responses = questions.read_responses(path, notes, format, "references")
        found = [ask_question(response, path) for response in responses.values()]
    else:
        corpus, more = io.read(path, format)
        notes.extend(more)
        found = [Inquiry(id, id, "dense", {}) for id in corpus]
    if not found:
        raise InputError("it asks nothing", file=path, hint="check the file")
    return BenchFile(path, subject, tuple(found), notes)


def read_queries(path: Path, notes: Notes, format: str | None) -> Iterable[Query]:
    """Windows are for whoever scores: here they are taken as they stand."""
    return moments.read_queries([path], notes, format, judged=False).values()


def find_subject(path: Path, format: str | None) -> Subject:
    """What a file is for: by its format, or by how it begins."""
    head = open_document(path)
    shelf = kinds.QUERIES
    if format is not None:
        kind = kinds.name_format_kind(format)
        known = shelf.find(format.partition(":")[0]) if kind == "moments" else None
        return SUBJECTS.get(known.main_task or "", "grounding") if known else name_subject(kind, path)
    kind = None if head.holds_only_stories else kinds.name_kind(head)
    found = None if head.holds_only_stories else shelf.sniff(head, "references")
    if found is not None and (kind in (None, "moments") or shelf.is_certain(head)):
        return SUBJECTS.get(found.main_task or "", "grounding")
    return name_subject(kind, path)


def name_subject(kind: str | None, path: Path) -> Subject:
    if kind is None:
        return "dense"
    if kind == "questions":
        return "questions"
    problem = f"holds {kind}, which nobody is asked for yet"
    raise InputError(problem, file=path, hint="fabula ask reads moments, highlights, questions and dense captions")


def ask_query(query: Query, kind: Kind, path: Path) -> Inquiry:
    if not (query.text and query.text.strip()):
        raise InputError("it has no text", file=path, video=query.id, noun="query", hint="a model is asked by its text")
    return Inquiry(query.id, query.video, kind, {"query": query.text.strip()})


def ask_question(response: Response, path: Path) -> Inquiry:
    if not response.question.strip():
        problem, hint = "it has no question", "a model is asked by its text"
        raise InputError(problem, file=path, video=response.id, noun="item", hint=hint)
    listed = "\n".join(f"{letter(k)}. {text}" for k, text in enumerate(response.options))
    values = {"question": response.question.strip(), "options": listed}
    return Inquiry(response.id, response.group or str(response.id), "options" if listed else "free", values)


# ── films ──────────────────────────────────────────────────────────────────────────────────────────────────────────


def find_film(name: str, films: Mapping[str, Path]) -> str | None:
    """The id of the film that a benchmark calls so: `kite`, `kite.mp4`, `clips/kite.mp4`, `v_kite` are the same."""
    short = name.replace("\\", "/").rpartition("/")[2]
    stem, dot, ending = short.rpartition(".")
    names = [name, short, *([stem] if dot and f".{ending.lower()}" in ENDINGS else [])]
    names += [each.removeprefix("v_") if each.startswith("v_") else f"v_{each}" for each in names]
    return next((each for each in names if each in films), None)


def group_films(bench: BenchFile, films: Mapping[str, Path], skips: bool, notes: Notes) -> Groups:
    """What is asked of each film, films in the order in which the file names them."""
    groups: dict[str, list[tuple[int, Inquiry]]] = {}
    missing: Counter[str] = Counter()
    for place, one in enumerate(bench.inquiries):
        id = find_film(one.film, films)
        if id is None:
            missing[one.film] += 1
        else:
            groups.setdefault(id, []).append((place, one))
    if missing and (not skips or not groups):
        names = ", ".join(list(missing)[:3]) + (" …" if len(missing) > 3 else "")
        problem = f"{len(missing):,} of its films are not among --videos: {names}"
        raise InputError(problem, file=bench.path, hint="name their folder, or say --skip-bad")
    for name, count in missing.items():
        notes.add("{n} questions are left out, for their films are missing", name_id(name), count)
    return groups
