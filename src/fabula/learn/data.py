"""Annotations and features as batches: the vocabulary, the data set, and what a model is given.

Times are fractions of the video's duration. Steps are told in order of start (Tasty has videos that do not).
PDVC's loader reads `gt_proposal_sample_num` where its YouCook2 settings write `train_proposal_sample_num`, so that
videos with more than 10 steps lose random ones and the counter learns the smaller number. Here every step is kept;
`max_events=10` brings the published behaviour back.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from fabula import io
from fabula.core.errors import InputError, SpecError, shown
from fabula.core.notes import Notes, name_id
from fabula.core.nouns import Corpus, Story
from fabula.core.registry import close_to
from fabula.io.files import dump_json, load_json
from fabula.io.segments import check_references
from fabula.learn.features import Features, resize

UNKNOWN = "<unk>"
SUBSETS = {"train": "training", "val": "validation", "test": "testing"}  # YouCook2's own names
LONGEST = 1e9  # seconds that a video may have
PUNCTUATION = re.compile(r"[^\w\s]|_")


def words_of(caption: str) -> list[str]:
    """Lower case, punctuation as blanks, as PDVC's loader has it."""
    return PUNCTUATION.sub(" ", caption.lower()).split()


@dataclass(frozen=True)
class Vocabulary:
    """Words by index: 0 is begin, end and padding at once (PDVC), words are 1 … V, and V is the unknown word."""

    words: tuple[str, ...]  # words[i] has index i + 1; the last is UNKNOWN

    def __post_init__(self) -> None:
        if not self.words or self.words[-1] != UNKNOWN or len(set(self.words)) != len(self.words):
            raise InputError(f"not a vocabulary: words must be distinct and end in {UNKNOWN!r}", hint="build it again")
        object.__setattr__(self, "_index", {w: i for i, w in enumerate(self.words, 1)})

    @classmethod
    def build(cls, captions: Iterable[str], min_count: int = 1) -> Vocabulary:
        """Every word seen at least `min_count` times, the frequent ones first, ties by spelling."""
        counts = Counter(w for caption in captions for w in words_of(caption))
        kept = sorted((w for w, n in counts.items() if n >= min_count and w != UNKNOWN), key=lambda w: (-counts[w], w))
        return cls((*kept, UNKNOWN))

    @classmethod
    def load(cls, path: str | Path) -> Vocabulary:
        document = load_json(Path(path))
        if not (isinstance(document, dict) and isinstance(words := document.get("words"), list)):
            raise InputError("not a vocabulary", file=path, hint='it is {"words": [text, …]}, written by fabula train')
        return cls(tuple(map(str, words)))

    def save(self, path: str | Path) -> None:
        dump_json(Path(path), {"words": list(self.words)})

    def __len__(self) -> int:
        return len(self.words)

    def encode(self, caption: str, max_words: int) -> list[int]:
        """[0, words…, 0]: at most max_words − 2 words, as PDVC cuts them."""
        index: dict[str, int] = self._index  # type: ignore[attr-defined]
        return [0, *(index.get(w, len(self)) for w in words_of(caption)[: max_words - 2]), 0]

    def decode(self, ids: Sequence[int]) -> str:
        """The words up to the first 0."""
        ids = list(ids)
        return " ".join(self.words[i - 1] for i in (ids[: ids.index(0)] if 0 in ids else ids))

    def must_equal(self, seen: Vocabulary, file: object) -> None:
        """An error where a checkpoint's vocabulary is not the data's: its embeddings would mean other words."""
        if self.words != seen.words:
            first = next((i for i, (a, b) in enumerate(zip(self.words, seen.words, strict=False)) if a != b), None)
            where = (
                "" if first is None else f"; word {first} is {seen.words[first]!r} there, {self.words[first]!r} here"
            )
            raise InputError(
                f"vocabulary mismatch: {len(seen)} words in the checkpoint, {len(self)} words here{where}",
                file=file,
                hint="train and resume on the same annotations, or start a new run",
            )


@dataclass
class Batch:
    """B videos, padded: T frames, K steps, W tokens. Masks are True where there is something."""

    videos: list[str]
    features: Tensor  # [B, T, C]
    mask: Tensor  # [B, T]
    duration: Tensor  # [B] seconds
    spans: Tensor  # [B, K, 2] start and end as fractions of the duration, in order of start
    span_mask: Tensor  # [B, K]
    tokens: Tensor  # [B, K, W] 0 w… 0, padded with 0
    token_mask: Tensor  # [B, K, W] the two 0 of a caption count, padding does not

    def to(self, device: torch.device | str) -> Batch:
        values: dict[str, Any] = {f.name: getattr(self, f.name) for f in fields(self)}
        return Batch(**{n: v if n == "videos" else v.to(device) for n, v in values.items()})


@dataclass(frozen=True)
class Example:
    """One video before it is padded."""

    video: str
    features: Tensor  # [T, C]
    duration: float
    spans: Tensor  # [K, 2]
    tokens: list[list[int]]  # K captions


