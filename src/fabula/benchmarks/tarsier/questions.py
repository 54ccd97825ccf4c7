"""tarsier's lines of DREAM-1K: {"dataset", "idx", "messages": [{"role", "content": [{"type", "text", "reference"}]}]}.

What is predicted is the joined text of those parts of the assistant's messages that have a reference; references are
joined too. `extra_info` may list the reference's events. A folder of such files is one; of two lines with one dataset
and idx the first counts; lines of other benchmarks are passed over.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from fabula.core.notes import name_id
from fabula.data.questions import Response
from fabula.documents.document import Document, FileDocument, open_document
from fabula.documents.fields import Source
from fabula.io.format import Format, HeadRule
from fabula.io.questions.lines import read_texts

LINE = HeadRule(all=("dataset", "idx", "messages"), lines=True)
DREAM = "DREAM"
TRAITS = ("n_subjects", "n_shots", "n_events")


def list_entries(document: Document) -> Iterator[tuple[str, Any]]:
    """The entries of a file, or of the files of a folder by name, and their places."""
    if not (isinstance(document, FileDocument) and document.is_folder):
        yield from document.entries()
        return
    for path in sorted(p for p in document.path.iterdir() if p.name.endswith(".jsonl")):
        yield from ((f"{path.name} {at}", entry) for at, entry in open_document(path).entries())


def read_responses(source: Source) -> Iterator[Response]:
    seen = set[str]()
    for at, entry in list_entries(source.document):
        entry = source.mapping(entry, at)
        dataset = source.text(source.entry(entry, "dataset", None, at), f"{at} dataset")
        id = f"{dataset}_{source.identity(source.entry(entry, 'idx', None, at), f'{at} idx')}"
        if dataset.split("/")[0] != DREAM:
            source.notes.add("{n} lines are of other benchmarks and are not scored", name_id(id))
        elif id in seen:
            source.notes.add("{n} lines stand twice; the first counts, as the evaluator has it", name_id(id))
        else:
            seen.add(id)
            yield read_entry(entry, id, dataset, at, source)


def read_entry(entry: dict[str, Any], id: str, dataset: str, at: str, source: Source) -> Response:
    said, meant = list[str](), list[str]()
    for message in source.listing(source.entry(entry, "messages", id, at), f"{at} messages", id):
        message = source.mapping(message, f"{at} messages", id)
        for part in source.listing(source.entry(message, "content", id, at), f"{at} content", id):
            part = source.mapping(part, f"{at} content", id)
            if message.get("role") == "assistant" and part.get("type") == "text" and part.get("reference"):
                said.append(source.caption(part.get("text"), f"{at} text", id))
                meant.append(source.caption(part["reference"], f"{at} reference", id))
    extra = entry.get("extra_info") or {}
    extra = source.mapping(extra, f"{at} extra_info", id)
    events = extra.get("events")
    return Response(
        id=id,
        answer="".join(said),
        group="" if entry.get("vid") is None else str(entry["vid"]),
        kind=dataset,
        references=("".join(meant),),
        events=read_texts(events, f"{at} events", id, source) if isinstance(events, list) else None,
        traits={name: source.number(extra[name], f"{at} {name}", id) for name in TRAITS if extra.get(name) is not None},
    )


FORMAT = Format(
    name="tarsier",
    about="tarsier's lines of DREAM-1K, or a folder of them: dataset, idx, messages with text and reference",
    known_by=(LINE,),
    certain=(LINE,),
    holds="either",
    tasks=("questions",),
    pattern="*.jsonl",
    read_responses=read_responses,
    example='{"dataset": "DREAM/movie", "idx": 1, "messages": [{"role": "assistant", "content": [{"type": "text", '
    '"text": "A man runs.", "reference": "A man runs and falls."}]}], "extra_info": {"events": ["He falls."]}}',
)
