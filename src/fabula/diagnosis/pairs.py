"""Pairs for a judge to look at: every candidate with each of its references; of stories, those that overlap in time."""

from __future__ import annotations

from collections.abc import Sequence

from fabula.core.notes import Notes
from fabula.data.stories import Corpus, Item
from fabula.diagnosis.voices import Pair
from fabula.evaluate import stories
from fabula.evaluate.inputs import Readable
from fabula.evaluate.options import ScoreOptions
from fabula.evaluate.request import Request
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
    sets, predictions_read = stories.gather(request, notes)
    return pair_stories(sets, predictions_read), notes.lines()


def pair_item(item: Item) -> list[Pair]:
    candidate = item.candidate or ""
    return [Pair(str(item.id), candidate, reference) for reference in item.references] if candidate.strip() else []


def pair_stories(sets: Sequence[Corpus], predictions: Corpus) -> list[Pair]:
    found: list[Pair] = []
    for ref in sets:
        for video, story in ref.items():
            predicted = predictions.get(video)
            if predicted is None or not len(predicted) or not len(story):
                continue
            for g, p in zip(*tiou(story.spans, predicted.spans).nonzero(), strict=True):
                prediction, reference = predicted.captions[p], story.captions[g]
                found += [Pair(video, prediction, reference)] if prediction.strip() else []
    return found
