"""True and wrong captions of a moment (VERIFIED, Chen et al., NeurIPS 2024, Listings 7–9).

    true      the caption, and rewritten ones that mean the same
    static    a colour, number, thing, place … is another one
    dynamic   a deed, direction or order is another one

Models write them (`fabula annotate run --rewrites`, then provenance.jsonl of `export`), or rules make the wrong ones
(annotation/disturb.py).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

from fabula.annotation.candidates import normalise
from fabula.annotation.disturb import disturb
from fabula.core.errors import InputError
from fabula.core.notes import Notes, name_id
from fabula.data.moments import Id, Query
from fabula.documents.document import open_document
from fabula.documents.fields import JsonObject, Source

KINDS = ("static", "dynamic")
NAMES = {"true": "rewrite", "static": "disturb_static", "dynamic": "disturb_dynamic"}  # in files
MADE = 3  # wrong captions of a kind, as in the paper
HINT = 'a line is {"desc_id", "rewrites": {"rewrite": […], "disturb_static": […], "disturb_dynamic": […]}}'
CANDIDATES = 'a line is {"desc_id", "candidates": ["…", …]}, as provenance.jsonl of fabula annotate export has them'


@dataclass(frozen=True, slots=True)
class Wrong:
    """A caption that is not true of its moment."""

    text: str
    kind: str
    rule: str = ""  # that made it; nothing where a model did


@dataclass(frozen=True, slots=True)
class Texts:
    """All captions of a moment; the first true one is its own."""

    true: tuple[str, ...]
    wrong: tuple[Wrong, ...]


@lru_cache(maxsize=1 << 17)
def by_rule(caption: str, kind: str, n: int = MADE) -> tuple[Wrong, ...]:
    return tuple(Wrong(d.text, kind, d.rule) for d in disturb(caption, kind, n))


def make_texts(caption: str, rewrites: Mapping[str, tuple[str, ...]] | None = None, n: int = MADE) -> Texts:
    """The captions of a moment; wrong ones of a kind that none are given of are made by rule."""
    rewrites = rewrites or {}
    known = {normalise(text) for text in (caption, *rewrites.get("true", ()))}
    wrong: list[Wrong] = []
    for kind in KINDS:
        wrongs = tuple(Wrong(text, kind) for text in rewrites.get(kind, ())) or by_rule(caption, kind, n)
        wrong += [w for w in wrongs if normalise(w.text) not in known]
    return Texts((caption, *rewrites.get("true", ())), tuple(wrong))


def texts_of(
    queries: Iterable[Query], rewrites: Mapping[Id, Mapping[str, tuple[str, ...]]] | None, notes: Notes
) -> dict[Id, Texts]:
    """The captions of every moment; how many have no wrong ones is noted."""
    out = {}
    for query in queries:
        if rewrites is not None and query.id not in rewrites:
            notes.add(
                "{n} moments are not in the file of rewrites; their wrong captions are by rule", name_id(query.id)
            )
        out[query.id] = texts = make_texts(query.text or "", (rewrites or {}).get(query.id))
        for kind in KINDS:
            if not any(w.kind == kind for w in texts.wrong):
                notes.add(f"{{n}} captions have no {kind} disturbed one", name_id(query.id))
    return out


def read_rewrites(path: Path) -> dict[Id, dict[str, tuple[str, ...]]]:
    """Rewritten and disturbed captions by the id of their moment."""
    source = Source(open_document(path), noun="moment")
    rewrites: dict[Id, dict[str, tuple[str, ...]]] = {}
    for number, entry in source.document.numbered():
        at = f"line {number}"
        entry = source.mapping(entry, at, hint=HINT)
        id = source.identity(source.entry(entry, "desc_id", None, at), f"{at} desc_id")
        entries: Any = entry.get("rewrites")
        if entries is None:
            continue
        entries = source.mapping(entries, f"{at} rewrites", hint=HINT)
        rewrites[id] = {}
        for kind, name in NAMES.items():
            listed = entries.get(name, [])
            if not isinstance(listed, list):
                raise source.wrong("no list of captions", id, f"rewrites.{name}", HINT)
            texts = (source.caption(text, f"rewrites.{name}", id).strip() for text in listed)
            rewrites[id][kind] = tuple(text for text in texts if text)
    if not rewrites:
        raise InputError("no line has rewrites", file=path, hint="fabula annotate run --rewrites asks for them")
    return rewrites


def read_candidates(path: Path) -> dict[Id, tuple[JsonObject, ...]]:
    """Captions to choose from, by the id of their moment: texts, or objects that have a text."""
    source = Source(open_document(path), noun="moment")
    candidates: dict[Id, tuple[JsonObject, ...]] = {}
    for number, entry in source.document.numbered():
        at = f"line {number}"
        entry = source.mapping(entry, at, hint=CANDIDATES)
        id = source.identity(source.entry(entry, "desc_id", None, at), f"{at} desc_id")
        if id in candidates:
            raise source.wrong("this id stands twice", id, "desc_id", "ids are unique")
        listed = source.listing(source.entry(entry, "candidates", id, at), "candidates", id, CANDIDATES)
        candidates[id] = tuple(read_candidate(one, source, id) for one in listed)
    return candidates


def read_candidate(one: object, source: Source, id: Id) -> JsonObject:
    entry = {"text": one} if isinstance(one, str) else source.mapping(one, "candidates", id, CANDIDATES)
    text = source.caption(source.entry(entry, "text", id, "candidates"), "candidates.text", id)
    if not any(c.isalnum() for c in text):
        raise source.wrong("a caption without words", id, "candidates", "leave it out")
    return {"text": text, **{k: v for k, v in entry.items() if k == "branch" and isinstance(v, str)}}
