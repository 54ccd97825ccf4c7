"""Blanks as BERT reads them (Raajesh et al., CVPR 2024, eq. 1; Park et al., ECCV 2020): the store `text` of a run.

    b_k = [h_CLS; h_MASK_k]        of the last layer, two times 768 numbers, for every blank k of a captionset

A captionset is one paragraph: its captions with a capital each, every blank a [MASK]. Weights are a folder of the
user's (config.json, model.safetensors, tokenizer.json); text/neural does the arithmetic, no torch is needed.

The published helper numbers blanks with a counter that falls behind at every paragraph without a blank: in a batch, the
first blanks after it overwrite one another, and the last rows stay 0. `counter="published"` does the same.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Protocol

import numpy as np

from fabula.core.errors import InputError, SpecError
from fabula.core.notes import Notes, Progress, name_id, silent
from fabula.evaluate.captionsets import read_captionsets
from fabula.io.identity import Grouped
from fabula.io.identity.captionsets import SetText
from fabula.learn.identity.split_sets import has_split, read_sets_of
from fabula.learn.identity.wordpiece import WHO
from fabula.learn.options import BlankOptions
from fabula.media.stores.features import Frames, write_features
from fabula.text.neural.encoder import Encoder
from fabula.text.neural.model import digest, open_model

BLANK = "<blank>"
MARKS = ("[CLS]", "[SEP]", "[MASK]")


@dataclass(frozen=True, slots=True)
class Paragraph:
    """A captionset as tokens, and where its blanks are."""

    tokens: list[int]
    blanks: list[int]


class BlankReader:
    """Captionsets → vectors of their blanks."""

    def __init__(self, model: str | Encoder) -> None:
        self.encoder = open_model(model) if isinstance(model, str) else model
        if self.encoder.shape.family != "bert":
            raise InputError("no BERT", file=self.encoder.folder, hint="blanks are read by BERT (bert-base-uncased)")
        tokenizer = self.encoder.tokenizer
        numbers = [tokenizer.token_to_id(mark) for mark in MARKS]
        for mark, number in zip(MARKS, numbers, strict=True):
            if number is None:
                raise InputError(f"no token {mark}", file=self.encoder.folder / "tokenizer.json", hint="take BERT's")
        self.first, self.last, self.mask = (number or 0 for number in numbers)

    @property
    def width(self) -> int:
        return 2 * self.encoder.shape.width

    def paragraph(self, captions: Sequence[str], name: str = "") -> Paragraph:
        """Captions of a set as one paragraph; every blank, and every id, is a [MASK]."""
        sentences = (WHO.sub(BLANK, caption.strip()).capitalize() for caption in captions)
        text = " ".join(sentences).replace("Someone", "someone")
        tokens, blanks = [self.first], list[int]()
        for k, part in enumerate(text.split(BLANK)):
            if k:
                blanks.append(len(tokens))
                tokens.append(self.mask)
            tokens += self.encoder.tokenizer.encode(part, add_special_tokens=False).ids
        tokens.append(self.last)
        if len(tokens) > self.encoder.shape.longest:
            raise InputError(
                f"{len(tokens)} tokens; the encoder reads {self.encoder.shape.longest}",
                video=name or None,
                noun="captionset",
                hint="cut the set into smaller ones",
            )
        return Paragraph(tokens, blanks)

    def vectors(self, paragraphs: Sequence[Paragraph], counter: str = "corrected") -> list[Frames]:
        """[blanks, 2C] for each paragraph of a batch."""
        hidden = self.encoder.encode([paragraph.tokens for paragraph in paragraphs])
        rows = [np.zeros((len(paragraph.blanks), self.width), np.float32) for paragraph in paragraphs]
        current = -1
        for b, (paragraph, states) in enumerate(zip(paragraphs, hidden, strict=True)):
            slot = 0
            for k, at in enumerate(paragraph.blanks):
                if counter == "published":
                    slot, current = (slot, current) if current == b else (0, current + 1)
                else:
                    slot = k
                rows[b][slot] = np.concatenate([states[0], states[at]])
                slot += 1
        return rows


class SetFiles(Protocol):
    """Options that say which captionsets of files and folders are meant."""

    @property
    def sets(self) -> Path | None: ...
    @property
    def split(self) -> tuple[str, ...]: ...


def read_all(paths: Sequence[Path], options: SetFiles, notes: Notes) -> dict[str, SetText]:
    """The captionsets of all files; of a folder, of its splits."""
    found: dict[str, SetText] = {}
    for path in paths:
        for name, one in read_path(path, options, notes):
            if name in found and found[name].captions != one.captions:
                raise InputError(
                    "this captionset is there twice, with other captions", file=path, video=name, noun="captionset",
                    hint="ids of captionsets differ, also between splits",
                )  # fmt: skip
            found[name] = one
    return found


def read_path(path: Path, options: SetFiles, notes: Notes) -> Iterator[tuple[str, SetText]]:
    if not path.is_dir():
        grouped: Grouped = "overlapping" if options.split == ("train",) else "disjoint"
        yield from read_captionsets(path, notes, sets=options.sets, grouped=grouped).items()
        return
    if options.sets is not None:
        raise SpecError("--sets is of one file; a folder has its own (valSets.csv)")
    splits = options.split or tuple(split for split in ("train", "val", "test") if has_split(path, split))
    if not splits:
        raise InputError("no file of captionsets of any split", file=path, hint="name the files themselves")
    for split in splits:
        yield from read_sets_of(path, split, notes).items()


def make_blank_store(
    paths: Sequence[Path], options: BlankOptions, notes: Notes, progress: Progress = silent
) -> tuple[int, int]:
    """Write the store; returns how many captionsets and blanks it has."""
    reader = BlankReader(options.model)
    sets = read_all(paths, options, notes)
    rows = 0

    def items() -> Iterator[tuple[str, Frames]]:
        nonlocal rows
        names, done = iter(sets), 0
        while batch := list(islice(names, options.batch)):
            paragraphs = [reader.paragraph(captions_of(name, sets), name) for name in batch]
            for name, vectors in zip(batch, reader.vectors(paragraphs, options.counter), strict=True):
                done += 1
                rows += len(vectors)
                if len(vectors):
                    yield name, vectors
                else:
                    notes.add("{n} captionsets have no blank and no entry", name_id(name))
            progress("blanks", done, len(sets))

    metadata = {
        "recipe": {
            "blanks": "bert",
            "weights": digest(options.model),
            "width": reader.width,
            "counter": options.counter,
        }
    }
    return write_features(options.out, items(), metadata, options.overwrite), rows


def captions_of(name: str, sets: Mapping[str, SetText]) -> tuple[str, ...]:
    captions = sets[name].captions
    if captions is None:
        raise InputError("no captions", video=name, noun="captionset", hint="blanks are read in their captions")
    return captions
