"""Videos with their steps, as batches: the input of the models of procedures and dense captions.

Times are fractions of the video's duration. Steps are sorted by start (some videos of Tasty are not).
PDVC's loader reads `gt_proposal_sample_num` where its YouCook2 settings write `train_proposal_sample_num`, so that
videos with more than 10 steps lose random ones and the counter learns the smaller number. Here every step is kept;
`max_events=10` brings the published behaviour back.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from fabula.core.errors import InputError
from fabula.data.stories import Corpus, Story
from fabula.learn import batch
from fabula.learn.raw import RawVideos
from fabula.learn.splits import find_fault
from fabula.learn.words import Vocabulary as Vocabulary
from fabula.media.stores.features import Features


@dataclass
class Batch(batch.Batch):
    """B videos, padded: T frames, K steps, W tokens. Masks are True where there is something."""

    features: Tensor  # [B, T, C]
    mask: Tensor  # [B, T]
    duration: Tensor  # [B] seconds
    spans: Tensor  # [B, K, 2] start and end as fractions of the duration, in order of start
    span_mask: Tensor  # [B, K]
    tokens: Tensor  # [B, K, W] 0 w… 0, padded with 0
    token_mask: Tensor  # [B, K, W] the two 0 of a caption count, padding does not

    @property
    def videos(self) -> list[str]:
        """Their ids."""
        return self.names


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
        features: Features | RawVideos,
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

    def frames_of(self, video: str) -> Tensor:
        """Features [T, C]."""
        return torch.from_numpy(self.features.read(video, self.frames))

    def __len__(self) -> int:
        return len(self.videos)

    def __getitem__(self, i: int) -> Example:
        video = self.videos[i]
        story = self.corpus[video].by_start()
        frames = self.frames_of(video)
        assert story.duration is not None
        if not self.targets:
            return Example(video, frames, story.duration, torch.zeros(0, 2), [])
        events = list(story.events)
        if self.max_events is not None and len(events) > self.max_events:
            sample = torch.randperm(len(events))[: self.max_events].sort().values.tolist()
            events = [events[k] for k in sample]
        D = story.duration
        spans = torch.tensor([(min(e.segment.start, D), min(e.segment.end, D)) for e in events], dtype=torch.float64)
        tokens = [[0, 0] for _ in events]
        if self.vocabulary is not None:
            tokens = [self.vocabulary.encode(e.caption or "", self.max_words) for e in events]
        return Example(video, frames, D, (spans / D).float(), tokens)

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


def check_split(video: str, story: Story, features: Features | RawVideos, targets: bool, file: object) -> None:
    """Check what a training set must have; an error names the video."""
    if (fault := find_fault(story, targets)) is not None:
        raise InputError(fault, file=file, video=video, hint="correct the annotation, or leave the video out")
    if video not in features:
        features[video]  # raises, with the store's name
