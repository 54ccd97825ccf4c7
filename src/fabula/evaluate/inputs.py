"""What a verb was given, as what it reads: paths and corpora as they are, anything else as a document."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from fabula.data.stories import Corpus
from fabula.documents.document import Document
from fabula.evaluate.base import Readable
from fabula.evaluate.options import ScoreOptions


def take(value: Any, name: str, options: ScoreOptions, role: str = "predictions") -> Readable:
    """One input: a path, a corpus, or a document."""
    if isinstance(value, str | Path | Corpus | Document):
        return value
    from fabula import io
    from fabula.documents.objects import unpack

    value = unpack(value)
    if isinstance(value, Corpus):
        return value
    format = options.format if role == "predictions" else options.refs_format
    read = io.wrap if options.sharded else io.take
    return read(value, name, role, find_task(options), format)


def find_task(options: ScoreOptions) -> str | None:
    """The task that was named, or the protocol's."""
    if options.task is None and options.protocol:
        from fabula.benchmarks import protocol

        return protocol(options.protocol).task
    return options.task


def take_refs(refs: Any, options: ScoreOptions) -> list[Readable]:
    """One reference set, or several."""
    if isinstance(refs, str | Path | Corpus | Document):
        return [refs]
    from fabula.documents.objects import is_one

    one = is_one(refs) or (find_task(options) == "questions" and is_lines(refs))
    several = [refs] if one else list(refs)
    names = ["references"] if len(several) == 1 else [f"reference set {k}" for k in range(1, len(several) + 1)]
    return [take(ref, name, options, "references") for ref, name in zip(several, names, strict=True)]


def is_lines(refs: Any) -> bool:
    """Dicts alone: of questions those are lines, whatever they call their ids."""
    return isinstance(refs, list | tuple) and bool(refs) and all(isinstance(line, Mapping) for line in refs)


def take_both(
    predictions: Any, refs: Any, options: ScoreOptions, name: str = "predictions"
) -> tuple[Readable, list[Readable]]:
    """Predictions and references; captions in plain lists, or by id, are met here."""
    if not isinstance(predictions, str | Path | Corpus | Document):
        from fabula.documents.objects import is_texts, name_faults, wrap_pairs

        with name_faults(name):
            texts = is_texts(predictions)
        if texts and not isinstance(refs, str | Path | Corpus | Document | Mapping):
            return wrap_pairs(predictions, refs, "captions" if name == "predictions" else name), []
        if is_captions(predictions, refs) and find_task(options) in (None, "captions"):
            listed = [{"image_id": id, "caption": text} for id, text in predictions.items()]
            return take(listed, name, options), [take(list_captions(refs), "references", options, "references")]
    return take(predictions, name, options), take_refs(refs, options)


def is_captions(predictions: Any, refs: Any) -> bool:
    """{id: text} against {id: text or [text, …]}."""
    if not (isinstance(predictions, Mapping) and isinstance(refs, Mapping) and predictions and refs):
        return False
    texts = all(isinstance(text, str) for text in predictions.values())
    return texts and all(
        isinstance(r, str) or (isinstance(r, list | tuple) and all(isinstance(t, str) for t in r))
        for r in refs.values()
    )


def list_captions(refs: Mapping[Any, Any]) -> list[dict[str, Any]]:
    """As COCO has them."""
    return [
        {"image_id": id, "caption": text}
        for id, texts in refs.items()
        for text in ([texts] if isinstance(texts, str) else texts)
    ]


def take_systems(systems: Mapping[str, Any] | Sequence[Any]) -> dict[str, Any]:
    """Systems by name: the mapping's, or those of their files; by their paths where two files share a name."""
    from fabula.core.errors import SpecError

    if isinstance(systems, Mapping) and not isinstance(systems, Corpus):
        return {str(name): system for name, system in systems.items()}
    several = list(systems)
    stems = [name_system(s, i) for i, s in enumerate(several)]
    if len(set(stems)) < len(stems):
        stems = [
            str(s) if isinstance(s, str | Path) else f"{stem} {i + 1}"
            for i, (s, stem) in enumerate(zip(several, stems, strict=True))
        ]
    if len(set(stems)) < len(stems):
        raise SpecError("the same file is named twice; a system is not compared with itself")
    return dict(zip(stems, several, strict=True))


def name_system(system: Any, i: int) -> str:
    if isinstance(system, str | Path):
        return Path(system).stem
    return (system.name if isinstance(system, Corpus) else "") or f"system {i + 1}"


def take_sets(options: ScoreOptions) -> ScoreOptions:
    """The file of sets that identity wants may be given as lists, too."""
    sets: Any = options.sets
    if sets is None or isinstance(sets, str | Path | Document):
        return options
    from fabula.documents.objects import wrap_sets

    return replace(options, sets=wrap_sets(sets))
