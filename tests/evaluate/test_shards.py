"""Shard by shard: the numbers, counts and warnings of the run in memory; a run that broke off goes on."""

import gzip
import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import fabula
from fabula.core.errors import InputError, SpecError
from fabula.data.stories import Corpus, Story
from fabula.documents import parquet
from fabula.evaluate import split
from fabula.evaluate.shards import shards_for
from fabula.evaluate.split import Record, shard_of
from fabula.io import pieces as cutting
from fabula.jobs import folder
from fabula.jobs.folder import Folder
from fabula.jobs.runner import InProcess
from fabula.metrics import metric
from fabula.metrics.stories import Stories
from tests.toys import corpus, story

METRICS = "SODA_d,SODA_c(text=exact,tok=none),SODA_d(refs=best),DVC_CIDEr(tok=none),PRF@0.5,Para_CIDEr,Para_BLEU_4"
RNG = np.random.default_rng(5)
WORDS = ["a", "dog", "runs", "over", "the", "green", "grass", "cat", "looks", "at", "it", "far"]


def told(n: int, events: int, prefix: str = "v_") -> dict[str, list[tuple[float, float, str]]]:
    return {
        f"{prefix}{i}": [
            (float(s), float(s + 9), " ".join(RNG.choice(WORDS, 6))) for s in sorted(RNG.integers(0, 80, events))
        ]
        for i in range(n)
    }


@pytest.fixture(scope="module")
def sets() -> tuple[Corpus, Corpus, Corpus]:
    """Two reference sets and predictions with everything a reader has to say something about."""
    one, two, preds = told(60, 4), told(55, 3, prefix=""), told(70, 5)
    one |= {"v_empty": [], "v_odd": [(9.0, 3.0, "a dog")], "v_v_twin": [(0.0, 5.0, "a cat")]}
    preds |= {
        "x_unknown": [(0.0, 1.0, "it")],
        "v_twin": [(0.0, 5.0, "a cat")],
        "v_3": [(8.0, 2.0, "a dog"), (0, 0, "")],
    }
    for v in ("v_7", "v_40", "v_41", "v_42"):
        del preds[v]
    return tuple(corpus(c, name=n) for c, n in ((one, "one"), (two, "two"), (preds, "preds")))


@pytest.fixture
def files(sets, tmp_path: Path) -> list[Path]:
    paths = [tmp_path / f"{c.name}.jsonl" for c in sets]
    for c, path in zip(sets, paths, strict=True):
        fabula.write(c, path, "fabula")
    return paths


def test_the_same_from_memory(sets, tmp_path):
    one, two, preds = sets
    whole = fabula.score(preds, [one, two], metrics=METRICS, repair="swap")
    parts = fabula.score(preds, [one, two], metrics=METRICS, repair="swap", work=tmp_path / "work")
    assert parts.to_dict() == whole.to_dict()
    assert len(whole.warnings) >= 6
    for name, rows in whole.rows.items():
        assert list(parts.rows[name].dicts()) == list(rows.dicts())
    assert parts.predictions == whole.predictions and list(parts.refs[1]) == list(whole.refs[1])


