"""The fuzzer's finds, tried again; a short run of it; and that it sees what it is there to see."""

from __future__ import annotations

import json
import math
import re
import time
import warnings
from dataclasses import replace
from pathlib import Path
from random import Random
from typing import Any

import pytest
from tools.fuzz import builders, campaign, commands, draw, readers, verbs
from tools.fuzz.mutate import Doc, bend, straight
from tools.fuzz.shrink import shrink
from tools.fuzz.watch import KERNELS, Case, Fault, Said, Target, Wrong, judge, observe, same, short_place, tail

from fabula import _kernels, io
from fabula.core.errors import InputError
from fabula.documents.document import open_document
from fabula.io import moments, regions

CORPUS = sorted((Path(__file__).parent / "corpus").glob("*.json"))
SHORT = {
    "readers": (readers.TARGETS, 60),
    "scorings": ((*verbs.TARGETS, *commands.TARGETS), 25),
    "builders": (builders.TARGETS, 20),
}  # inputs of each target
RUN = [pytest.param(group, target, n, id=target.name) for group, (some, n) in SHORT.items() for target in some]


def expect_none(faults: list[Fault], what: object) -> None:
    told = "\n".join(f"{f.name}\n{f.text}" for f in faults)
    assert not told, f"{told}\n{what}"


@pytest.mark.parametrize("file", CORPUS, ids=lambda file: file.stem)
def test_a_find_stays_mended(file: Path, tmp_path: Path) -> None:
    case = Case.of(json.loads(file.read_text()))
    if case.target in ("features", "checkpoint"):
        pytest.importorskip("torch")
    _, faults = judge(campaign.find_target(case.target), case, tmp_path)
    expect_none(faults, file)


@pytest.mark.parametrize(("group", "target", "n"), RUN)
def test_a_short_run_finds_nothing(group: str, target: Target, n: int, tmp_path: Path) -> None:
    found: list[Fault] = []
    for number in range(n):
        _, case, both = campaign.make_case((target,), "house", group, number)
        _, faults = judge(target, case, tmp_path, both)
        found += [replace(fault, text=f"number {number}: {fault.text}") for fault in faults]
    expect_none(found, target.name)


# ── what it begins with ─────────────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize("kind", draw.STORIES)
def test_stories_that_nobody_bent_are_read(kind: str, tmp_path: Path) -> None:
    for seed in range(10):
        told = draw.draw_videos(Random(seed))
        name, data = straight(draw.STORIES[kind](told, "f"))
        (tmp_path / name).write_bytes(data)
        format = {"timechat-truth": "timechat"}.get(kind, kind)
        named = kind == "answers" or not io.find(format)[0].guess
        corpus, _ = io.read(tmp_path / name, format if named else None)
        assert corpus.format.partition(":")[0] == format
        assert len(corpus) == len(told)


@pytest.mark.parametrize("task", sorted(set(verbs.TASKS)))
def test_files_of_every_task_that_nobody_bent_are_scored(task: str, tmp_path: Path) -> None:
    metric = {
        "identity": "FITB",
        "captions": "BLEU_4",
        "regions": "DenseCap_mAP",
        "moments": "VR",
        "dense": "SODA_d",
        "procedure": "SODA_d",
        "highlights": "MR_R1",
        "questions": "Choice",
    }
    how = []
    for seed in range(12):
        files, options = verbs.make_files(Random(seed), task, 0.0)
        case = Case("score", files, {**options, "task": task, "metrics": metric.get(task, "Grounding")})
        how.append(judge(verbs.TARGETS[0], case, tmp_path, both=False)[0])
    assert how.count("read") >= 6  # a corpus may have no blank, or no list of this metric


def test_every_format_of_every_shelf_is_drawn(tmp_path: Path) -> None:
    seen = set[str]()
    for seed in range(150):
        rng = Random(seed)
        for doc, role in zip(
            (draw.moments(rng)[0], draw.moments(rng)[1][0]), ("predictions", "references"), strict=True
        ):
            path = put(tmp_path, doc)
            seen.add(moments.choose_format(open_document(path), None, role).name)
        pred, (ref,) = draw.regions(rng)
        seen |= {regions.choose_format(put(tmp_path, doc), None)[0].name for doc in (pred, ref)}
    assert {f.name for f in (*moments.formats(), *regions.formats()) if f.guess} <= seen


def put(folder: Path, doc: Doc) -> Path:
    name, data = straight(doc)
    (folder / name).write_bytes(data)
    return folder / name


