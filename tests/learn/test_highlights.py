"""QVHighlights' files as QD-DETR reads them, its answers as a submission that is scored, and videos of any length."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

torch = pytest.importorskip("torch", reason="training needs fabula[learn]")
pytest.importorskip("scipy", reason="training needs fabula[learn]")

import fabula  # noqa: E402
from fabula.core.errors import InputError  # noqa: E402
from fabula.core.notes import Notes  # noqa: E402
from fabula.data.moments import Query, Saliency  # noqa: E402
from fabula.io.moments import read_queries  # noqa: E402
from fabula.learn.models.qd_detr import Config, Model  # noqa: E402
from fabula.learn.retrieval.answers import Answer, write_answers  # noqa: E402
from fabula.learn.retrieval.data import Clips, Words  # noqa: E402
from fabula.learn.retrieval.highlights import (  # noqa: E402
    Highlights,
    draw_pairs,
    find_highlights,
    mark_clips,
    place_windows,
)
from fabula.learn.retrieval.npz import NpzFeatures, open_store  # noqa: E402
from fabula.match.nms import nms  # noqa: E402

LINES = [
    {"qid": 7, "query": "a kite flies", "vid": "kite_0.0_10.0", "duration": 10, "relevant_windows": [[6, 10], [0, 2]],
     "relevant_clip_ids": [0, 3, 4], "saliency_scores": [[1, 0, 0], [4, 4, 4], [2, 3, 2]]},
    {"qid": 8, "query": "she peels it", "vid": "peel_0.0_12.0", "duration": 12, "relevant_windows": [[0, 4]],
     "relevant_clip_ids": [0, 1], "saliency_scores": [[4, 2, 3], [1, 1, 0]]},
]  # fmt: skip


@pytest.fixture
def published(tmp_path: Path) -> Path:
    """A folder as QVHighlights' archive unpacks, with random features."""
    rng = np.random.default_rng(0)
    for folder, dim in (("slowfast", 5), ("clip", 3)):
        (tmp_path / folder).mkdir()
        for vid, n in (("kite_0.0_10.0", 5), ("peel_0.0_12.0", 6)):
            extra = 1 if folder == "slowfast" else 0  # slightly longer than the others
            np.savez(
                tmp_path / folder / f"{vid}.npz", features=rng.standard_normal((n + extra, dim)).astype(np.float16)
            )
    (tmp_path / "text").mkdir()
    for qid, n in ((7, 3), (8, 40)):
        words = rng.standard_normal((n, 4)).astype(np.float32)
        np.savez(tmp_path / "text" / f"qid{qid}.npz", last_hidden_state=words, pooler_output=words[0])
    (tmp_path / "val.jsonl").write_text("".join(json.dumps(line) + "\n" for line in LINES))
    return tmp_path


CONFIG = Config.tiny(feature_dim=8, query_dim=4, hidden=16, heads=2, feedforward=16)


def open_all(folder: Path, config: Config = CONFIG, learn: bool = True) -> tuple[dict[Any, Query], Highlights, Notes]:
    queries, notes = read_queries([folder / "val.jsonl"], Notes()), Notes()
    clips = Clips([open_store(folder / "slowfast"), open_store(folder / "clip")], config)
    words = Words(config, open_store(folder / "text"))
    return queries, Highlights(queries.values(), clips, words, learn, notes), notes


def test_features_and_labels_are_those_of_the_published_loader(published: Path) -> None:
    _, data, notes = open_all(published)
    kite, peel = data[0], data[1]
    raw = [
        np.load(published / f / "kite_0.0_10.0.npz")["features"].astype(np.float32)[:5] for f in ("slowfast", "clip")
    ]
    expected = np.concatenate([x / (np.linalg.norm(x, axis=1, keepdims=True) + 1e-5) for x in raw], 1)
    np.testing.assert_allclose(kite.clips.numpy(), expected, rtol=1e-6)
    assert kite.words.shape == (3, 4) and peel.words.shape == (32, 4)  # cut
    assert kite.windows.numpy() == pytest.approx(np.array([[0.0, 0.2], [0.6, 1.0]]))  # in order of centre
    assert kite.marks.tolist() == [1, 0, 0, 12, 7]
    assert kite.pairs[:, 0].tolist() == [3, 0] and kite.pairs[0, 1] in (0, 3, 4) and kite.pairs[1, 1] in (1, 2)
    batch = data.collate([kite, peel])
    assert batch.mask.sum(1).tolist() == [5, 6] and batch.word_mask.sum(1).tolist() == [3, 32]
    assert batch.window_mask.tolist() == [[True, True], [True, False]] and batch.names == [7, 8]
    assert torch.isfinite(Model(CONFIG).loss(batch)["loss"]) and not notes.lines()