def repacked(path: Path, kind: str) -> Path:
    """The same stories in another container."""
    stories = list(fabula.read(path)[0].items())
    if kind == "folder":
        folder = path.with_suffix("")
        folder.mkdir()
        for i, ending in enumerate(("jsonl", "jsonl.gz", "parquet")):
            part = Corpus(dict(stories[i * len(stories) // 3 : (i + 1) * len(stories) // 3]))
            fabula.write(part, folder / f"part-{i}.{ending}", "fabula")
        (folder / "notes.txt").touch()
        return folder
    if kind == "jsonl.gz":
        path.with_name(f"{path.name}.gz").write_bytes(gzip.compress(path.read_bytes()))
        return path.with_name(f"{path.name}.gz")
    fabula.write(Corpus(dict(stories)), path.with_suffix(f".{kind}"), "fabula")
    return path.with_suffix(f".{kind}")


@pytest.mark.parametrize("size", [500, cutting.PIECE])
@pytest.mark.parametrize("kind", ["jsonl", "jsonl.gz", "parquet", "folder"])
def test_the_same_streamed(files, tmp_path, kind, size, monkeypatch):
    monkeypatch.setattr(cutting, "READ", 100)
    monkeypatch.setattr(cutting.cut_file, "__defaults__", (size,))
    monkeypatch.setattr(parquet, "GROUP", 9)
    one, two, preds = (repacked(f, kind) if kind != "jsonl" else f for f in files)
    whole = fabula.score(preds, [one, two], metrics=METRICS, repair="swap")
    parts = fabula.score(preds, [one, two], metrics=METRICS, repair="swap", work=tmp_path / "work")
    assert parts.to_dict() == whole.to_dict()
    assert parts.predictions is None  # nothing was kept
    pieces = len(list((tmp_path / "work" / "pieces").glob("*.json")))
    assert pieces == {"folder": 9}.get(kind, 3) if size > 500 or kind == "jsonl.gz" else pieces > 9


@pytest.mark.parametrize("kind", ["parquet", "folder"])
def test_one_set_in_another_container(files, kind):
    one, two, preds = files
    plain = fabula.score(preds, [one, two], metrics=METRICS, repair="swap", engine=InProcess())
    other = fabula.score(preds, [repacked(one, kind), two], metrics=METRICS, repair="swap", engine=InProcess())
    assert other.to_dict()["scores"] == plain.to_dict()["scores"]


def test_answers_that_say_nothing_are_counted(tmp_path):
    answers = tmp_path / "answers.jsonl"
    told = {"v_0": "From 1 to 9 seconds, a dog runs.", "v_1": "I cannot help with that."}
    answers.write_text("".join(json.dumps({"id": v, "answer": a}) + "\n" for v, a in told.items()))
    refs = corpus({v: [(0, 9, "a dog runs")] for v in told})
    whole = fabula.score(answers, refs, metrics="SODA_d", task="dense")
    assert whole.counts["unparsed"] == 1
    assert fabula.score(answers, refs, metrics="SODA_d", task="dense", engine=InProcess()).to_dict() == whole.to_dict()


def test_the_same_under_a_protocol_that_judges_nothing(files, tmp_path):
    one, _, preds = files
    whole = fabula.score(preds, one, protocol="soda-2021", metrics="SODA_d")
    parts = fabula.score(preds, one, protocol="soda-2021", metrics="SODA_d", work=tmp_path / "work")
    assert parts.to_dict() == whole.to_dict()


def same_error(**request) -> str:
    said = []
    for extra in ({}, {"engine": InProcess()}):
        with pytest.raises(fabula.FabulaError) as error:
            fabula.score(**request, **extra)
        said.append(str(error.value))
    assert said[0] == said[1]
    return said[0]


def test_the_same_errors(files, tmp_path):
    one, two, preds = files
    twice = tmp_path / "twice.jsonl"
    twice.write_text(preds.read_text() + preds.read_text())
    assert "stands twice, first on line 1;" in same_error(predictions=twice, refs=one, repair="swap", metrics="SODA_d")
    folder = tmp_path / "twice"
    folder.mkdir()
    for name in ("a.jsonl", "b.parquet"):
        fabula.write(corpus({"v_1": [(0, 1, "it")]}), folder / name, "fabula")
    said = same_error(predictions=folder, refs=two, metrics="SODA_d", task="dense")
    assert said.startswith(str(folder / "b.parquet")) and "this video id stands twice, first in a.jsonl;" in said
    broken = tmp_path / "broken.jsonl"
    broken.write_text(preds.read_text() + '{"id": "z", "events": [{"start": 0}]}\n')
    assert "line 69 events[0]: the key 'end' is missing" in same_error(predictions=broken, refs=two, metrics="SODA_d")
    strangers = corpus({"other": [(0, 1, "it")]}, name="strangers")
    assert "compare the ids" in same_error(predictions=strangers, refs=two, metrics="SODA_d")
    assert "has an event" in same_error(predictions=preds, refs=corpus({"v_1": []}), metrics="SODA_d")
    assert "reversed segment" in same_error(predictions=preds, refs=one, metrics="SODA_d")
    assert "reversed segment" in same_error(predictions=preds, refs=two, metrics="SODA_d", strict=True)
    assert "no repair is called" in same_error(predictions=preds, refs=two, metrics="SODA_d", repair="magic")
    for name in ("no.jsonl", "no.json"):
        assert "no such file" in same_error(predictions=tmp_path / name, refs=two, metrics="SODA_d", task="dense")
    assert "takes one reference set" in same_error(predictions=preds, refs=[two, two], metrics="SODA_d(refs=single)")
    bare = corpus({"v_1": [(0, 1)]})
    assert "have no caption" in same_error(predictions=bare, refs=bare, metrics="SODA_c(text=exact,tok=none)")


def test_all_spellings_of_an_id_share_a_shard():
    assert len({shard_of(v, 97) for v in ("abc", "v_abc", "v_v_abc")}) == 1
    spread = np.bincount([shard_of(f"video {i}", 16) for i in range(1600)], minlength=16)
    assert spread.min() > 50 and spread.max() < 150


def test_the_input_alone_decides_how_many_shards():
    assert [shards_for(n) for n in (0, 8 << 20, (100 << 20) + 1, 1 << 40)] == [8, 8, 101, 4096]


def cut(tmp_path: Path, told: Corpus, shards: int = 3, index: int = 0) -> split.Cut:
    return split.Cut(Folder(tmp_path), index, 0, told.name, told, shards, split.Rules(False, (), False))


def test_a_record_keeps_all_of_a_story(tmp_path):
    kept = story((0, 0.1, 'a "dog"\n\ud800'), (float("inf"), -2, "é"), id="v_\u2028", duration=3)
    split.split_piece(cut(tmp_path, Corpus({kept.id: kept}), shards=1))
    assert list(split.read_records(Folder(tmp_path), 1, [0])) == [Record(0, 0, kept)]
    (outline,) = split.read_records(Folder(tmp_path), 1, [0], outline=True)
    assert (outline.story.id, len(outline.story)) == (kept.id, 2)


@pytest.mark.parametrize("block", [1, 500, 1 << 20])
def test_every_story_is_in_its_shard_and_in_order(tmp_path, monkeypatch, block):
    monkeypatch.setattr(split, "BLOCK", block)
    halves = [corpus(told(40, 2, prefix=p)) for p in ("a", "b")]
    for i, half in enumerate(halves):
        split.split_piece(cut(tmp_path, half, index=i))
    split.split_piece(cut(tmp_path, Corpus({}), index=2))  # an empty piece
    shares = [list(split.read_records(Folder(tmp_path), 3, [k])) for k in range(3)]
    for k, share in enumerate(shares):
        assert share and [r.place for r in share] == sorted(r.place for r in share)
        assert {shard_of(r.story.id, 3) for r in share} == {k}
    together = sorted((r for share in shares for r in share), key=lambda r: r.place)
    assert [r.story for r in together] == [s for half in halves for s in half.values()]
    assert [r.piece for r in together] == [0] * 40 + [1] * 40


def test_statistics_of_parts_are_those_of_the_whole(sets):
    made = metric("DVC_CIDEr(tok=none)")
    one, two, preds = sets
    halves = [[Corpus({v: s for v, s in ref.items() if len(v) % 2 == k}) for ref in (one, two)] for k in (0, 1)]
    merged = made.merge_statistics([made.count_statistics(half) for half in halves])
    assert merged == made.count_statistics([one, two])
    (tokens, idf), (same, counted) = (made.prepare(Stories([one, two], preds, given)) for given in (merged, None))
    assert tokens == same and idf == counted.idf
    assert metric("DVC_CIDEr(idf=video)").count_statistics([one]) is None


def score(files, work, **more):
    return fabula.score(files[2], files[:2], metrics=METRICS, repair="swap", work=work, **more)


DIES = """
import os, signal, sys
import fabula
from fabula.jobs import runner
from fabula.evaluate import shards

class Dies(runner.InProcess):
    def map(self, work, jobs):
        for i, job in enumerate(jobs):
            if work is shards.score_shard and i == 3:
                os.kill(os.getpid(), signal.SIGKILL)
            yield i, work(job)

one, two, preds, work, metrics = sys.argv[1:]
fabula.score(preds, [one, two], metrics=metrics, repair="swap", work=work, engine=Dies())
"""


def killed_in_the_middle(files: list[Path], work: Path) -> dict[Path, int]:
    """Rows that were written before the whole process was killed, and when."""
    run = subprocess.run([sys.executable, "-c", DIES, *map(str, files), str(work), METRICS], timeout=120)
    assert run.returncode == -signal.SIGKILL
    written = {f: f.stat().st_mtime_ns for f in work.glob("rows/*/*.npz")}
    assert written and len({f.name for f in written}) == 3
    return written


def test_a_killed_run_goes_on(files, tmp_path):
    work = tmp_path / "work"
    written = killed_in_the_middle(files, work)
    with pytest.raises(InputError, match="holds an earlier run; use --resume"):
        score(files, work)
    whole = fabula.score(files[2], files[:2], metrics=METRICS, repair="swap").to_dict()
    assert score(files, work, resume=True).to_dict() == whole
    assert {f: f.stat().st_mtime_ns for f in written} == written  # what was there was not computed again
    assert score(files, work, resume=True).to_dict() == whole  # and a finished run is only folded


def test_a_run_killed_while_it_reads_goes_on(files, tmp_path, monkeypatch):
    work = tmp_path / "work"
    with monkeypatch.context() as patched:
        patched.setattr(folder, "write_bytes", lambda *_, **__: (_ for _ in ()).throw(KeyboardInterrupt))
        with pytest.raises(KeyboardInterrupt):
            score(files, work)
    assert score(files, work, resume=True).to_dict() == score(files, tmp_path / "other").to_dict()


def testcutting_that_were_read_are_not_read_again(files, tmp_path):
    work = tmp_path / "work"
    whole = score(files, work).to_dict()
    for path in (work / "facts.json", work / "pieces" / "00001.json", work / "pieces" / "00001.jsonl"):
        path.unlink()
    kept = {f: f.stat().st_mtime_ns for f in work.glob("pieces/*.jsonl")}
    assert len(kept) == 2
    assert score(files, work, resume=True).to_dict() == whole
    assert {f: f.stat().st_mtime_ns for f in kept} == kept
    assert (work / "pieces" / "00001.jsonl").exists()


def test_rows_that_are_not_whole_are_made_again(files, tmp_path):
    whole = score(files, tmp_path / "work").to_dict()
    for i, path in enumerate(sorted((tmp_path / "work").glob("rows/*/*.npz"))[:4]):
        path.write_bytes(path.read_bytes()[: (0, 10, 200, -5)[i]])
    assert score(files, tmp_path / "work", resume=True).to_dict() == whole


def test_another_metric_joins_later(files, tmp_path):
    fabula.score(files[2], files[1], metrics="SODA_d", work=tmp_path / "work")
    later = fabula.score(files[2], files[1], metrics="SODA_d,mIoU", work=tmp_path / "work", resume=True)
    assert later.to_dict() == fabula.score(files[2], files[1], metrics="SODA_d,mIoU").to_dict()


@pytest.mark.parametrize("change", ["predictions", "reference set 2", "repair", "strict"])
def test_other_inputs_are_refused(files, tmp_path, change):
    score(files, tmp_path / "work")
    request = {"repair": "swap", "strict": False}
    if change in request:
        request[change] = {"repair": "drop", "strict": True}[change]
    else:
        path = files[2] if change == "predictions" else files[1]
        path.write_text(path.read_text().replace("dog", "cow"))
    with pytest.raises(InputError, match=f"holds a run that differs in: {change}; give what the run began with"):
        fabula.score(files[2], files[:2], metrics=METRICS, work=tmp_path / "work", resume=True, **request)


def test_a_folder_of_something_else_is_left_alone(files, tmp_path):
    with pytest.raises(InputError, match="is not empty and holds no earlier run"):
        score(files, tmp_path)
    with pytest.raises(InputError, match="cannot be used as a work folder"):
        score(files, files[0] / "work")


def test_options_that_do_not_fit(files, tmp_path):
    with pytest.raises(SpecError, match="name it with --work"):
        score(files, None, resume=True)
    with pytest.raises(SpecError, match="no engine is called 'spark'; there are: local, ray"):
        score(files, None, engine="spark")
    with pytest.raises(SpecError, match="say --engine ray"):
        score(files, None, address="10.0.0.1:6379")
    pairs = tmp_path / "pairs.jsonl"
    pairs.write_text(json.dumps({"id": 1, "candidate": "a", "references": ["a"]}) + "\n")
    with pytest.raises(SpecError, match="the task captions is scored at once"):
        fabula.score(pairs, task="captions", work=tmp_path / "work")


def test_without_ray(files, monkeypatch):
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    with pytest.raises(fabula.FabulaError, match=r"--engine ray needs .*\[ray\]; install it with: pip install '"):
        score(files, None, engine="ray")


def test_no_folder_is_left_behind(files, tmp_path, monkeypatch):
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path / "tmp"))
    os.mkdir(tmp_path / "tmp")  # noqa: PTH102
    score(files, None, engine=InProcess())
    assert not list((tmp_path / "tmp").iterdir())


def test_reading_keeps_nothing(tmp_path, monkeypatch):
    """Stories are let go as soon as they are in their shard."""
    import weakref

    alive: list[weakref.ref] = []
    worst = [0]
    plain = split.pack_record

    def watched(n: int, line: int, told: Story) -> str:
        alive.append(weakref.ref(told))
        worst[0] = max(worst[0], sum(r() is not None for r in alive[-50:]))
        return plain(n, line, told)

    fabula.write(corpus({f"v{i}": [(0, 1)] for i in range(300)}), tmp_path / "a.jsonl", "fabula")
    monkeypatch.setattr(split, "pack_record", watched)
    result = fabula.score(tmp_path / "a.jsonl", tmp_path / "a.jsonl", metrics="SODA_d", work=tmp_path / "work")
    assert result["SODA_d"].value == 1
    assert len(alive) == 600 and worst[0] <= 3


@pytest.mark.parametrize("preds", [{}, {"v_1": []}, {"v_1": [(0, 5)]}, {"v_1": [(0, 5, "a dog")]}])
@pytest.mark.parametrize("words", [True, False])
def test_the_task_is_read_off_as_in_memory(preds, words):
    """Of the predictions where they have an event; else of the first reference set."""
    refs = corpus({"v_1": [(0, 5, "a dog") if words else (0, 5)], "v_2": [(0, 5)]})
    pred = corpus(preds)
    names = "mIoU"
    here, sharded = (fabula.score(pred, refs, metrics=names, **more) for more in ({}, {"engine": InProcess()}))
    expected = any(len(e) == 3 for e in preds.get("v_1", [])) if preds.get("v_1") else words
    assert here.task == sharded.task == ("dense" if expected else "procedure")