def test_an_input_is_its_seed_and_number() -> None:
    some = readers.TARGETS
    once, again = ([campaign.make_case(some, "x", "readers", n)[1] for n in range(30)] for _ in range(2))
    assert once == again
    assert once != [campaign.make_case(some, "y", "readers", n)[1] for n in range(30)]


def test_a_bent_file_is_mostly_another_and_often_still_read(tmp_path: Path) -> None:
    doc = draw.as_submission(draw.draw_videos(Random(1)), "f")
    bent = [bend(Random(n), doc, [])[1] for n in range(200)]
    assert len(set(bent)) > 150
    read = sum(
        judge(readers.TARGETS[0], Case("stories", {"f.json": b}, {"path": "f.json"}), tmp_path, False)[0] == "read"
        for b in bent
    )
    assert 40 < read < 180


# ── what it sees ────────────────────────────────────────────────────────────────────────────────────────────────────


def kinds(run: Any, tmp_path: Path, **more: Any) -> list[str]:
    target = Target("x", lambda rng: Case("x", {}, {}), run, **more)
    return [f.kind for f in judge(target, Case("x", {}, {}), tmp_path)[1]]


def fail(error: type[BaseException], *args: Any) -> Any:
    def run(case: Case, folder: Path, said: Said) -> Any:
        raise error(*args)  # a new one each time: an error that is raised twice carries the frames of both

    return run


def test_an_error_that_is_not_ours_is_a_find(tmp_path: Path) -> None:
    assert kinds(fail(ValueError, "x"), tmp_path) == ["raised"]
    assert kinds(fail(SystemExit, 3), tmp_path) == ["raised"]
    assert kinds(fail(InputError, "x"), tmp_path) == []


def test_the_place_of_an_error_hangs_on_the_package_alone(tmp_path: Path) -> None:
    """A clone is called `fabula` where nobody names it: its tests and tools are no frames of the package."""
    file = tmp_path / "fabula" / "tests" / "broken.py"
    file.parent.mkdir(parents=True)
    spaces: dict[str, Any] = {"read": io.read}
    source = "def strange(): raise ValueError('x')\ndef ours(): read(None)\n"
    exec(compile(source, file, "exec"), spaces)
    with pytest.raises(ValueError) as strange:
        spaces["strange"]()
    with pytest.raises(Exception) as ours:
        spaces["ours"]()
    assert tail(strange.value) == ""
    assert tail(ours.value, 9).startswith("io/") and "broken" not in tail(ours.value, 9)
    assert short_place(str(file)) == file.as_posix()


class Unbound(InputError):  # noqa: N818  (says what is wrong with it)
    """An error whose words went round the place where all are made fit for a line."""

    def __str__(self) -> str:
        return self.problem


def test_a_message_of_two_lines_or_too_long_is_a_find(tmp_path: Path) -> None:
    assert kinds(fail(Unbound, "a\nb"), tmp_path) == ["lines"]
    assert kinds(fail(Unbound, "a\u2028b"), tmp_path) == ["lines"]
    assert kinds(fail(Unbound, "a" * 501), tmp_path) == ["long"]
    assert kinds(fail(Unbound, "a" * 500), tmp_path) == []
    assert kinds(fail(InputError, "a\nb" * 500), tmp_path) == []
    assert kinds(lambda case, folder, said: said.append("x" * 501), tmp_path) == ["long"]


def test_a_warning_is_a_find(tmp_path: Path) -> None:
    assert kinds(lambda case, folder, said: warnings.warn("x", RuntimeWarning, stacklevel=1), tmp_path) == ["warned"]


def test_a_file_that_is_left_open_is_a_find(tmp_path: Path) -> None:
    def leave(case: Case, folder: Path, said: Said) -> None:
        (folder / "f").write_text("x")
        (folder / "f").open()

    assert kinds(leave, tmp_path) == ["warned"]


def test_an_endless_loop_is_a_find(tmp_path: Path) -> None:
    def spin(case: Case, folder: Path, said: Said) -> None:
        while True:
            pass

    began = time.monotonic()
    assert kinds(spin, tmp_path, seconds=0.1) == ["hang"]
    assert time.monotonic() - began < 20


@pytest.mark.skipif(len(KERNELS) < 2, reason="this install has no compiled kernels")
def test_kernels_that_do_not_agree_are_a_find(tmp_path: Path) -> None:
    def data(case: Case, folder: Path, said: Said) -> Any:
        return {"x": 1.0 if _kernels.native() else 1.0 + 1e-6}

    def close(case: Case, folder: Path, said: Said) -> Any:
        return {"x": 1.0 if _kernels.native() else 1.0 + 1e-12}

    def refuse(case: Case, folder: Path, said: Said) -> Any:
        if _kernels.native():
            raise InputError("x")

    assert kinds(data, tmp_path) == ["kernels"]
    assert kinds(close, tmp_path) == []
    assert kinds(refuse, tmp_path) == ["kernels"]


