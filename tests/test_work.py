"""A guard against slow-downs that no clock is asked for: work is counted, and a busy machine changes no count.

Calls are counted by the interpreter (`cProfile`: Python's functions and built-in ones), kernels by a stand-in for
the compiled module, memory by tracemalloc. What is bounded is what one more video costs, between a small and a larger
corpus of the same kind: what is paid once a run does not count. Bounds are a quarter above what was counted when they
were set (memory: a third, a run as a whole), for other versions of Python and numpy; a new step in a loop over events
or pairs goes beyond that at once. Whoever makes the count smaller sets the bound lower.
"""

from __future__ import annotations

import json
import random
import tracemalloc
from collections import Counter
from collections.abc import Callable, Iterator
from cProfile import Profile
from itertools import count
from pathlib import Path
from typing import Any

import pytest

import fabula
from fabula import _kernels, io, text
from fabula.data.stories import Corpus, Event, Item, Segment, Story
from fabula.metrics.captions.base import Items
from fabula.metrics.stories import Stories
from fabula.metrics.stories import base as stories
from fabula.pair.grid import Grid
from fabula.pair.tiou import tiou
from fabula.report.html import page
from fabula.text import _sentences, meteor, ptb
from fabula.text.neural import encoder

pytestmark = pytest.mark.skipif(_kernels.NATIVE is None, reason="no compiled kernels here: the twins loop")

FEW, MANY = 64, 192  # videos: both are one block
RUNS: dict[str, dict[str, str]] = {
    "SODA_c": {"metrics": "SODA_c"},
    "densevid-2018": {"protocol": "densevid-2018"},
    "vidchapters": {"protocol": "vidchapters"},
    "all dense metrics": {},
}
WHO = ("a man", "the woman", "two boys", "a dog", "the chef", "an old lady")
DOES = ("picks up", "throws", "washes", "looks at", "paints", "cuts")
WHAT = ("a ball", "the red car", "some onions", "a long rope", "the wall")
fresh = count()  # no sentence comes twice: what earlier tests had scored is of no help


def sentence(draw: random.Random) -> str:
    return f"{draw.choice(WHO)} {draw.choice(DOES)} {draw.choice(WHAT)} number {next(fresh)}"


def corpora(videos: int) -> tuple[Corpus, list[Corpus]]:
    """Predictions and two reference sets: four events a video, each overlapping its neighbours."""
    draw, made = random.Random(videos), []
    for _ in range(3):
        stories = {}
        for k in range(videos):
            events, at = [], 0.0
            for _ in range(4):
                start = at + 5 * draw.random()
                end = start + 3 + 10 * draw.random()
                events.append(Event(Segment(start, end), sentence(draw)))
                at = end - 2
            stories[f"v{k}"] = Story(f"v{k}", tuple(events))
        made.append(Corpus(stories))
    return made[0], made[1:]


def calls(work: Callable[..., object], *given: Any, **named: Any) -> int:
    """Of functions, Python's and built-in ones."""
    profile = Profile(subcalls=False)
    profile.runcall(work, *given, **named)
    return sum(entry.callcount for entry in profile.getstats())


class Counted:
    """Stands in for the compiled module, and for what it makes, and counts what is called by name."""

    def __init__(self, thing: Any, seen: Counter[str]) -> None:
        self.thing, self.seen = thing, seen

    def __bool__(self) -> bool:
        return True

    def __len__(self) -> int:
        return len(self.thing)

    def __getattr__(self, name: str) -> Any:
        found = getattr(self.thing, name)
        if not callable(found):
            return found

        def call(*given: Any, **named: Any) -> Any:
            self.seen[name] += 1
            made = found(*given, **named)
            return Counted(made, self.seen) if isinstance(found, type) else made

        return call


@pytest.fixture
def kernel_calls(monkeypatch: pytest.MonkeyPatch) -> Iterator[Counter[str]]:
    """What is called of the compiled kernels, from new engines on."""
    seen: Counter[str] = Counter()
    monkeypatch.setattr(_kernels, "NATIVE", Counted(_kernels.NATIVE, seen))
    monkeypatch.setattr(_sentences, "shared", _sentences.Memory())
    meteor._compiled.cache_clear()
    yield seen
    meteor._compiled.cache_clear()


@pytest.fixture(autouse=True, scope="module")
def warm() -> Iterator[None]:
    """What a process does once, such as loading modules and tables, is not counted.

    Vectors of sentences pass the encoder's layers unchanged: minutes of products of matrices, which are a few calls.
    """
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(encoder.Encoder, "layer", lambda self, x, unseen, at: x)
        warm_up()
        yield


def warm_up() -> None:
    for run in RUNS.values():
        fabula.score(*corpora(2), **run)


