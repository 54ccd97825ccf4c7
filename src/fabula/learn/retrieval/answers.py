"""What was found, as rankings that `fabula.score` reads and as the files that evaluators take.

tvr           {"video2idx", "VCMR": [{"desc_id", "desc", "predictions": [[video, start, end, score], …]}], "SVMR", "VR"}
              "note" where the captions are not those that the run was trained for
qvhighlights  {"qid", "query", "vid", "pred_relevant_windows": [[start, end, score], …], "pred_saliency_scores"}, lines
lines         Fabula's own, for one of the lists: {"id", "windows", "videos"}
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, cast

import numpy as np
from torch import Tensor

from fabula.core.errors import SpecError
from fabula.core.notes import Notes
from fabula.data.moments import Id, Query, Ranking, VideoNumbers
from fabula.documents.document import open_document
from fabula.documents.fields import Source
from fabula.documents.files import write_text
from fabula.evaluate.rankings import Reading, moment_rows
from fabula.io.moments import lines
from fabula.learn.retrieval.decode import RankedMoments
from fabula.learn.retrieval.search import Answers
from fabula.metrics import metric
from fabula.metrics.moments import MomentMetric

LISTS = ("VCMR", "SVMR", "VR")
Form = Literal["tvr", "qvhighlights", "lines"]


@dataclass(frozen=True, eq=False)
class Answer:
    """What was found for one query; None where it was not looked for. Numbers of videos are the corpus's."""

    id: Id
    vcmr: Ranking | None = None
    svmr: Ranking | None = None
    vr: Ranking | None = None

    def lists(self) -> Iterator[tuple[str, Ranking]]:
        """Those that there are, by the names of the metrics that read them."""
        for name, ranking in zip(LISTS, (self.vcmr, self.svmr, self.vr), strict=True):
            if ranking is not None:
                yield name, ranking


def rank_found(id: Id, moments: RankedMoments | None, q: int) -> Ranking | None:
    """The moments of one query as a ranking."""
    if moments is None:
        return None
    n = int((moments.score[q] > 0).sum())
    span, score, video = (np.array(t[q, :n].numpy()) for t in (moments.span, moments.score.double(), moments.video))
    return Ranking(id, span, score, video)


def rank_videos(id: Id, videos: Tensor | None, weights: Tensor | None, q: int) -> Ranking | None:
    """The videos of one query as a ranking; times are 0."""
    if videos is None or weights is None:
        return None
    n = videos.shape[1]
    return Ranking(id, np.zeros((n, 2)), weights[q].double().cpu().numpy(), videos[q].cpu().numpy())


def place_ranking(ranking: Ranking, video: int) -> Ranking:
    """The same with the number of the video that all of it is about."""
    videos = np.full(len(ranking), video, dtype=np.int64)
    return Ranking(ranking.id, ranking.spans, ranking.scores, videos, ranking.saliency)


def list_answers(ids: Sequence[Id], results: Answers) -> list[Answer]:
    """An answer for each query of a block."""
    vr = results.vr_videos, results.vr_weights
    return [
        Answer(id, rank_found(id, results.vcmr, q), rank_found(id, results.svmr, q), rank_videos(id, *vr, q))
        for q, id in enumerate(ids)
    ]


def score_answers(
    answers: Iterable[Answer], queries: Mapping[Id, Query], names: Sequence[str], metrics: Sequence[str] = LISTS
) -> dict[str, float]:
    """Every number of the metrics, by name: "VCMR_r1@0.5". Lists that were not made are left out."""
    numbers = VideoNumbers({name: i for i, name in enumerate(names)})
    chosen = [cast(MomentMetric, metric(text)) for text in metrics]
    stream = ((name, ranking) for answer in answers for name, ranking in answer.lists())
    scored = moment_rows(chosen, queries, stream, Reading(numbers, Notes()))
    return {
        f"{m.name}_{field}": value
        for m in chosen
        if m in scored.rows
        for field, value in m.fold(scored.rows[m]).items()
    }


# ---------------------------------------------------------------------------------------------------------------------
# Files