def test_memory_that_grows_is_a_find(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tools.fuzz.watch.GROWTH", -1)
    seen = observe(lambda case, folder, said: None, Case("x", {}, {}), tmp_path)
    assert [f.kind for f in seen.faults] == ["memory"]


@pytest.mark.parametrize("value", [math.nan, math.inf, -0.1, 1.1])
def test_a_score_that_cannot_be_is_a_find(value: float) -> None:
    with pytest.raises(Wrong):
        verbs.check_number(value, 1.0, "x")
    assert verbs.check_number(1.0 + 1e-12, 1.0, "x") == 1.0 + 1e-12


@pytest.mark.parametrize(
    ("code", "told", "noted", "kind"),
    [
        (1, "", "", "exit"),
        (130, "", "fabula: stopped\n", "exit"),
        (2, "", "", "exit"),
        (2, "", "fabula: error: a\nfabula: error: b\n", "exit"),
        (2, "", f"fabula: error: {'a' * 486}\n", "long"),
        (0, "\x1b[31m", "", "printed"),
        (0, "", "x.py:3: RuntimeWarning: y\n", "printed"),
    ],
)
def test_a_command_that_ends_badly_is_a_find(code: int, told: str, noted: str, kind: str) -> None:
    with pytest.raises(Wrong) as caught:
        commands.check_run(["score"], code, told, noted)
    assert caught.value.fault.kind == kind


def test_a_command_that_ends_well_is_none() -> None:
    commands.check_run(["score"], 0, "a\tb\n", "fabula: warning: x\n")
    commands.check_run(["score"], 2, "", f"fabula: error: {'x' * 485}\n")
    commands.check_run(["lint"], 1, "", "")


def test_files_in_another_order_are_the_same_files(tmp_path: Path) -> None:
    (tmp_path / "a.json").write_text('{"results": {"a": [1], "b": [2]}, "version": 1}')
    (tmp_path / "b.jsonl").write_text('{"video2idx": {}}\n{"a": 1}\n{"b": 2}')
    assert verbs.shuffle_units([tmp_path / "a.json", tmp_path / "b.jsonl"])
    turned = json.loads((tmp_path / "a.json").read_text())
    assert list(turned["results"]) == ["b", "a"]
    assert (tmp_path / "b.jsonl").read_text() == '{"video2idx": {}}\n{"b": 2}\n{"a": 1}'


def test_a_find_is_made_small() -> None:
    files = {"f.json": json.dumps({"a": [1, 2, {"bad": 3}], "b": "x" * 50}).encode(), "g.json": b"[]"}
    small = shrink(Case("x", files, {"k": 1, "l": "abc"}), lambda one: b"bad" in one.files.get("f.json", b""))
    assert list(small.files) == ["f.json"] and not small.options
    assert len(small.files["f.json"]) <= 8


def test_a_case_is_kept_and_read_again() -> None:
    case = Case("x", {"a": b"\xff\x00", "b": "ä\n".encode()}, {"k": [1, None]})
    assert Case.of(json.loads(json.dumps(case.to_dict()))) == case


def test_a_run_counts_and_says_its_seed(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    campaign.main(["--readers", "40", "--jobs", "2", "--seed", "t", "--only", "answer", "--out", str(tmp_path)])
    said = capsys.readouterr().out
    assert re.search(r"readers: 40 inputs, \d+ calls, seed t", said), said


def test_a_process_that_dies_is_a_find(tmp_path: Path) -> None:
    work = campaign.Work("readers", "t", 0, 1, 9, 1.0, ["answer"], "", "")
    name, file = campaign.keep_death(work, 4, "exit code -11", tmp_path)
    assert name == "died: answer exit code -11"
    assert (
        Case.of(json.loads(Path(file).read_text()))
        == campaign.make_case((campaign.find_target("answer"),), "t", "readers", 4)[1]
    )


def test_deep_data_are_compared_without_calls() -> None:
    one, two = [1.0], [1.0 + 1e-12]
    for _ in range(50_000):
        one, two = [one], [two]
    assert same(one, two)
    assert not same(one, [two])
    assert not same({"a": [1]}, {"a": [2]}) and same(float("nan"), float("nan"))