@pytest.mark.parametrize(
    ("run", "most"), [("SODA_c", 215), ("densevid-2018", 235), ("vidchapters", 335), ("all dense metrics", 315)]
)
def test_one_more_video_costs_few_calls(run: str, most: int) -> None:
    # Twelve events and 32 pairs of them: about twenty calls an event for reading, sorting and checking it once.
    few, many = (calls(fabula.score, *corpora(n), **RUNS[run]) for n in (FEW, MANY))
    assert (many - few) / (MANY - FEW) <= most


def told(videos: int, events: int) -> dict[str, Any]:
    """Ground truth: each video's events one after the other."""
    draw = random.Random(videos)
    spans = [[k, k + 1.5] for k in range(events)]
    return {f"v{k}": {"timestamps": spans, "sentences": [sentence(draw) for _ in spans]} for k in range(videos)}


def as_submission(videos: int, events: int) -> dict[str, Any]:
    pairs = {v: zip(t["sentences"], t["timestamps"], strict=True) for v, t in told(videos, events).items()}
    return {"results": {v: [{"sentence": s, "timestamp": t} for s, t in some] for v, some in pairs.items()}}


def as_lines(videos: int, events: int) -> str:
    pairs = {v: zip(t["sentences"], t["timestamps"], strict=True) for v, t in told(videos, events).items()}
    lines = ({"id": v, "events": [{"start": a, "end": b, "caption": s} for s, (a, b) in x]} for v, x in pairs.items())
    return "\n".join(map(json.dumps, lines))


FILES: dict[str, Callable[[int, int], str]] = {
    "truth.json": lambda *size: json.dumps(told(*size)),
    "submission.json": lambda *size: json.dumps(as_submission(*size)),
    "lines.jsonl": as_lines,
}


@pytest.mark.parametrize(("name", "most"), [("truth.json", 4), ("submission.json", 4), ("lines.jsonl", 9)])
@pytest.mark.parametrize("events", [4, 40])
def test_one_more_video_of_a_file_costs_few_calls_and_its_events_none(
    name: str, most: int, events: int, tmp_path: Path
) -> None:
    seen = []
    for videos in (FEW, MANY):
        (tmp_path / name).write_text(FILES[name](videos, events))
        io.read(tmp_path / name)
        seen.append(calls(io.read, tmp_path / name))
    assert (seen[1] - seen[0]) / (MANY - FEW) <= most


def test_one_more_video_of_files_costs_few_calls_to_be_scored(tmp_path: Path) -> None:
    seen = []
    for videos in (FEW, MANY):
        for name in ("truth.json", "submission.json"):
            (tmp_path / name).write_text(FILES[name](videos, 4))
        given = tmp_path / "submission.json", [tmp_path / "truth.json"]
        seen.append(calls(fabula.score, *given, metrics="SODA_c"))
    assert (seen[1] - seen[0]) / (MANY - FEW) <= 91


def test_one_more_query_costs_few_calls(tmp_path: Path) -> None:
    # Ten windows and 75 clips against two windows and ten clips marked by three people, four metrics.
    draw, seen = random.Random(1), []
    for queries in (100, 300):
        refs, preds = [], []
        for k in range(queries):
            clips = {"relevant_clip_ids": list(range(10)), "saliency_scores": [[k % 5, 2, 4]] * 10}
            windows = [[100 * draw.random(), 100 + 50 * draw.random(), draw.random()] for _ in range(10)]
            refs.append({"qid": k, "vid": f"v{k}", "duration": 150, "relevant_windows": [[10, 30], [50, 60]], **clips})
            scores = [draw.random() for _ in range(75)]
            preds.append({"qid": k, "pred_relevant_windows": windows, "pred_saliency_scores": scores})
        files = tmp_path / "preds.jsonl", tmp_path / "refs.jsonl"
        for path, lines in zip(files, (preds, refs), strict=True):
            path.write_text("\n".join(map(json.dumps, lines)))
        fabula.score(files[0], files[1], protocol="qvhighlights")
        seen.append(calls(fabula.score, *files, protocol="qvhighlights"))
    assert (seen[1] - seen[0]) / 200 <= 94


def explain(preds: Corpus, refs: list[Corpus]) -> None:
    """All protocols, and why each differs from the default."""
    seen = fabula.protocols(preds, refs)
    for column in seen.columns[1:]:
        if column.result:
            seen.reasons(column.name)


VERBS: dict[str, Callable[[Corpus, list[Corpus]], object]] = {
    "diagnose": fabula.diagnose,
    "protocols": explain,
    "html": lambda preds, refs: page(fabula.score(preds, refs, metrics="SODA_c,DVC_METEOR"), "A page"),
}


