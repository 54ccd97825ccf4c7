"""Blanks of captionsets as FillIn reads them (Park, Darrell and Rohrbach, ECCV 2020): each with its clip's faces.

words    a caption as numbers: 0, its words, 0; the blank that is asked about is <blank>, other people are SOMEONE
face     one a person of the clip, the mean (`pool_faces`); the first F, zeros behind them
video    by face: the mean action feature of the segment in which the face is, ⌊min(n, S) · time − 10⁻⁶⌋ of n features
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from fabula.core.errors import InputError
from fabula.learn import batch as base
from fabula.learn.identity.clips import ClipSets
from fabula.learn.identity.videosets import STRIDE, ClipFeatures, Floats, pool_segments
from fabula.learn.identity.wordpiece import WHO
from fabula.text.identity import plain_number

if TYPE_CHECKING:
    from fabula.learn.models.fillin import Config

END, UNKNOWN, BLANK, SOMEONE = "<eos>", "<UNK>", "<blank>", "SOMEONE"
FIRST = (END, "<sos>")  # the rows before the first word; nothing is written with the second
MARKS = re.compile(r"[.!,;?]")


@dataclass(frozen=True)
class BlankSet:
    """The blanks of a captionset, in the order of the text, and the clips they are in."""

    name: str
    clips: tuple[ClipFeatures, ...]  # a face a person
    where: tuple[int, ...]  # the clip of each blank
    people: tuple[int, ...]  # 1, 2, … by first appearance; 0: not known
    words: tuple[tuple[int, ...], ...] = ()  # of each blank's caption
    text: Floats | None = None  # [blanks, C]
    genders: tuple[int, ...] = ()


@dataclass
class Batch(base.Batch):
    """B sets with S blanks each at most, F faces in each of N clips."""

    clip: Tensor  # [B, S] the clip of each blank; −1 behind the last
    person: Tensor  # [B, S] 1, 2, …; 0 where it is not known
    gender: Tensor  # [B, S] 0, 1, 2; −1 where it is not known
    text: Tensor  # [B, S, C]
    words: Tensor  # [B, S, L]
    length: Tensor  # [B, S] of the words, both zeros included; 0 behind the last
    face: Tensor  # [B, N, F, C]
    face_mask: Tensor  # [B, N, F]
    video: Tensor  # [B, N, F, C]

    @property
    def mask(self) -> Tensor:
        """Where there is a blank. [B, S]"""
        return self.clip >= 0


# --- words -----------------------------------------------------------------------------------------------------------


def count_words(captions: Iterable[str], least: int = 2) -> tuple[str, ...]:
    """The vocabulary of captions: words that occur at least so often, in the order of their first occurrence.

    As published, a person's 's is counted with the word "someone", and every other 's as a word of its own.
    """
    counts = Counter[str]()
    for caption in captions:
        named = re.sub(rf"(?:{WHO.pattern})(?='s)", SOMEONE.lower(), caption)
        text = MARKS.sub(" ", WHO.sub(BLANK, named).lower()).replace("'s", " 's")
        counts.update(text.split())
    known = [word for word, n in counts.items() if n >= least]
    known += [] if BLANK in known else [BLANK]
    return (*FIRST, *known, *([UNKNOWN] if len(known) < len(counts) else []), SOMEONE)


class Words:
    """Captions as numbers of a vocabulary."""

    def __init__(self, vocabulary: Sequence[str], most: int) -> None:
        self.number = {word: i for i, word in enumerate(vocabulary)}
        self.unknown, self.most = self.number.get(UNKNOWN, 1), most

    def encode(self, caption: str) -> list[tuple[int, ...]]:
        """The caption once for each of its blanks; more words than there is room for are cut."""
        words = MARKS.sub(" ", WHO.sub(f" {BLANK} ", caption).lower()).split()
        blanks = [i for i, word in enumerate(words) if word == BLANK]
        last = self.most - 3  # words between the first 0, the last one and the column that is always 0
        if blanks and blanks[-1] > last:
            raise InputError(
                f"a blank is word {blanks[-1] + 1} of a caption; the model reads {last + 1}",
                hint="train with --set tokens=…",
            )
        rows = []
        for blank in blanks:
            row = [SOMEONE if w == BLANK and i != blank else w for i, w in enumerate(words[: last + 1])]
            rows.append((0, *(self.number.get(word, self.unknown) for word in row), 0))
        return rows


# --- sets ------------------------------------------------------------------------------------------------------------


class BlankSets(ClipSets):
    """Captionsets with blanks as FillIn's data set: len, [i], collate. Sets that name nobody are no units of training.

    A set to be filled has no more clips than the model takes.
    """

    config: Config

    def note_people(self) -> None:
        super().note_people()
        if self.use == "train":
            self.windows = [w for w in self.windows if any(WHO.search(c) for c in self.texts(*w))]
            return
        for name in self.sets:
            if len(self.clips(name)) > self.config.clips:
                raise InputError(
                    f"{len(self.clips(name))} clips; FillIn takes {self.config.clips} at a time",
                    video=name,
                    noun="captionset",
                    hint="cut it into smaller sets, or fill it with MICap",
                )

    def note_faces(self) -> None:
        """How many people a clip shows is known when its faces are clustered; the first `faces` of them are seen."""

    @cached_property
    def vocabulary(self) -> Words:
        return Words(self.config.vocabulary, self.config.tokens)

    def texts(self, name: str, first: int) -> tuple[str, ...]:
        return self.captions(name)[first : first + self.config.clips]

    def __getitem__(self, i: int) -> BlankSet:
        name, first = self.windows[i]
        captions = self.texts(name, first)
        numbers = range(first, first + len(captions))
        matches = [(k, match) for k, caption in enumerate(captions) for match in WHO.finditer(caption)]
        features, _ = self.look([self.clips(name)[k] for k in numbers])
        return BlankSet(
            name,
            features,
            tuple(k for k, _ in matches),
            self.number_people(name, [match[1] for _, match in matches]),
            tuple(row for caption in captions for row in self.encode(name, caption)) if self.config.reads_words else (),
            self.describe(name, self.captions(name), numbers) if self.config.reads_features else None,
            self.genders(name, numbers) if self.config.gender else (),
        )

    def number_people(self, name: str, ids: Sequence[str | None]) -> tuple[int, ...]:
        """1, 2, … by first appearance; 0 for whoever has no id, or is to be filled in."""
        number_of: dict[str, int] = {}
        known = [None if id is None or self.use != "train" else plain_number(id) for id in ids]
        people = tuple(0 if id is None else number_of.setdefault(id, len(number_of) + 1) for id in known)
        if len(number_of) > self.config.people:
            raise InputError(
                f"captions name {len(number_of)} people; the model has room for {self.config.people}",
                video=name,
                noun="captionset",
                hint="train with --set people=…, or cut the set into smaller ones",
            )
        return people

    def encode(self, name: str, caption: str) -> list[tuple[int, ...]]:
        try:
            return self.vocabulary.encode(caption)
        except InputError as error:
            raise InputError(error.problem, video=name, noun="captionset", hint=error.hint) from None

    def genders(self, name: str, clips: Sequence[int]) -> tuple[int, ...]:
        """Of the blanks of some clips."""
        if "gender" not in self.streams.files or self.use != "train":
            return ()
        rows = self.rows_of_blanks("gender", name, self.captions(name), clips)
        genders = tuple(int(g) for g in rows[:, 0])
        if not set(genders) <= {-1, 0, 1, 2}:
            raise InputError(
                f"genders {sorted(set(genders))}",
                file=self.streams.files["gender"],
                video=name,
                noun="captionset",
                hint="they are 0 (man), 1 (woman), 2 (several, or hidden), −1 (unknown)",
            )
        return genders

    def collate(self, examples: Sequence[BlankSet]) -> Batch:
        return collate(examples, self.config)


def collate(sets: Sequence[BlankSet], config: Config) -> Batch:
    """Sets as one batch: blanks padded to the most of a set; faces always to F, for the attention's sum counts them."""
    c, B, N = config, len(sets), config.clips
    S = max(1, *(len(one.where) for one in sets))
    L = max(1, *(len(row) for one in sets for row in one.words), 0)
    long = torch.long
    b = Batch(
        [one.name for one in sets],
        torch.full((B, S), -1), torch.zeros(B, S, dtype=long), torch.full((B, S), -1),
        torch.zeros(B, S, c.text_dim), torch.zeros(B, S, L, dtype=long), torch.zeros(B, S, dtype=long),
        torch.zeros(B, N, c.faces, c.face_dim), torch.zeros(B, N, c.faces, dtype=torch.bool),
        torch.zeros(B, N, c.faces, c.action_dim),
    )  # fmt: skip
    for i, one in enumerate(sets):
        n = len(one.where)
        if n > c.blanks:
            raise InputError(
                f"{n} blanks; the model takes {c.blanks}",
                video=one.name,
                noun="captionset",
                hint="cut it into smaller sets, or use --set blanks=…",
            )
        b.clip[i, :n], b.person[i, :n] = torch.tensor(one.where, dtype=long), torch.tensor(one.people, dtype=long)
        if one.genders:
            b.gender[i, :n] = torch.tensor(one.genders)
        if one.text is not None:
            b.text[i, :n] = torch.from_numpy(one.text)
        for j, row in enumerate(one.words):
            b.words[i, j, : len(row)], b.length[i, j] = torch.tensor(row, dtype=long), len(row)
        for k in set(one.where):
            put_clip(b, i, k, one.clips[k], config)
    return b


def put_clip(b: Batch, i: int, k: int, clip: ClipFeatures, config: Config) -> None:
    """Faces of clip k of set i, each with the segment of the video it is in; padding is in the first."""
    F, n = config.faces, min(len(clip.face), config.faces)
    segment = np.zeros(F, np.int64)
    if "face" in config.stream_names and n:
        b.face[i, k, :n] = torch.from_numpy(clip.face[:n])
        b.face_mask[i, k, :n] = True
        segment[:n] = (min(len(clip.action), config.segments) * times_of(clip)[:n] - 1e-6).astype(np.int64)
    if "action" in config.stream_names and len(clip.action):
        b.video[i, k] = torch.from_numpy(pool_segments(clip.action, config.segments)[segment])


def times_of(clip: ClipFeatures) -> NDArray[np.float64]:
    """When each face is, as a share of its clip; without frames, of the time till the last face, or shares already."""
    length = STRIDE * len(clip.frame) if len(clip.frame) else float(clip.at.max(initial=1.0))
    return (clip.at / length).clip(0, 1)
