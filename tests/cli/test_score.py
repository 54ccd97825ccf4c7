"""fabula score as a user types it: numbers, files, warnings, and one line for every mistake."""

import json

import pyarrow.parquet
import pytest

from tests.cli.conftest import PREDS, REFS

SODA_D = ("--metrics", "SODA_d")


def test_table_for_a_pipe_is_plain_lines(fabula):
    ran = fabula("score", "preds.json", "--refs", "refs.json", *SODA_D)
    assert ran.code == 0 and ran.err == ""
    numbers = {line.split("\t")[1]: line.split("\t")[2] for line in ran.out.splitlines()}
    recall = (2 / 3 + 1 / 2) / 2
    f1 = (2 * (2 / 3) / (1 + 2 / 3) + 2 * (1 / 2) / (1 + 1 / 2)) / 2
    assert numbers == {"precision": "100.0000", "recall": f"{100 * recall:.4f}", "f1": f"{100 * f1:.4f}"}


def test_json_has_the_published_keys(fabula, tmp_path):
    assert fabula("score", "preds.json", "--refs", "refs.json", *SODA_D, "--json", "out.json").code == 0
    result = json.loads((tmp_path / "out.json").read_text())
    assert list(result) == ["fabula", "task", "protocol", "scores", "counts", "warnings"]
    assert result["task"] == "dense" and result["protocol"] == "default"
    score = result["scores"]["SODA_d"]
    assert list(score) == ["precision", "recall", "f1", "value", "signature", "short", "ci"]
    assert score["value"] == score["f1"] and score["signature"].startswith("SODA_d(refs=mean,missing=zero")
    assert result["counts"] == {
        "videos": 2, "missing": 0, "unparsed": 0, "unknown": 0, "references": 5, "predictions": 3,
    }  # fmt: skip


def test_json_to_standard_output(fabula):
    ran = fabula("score", "preds.json", "--refs", "refs.json", *SODA_D, "--json", "-")
    assert json.loads(ran.out)["scores"]["SODA_d"]["precision"] == 1.0


def test_several_references_follow_one_option(fabula, tmp_path):
    (tmp_path / "second.json").write_text(json.dumps({"v_a": REFS["v_a"]}))
    ran = fabula("score", "preds.json", "--refs", "refs.json", "second.json", *SODA_D)
    assert ran.code == 0 and "|sets:2|" in ran.out


@pytest.mark.parametrize("name", ["rows.jsonl", "rows.jsonl.gz", "rows.parquet"])
def test_rows_by_suffix(fabula, tmp_path, name):
    assert fabula("score", "preds.json", "--refs", "refs.json", "-m", "SODA_d,mIoU", "--rows", name).code == 0
    path = tmp_path / name
    if name.endswith("parquet"):
        rows = pyarrow.parquet.read_table(path).to_pylist()
    else:
        import gzip

        text = gzip.decompress(path.read_bytes()).decode() if name.endswith("gz") else path.read_text()
        rows = [json.loads(line) for line in text.splitlines()]
    assert [(r["video"], r["refset"]) for r in rows] == [("v_a", 0), ("v_b", 0)]
    assert rows[0]["SODA_d.recall"] == 2 / 3 and rows[1]["mIoU"] == 1 / 2


def test_rows_suffix_is_checked_before_work(fabula):
    ran = fabula("score", "preds.json", "--refs", "refs.json", *SODA_D, "--rows", "rows.txt")
    assert ran.code == 2 and ".jsonl, .jsonl.gz, .csv, .parquet" in ran.err and ran.err.count("\n") == 1


def test_html_is_written(fabula, tmp_path):
    assert fabula("score", "preds.json", "--refs", "refs.json", *SODA_D, "--html", "page.html").code == 0
    assert "<b>preds</b> against <b>refs</b>" in (tmp_path / "page.html").read_text()


def test_html_of_two_systems(fabula, tmp_path):
    two = ("--refs", "refs.json", *SODA_D, "--against", "preds.json")
    assert "--html" in fabula("score", "preds.json", *two).err
    assert fabula("score", "preds.json", *two, "--html", "page.html").code == 0
    assert "<b>preds</b> and <b>preds (2)</b>" in (tmp_path / "page.html").read_text()


