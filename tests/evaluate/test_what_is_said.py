"""What a result says besides its numbers: counts, warnings, signatures, errors that name the file and what to do."""

import gzip
import json
from pathlib import Path

import pytest

import fabula
from fabula.core.errors import InputError, SpecError
from fabula.data.stories import Item
from fabula.evaluate import stories
from fabula.evaluate.base import Memory, Request
from fabula.evaluate.options import ScoreOptions
from fabula.evaluate.sharded import measure_bytes
from fabula.evaluate.split import piece_file, read_stretches
from fabula.jobs.folder import Folder
from tests.moment_toys import lines, tvr_predictions, tvr_queries
from tests.toys import corpus

REFS = corpus({"a": [(0, 10, "a dog"), (10, 20, "a cat")], "b": [(0, 5, "a man")], "empty": []}, name="refs.json")
PRED = corpus({"a": [(0, 10, "a dog")], "x": [(0, 1, "x"), (1, 2, "y")]}, name="pred.json")


def test_counts_and_warnings_of_stories():
    result = fabula.score(PRED, REFS, metrics="mIoU")
    assert result.counts == {
        "videos": 2,
        "missing": 1,
        "unparsed": 0,
        "unknown": 1,
        "references": 3,
        "predictions": 1,
    }
    assert list(result.warnings) == [
        "1 reference videos have no events and are left out: 'empty'",
        "1 reference videos have no prediction (see missing=… in each signature): 'b'",
        "1 predicted videos are not in the references and are not scored: 'x'",
    ]
    assert result.task == "dense" and result.protocol == "default"
    full = fabula.metric("mIoU").full()
    assert result["mIoU"].signature == f"{full}|videos:2|sets:1|missing:1|fabula:{fabula.__version__}"
    assert result["mIoU"].value == (1 / 2 + 0) / 2 and result["mIoU"].primary == "value"


def test_two_sets_count_their_references_together():
    result = fabula.score(PRED, [REFS, corpus({"a": [(0, 9, "a dog")], "c": [(0, 1, "c")]})], metrics="mIoU")
    assert (result.counts["videos"], result.counts["missing"], result.counts["references"]) == (3, 2, 5)
    assert "|videos:3|sets:2|missing:2|" in result["mIoU"].signature


def test_the_task_is_what_the_predictions_say():
    plain = corpus({"a": [(0, 10)]})
    assert fabula.score(plain, REFS, metrics="mIoU").task == "procedure"
    assert fabula.score(corpus({"a": []}), REFS, metrics="mIoU").task == "dense"  # nothing told: the references say
    assert fabula.score(corpus({"a": []}), plain, metrics="mIoU").task == "procedure"


def test_nothing_to_score():
    with pytest.raises(
        InputError, match=r"pred\.json: no predicted video is among the references; .*'z', references 'a'"
    ):
        fabula.score(corpus({"z": [(0, 1)]}, name="pred.json"), REFS, metrics="mIoU")
    with pytest.raises(InputError, match=r"refs\.json: no reference video has an event; check the reference file"):
        fabula.score(PRED, corpus({"a": []}, name="refs.json"), metrics="mIoU")
    with pytest.raises(InputError, match="nothing is left to score; missing=drop leaves out"):
        fabula.score(corpus({}), REFS, metrics="mIoU(missing=drop)", task="procedure")
    assert fabula.score(corpus({}), REFS, metrics="mIoU", task="procedure")["mIoU"].value == 0
    with pytest.raises(SpecError, match="no references; name at least one"):
        fabula.score(PRED, [], metrics="mIoU")
    with pytest.raises(SpecError, match="the task moments reads files, not story corpora"):
        fabula.score(PRED, REFS, task="moments")


def test_metrics_by_their_titles():
    result = fabula.score(PRED, REFS, metrics="SODA_d,PRF@0.5,PRF@0.3,METEOR(tok=none)")
    assert list(result.scores) == ["SODA_d", "PRF@0.5", "PRF@0.3", "METEOR"]
    with pytest.raises(SpecError, match="the metric mIoU is asked for twice"):
        fabula.score(PRED, REFS, metrics="mIoU,mIoU")
    with pytest.raises(SpecError, match="FITB is not a metric of the task dense; it is for identity"):
        fabula.score(PRED, REFS, metrics="FITB", task="dense")
    with pytest.raises(SpecError, match="takes one reference set, 2 were given"):
        fabula.score(PRED, [REFS, REFS], metrics="mIoU(refs=single)")