# Ten scorings of two sets; 20 protocols, each rule that parts them from the default alone; pages of 24 pairs a video.
@pytest.mark.parametrize(("verb", "most"), [("diagnose", 1680), ("protocols", 3200), ("html", 625)])
def test_one_more_video_costs_few_calls_where_many_scorings_are_made(verb: str, most: int) -> None:
    VERBS[verb](*corpora(2))
    few, many = (calls(VERBS[verb], *corpora(n)) for n in (FEW, MANY))
    assert (many - few) / (MANY - FEW) <= most


@pytest.mark.parametrize(("verb", "most"), [("diagnose", 200), ("protocols", 700), ("html", 30)])
def test_many_scorings_call_kernels_for_blocks_too(verb: str, most: int, kernel_calls: Counter[str]) -> None:
    VERBS[verb](*corpora(2))  # makes the engines
    found = []
    for videos in (FEW, MANY):
        kernel_calls.clear()
        VERBS[verb](*corpora(videos))
        found.append(sum(kernel_calls.values()))
    assert (
        found[1] <= 1.1 * found[0] and 0 < found[0] <= most
    )  # a rule that acts on the larger corpus alone is scored too


def test_a_page_aligns_nothing_that_was_scored() -> None:
    preds, refs = corpora(FEW)
    result = fabula.score(preds, refs, metrics="SODA_c")
    assert aligned(lambda: page(result, "A page")) == 0


def test_a_diagnosis_aligns_every_pair_of_captions_once() -> None:
    preds, refs = corpora(FEW)
    said = {v: set(story.captions) for v, story in preds.items()}
    pairs = {(c, g) for ref in refs for v, story in ref.items() for g in story.captions for c in said[v]}
    # A repair puts captions of the references at predictions: they meet each other, in one set.
    meant = {(c, g) for ref in refs for story in ref.values() for g in story.captions for c in story.captions}
    assert len(pairs) < aligned(lambda: fabula.diagnose(preds, refs)) <= len(pairs) + len(meant)
    assert aligned(lambda: fabula.diagnose(preds, refs)) == 0


@pytest.mark.parametrize("run", RUNS)
def test_kernels_are_called_for_a_block_and_not_for_a_video(run: str, kernel_calls: Counter[str]) -> None:
    fabula.score(*corpora(2), **RUNS[run])  # makes the engines
    found = []
    for videos in (FEW, MANY):
        kernel_calls.clear()
        fabula.score(*corpora(videos), **RUNS[run])
        found.append(dict(kernel_calls))
    assert found[0] == found[1]
    assert 0 < sum(found[0].values()) <= 40  # a few for each metric and τ


def test_one_more_caption_costs_few_calls() -> None:
    def items(number: int) -> list[Item]:
        draw = random.Random(number)
        return [Item(str(k), sentence(draw), tuple(sentence(draw) for _ in range(5))) for k in range(number)]

    def score(some: list[Item]) -> None:
        block = Items(some)
        for name in ("BLEU_1", "BLEU_4", "METEOR", "ROUGE_L", "CIDEr"):
            fabula.metrics.metric(name).table(block)

    score(items(2))
    few, many = (calls(score, items(n)) for n in (100, 300))
    assert (many - few) / 200 <= 15  # six sentences, five metrics: hardly any of them is touched one by one


def test_each_distinct_pair_is_aligned_once_in_a_run() -> None:
    preds, refs = corpora(FEW)
    pairs = {
        (e.caption, g.caption)
        for ref in refs
        for v, story in ref.items()
        for g, row in zip(story.events, tiou(story.spans, preds[v].spans), strict=True)
        for e, iou in zip(preds[v].events, row.tolist(), strict=True)
        if iou > 0
    }
    assert aligned(lambda: fabula.score(preds, refs, metrics="SODA_c")) == len(pairs)
    # SODA_c reads the captions of all pairs that overlap: nothing is left for metrics that come after it.
    assert aligned(lambda: fabula.score(preds, refs, metrics="SODA_a,SODA_b,DVC_METEOR,SODA_c(refs=best)")) == 0


def test_another_protocol_aligns_only_what_its_garbage_adds() -> None:
    preds, refs = corpora(FEW)
    fabula.score(preds, refs, protocol="densevid-2018")
    said = sum(len(story) for story in preds.values())
    # Letters by the place of a prediction among the pairs of its video, at each of four τ.
    assert aligned(lambda: fabula.score(preds, refs, protocol="vidchapters", metrics="METEOR")) <= 4 * said


def aligned(work: Callable[[], object]) -> int:
    engine = meteor._engine(meteor.open_index())
    before = engine.aligned()
    work()
    found: int = engine.aligned() - before
    return found