def write_answers(
    path: Path, form: Form, answers: Sequence[Answer], queries: Mapping[Id, Query], names: Sequence[str], note: str = ""
) -> None:
    """The file of a prediction, whole or not at all."""
    if form == "tvr":
        write_text(path, tvr_pieces(answers, queries, names, note))
    elif form == "qvhighlights":
        write_text(path, (qvhighlights_line(answer, queries[answer.id]) for answer in answers))
    elif form == "lines":
        write_text(path, plain_lines(answers, names, path))
    else:
        raise SpecError(f"no form of predictions is called {form!r}; there are: tvr, qvhighlights, lines")


def tvr_pieces(
    answers: Sequence[Answer], queries: Mapping[Id, Query], names: Sequence[str], note: str = ""
) -> Iterator[str]:
    """TVR's document, an entry at a time."""
    yield tvr_head(names, note)
    for name in LISTS:
        begun = False
        for entry in tvr_entries(name, answers, queries):
            yield f',\n"{name}": [\n' if not begun else ",\n"
            yield entry
            begun = True
        yield "\n]" if begun else ""
    yield "}\n"


def tvr_head(names: Sequence[str], note: str = "") -> str:
    """How the document begins: the videos' numbers, and the note if there is one."""
    numbers = json.dumps({name: i for i, name in enumerate(names)}, ensure_ascii=False)
    return f'{{"video2idx": {numbers}' + (f',\n"note": {json.dumps(note)}' if note else "")


def tvr_entries(name: str, answers: Iterable[Answer], queries: Mapping[Id, Query]) -> Iterator[str]:
    """The entries of one of the lists."""
    for answer in answers:
        ranking = dict(answer.lists()).get(name)
        if ranking is not None:
            entry = {"desc_id": answer.id, "desc": queries[answer.id].text, "predictions": tvr_rows(ranking)}
            yield json.dumps(entry, ensure_ascii=False)


def fragments(
    answers: Sequence[Answer], queries: Mapping[Id, Query], names: Sequence[str], form: Form
) -> dict[str, str]:
    """Some answers as text of the output file: the entries of each list, or lines."""
    if form == "tvr":
        lists = {name: ",\n".join(tvr_entries(name, answers, queries)) for name in LISTS}
        return {name: text for name, text in lists.items() if text}
    if form == "qvhighlights":
        return {"lines": "".join(qvhighlights_line(answer, queries[answer.id]) for answer in answers)}
    return {"lines": "".join(plain_lines(answers, names, Path("lines")))}


def plain_lines(answers: Sequence[Answer], names: Sequence[str], path: Path) -> Iterator[str]:
    """Fabula's own lines: of each answer the first list that there is."""
    lists = (answer.vcmr or answer.svmr or answer.vr for answer in answers)
    numbers = VideoNumbers({name: i for i, name in enumerate(names)})
    return lines.write_rankings((r for r in lists if r is not None), numbers, Source(open_document(path), noun="query"))


def tvr_rows(ranking: Ranking) -> list[list[float]]:
    """[video, start, end, score]"""
    assert ranking.videos is not None and ranking.scores is not None
    spans = ranking.spans.tolist()
    return [[v, s, e, w] for v, (s, e), w in zip(ranking.videos.tolist(), spans, ranking.scores.tolist(), strict=True)]


def qvhighlights_line(answer: Answer, query: Query) -> str:
    """A line of QVHighlights' predictions: windows of the query's own video."""
    ranking = answer.svmr
    if ranking is None:
        raise SpecError("QVHighlights' file holds windows of the query's own video: there are none")
    scores = np.zeros(len(ranking)) if ranking.scores is None else ranking.scores
    line: dict[str, object] = {"qid": answer.id, "query": query.text, "vid": query.video}
    line["pred_relevant_windows"] = np.column_stack([ranking.spans, scores]).tolist()
    if ranking.saliency is not None:
        line["pred_saliency_scores"] = ranking.saliency.tolist()
    return json.dumps(line, ensure_ascii=False) + "\n"
