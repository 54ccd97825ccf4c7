"""Queries over a corpus: it is encoded once for all of them, then searched."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

import torch

from fabula.core.errors import SpecError
from fabula.core.notes import Notes, Progress, silent
from fabula.data.moments import Id, Query, Ranking
from fabula.learn.loop.processes import Precision, reduce_precision
from fabula.learn.retrieval.answers import Answer, Form, list_answers
from fabula.learn.retrieval.contract import Batch, Queries, Retriever, pad_rows
from fabula.learn.retrieval.data import Clips, Moments, Words, durations_of
from fabula.learn.retrieval.decode import Decoding, RankedMoments, rank_moments, score_spans, to_seconds
from fabula.learn.retrieval.encoded import encode_clips
from fabula.learn.retrieval.search import Corpus, search_corpus


class CorpusQueries(Moments):
    """Queries with the videos to search: by default those that any query is about."""

    def __init__(
        self,
        queries: Mapping[Id, Query],
        clips: Clips,
        words: Words,
        decoding: Decoding | None = None,
        names: Sequence[str] | None = None,
        pad_to: int | None = None,  # clips of every row; None: as many as its batch needs
        form: Form = "tvr",  # of the file that a prediction is written to
    ) -> None:
        if not queries:
            raise SpecError("no query to ask")
        super().__init__(list(queries.values()), clips, words)
        self.by_id, self.decoding, self.pad_to, self.form = dict(queries), decoding, pad_to, form
        self.names = list(dict.fromkeys(q.video for q in self.queries)) if names is None else list(names)
        self.note = ""  # for the file
        self.cache: Notes | None = None  # takes notes about the folder of encoded corpora; None: it is not used
        self.precision: Precision = "32"  # of the encoders

    def encode(self, model: Retriever, batch_size: int, watch: Progress = silent) -> Corpus:
        """The corpus, encoded by a model."""
        durations = durations_of(self.by_id, self.clips)
        with reduce_precision(self.precision, next(model.parameters()).device):
            return encode_clips(
                model, self.clips, self.names, durations, batch_size, self.pad_to,
                lambda done: watch("encoding videos", done, len(self.names)), self.cache,
            )  # fmt: skip


def encode_queries(model: Retriever, queries: Sequence[Query], words: Words, batch_size: int = 256) -> Queries:
    """The queries as the model reads them, a batch at a time."""
    device = next(model.parameters()).device
    parts = []
    with torch.inference_mode():
        for i in range(0, len(queries), batch_size):
            rows, mask = pad_rows([words(q) for q in queries[i : i + batch_size]])
            parts.append(model.encode_query(rows.to(device), mask.to(device)))
    return Queries(torch.cat([p.search for p in parts]).float(), torch.cat([p.spans for p in parts]).float())


def answer_queries(
    model: Retriever, data: CorpusQueries, units: Iterable[int], batch_size: int = 64, watch: Progress = silent
) -> list[Answer]:
    """An answer for each of these queries: moments of the corpus, moments of the query's own video, videos."""
    training = model.training
    model.train(False)
    try:
        queries = [data.queries[i] for i in units]
        if not queries:
            return []
        corpus = data.encode(model, batch_size, watch)
        return search_queries(model, queries, corpus, data.words, data.decoding, watch, data.precision)
    finally:
        model.train(training)


def search_queries(
    model: Retriever,
    queries: Sequence[Query],
    corpus: Corpus,
    words: Words,
    decoding: Decoding | None,
    watch: Progress = silent,
    precision: Precision = "32",
) -> list[Answer]:
    """An answer for each query, of a corpus that is encoded; the model is not training."""
    with reduce_precision(precision, next(model.parameters()).device):
        encoded = encode_queries(model, queries, words)
    own = torch.tensor([corpus.number[q.video] for q in queries]) if corpus_has(corpus, queries) else None
    answers: list[Answer] = []
    for part, results in search_corpus(model, encoded, corpus, decoding or Decoding.of(model.config), own):
        answers += list_answers([q.id for q in queries[part]], results)
        watch("searching", len(answers), len(queries))
    return answers


def corpus_has(corpus: Corpus, queries: Sequence[Query]) -> bool:
    """Whether the corpus has every query's own video; else only the corpus is searched."""
    return all(q.video in corpus.number for q in queries)


@torch.no_grad()
def predict_own(model: Retriever, batch: Batch) -> list[Ranking]:
    """The moments of each query's own video, after NMS: one ranking per row of a batch."""
    d = Decoding.of(model.config)
    queries = model.encode_query(batch.query, batch.query_mask)
    videos = model.encode_video(batch.video, batch.video_mask)
    start, end = model.span_logits(queries.spans, videos.spans, videos.mask)
    B = len(start)
    spans = score_spans(start.softmax(-1)[:, None], end.softmax(-1)[:, None], start.new_ones(B, 1), d)
    duration = batch.durations[:, None].expand(spans.score.shape)
    seconds = to_seconds(spans, torch.zeros_like(spans.first), duration, d)
    _, ranked = rank_moments(
        RankedMoments(torch.zeros_like(spans.first).cpu(), seconds, spans.score.cpu()), d, known=True
    )
    rankings = []
    for name, span, score in zip(batch.names, ranked.span, ranked.score.double(), strict=True):
        n = int((score > 0).sum())
        rankings.append(Ranking(name, span[:n].numpy().copy(), score[:n].numpy().copy()))
    return rankings