def test_one_tokeniser_for_all_that_tokenise():
    result = fabula.score(PRED, REFS, metrics="SODA_c,mIoU", tok="none")
    assert "tok=none" in result["SODA_c"].signature and "tok" not in result["mIoU"].signature
    said = "the protocol soda-2021 has tok=ptb for SODA_a, and --tok none contradicts it"
    with pytest.raises(SpecError, match=said):
        fabula.score(PRED, REFS, protocol="soda-2021", tok="none")
    agreed = fabula.score(PRED, REFS, protocol="soda-2021", metrics="SODA_d,SODA_c", tok="ptb")
    assert list(agreed.scores) == ["SODA_d", "SODA_c"]


def test_rows_are_made_once_for_several_requests():
    made, memory = [fabula.metric("mIoU")], Memory()
    first = stories.run(Request(predictions=PRED, refs=[REFS], metrics=made, memory=memory), "procedure")
    assert memory.rows == {made[0].full(): first.rows["mIoU"]}
    again = stories.run(Request(predictions=REFS, refs=[REFS], metrics=made, memory=memory), "procedure")
    assert again.rows["mIoU"] is first.rows["mIoU"]
    assert again.predictions is first.predictions  # requests that share a memory are about the same files
    anew = stories.run(Request(predictions=REFS, refs=[REFS], metrics=made), "procedure")
    assert (first["mIoU"].value, again["mIoU"].value, anew["mIoU"].value) == (1 / 4, 1 / 4, 1)


def test_whether_all_metrics_were_meant():
    soda = fabula.protocol("soda-2021")
    assert Request(predictions="p").means_all
    assert Request(predictions="p", protocol=soda, metrics=soda.metrics).means_all
    assert not Request(predictions="p", protocol=soda, metrics=soda.metrics[:1]).means_all
    assert not Request(predictions="p", metrics=soda.metrics).means_all


def test_options_as_text():
    made = ScoreOptions(repair="swap, clip", sets="valSets.csv", work="w")
    assert made.repair == ("swap", "clip") and made.sets == Path("valSets.csv") and made.work == Path("w")
    assert ScoreOptions().repair == () and not ScoreOptions().sharded
    for some in ({"engine": "ray"}, {"address": "x"}, {"work": "w"}, {"resume": True}):
        assert ScoreOptions(**some).sharded
    plain = ScoreOptions()
    assert (plain.engine, plain.strict, plain.resume, plain.tok, plain.metrics) == ("local", False, False, None, None)


# ── captions ────────────────────────────────────────────────────────────────────────────────────────────────────────


def test_counts_of_captions(tmp_path):
    results, refs = tmp_path / "r.json", tmp_path / "a.json"
    results.write_text(json.dumps([{"image_id": 1, "caption": "a dog"}]))
    told = [{"image_id": i, "caption": c} for i, c in ((1, "a dog"), (1, "one dog"), (2, "a cat"))]
    refs.write_text(json.dumps({"annotations": told}))
    result = fabula.score(results, refs, task="captions", metrics="ROUGE_L")
    assert result.counts == {"items": 2, "missing": 1, "unparsed": 0, "references": 3}
    assert "|items:2|missing:1|" in result["ROUGE_L"].signature and result["ROUGE_L"].value == 1 / 2
    assert result.items == (Item(1, "a dog", ("a dog", "one dog")), Item(2, None, ("a cat",)))
    dropped = fabula.score(results, refs, task="captions", metrics="ROUGE_L(missing=drop)")
    assert "|items:1|missing:1|" in dropped["ROUGE_L"].signature and dropped["ROUGE_L"].value == 1
    refs.write_text(json.dumps({"annotations": []}))
    results.write_text("[]")
    with pytest.raises(InputError, match=r"r\.json: no items to score; check the file"):
        fabula.score(results, refs, task="captions")


# ── moments ─────────────────────────────────────────────────────────────────────────────────────────────────────────


def test_counts_and_warnings_of_moments(tmp_path):
    gt = tvr_queries(tmp_path / "gt.jsonl", {q: ("kitchen", [0, 10]) for q in (1, 2, 3, 4)})
    pred = tvr_predictions(tmp_path / "p.json", VCMR={1: [[0, 0, 10, 1]], 2: [], 9: [[0, 0, 10, 1]]})
    result = fabula.score(pred, gt, task="moments", metrics="VCMR")
    assert result["VCMR"].values["r1@0.5"] == 1 / 4
    assert (result.counts["queries"], result.counts["missing"], result.counts["empty"]) == (4, 2, 1)
    assert "2 queries have no answer (see missing=… in each signature)" in result.warnings
    assert "1 rankings are empty" in result.warnings
    assert "|queries:4|" in result["VCMR"].signature
    rows = result.rows["VCMR"]
    assert rows.keys == (1, 2, 3, 4) and rows.unit == "query" and rows.drawn == ("kitchen",) * 4
    stray = tvr_predictions(tmp_path / "s.json", VCMR={9: [[0, 0, 10, 1]]})
    with pytest.raises(InputError, match="no answered query is among the references; compare the ids"):
        fabula.score(stray, gt, task="moments", metrics="VCMR")


