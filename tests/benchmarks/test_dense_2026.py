"""sodam, vantage-dvc and soda-bertscore against what the published programs gave (../shared/spec/vectors-2026)."""

from __future__ import annotations

import csv
import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import fabula
from fabula import io
from fabula.benchmarks import protocol
from fabula.benchmarks.sodam import stories as sodam_files
from fabula.benchmarks.vantage import stories as vantage_files
from fabula.data.stories import DIMENSIONS, Corpus, Event, Segment, Story
from fabula.llm.fake import read_prompt
from fabula.llm.options import EndpointOptions
from fabula.llm.session import asking
from fabula.match.ordered import marked_pairs, ordered
from fabula.metrics.stories import Stories
from fabula.text._scorer import OneByOne

FOLDER = Path(__file__).resolve().parents[3] / "shared" / "spec" / "vectors-2026"
CLONE = Path(__file__).parent / "timechat_captioner"
PUBLISHED = protocol("sodam").metrics[0]
NEAR = 1e-9


def vectors(name: str) -> Any:
    file = FOLDER / name
    if not file.is_file():
        pytest.skip(f"{name} is not in ../shared/spec/vectors-2026: numbers of published programs are wanted")
    return json.loads(file.read_text(encoding="utf-8"))


@pytest.fixture(autouse=True)
def clone(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FABULA_TIMECHAT_CAPTIONER", str(CLONE))


def asking_table(table: dict[str, str]) -> Any:
    """A session whose judge answers by the caption that it is shown."""

    def reply(body: dict[str, Any]) -> str:
        told = read_prompt(body).rpartition("told: ")[2].removesuffix("\n")
        return table.get(told, "nothing")

    return asking(EndpointOptions(), reply=reply)


def make_event(span: list[float], gt: dict[str, Any]) -> Event:
    """As the reader makes it of an entry of the file."""
    story = sodam_files.read_truth("v", [{"timestamp": span, **gt}], io.Source(Path("refs.jsonl")))
    return story.events[0]


def make_pair(case: dict[str, Any]) -> tuple[Corpus, Corpus]:
    ref = Story("v", tuple(map(make_event, case["gt_segments"], case["gt"])))
    told = zip(case["pred_segments"], case["pred_captions"], strict=True)
    pred = Story("v", tuple(Event(Segment(*map(float, span)), said) for span, said in told))
    return Corpus({"v": ref}), Corpus({"v": pred})


# ── sodam ───────────────────────────────────────────────────────────────────────────────────────────────────────────


def test_sodam_groups_are_the_published_ones() -> None:
    for case in vectors("sodam.json")["groups"]:
        C = np.array(case["iou"])
        assert ordered(C)[0] == pytest.approx(case["dp_value"], abs=NEAR)
        assert [list(pair) for pair in marked_pairs(C)] == case["pairs"]
        assert [[g, members] for g, members in PUBLISHED.merge_cells(C)] == case["groups"], case


def test_sodam_checklists_are_counted_as_published() -> None:
    for case in vectors("sodam.json")["checklist"]:
        pair = {"gt_segments": [[0, 10]], "gt": [case["gt"]], "pred_segments": [[0, 10]]}
        refs, preds = make_pair({**pair, "pred_captions": [case["caption"]]})
        with asking_table({case["caption"]: case["judge"]}) as session, session.count() as spent:
            rows = PUBLISHED.table(Stories([refs], preds))
        assert rows["precision"][0] == pytest.approx(case["out"]["overall"], abs=NEAR), case["name"]
        ours = {d: rows[f"precision {d}"][0] for d in DIMENSIONS}
        assert ours == pytest.approx(case["out"]["by_dim"], abs=NEAR), case["name"]
        assert spent.calls == case["out"]["calls"], case["name"]


@pytest.mark.parametrize("times", ["own", "published"])
def test_sodam_videos(times: str) -> None:
    """With one reference time in the file the defect changes nothing; else only the right times give the numbers."""
    metric, found = PUBLISHED.with_params({"times": times}), []
    for case in vectors("sodam.json")["videos"]:
        refs, preds = make_pair(case)
        asked: list[str] = []

        def reply(body: dict[str, Any], case: dict[str, Any] = case, asked: list[str] = asked) -> str:
            told = read_prompt(body).rpartition("told: ")[2].removesuffix("\n")
            asked.append(told)
            return str(case["judge"].get(told, "nothing"))

        with asking(EndpointOptions(concurrency=1), reply=reply):
            rows = metric.table(Stories([refs], preds))
        wanted = case["out"]["SODA_m"]["0"]
        same = rows["f1"][0] == pytest.approx(wanted["SODA_m_total"], abs=NEAR)
        ours = {d: rows[d][0] for d in DIMENSIONS}
        found.append(same and ours == pytest.approx(wanted["SODA_m_by_dim"], abs=NEAR))
        if times == "own":
            assert found[-1], case["name"]
            assert list(dict.fromkeys(asked)) == case["asked"], case["name"]
    assert all(found) is (times == "own")


def test_sodam_times_beside_it() -> None:
    every = vectors("sodam.json")
    prf = protocol("sodam").metrics[1]
    for case in every["videos"]:
        refs, preds = make_pair(case)
        rows, wanted = prf.table(Stories([refs], preds)), case["out"]
        for level in ("0.3", "0.5", "0.7", "0.9"):
            assert rows[f"precision@{level}"][0] == pytest.approx(wanted[f"Precision@{level}"], abs=NEAR)
            assert rows[f"recall@{level}"][0] == pytest.approx(wanted[f"Recall@{level}"], abs=NEAR)
        ours = [rows[n][0] for n in ("precision", "recall", "f1")]
        assert ours == pytest.approx([wanted[n] for n in ("Precision_Mean", "Recall_Mean", "F1_Score")], abs=NEAR)
    merged = protocol("sodam").metrics[2]
    for case in every["eval_time"]["cases"]:
        sides = [Story("v", tuple(Event(Segment(*map(float, s)), "") for s in case[k])) for k in ("gt", "pred")]
        rows, wanted = merged.table(Stories([Corpus({"v": sides[0]})], Corpus({"v": sides[1]}))), case["out"]
        names = {"precision": "Precision_Mean", "recall": "Recall_Mean", "f1": "F1_Score", "miou": "mIoU"}
        for ours, theirs in names.items():
            assert rows[ours][0] == pytest.approx(wanted.get(theirs, 0.0), abs=NEAR), (case["name"], ours)


def test_sodam_a_corpus_is_the_mean_over_all_its_videos() -> None:
    """Those of the aggregate that are at hand, and one without predictions, which counts 0."""
    every = vectors("sodam.json")
    refs, preds, table = {}, {}, {}
    for k, case in enumerate(every["videos"]):
        pair = make_pair(case)
        refs[f"v{k}"], preds[f"v{k}"] = (corpus["v"].renamed(f"v{k}") for corpus in pair)
        preds[f"v{k}"] = Story(f"v{k}", tuple(Event(e.segment, f"{k} {e.caption}") for e in pair[1]["v"].events))
        for said, answer in case["judge"].items():
            members = said.split()
            table[" ".join(f"{k} {word}" for word in members)] = answer
        table |= {f"{k} junk {k} p {k} more junk": case["judge"].get("junk p more junk", "")}
    refs["none"] = refs["v0"].renamed("none")
    with asking_table(table):
        rows = PUBLISHED.table(Stories([Corpus(refs)], Corpus(preds)))
    totals = [case["out"]["SODA_m"]["0"]["SODA_m_total"] for case in every["videos"]]
    assert PUBLISHED.fold(rows)["f1"] == pytest.approx(sum(totals) / (len(totals) + 1), abs=NEAR)


def test_sodam_reads_times_and_files(tmp_path: Path) -> None:
    every = vectors("sodam.json")
    for case in every["timestamps"]:
        span = sodam_files.read_time(case["in"])
        raises = isinstance(case["out"], dict)
        assert (span is None) if raises else [span.start, span.end] == case["out"], case  # type: ignore[union-attr]
    refs, preds = tmp_path / "refs.jsonl", tmp_path / "preds.jsonl"
    for file, lines in ((refs, every["files"]["gt_lines"]), (preds, every["files"]["pred_lines"])):
        file.write_text("".join(json.dumps(line) + "\n" for line in lines))
    reached = every["files"]["what_reaches_the_metric"]
    truth, told = io.read(refs)[0], io.read(preds)[0]
    assert [story.spans.tolist() for story in truth.values()] == reached["gt_segments"]
    assert [story.captions for story in told.values()] == reached["captions"]
    segment = PUBLISHED.with_params({"times": "published"}).prepare(Stories([truth], told))
    assert [[[segment.start, segment.end]] * len(s) for s in told.values()] == reached["predicted_segments"]


def same_story(folder: Path, name: str, text: str) -> Story:
    (folder / name).write_text(text)
    return io.read(folder / name, "sodam")[0]["d/v.mp4"]


def test_sodam_predictions_in_all_four_shapes(tmp_path: Path) -> None:
    """Three of them end the published program; all give the same events here."""
    events = [{"timestamp": "0-00:10", "caption": " p "}, {"timestamp": [10, 20], "segment_detail_caption_en": "q"}]
    shapes = {
        "1.json": json.dumps({"d/v.mp4": events}),
        "2.jsonl": json.dumps({"clip_path": "d/v.mp4", "prediction_json": events}),
        "3.json": json.dumps([{"clip_path": "d/v.mp4", "pred": events}]),
        "4.jsonl": "".join(json.dumps({"clip_path": "d/v.mp4", "pred": [e]}) + "\n" for e in events),
    }
    for name, text in shapes.items():
        story = same_story(tmp_path, name, text)
        assert story.spans.tolist() == [[0, 10], [10, 20]], name
        assert story.captions == ["p", "[segment_detail_caption_en]\tq."], name


@pytest.mark.parametrize(
    ("text", "captions"),
    [
        (
            'sorry: [{"timestamp": "0-5", "speech_content": "he says "go" twice"}]',
            ['[speech_content]\the says "go" twice.'],
        ),
        (
            '[{"timestamp": "0-5", "storyline": "a", "camera_state": "it breaks off',
            ["[camera_state]\tit breaks off\n[storyline]\ta."],
        ),
        ('[{"timestamp": "0-5", "storyline": "one\nline"}]', ["[storyline]\tone\nline."]),
        ('```json\n[{"timestamp": "0-5", "storyline": "fenced"}]\n```', ["[storyline]\tfenced."]),
        ('[{"time": "0-5"}]', []),
        ("nothing", []),
        ('[{"timestamp": "0-5", "storyline": "already \\"escaped\\""}]', []),
    ],
)
def test_sodam_mends_text_as_published(text: str, captions: list[str], tmp_path: Path) -> None:
    story = same_story(tmp_path, "p.jsonl", json.dumps({"clip_path": "d/v.mp4", "prediction": text}))
    assert story.captions == captions


# ── vantage-dvc ─────────────────────────────────────────────────────────────────────────────────────────────────────


class Table(OneByOne):
    """A caption scorer that is a table: F1 by reference and prediction, in single precision as torch gives it."""

    name, version = "table", "made up"

    def __init__(self, scores: dict[str, dict[str, float]], otherwise: float) -> None:
        self.scores, self.otherwise = scores, otherwise

    def pairs(self, candidates: Any, references: Any) -> Any:
        found = [[self.scores.get(r, {}).get(c, self.otherwise) for r in references] for c in candidates]
        return np.array(found, np.float32).reshape(len(candidates), len(references)).astype(np.float64)


@pytest.fixture
def score_by(monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[..., None]]:
    def use(scores: dict[str, dict[str, float]], otherwise: float) -> None:
        table = Table(scores, otherwise)
        monkeypatch.setattr("fabula.pair.captions.scorer", lambda name: table)

    yield use


def write_table(file: Path, rows: list[dict[str, Any]]) -> Path:
    with file.open("w", newline="", encoding="utf-8") as stream:
        writer = csv.DictWriter(stream, list(rows[0]), dialect="excel-tab" if file.suffix == ".tsv" else "excel")
        writer.writeheader()
        writer.writerows(rows)
    return file


def write_case(folder: Path, rows: list[dict[str, Any]], shape: str) -> tuple[Path, Path]:
    """The two sides of a case: tables as the kit has them, tables without names of videos, or lines."""
    truth = [
        {"index": i, "video": r["video"], "category": r["category"], "answer": json.dumps(r["ground_truth"])}
        for i, r in enumerate(rows)
    ]
    told = [{"index": i, "video": r["video"], "prediction": r["prediction"]} for i, r in enumerate(rows)]
    if shape == "tables":
        return write_table(folder / "p.tsv", told), write_table(folder / "t.tsv", truth)
    if shape == "indices":
        bare = [{k: v for k, v in row.items() if k != "video"} for row in told]
        return write_table(folder / "p.csv", bare), write_table(folder / "t.tsv", truth)
    files = folder / "p.jsonl", folder / "t.jsonl"
    for file, entries, who, key in ((files[0], told, "assistant", "prediction"), (files[1], truth, "gpt", "answer")):
        lines = [
            {
                "id": f"{entry['video']}__dvc_{entry['index']:06d}",
                "conversations": [{"from": who, "value": entry[key]}],
                **({"category": entry["category"]} if who == "gpt" else {"task": "dense_video_captioning"}),
            }
            for entry in entries
        ]
        file.write_text("".join(json.dumps(line) + "\n" for line in lines))
    return files


def test_vantage_reads_times_as_published() -> None:
    for case in vectors("vantage_dvc.json")["timestamps"]:
        raises = isinstance(case["out"], dict)
        assert vantage_files.read_time(case["in"]) == (None if raises else case["out"]), case


@pytest.mark.parametrize(
    ("text", "start", "end"),
    [
        ("4.72s", 4.72, 4.72),
        ("4.72 sec", 4.72, 4.72),
        ("1m5s", 65, 65),
        ("2h3m4s", 7384, 7384),
        ("00:00:04,720", 4.72, 4.72),
        ("00:04.72 - 00:09.31", 4.72, 9.31),
        ("01:02:03:04", 3723, 3723),
        ("1:2:3:4:5", None, None),
        ("4,72", None, None),
        ("5 min", None, None),
        ("abc", None, None),
        ("", 0, 0),
    ],
)
def test_vantage_reads_more_times_where_it_is_told_so(text: str, start: float | None, end: float | None) -> None:
    ours = vantage_files.read_time(text, lenient=True), vantage_files.read_time(text, lenient=True, second=True)
    assert ours == (pytest.approx(start), pytest.approx(end))


def test_vantage_reads_answers_as_published() -> None:
    for case in vectors("vantage_dvc.json")["answers"]:
        wanted = [] if isinstance(case["out"], dict) else case["out"]
        assert vantage_files.find_events(case["in"]) == wanted, case


@pytest.mark.parametrize("shape", ["tables", "indices", "lines"])
def test_vantage_numbers_are_the_published_ones(shape: str, tmp_path: Path, score_by: Any, kernels: str) -> None:
    names = {
        "SODA_c/f1": ("soda_c", "SODA_c"),
        "SODA_parts/miou": ("miou", "mIoU"),
        "SODA_parts/iou_f1": ("iou_f1", "IoU_F1"),
        "SODA_parts/text_f1": ("bertscore_f1", "BertScore_F1"),
    }
    for case in vectors("vantage_dvc.json")["cases"]:
        score_by(case["bert_f1[reference][prediction]"], case["bert_default"])
        preds, refs = write_case(tmp_path, case["rows"], shape)
        result = fabula.score(preds, [refs], protocol="vantage-dvc")
        if "raises" in case["out"]:  # the event is left out and counted
            assert any("have no time that can be read" in line for line in result.warnings)
            continue
        for name, theirs in names.items():
            label, _, part = name.partition("/")
            wanted = next(case["out"][n] for n in theirs if n in case["out"])
            assert result.scores[label].values[part] == pytest.approx(wanted, abs=NEAR), (case["name"], name)


def test_vantage_drops_videos_and_gives_categories(tmp_path: Path, score_by: Any) -> None:
    score_by({}, 0.8)
    event = {"start": "00:00", "end": "00:10", "caption": "a"}
    rows = [{"video": f"v{k}", "category": "xxy"[k], "ground_truth": [event]} for k in range(3)]
    preds, refs = write_case(
        tmp_path, [{**r, "prediction": json.dumps([event]) if k != 1 else "none"} for k, r in enumerate(rows)], "tables"
    )
    ours = fabula.score(preds, [refs], protocol="vantage-dvc")
    assert ours.scores["SODA_c"].value == pytest.approx(0.8)  # not .8 · 2/3
    assert {c: v["videos"] for c, v in ours.scores["SODA_c"].by_type.items()} == {"x": 1, "y": 1}
    corrected = fabula.score(preds, [refs], metrics=["SODA_c(text=exact)"], format="vantage", tok="none")
    assert corrected.counts["unparsed"] == 1 and "missing=zero" in corrected.scores["SODA_c"].signature


def test_vantage_rows_in_memory(tmp_path: Path, score_by: Any) -> None:
    score_by({}, 0.8)
    event = {"start": "00:00", "end": "00:10", "caption": "a"}
    truth = [{"index": 0, "video": "v", "category": "x", "answer": json.dumps([event])}]
    told = [{"index": 0, "prediction": f"here: {json.dumps([event])}"}]
    ours = fabula.score(told, truth, protocol="vantage-dvc", format="vantage", refs_format="vantage")
    assert ours.scores["SODA_c"].value == pytest.approx(0.8)


# ── soda-bertscore ──────────────────────────────────────────────────────────────────────────────────────────────────


def test_soda_bertscore_exchanges_the_sides_and_takes_recall(monkeypatch: pytest.MonkeyPatch) -> None:
    case = vectors("soda_bertscore.json")
    called: list[tuple[list[str], list[str]]] = []

    class Told(OneByOne):
        name, version = "told", "made up"

        def pairs(self, candidates: Any, references: Any) -> Any:
            called.append(([c for c in candidates for _ in references], [r for _ in candidates for r in references]))
            return np.full((len(candidates), len(references)), 0.2)

    asked: list[str] = []
    monkeypatch.setattr("fabula.pair.captions.scorer", lambda name: asked.append(name) or Told())
    soda_c = next(m for m in protocol("soda-bertscore").metrics if m.name == "SODA_c")
    refs = Corpus({"v": Story("v", (Event(Segment(0, 10), "Gold a"),))})
    preds = Corpus({"v": Story("v", (Event(Segment(0, 5), "Pred zero"), Event(Segment(5, 10), "pred, one!")))})
    rows = soda_c.table(Stories([refs], preds))
    (call,) = case["call"]
    assert called == [(call["candidates"], call["references"])]
    assert set(asked) == {"bertscore-r:roberta-large"}
    assert case["BERTScorer made with"] == [{"model_type": "roberta-large", "lang": "en"}]
    assert rows["S"][0] == pytest.approx(0.5 * case["returned"][1][0], abs=1e-8)


def test_without_the_encoder_one_line_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    from fabula.text.neural import model

    monkeypatch.delenv("FABULA_MODELS", raising=False)
    model.open_model.cache_clear(), model.digest.cache_clear()
    story = Corpus({"v": Story("v", (Event(Segment(0, 10), "a"),))}, name="s")
    for name in ("soda-bertscore", "vantage-dvc"):
        with pytest.raises(fabula.FabulaError, match="roberta-large: no such folder; name a model's folder"):
            fabula.score(story, [story], protocol=name)
