"""Pairs for a judge to look at: every candidate with each of its references; of stories, those that overlap in time."""

from __future__ import annotations

from collections.abc import Sequence

from fabula.core.notes import Notes
from fabula.core.nouns import Corpus, Item
from fabula.diagnosis.voices import Pair
from fabula.evaluate import stories
from fabula.evaluate.base import Readable, Request
from fabula.evaluate.options import ScoreOptions
from fabula.io.captions import is_items, read_items
from fabula.pair.tiou import tiou


def read_pairs(
    predictions: Readable, refs: Sequence[Readable], options: ScoreOptions | None = None
) -> tuple[list[Pair], list[str]]:
    """The pairs of a file, or of predictions and references, and what there was to say of them."""
    request = Request(predictions=predictions, refs=list(refs), options=options or ScoreOptions())
    if not isinstance(predictions, Corpus) and (not refs or is_items(predictions)):
        items, notes = read_items(*request.paths("captions"))
        return [pair for item in items for pair in pair_item(item)], notes.lines()
    notes = Notes()
    sets, told = stories.gather(request, notes)
    return pair_stories(sets, told), notes.lines()


def pair_item(item: Item) -> list[Pair]:
    said = item.candidate or ""
    return [Pair(str(item.id), said, reference) for reference in item.references] if said.strip() else []


def pair_stories(sets: Sequence[Corpus], told: Corpus) -> list[Pair]:
    found: list[Pair] = []
    for ref in sets:
        for video, story in ref.items():
            said = told.get(video)
            if said is None or not len(said) or not len(story):
                continue
            for g, p in zip(*tiou(story.spans, said.spans).nonzero(), strict=True):
                prediction, reference = said.captions[p], story.captions[g]
                found += [Pair(video, prediction, reference)] if prediction.strip() else []
    return found