def test_moments_by_type_of_query(tmp_path):
    told = [
        {"desc_id": i, "vid_name": "kitchen", "ts": [0, 10], "duration": 90.0, "desc": "x", "type": t}
        for i, t in ((1, "t"), (2, "v"), (3, "t"))
    ]
    pred = tvr_predictions(tmp_path / "p.json", VCMR={1: [[0, 0, 10, 1]], 2: [[0, 0, 10, 1]], 3: [[0, 50, 60, 1]]})
    result = fabula.score(pred, lines(tmp_path / "gt.jsonl", told), task="moments", metrics="VCMR(k=1,iou=0.5)")
    assert list(result["VCMR"].by_type.items()) == [
        ("v", {"queries": 1, "r1@0.5": 1}),
        ("t", {"queries": 2, "r1@0.5": 1 / 2}),
    ]


# ── shards ──────────────────────────────────────────────────────────────────────────────────────────────────────────


def test_bytes_that_files_stand_for(tmp_path):
    plain, packed = tmp_path / "a.jsonl", tmp_path / "b.jsonl.gz"
    plain.write_bytes(b"x" * 100)
    packed.write_bytes(gzip.compress(b"y" * 1000))
    assert measure_bytes(plain) == 100
    assert measure_bytes(packed) == 5 * packed.stat().st_size


def test_a_work_folder_that_is_not_seen(tmp_path):
    folder = Folder(tmp_path)
    with pytest.raises(InputError, match=r"cannot be read .*every machine must see the work folder"):
        list(read_stretches(folder, 0, [0]))
    told = folder.at(*piece_file(0, "jsonl"))
    told.parent.mkdir(parents=True, exist_ok=True)
    told.write_bytes(b"")
    assert list(read_stretches(folder, 0, [0])) == []


def test_queries_without_an_answer_are_made_in_blocks(tmp_path, monkeypatch):
    monkeypatch.setattr("fabula.evaluate.rankings.QUERIES", 2)
    gt = tvr_queries(tmp_path / "gt.jsonl", {q: ("kitchen", [0, 10]) for q in range(7)})
    pred = tvr_predictions(tmp_path / "p.json", VCMR={3: [[0, 0, 10, 1]]})
    rows = fabula.score(pred, gt, task="moments", metrics="VCMR").rows["VCMR"]
    assert rows.keys == tuple(range(7)) and rows["r1@0.5"].tolist() == [0, 0, 0, 1, 0, 0, 0]


QV = {"query": "x", "vid": "v", "duration": 8, "relevant_windows": [[0, 4]]}
MARKED = QV | {"relevant_clip_ids": [0], "saliency_scores": [[4, 4, 4]]}


def test_what_the_predictions_lack(tmp_path):
    gt = lines(tmp_path / "gt.jsonl", [{"qid": 1, **MARKED}])
    clips = lines(tmp_path / "c.jsonl", [{"qid": 1, "pred_saliency_scores": [0.9, 0.1, 0.1, 0.1]}])
    result = fabula.score(clips, gt, task="highlights")
    assert list(result.scores) == ["HL_Hit1", "HL_mAP"] and result["HL_Hit1"].value == 1
    assert "MR_R1 is left out: the predictions have no windows" in result.warnings
    with pytest.raises(InputError, match=r"c\.jsonl: MR_mAP: the predictions have no windows; leave the metric out"):
        fabula.score(clips, gt, metrics="MR_mAP,HL_mAP", task="highlights")
    windows = lines(tmp_path / "w.jsonl", [{"qid": 1, "pred_relevant_windows": [[0, 4, 1]]}])
    with pytest.raises(InputError, match="HL_mAP: the predictions have no saliency"):
        fabula.score(windows, gt, metrics="MR_R1,HL_mAP", task="highlights")
    plain = lines(tmp_path / "plain.jsonl", [{"qid": 1, **QV}])
    with pytest.raises(InputError, match="HL_Hit1: the references have no marks of clips"):
        fabula.score(clips, plain, metrics="HL_Hit1", task="highlights")


def test_clips_beyond_the_end_do_not_count(tmp_path):
    """Four clips; the fifth and sixth score is of none, and the highlight stands first among the four."""
    gt = lines(tmp_path / "gt.jsonl", [{"qid": 1, **MARKED}])
    clips = lines(tmp_path / "c.jsonl", [{"qid": 1, "pred_saliency_scores": [0.5, 0.1, 0.1, 0.1, 9.0, 8.0]}])
    assert fabula.score(clips, gt, metrics="HL_mAP", task="highlights")["HL_mAP"].value == 1