def test_html_of_captions(fabula, tmp_path):
    (tmp_path / "pairs.jsonl").write_text('{"id": 1, "cand": "a dog", "refs": ["a dog runs"]}\n')
    ran = fabula("score", "pairs.jsonl", "--task", "captions", "--metrics", "ROUGE_L", "--html", "page.html")
    assert ran.code == 0 and "ROUGE_L" in (tmp_path / "page.html").read_text()


def test_prefixes_meet_with_a_warning(fabula, tmp_path):
    bare = {"results": {video.removeprefix("v_"): events for video, events in PREDS["results"].items()}}
    (tmp_path / "bare.json").write_text(json.dumps(bare))
    ran = fabula("score", "bare.json", "--refs", "refs.json", *SODA_D)
    assert ran.code == 0 and "2 video ids" in ran.err and "'v_'" in ran.err


def test_malformed_predictions_warn_and_strict_refuses(fabula, tmp_path):
    bad = {"results": {"v_a": [*PREDS["results"]["v_a"], {"sentence": "x", "timestamp": [30, 20]}]}}
    (tmp_path / "bad.json").write_text(json.dumps(bad))
    ran = fabula("score", "bad.json", "--refs", "refs.json", *SODA_D)
    assert ran.code == 0 and "match nothing" in ran.err and "'v_a' event 2" in ran.err
    ran = fabula("score", "bad.json", "--refs", "refs.json", *SODA_D, "--strict", "--json", "out.json")
    assert ran.code == 2 and "'v_a'" in ran.err and "[30, 20]" in ran.err and "--strict" in ran.err
    assert not (tmp_path / "out.json").exists()


def test_malformed_references_need_a_repair(fabula, tmp_path):
    bad = {"v_a": {"duration": 60, "timestamps": [[10, 0], [12, 30]], "sentences": ["one", "two"]}}
    (tmp_path / "bad_refs.json").write_text(json.dumps(bad))
    ran = fabula("score", "preds.json", "--refs", "bad_refs.json", *SODA_D)
    assert ran.code == 2 and "reversed" in ran.err and "--repair swap" in ran.err
    ran = fabula("score", "preds.json", "--refs", "bad_refs.json", *SODA_D, "--repair", "swap")
    assert ran.code == 0 and "1 reference" in ran.err and "swap" in ran.err
    assert fabula("score", "preds.json", "--refs", "bad_refs.json", *SODA_D, "--protocol", "soda-2021").code == 0


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("score", "preds.json", "--refs", "nothing.json"), "no such file"),
        (("score", "preds.json", "--refs", "."), "is a directory"),
        (("score", "preds.json"), "no references"),
        (("score", "preds.json", "--refs", "refs.json", "-m", "SODA_x"), "did you mean"),
        (("score", "preds.json", "--refs", "refs.json", "-m", "SODA_d(refs=worst)"), "mean, best, merged, single"),
        (("score", "preds.json", "--refs", "refs.json", "-m", "SODA_d(rfs=best)"), "did you mean 'refs'"),
        (("score", "preds.json", "--refs", "refs.json", "-m", "SODA_d("), "cannot read"),
        (("score", "preds.json", "--refs", "refs.json", "-m", "SODA_d,SODA_d"), "twice"),
        (("score", "preds.json", "--refs", "refs.json", "--protocol", "soda"), "protocol"),
        (("score", "preds.json", "--refs", "refs.json", "--protocol", "pss-2022", "-m", "SODA_c"), "no metric"),
        (("score", "preds.json", "--refs", "refs.json", "--task", "dens"), "did you mean 'dense'"),
        (("score", "preds.json", "--refs", "refs.json", "--task", "captions"), "preds.json"),
        (("score", "preds.json", "--refs", "refs.json", "--format", "pdf"), "no format"),
        (("score", "refs.json", "--refs", "refs.json", "-m", "SODA_c(text=bert)"), "no caption scorer"),
        (("list", "nonsense"), "nonsense"),
        (("convert", "refs.json", "out.json", "--to", "word"), "no format"),
        (("baseline", "uniform", "--refs", "refs.json", "-o", "u.json"), "exactly one"),
        (("baseline", "uniform", "--refs", "refs.json", "--count", "0", "-o", "u.json"), "at least 1"),
        (("baseline", "uniform", "--refs", "refs.json", "--duration", "nan", "-o", "u.json"), "positive"),
    ],
)
def test_a_mistake_costs_one_line_and_exit_code_2(fabula, tmp_path, arguments, said):
    before = sorted(p.name for p in tmp_path.iterdir())
    ran = fabula(*arguments)
    assert ran.code == 2 and said in ran.err, ran.err
    assert "Traceback" not in ran.err and ran.out == ""
    assert sorted(p.name for p in tmp_path.iterdir()) == before


