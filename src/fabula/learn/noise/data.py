"""Moments with their true and wrong captions, as the noise evaluator reads them.

To learn from (`Pairs`) a moment shows one of its true captions and `hard` wrong ones of each kind, drawn anew every
time; to be judged (`Judged`) it shows all the captions that are asked about.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import torch
from torch import Tensor

from fabula.annotation.candidates import normalise
from fabula.core.errors import InputError, SpecError
from fabula.core.notes import Notes
from fabula.data.moments import Id, Query
from fabula.learn.models.noise_scorer import Batch
from fabula.learn.noise.texts import KINDS, Texts
from fabula.learn.retrieval.contract import pad_rows
from fabula.learn.retrieval.data import (
    Clips,
    Words,
    average_down,
    cut_windows_of,
    label_spans,
    scale_rows,
    split_words,
)
from fabula.learn.text_features import TextVectors

if TYPE_CHECKING:
    from fabula.learn.tasks.noise import Scored


@dataclass
class Example:
    """A moment, and captions; in training the first one is true."""

    name: str
    video: str
    clips: Tensor  # [T, C]
    texts: list[Tensor]  # [L, E] each
    caption: str  # the first caption, normalised


class Shown:
    """Clips of moments and words of captions; T clips at most, words hashed, or features of texts."""

    def __init__(self, clips: Clips, notes: Notes | None = None, texts: TextVectors | None = None) -> None:
        self.clips, self.config, self.texts = clips, clips.config, texts
        if texts is None and self.config.words == "store":
            raise SpecError("the model reads features of texts; name a store of them, or an encoder (--text)")
        if texts is not None and texts.dim != self.config.query_dim:
            problem = f"texts of {texts.dim} channels; the model takes {self.config.query_dim}"
            raise InputError(problem, hint="use the text features that the model was trained on")
        self.words = Words(self.config, None, notes) if texts is None else None

    def check(self, captions: Iterable[tuple[str, Id]]) -> None:
        """Every caption has features, before hours of training."""
        if self.texts is not None:
            self.texts.check(captions)

    def show(self, query: Query) -> Tensor:
        """The clips of a moment. [T, C]"""
        every = self.clips[query.video]
        window = cut_windows_of(query)[0]
        if window[0] >= len(every) * self.config.clip:
            raise InputError(
                f"begins at {window[0]:g} s, after the last of its {len(every)} clips",
                video=query.id,
                noun="moment",
                hint="use features of the same video",
            )
        first, last = label_spans(window, self.config.clip, len(every), "inside")
        part = every[first : last + 1]
        if len(part) > self.config.max_clips:
            part = torch.from_numpy(average_down(part.numpy(), self.config.max_clips))
        return part

    def read(self, text: str, id: Id) -> Tensor:
        """The words of a caption. [L, E]"""
        if self.texts is not None:
            rows = torch.from_numpy(self.texts.read(text, id))[: self.config.max_words].float()
            return scale_rows(rows) if self.config.normalize else rows
        assert self.words is not None
        return torch.stack([self.words.vector(w) for w in self.words.cut(split_words(text, id), id)])


class Pairs:
    """The training set."""

    def __init__(self, queries: Sequence[Query], texts: Mapping[Id, Texts], shown: Shown) -> None:
        self.queries, self.texts, self.shown, self.notes = list(queries), texts, shown, Notes()
        for query in self.queries:
            if query.video not in shown.clips:
                shown.clips[query.video]  # raises, with the store's name
        shown.clips.check(self.queries, self.notes)

    def __len__(self) -> int:
        return len(self.queries)

    def __getitem__(self, i: int) -> Example:
        query = self.queries[i]
        texts = self.texts[query.id]
        caption = texts.true[int(torch.randint(len(texts.true), ()))]
        wrong = [w for kind in KINDS for w in draw([w.text for w in texts.wrong if w.kind == kind], self.hard)]
        read = [self.shown.read(text, query.id) for text in (caption, *wrong)]
        return Example(str(query.id), query.video, self.shown.show(query), read, normalise(caption))

    @property
    def hard(self) -> int:
        return int(self.shown.config.hard)

    @staticmethod
    def collate(examples: Sequence[Example]) -> Batch:
        batch = gather(examples, [e.texts[:1] for e in examples], [e.texts[1:] for e in examples])
        batch.rivals = find_rivals(examples)
        return batch


class Judged:
    """Moments with the captions to score. In a prediction, `unscored` is its result before the scores are known."""

    def __init__(
        self,
        queries: Sequence[Query],
        captions: Sequence[Sequence[str]],
        shown: Shown,
        unscored: Scored | None = None,
    ) -> None:
        self.queries, self.captions, self.shown, self.notes = list(queries), captions, shown, Notes()
        self.unscored = unscored
        shown.clips.check([q for q in self.queries if q.video in shown.clips], self.notes)

    def __len__(self) -> int:
        return len(self.queries)

    def __getitem__(self, i: int) -> Example:
        query = self.queries[i]
        read = [self.shown.read(text, query.id) for text in self.captions[i]]
        return Example(str(query.id), query.video, self.shown.show(query), read, "")

    @staticmethod
    def collate(examples: Sequence[Example]) -> Batch:
        return gather(examples, [e.texts for e in examples])


def draw(texts: Sequence[str], n: int) -> list[str]:
    """n of them by chance, all where there are fewer."""
    return [texts[k] for k in torch.randperm(len(texts))[:n].tolist()]


def gather(examples: Sequence[Example], *groups: Sequence[Sequence[Tensor]]) -> Batch:
    """A batch of clips, with the captions of one group after those of another."""
    every = [(i, text) for group in groups for i, captions in enumerate(group) for text in captions]
    video, video_mask = pad_rows([e.clips for e in examples])
    texts, texts_mask = pad_rows([text for _, text in every])
    owner = torch.tensor([i for i, _ in every])
    return Batch([e.name for e in examples], video, video_mask, texts, texts_mask, owner)


def find_rivals(examples: Sequence[Example]) -> Tensor:
    """Which items may be negatives of which: another video, other words. [B, B]"""
    videos, captions = ({name: i for i, name in enumerate(dict.fromkeys(names))} for names in columns(examples))
    a = torch.tensor([videos[e.video] for e in examples])
    b = torch.tensor([captions[e.caption] for e in examples])
    return (a[:, None] != a) & (b[:, None] != b)


def columns(examples: Sequence[Example]) -> tuple[list[str], list[str]]:
    return [e.video for e in examples], [e.caption for e in examples]