def test_a_submission_is_scored(published: Path) -> None:
    torch.manual_seed(0)
    queries, data, _ = open_all(published, learn=False)
    rankings = list(find_highlights(Model(CONFIG), data, batch_size=1))
    together = list(find_highlights(Model(CONFIG), data, batch_size=9))
    assert len(rankings) == len(together) == 2
    answers = [Answer(r.id, svmr=r) for r in rankings]
    write_answers(published / "preds.jsonl", "qvhighlights", answers, queries, data.names)
    first = json.loads((published / "preds.jsonl").read_text().splitlines()[0])
    assert list(first) == ["qid", "query", "vid", "pred_relevant_windows", "pred_saliency_scores"]
    assert first["qid"] == 7 and first["vid"] == "kite_0.0_10.0" and len(first["pred_saliency_scores"]) == 5
    scores = [row[2] for row in first["pred_relevant_windows"]]
    assert scores == sorted(scores, reverse=True) and all(
        0 <= s <= e <= 10 for s, e, _ in first["pred_relevant_windows"]
    )
    for protocol in (None, "qvhighlights"):
        result = fabula.score(published / "preds.jsonl", published / "val.jsonl", task="highlights", protocol=protocol)
        assert {"MR_R1", "MR_mAP", "HL_mAP", "HL_Hit1"} <= {name.partition("(")[0] for name in result.metrics}


def test_trained_asked_and_scored_as_a_task(published: Path) -> None:
    """What `fabula train vcmr --model qd_detr`, `predict` and `score` do, in this process."""
    from fabula.learn import run
    from fabula.learn.options import Run
    from fabula.learn.tasks.vcmr import PredictOptions, Task, TrainOptions

    stores = (str(published / "slowfast"), str(published / "clip"))
    options = TrainOptions(
        model="qd_detr", tiny=True, data=published / "val.jsonl", features=stores, words=published / "text"
    )
    line = run.fit(Task(), options, Run(out=published / "run"), {"matcher": "marginal"}, {"epochs": 2, "batch_size": 2})
    assert np.isfinite(line["loss"]) and line["step"] == 2
    asked = PredictOptions(
        data=published / "val.jsonl", features=stores, words=published / "text", form="qvhighlights", set_="nms=0.7"
    )
    found = run.predict(Task(), published / "run", asked)
    Task().write(found, published / "preds.jsonl")
    result = fabula.score(published / "preds.jsonl", published / "val.jsonl", task="highlights")
    assert "HL_mAP" in {name.partition("(")[0] for name in result.metrics}
    wrong = PredictOptions(data=published / "val.jsonl", features=stores[:1], words=published / "text")
    with pytest.raises(InputError, match="5 channels; the model takes 8"):
        run.predict(Task(), published / "run", wrong)