def test_a_folder_that_cannot_be_written_is_said(fabula, tmp_path):
    ran = fabula("score", "preds.json", "--refs", "refs.json", *SODA_D, "--json", "nowhere/out.json")
    assert ran.code == 2 and "cannot be written" in ran.err and "Traceback" not in ran.err


def test_captions_from_pairs(fabula, tmp_path):
    lines = [{"id": 7, "cand": "a dog runs", "refs": ["a dog runs"]}, {"id": "x", "cand": "", "refs": ["a", "b"]}]
    (tmp_path / "pairs.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    ran = fabula("score", "pairs.jsonl", "--task", "captions", "-m", "ROUGE_L,BLEU_1", "--rows", "rows.jsonl")
    assert ran.code == 0, ran.err
    rows = [json.loads(line) for line in (tmp_path / "rows.jsonl").read_text().splitlines()]
    assert [(r["id"], r["ROUGE_L"]) for r in rows] == [(7, 1.0), ("x", 0.0)]


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ('{"id": 1, "cand": null, "refs": ["a"]}', "null"),
        ('{"id": 1, "cand": 3, "refs": ["a"]}', "the number 3"),
        ('{"id": 1, "cand": "a", "refs": []}', "no references"),
        ('{"id": 1, "cand": "a", "refs": "a"}', "expected a list"),
        ('{"id": 1, "cand": "a", "refs": [null]}', "refs[0]"),
        ('{"cand": "a", "refs": ["a"]}', "'id' is missing"),
        ('{"id": true, "cand": "a", "refs": ["a"]}', "true"),
        ('{"id": 1, "cand": "' + "a" * 1_000_000 + '", "refs": ["a"]}', "1,000,000 characters"),
    ],
)
def test_bad_pairs_name_the_item(fabula, tmp_path, line, said):
    (tmp_path / "pairs.jsonl").write_text('{"id": 0, "cand": "a", "refs": ["a"]}\n' + line + "\n")
    ran = fabula("score", "pairs.jsonl", "--task", "captions", "-m", "ROUGE_L")
    assert ran.code == 2 and said in ran.err and "line 2" in ran.err and len(ran.err) < 500


def test_a_name_that_two_tasks_share_is_told_by_the_file(fabula, tmp_path):
    ran = fabula("score", "preds.json", "--refs", "refs.json", "-m", "ROUGE_L", "--json", "-")
    result = json.loads(ran.out)
    assert result["task"] == "dense" and result["scores"]["ROUGE_L"]["signature"].startswith("DVC_ROUGE_L(")
    (tmp_path / "pairs.jsonl").write_text('{"id": 1, "cand": "a dog", "refs": ["a dog"]}\n')
    result = json.loads(fabula("score", "pairs.jsonl", "-m", "ROUGE_L", "--json", "-").out)
    assert result["task"] == "captions" and result["scores"]["ROUGE_L"]["value"] == 1.0


def test_moments_without_their_task_are_told_which(fabula, tmp_path):
    (tmp_path / "queries.jsonl").write_text('{"id": 1, "video": "a", "windows": [[1, 2]], "text": "she sings"}\n')
    (tmp_path / "answers.jsonl").write_text('{"id": 1, "windows": [[1, 2]]}\n')
    ran = fabula("score", "answers.jsonl", "--refs", "queries.jsonl")
    assert ran.code == 2 and ran.err.count("\n") == 1
    assert "say which: --task moments, --task highlights, --task grounding" in ran.err
    (tmp_path / "answers.jsonl").write_text('{"id": 1, "windows": [[1, 2]], "videos": ["a"]}\n')
    ran = fabula("score", "answers.jsonl", "--refs", "queries.jsonl")
    assert ran.code == 0 and "VCMR" in ran.out