class Steps(torch.utils.data.Dataset[Example]):
    """Videos with their steps. `frames` resizes every video (200 for YouCook2, 150 for Tasty); None keeps lengths."""

    def __init__(
        self,
        corpus: Corpus,
        features: Features,
        frames: int | None = 200,
        vocabulary: Vocabulary | None = None,
        max_words: int = 30,
        max_events: int | None = None,  # None: all; a number: that many random ones, as PDVC does by accident
        targets: bool = True,  # False: to predict; steps are not read and need not be there
    ) -> None:
        self.corpus, self.features, self.frames, self.vocabulary = corpus, features, frames, vocabulary
        self.max_words, self.max_events, self.targets = max_words, max_events, targets
        self.videos = list(corpus)
        for video, story in corpus.items():
            check_split(video, story, features, targets, corpus.name or None)

    def __len__(self) -> int:
        return len(self.videos)

    def __getitem__(self, i: int) -> Example:
        video = self.videos[i]
        story = self.corpus[video].by_start()
        frames = self.features[video]
        if self.frames is not None:
            frames = resize(frames, self.frames)
        assert story.duration is not None
        if not self.targets:
            return Example(video, torch.from_numpy(frames), story.duration, torch.zeros(0, 2), [])
        events = list(story.events)
        if self.max_events is not None and len(events) > self.max_events:
            kept = torch.randperm(len(events))[: self.max_events].sort().values.tolist()
            events = [events[k] for k in kept]
        D = story.duration
        spans = torch.tensor([(min(e.segment.start, D), min(e.segment.end, D)) for e in events], dtype=torch.float64)
        tokens = [[0, 0] for _ in events]
        if self.vocabulary is not None:
            tokens = [self.vocabulary.encode(e.caption or "", self.max_words) for e in events]
        return Example(video, torch.from_numpy(frames), D, (spans / D).float(), tokens)

    @staticmethod
    def collate(examples: Sequence[Example]) -> Batch:
        B, C = len(examples), examples[0].features.shape[1]
        T = max(len(e.features) for e in examples)
        K = max(len(e.spans) for e in examples)
        W = max((len(c) for e in examples for c in e.tokens), default=2)
        features, mask = torch.zeros(B, T, C), torch.zeros(B, T, dtype=torch.bool)
        spans, span_mask = torch.zeros(B, K, 2), torch.zeros(B, K, dtype=torch.bool)
        tokens, token_mask = torch.zeros(B, K, W, dtype=torch.long), torch.zeros(B, K, W, dtype=torch.bool)
        for b, e in enumerate(examples):
            features[b, : len(e.features)], mask[b, : len(e.features)] = e.features, True
            spans[b, : len(e.spans)], span_mask[b, : len(e.spans)] = e.spans, True
            for k, caption in enumerate(e.tokens):
                tokens[b, k, : len(caption)], token_mask[b, k, : len(caption)] = torch.tensor(caption), True
        duration = torch.tensor([e.duration for e in examples])
        return Batch([e.video for e in examples], features, mask, duration, spans, span_mask, tokens, token_mask)


def check_split(video: str, story: Story, features: Features, targets: bool, file: object) -> None:
    """What a training set must have, said by the video's name."""
    if story.duration is None:
        raise InputError("no duration", file=file, video=video, hint="steps are learnt as fractions of the video")
    if targets and not story.events:
        raise InputError("a video without annotation", file=file, video=video, hint="leave it out of the training set")
    if targets and (late := [e.segment for e in story.events if e.segment.start >= (story.duration or 0)]):
        seen = f"a step starts at {late[0].start:g} s, the video ends at {story.duration:g} s"
        raise InputError(seen, file=file, video=video, hint="mend the annotation, or leave the video out")
    if video not in features:
        features[video]  # raises, with the store's name


def read_split(path: str | Path, split: str, format: str | None = None) -> tuple[Corpus, Notes]:
    """The `split` (train, val, test) of a folder with a file per split, of YouCook2's one file, or a file as it is."""
    path = Path(path)
    if path.is_dir():
        found = [f for f in sorted(path.glob("*.json*")) if split in re.split(r"[^a-z0-9]+", f.name.lower())]
        if len(found) != 1:
            seen = ", ".join(f.name for f in found) or "none"
            hint = f"name the file itself, or keep one file with {split!r} in its name"
            raise InputError(f"expected one file of the split {split!r}, saw {seen}", file=path, hint=hint)
        path = found[0]
    elif format is None and path.suffix == ".json":
        document = load_json(path)
        if isinstance(document, dict) and isinstance(document.get("database"), dict):
            if split not in SUBSETS:
                raise SpecError(f"YouCook2 has no split called {split!r}; {close_to(split, list(SUBSETS))}")
            format = f"youcook2:{SUBSETS[split]}"
    corpus, notes = io.read(path, format)
    corpus = check_references(corpus, notes)
    for video, story in corpus.items():
        for event in story.events:
            if story.duration is not None and event.segment.end > story.duration:
                notes.add("{n} steps end after their video and are cut there for training", name_id(video))
    return corpus, notes


def only_with(corpus: Corpus, features: Features, notes: Notes) -> Corpus:
    """The corpus without the videos that have no features; the note says how many and which."""
    kept = {v: s for v, s in corpus.items() if v in features}
    for video in corpus:
        if video not in kept:
            notes.add("{n} videos have no features and are left out, as --skip-missing says", name_id(video))
    if not kept:
        raise SpecError(f"none of the {len(corpus)} videos of {corpus.name} has features in {features.path}")
    return Corpus(kept, corpus.name, corpus.format)


def durations_as_corpus(durations: dict[str, Any], features: Features) -> Corpus:
    """Videos of a store that are to be predicted, from their durations alone."""
    stories = {}
    for video in features:
        if video not in durations:
            hint = "give --data with the durations, or --rate with the features per second"
            raise InputError("its duration is not known", file=features.path, video=video, hint=hint)
        seconds = durations[video]
        if isinstance(seconds, bool) or not isinstance(seconds, int | float) or not 0 < seconds <= LONGEST:
            seen = f"the store says its duration is {shown(seconds)}; expected seconds"
            raise InputError(seen, file=features.path, video=video, hint="give --data with the durations, or --rate")
        stories[video] = Story(video, (), float(seconds))
    return Corpus(stories, name=str(features.path))