def test_a_reference_file_without_queries(tmp_path):
    gt = tmp_path / "gt.json"
    gt.write_text(json.dumps({"annotations": []}))
    pred = tvr_predictions(tmp_path / "p.json", VCMR={1: [[0, 0, 10, 1]]})
    with pytest.raises(InputError, match=r"gt\.json: no query; check the reference file"):
        fabula.score(pred, gt, task="grounding", refs_format="timechat-tvg")


# ── identity ────────────────────────────────────────────────────────────────────────────────────────────────────────


def test_clips_laid_together_by_sets(tmp_path):
    files = {}
    for name, text in {
        "sets": "a\tb\nc\td\n",
        "refs": "a\tP1 sits.\nb\tP2 runs.\nc\tP1 sings.\nd\tP1 eats.\n",
        "pred": "a\tP1 sits.\nb\tP1 runs.\n",
    }.items():
        files[name] = tmp_path / f"{name}.csv"
        files[name].write_text(text)
    result = fabula.score(
        files["pred"], files["refs"], task="identity", sets=files["sets"], metrics="ROUGE_L(tok=none)"
    )
    assert result.rows["ROUGE_L"].keys == ("a", "c")
    assert result.items[0].candidate == "P1 sits. P1 runs." and result.items[1].candidate is None
    assert "1 captionsets have no prediction (see missing=… in each signature): 'c'" in result.warnings
    with pytest.raises(SpecError, match="the sets of clips are missing"):
        fabula.score(files["pred"], files["refs"], task="identity")
    with pytest.raises(SpecError, match="the task identity takes one reference file with --refs, 2 were given"):
        fabula.score(files["pred"], [files["refs"]] * 2, task="identity")


def test_all_counts_of_moments(tmp_path):
    gt = tvr_queries(tmp_path / "gt.jsonl", {1: ("kitchen", [0, 10]), 2: ("kitchen", [[0, 10], [20, 30]])})
    pred = tvr_predictions(tmp_path / "p.json", VCMR={1: [[0, 0, 10, 1], [1, 0, 10, 0.5]], 7: []})
    assert fabula.score(pred, gt, task="moments", metrics="VCMR").counts == {
        "queries": 2,
        "missing": 1,
        "unparsed": 0,
        "unknown": 1,
        "empty": 0,
        "references": 3,
        "predictions": 2,
    }


def test_captionsets_that_nobody_asked_for(tmp_path):
    told = lines(tmp_path / "refs.jsonl", [{"id": "a", "captions": ["P1 sits."]}])
    said = lines(tmp_path / "pred.jsonl", [{"id": v, "captions": ["P1 walks."]} for v in ("a", "x", "y")])
    result = fabula.score(said, told, task="identity", metrics="ROUGE_L(tok=none)")
    assert any(w.startswith("2 predicted captionsets are not in the references and are not") for w in result.warnings)
    assert result.counts["unknown"] == 2 and result.rows["ROUGE_L"].keys == ("a",)
    lines(said, [{"id": "x", "captions": ["P1 walks."]}])
    with pytest.raises(InputError, match=r"pred\.jsonl: no predicted captionset is among .* have 'x', references 'a'"):
        fabula.score(said, told, task="identity", metrics="ROUGE_L(tok=none)")


def test_the_most_queries_that_any_list_lacks_are_missing(tmp_path):
    gt = tvr_queries(tmp_path / "gt.jsonl", {q: ("kitchen", [0, 10]) for q in (1, 2, 3)})
    row = [[0, 0, 10, 1]]
    pred = tvr_predictions(tmp_path / "p.json", VCMR={1: row}, SVMR={1: row, 2: row}, VR={1: row, 2: row, 3: row})
    for metrics in ("VCMR,SVMR,VR", "VR,SVMR,VCMR"):
        assert fabula.score(pred, gt, task="moments", metrics=metrics).counts["missing"] == 2


def test_what_metrics_read_that_do_not_rename_people(tmp_path):
    told = lines(tmp_path / "refs.jsonl", [{"id": "a", "captions": ["P7 rides a horse."]}])
    said = lines(tmp_path / "pred.jsonl", [{"id": "a", "captions": ["P9 rides a horse."]}])
    result = fabula.score(said, told, task="identity", metrics="ROUGE_L(tok=none),iSPICE")
    assert {n: [i.candidate for i in items] for n, items in result.read.items()} == {"ROUGE_L": ["P1 rides a horse."]}
    assert result["ROUGE_L"].value == result["iSPICE"].value == 1
    assert result.items[0].candidate == "P9 rides a horse."