def test_what_features_do_not_show_is_told(published: Path) -> None:
    lines = [dict(LINES[0], relevant_windows=[[6, 10]], duration=14, relevant_clip_ids=[3, 4, 6]), LINES[1]]
    lines[0]["relevant_windows"] = [[6, 14]]
    (published / "val.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    _, data, notes = open_all(published)
    assert data[0].windows.tolist() == [[pytest.approx(0.6), 1.0]] and data[0].marks.tolist() == [0, 0, 0, 1, 12]
    assert len(notes.lines()) == 2 and all("1 " in line for line in notes.lines())
    lines[0]["relevant_windows"] = [[11, 14]]
    (published / "val.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    with pytest.raises(InputError, match="begins after its features end, at 10 s"):
        open_all(published)


def test_damaged_and_missing_archives_cost_one_line(published: Path) -> None:
    (published / "clip" / "kite_0.0_10.0.npz").write_bytes(b"PK nothing")
    np.savez(published / "clip" / "other.npz", rubbish=np.zeros(3))
    np.savez(published / "clip" / "pickled.npz", features=np.array([{"a": 1}], dtype=object))
    store = NpzFeatures(published / "clip")
    for name, words in (
        ("kite_0.0_10.0", "unreadable"),
        ("other", "it holds rubbish, not features"),
        ("pickled", "unreadable"),
        ("absent", "no features of this"),
    ):
        with pytest.raises(InputError, match=words):
            store[name]
    with pytest.raises(InputError, match=r"no \.npz files"):
        NpzFeatures(published / "nowhere")
    for name in ("kite_0.0_10.0", "other", "pickled"):
        (published / "clip" / f"{name}.npz").unlink()
    with pytest.raises(InputError, match="8 channels; the model takes 9"):
        Clips([open_store(published / "slowfast"), open_store(published / "clip")], Config.tiny(feature_dim=9))


# -- labels on paper --------------------------------------------------------------------------------------------------


def test_clips_of_windows_are_relevant_where_there_are_no_marks() -> None:
    query = Query(1, "v", ((2.0, 6.0), (9.1, 9.3)))
    marks, relevant = mark_clips(query, 0, 6, 2.0)
    assert marks.tolist() == [0, 1, 1, 0, 1, 0] and relevant.tolist() == [False, True, True, False, True, False]
    assert mark_clips(query, 2, 4, 2.0)[0].tolist() == [1, 0]
    assert place_windows(query, 2, 4, 2.0).tolist() == [[0.0, 0.5]]
    assert place_windows(query, 3, 4, 2.0).shape == (0, 2)


def test_pairs_where_all_clips_or_none_are_relevant() -> None:
    marks = torch.tensor([3.0, 9.0, 1.0])
    assert draw_pairs(marks, torch.ones(3, dtype=torch.bool)).tolist() == [[1, 1], [2, 2]]
    assert draw_pairs(marks, torch.zeros(3, dtype=torch.bool)).tolist() == [[0, 0], [0, 0]]
    seen = set()
    for seed in range(60):
        torch.manual_seed(seed)
        drawn = draw_pairs(marks, torch.tensor([True, True, False]))
        assert drawn[:, 0].tolist() == [1, 0]
        seen.add(tuple(drawn[:, 1].tolist()))
    assert seen == {(0, 2), (1, 2)}


# -- videos of any length ---------------------------------------------------------------------------------------------


class Store(dict[str, Any]):
    """Features in memory."""

    path, metadata, dim = Path("memory"), {}, 8


def long_data(n: int, config: Config, **marks: Any) -> tuple[Highlights, Any]:
    rng = np.random.default_rng(1)
    frames = rng.standard_normal((n, 8)).astype(np.float32)
    from fabula.learn.retrieval.data import Clips

    query = Query(1, "film", ((10.0, 14.0),), n * config.clip, "a long story", **marks)
    return Highlights([query], Clips([Store(film=frames)], config), Words(config)), frames


def test_a_long_video_is_answered_by_its_windows() -> None:
    """Windows and saliency are those of the parts found alone, shifted; overlaps are suppressed and averaged."""
    torch.manual_seed(0)
    config = Config.tiny(feature_dim=8, query_dim=4, hidden=16, heads=2, feedforward=16, words="hashing", max_clips=20,
                         overlap=5, clip=2.0, join=0.99)  # fmt: skip
    model = Model(config).eval()
    data, frames = long_data(1805, config)  # an hour and ten seconds
    [found] = find_highlights(model, data)
    assert found.saliency is not None and len(found.saliency) == 1805
    parts = data.parts(0)
    assert parts[0][0] == 0 and parts[1][0] == 15 and parts[-1][0] == 1785 and len(parts) == 120
    total, seen, spans = np.zeros(1805), np.zeros(1805), []
    for begin, example in parts:
        np.testing.assert_allclose(example.clips.norm(dim=1).numpy(), 1, atol=1e-3)
        [alone] = model.predict(data.collate([example]))
        total[begin : begin + 20] += alone.saliency
        seen[begin : begin + 20] += 1
        spans += [(s + 2.0 * begin, e + 2.0 * begin, w) for (s, e), w in zip(alone.spans, alone.scores, strict=True)]
    np.testing.assert_allclose(found.saliency, total / seen, atol=1e-5)
    kept = np.array(spans)[nms(np.array(spans)[:, :2], np.array(spans)[:, 2], 0.99, top=None)]
    assert len(found) == len(kept) > 120
    apart = np.abs(np.sort(found.spans, axis=0) - np.sort(kept[:, :2], axis=0))
    assert apart.max() < 1e-3
    assert (np.diff(found.scores) <= 0).all() and found.spans.max() <= 3610
    assert frames.shape == (1805, 8)


def test_a_long_video_is_learnt_by_the_window_that_has_the_moment() -> None:
    config = Config.tiny(feature_dim=8, query_dim=4, hidden=16, heads=2, feedforward=16, words="hashing", max_clips=6,
                         overlap=2, clip=1.0)  # fmt: skip
    marks = Saliency((10, 11, 30), ((4.0,), (2.0,), (3.0,)))
    data, _ = long_data(40, config, saliency=marks)
    example = data[0]
    assert len(example.clips) == 6
    begin = round(10 - float(example.windows[0, 0]) * 6)
    assert begin <= 10 and begin + 6 >= 14 and example.marks[10 - begin] == 4 and example.marks.sum() == 6


def check_real(path: Path) -> int:
    """Every query of QVHighlights' validation set, 75 clips a video: labels by the loops of the published loader."""
    queries = read_queries([path], Notes())
    for query in queries.values():
        assert query.saliency is not None and query.duration is not None
        n = int(query.duration // 2)
        marks, relevant = mark_clips(query, 0, n, 2.0)
        expected = [0.0] * n
        for clip, given in zip(query.saliency.clips, query.saliency.marks, strict=True):
            if clip < n:
                expected[clip] = sum(given)
        assert marks.tolist() == expected and int(relevant.sum()) == len({c for c in query.saliency.clips if c < n})
        windows = place_windows(query, 0, n, 2.0)
        assert len(windows) == len(query.windows) and (windows >= 0).all() and (windows <= 1).all()
        centres = sorted((s + e) / 2 / (2 * n) for s, e in query.windows)
        assert windows.mean(1).tolist() == pytest.approx(centres, abs=1e-2)
        pairs = draw_pairs(marks, relevant)
        assert marks[pairs[0, 0]] == marks[relevant].max() and marks[pairs[1, 0]] == marks[relevant].min()
    return len(queries)


def test_labels_of_the_real_validation_set(shared_data: Path) -> None:
    assert check_real(shared_data / "qvhighlights" / "highlight_val_release.jsonl") == 1550