@pytest.mark.parametrize("run", [*RUNS, *VERBS])
def test_each_sentence_is_tokenised_once(run: str, monkeypatch: pytest.MonkeyPatch) -> None:
    seen: Counter[str] = Counter()
    real = ptb.tokenize_all

    def tokenize_all(sentences: Any, **how: Any) -> list[str]:
        seen.update(sentences)
        return real(sentences, **how)

    monkeypatch.setattr(ptb, "tokenize_all", tokenize_all)
    preds, refs = corpora(FEW)
    if run in RUNS:
        fabula.score(preds, refs, **RUNS[run])
    else:
        VERBS[run](preds, refs)
    captions = {c for corpus in (preds, *refs) for story in corpus.values() for c in story.captions}
    assert captions <= set(seen)
    assert {seen[c] for c in captions} == {2 if run == "protocols" else 1}  # there also without what is not ASCII


# densevid_eval pools reference files for captions and not for PRF; its SODA_c orders events in another way.
@pytest.mark.parametrize(
    ("run", "layouts"), [("SODA_c", 1), ("densevid-2018", 2), ("vidchapters", 3), ("all dense metrics", 1)]
)
def test_overlaps_are_made_once_for_what_is_laid_out_alike(
    run: str, layouts: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    made: list[int] = []
    real = Grid.make_iou

    def make_iou(grid: Grid, *how: Any) -> Any:
        made.append(len(grid))
        return real(grid, *how)

    monkeypatch.setattr(Grid, "make_iou", make_iou)
    fabula.score(*corpora(FEW), **RUNS[run])
    assert len(made) == layouts


def test_protocols_make_overlaps_once_for_each_way_to_lay_out(monkeypatch: pytest.MonkeyPatch) -> None:
    made: list[int] = []
    real = Grid.make_iou

    def make_iou(grid: Grid, *how: Any) -> Any:
        made.append(len(grid))
        return real(grid, *how)

    monkeypatch.setattr(Grid, "make_iou", make_iou)
    explain(*corpora(FEW))
    assert len(made) <= 22  # sets pooled or not, missing videos or not, four orders, with ε or not


@pytest.mark.parametrize(
    ("run", "most"),
    [("SODA_c", 9), ("densevid-2018", 14), ("vidchapters", 17), ("all dense metrics", 11.5)],
)
def test_a_video_takes_few_kilobytes(run: str, most: int, monkeypatch: pytest.MonkeyPatch) -> None:
    # Twelve captions and their tokens, 32 cells, a row of numbers for each metric; the corpus itself is made before.
    # Memories that outlive a run begin empty: a dictionary that grows would be counted with all that is in it.
    monkeypatch.setattr(text, "tokens_by_sentence", {})
    monkeypatch.setattr(_sentences, "shared", _sentences.Memory())
    assert peak(fabula.score, *corpora(2 * MANY), **RUNS[run]) / (2 * MANY) <= most * 1024


def peak(work: Callable[..., object], *given: Any, **named: Any) -> int:
    tracemalloc.start()
    try:
        work(*given, **named)
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


@pytest.mark.parametrize("run", RUNS)
def test_the_videos_are_listed_as_often_for_many_blocks_as_for_few(run: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """A list of all videos for every block would grow with their square: 850,000 of them never ended."""
    listed = 0

    def videos(self: Stories) -> list[str]:
        nonlocal listed
        listed += 1
        return list(dict.fromkeys(v for ref in self.refs for v in ref))

    monkeypatch.setattr(stories, "BLOCK", 8)
    monkeypatch.setattr(Stories, "videos", property(videos))
    counts = []
    for number in (FEW, MANY):
        listed = 0
        preds, refs = corpora(number)
        fabula.score(preds, refs, **RUNS[run])
        counts.append(listed)
    assert counts[0] == counts[1] > 0


def test_a_shard_leaves_nothing_behind(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Sentences kept until a bound is reached made the memory of 100,000 videos three times that of 10,000."""
    monkeypatch.setattr(text, "tokens_by_sentence", {})
    monkeypatch.setattr(_sentences, "shared", _sentences.Memory())
    preds, refs = corpora(FEW)
    whole = fabula.score(preds, refs, protocol="densevid-2018")
    assert text.tokens_by_sentence and _sentences.shared.numbers
    parts = fabula.score(preds, refs, protocol="densevid-2018", work=tmp_path / "work")
    assert parts.to_dict() == whole.to_dict()
    assert not any(text.tokens_by_sentence.values()) and not _sentences.shared.numbers


def test_the_metrics_of_a_shard_share_its_overlaps(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    made: list[int] = []
    real = Grid.make_iou

    def make_iou(grid: Grid, *how: Any) -> Any:
        made.append(len(grid))
        return real(grid, *how)

    monkeypatch.setattr(Grid, "make_iou", make_iou)
    preds, refs = corpora(FEW)
    counts = []
    for metrics in ("DVC_METEOR", "DVC_METEOR,DVC_BLEU_4,DVC_ROUGE_L"):
        made.clear()
        fabula.score(preds, refs, metrics=metrics, work=tmp_path / metrics)
        counts.append(len(made))
    assert counts[0] == counts[1] > 0
