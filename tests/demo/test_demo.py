"""The demo corpus: it reads without remarks, and the metrics disagree on it as its docstring says."""

from __future__ import annotations

import json

import numpy as np
import pytest
from click.testing import CliRunner

import fabula
from fabula import demo
from fabula.core.errors import InputError
from fabula.data.result import Result
from fabula.text._scorer import OneByOne
from fabula.verbs.command_line import fabula as command

METRICS = ["SODA_d", "mIoU", "mJaccard", "PRF", "OrderedPRF", "SODA_c(text=exact,tok=none)"]


@pytest.fixture(scope="module")
def results() -> dict[str, Result]:
    refs = list(demo.REFERENCES.values())
    return {name: fabula.score(path, refs, metrics=METRICS) for name, path in demo.SYSTEMS.items()}


@pytest.mark.parametrize("path", [*demo.REFERENCES.values(), *demo.SYSTEMS.values()], ids=lambda p: p.stem)
def test_files_read_without_remarks(path):
    corpus, notes = fabula.read(path)
    assert notes.lines() == []
    assert corpus.format == ("activitynet" if path in demo.REFERENCES.values() else "submission")
    assert corpus.captioned and all(story.captions for story in corpus.values())
    assert all(caption[0].isupper() and caption.endswith(".") for s in corpus.values() for caption in s.captions)


def test_two_annotators_who_disagree():
    one, two = (fabula.read(path)[0] for path in demo.REFERENCES.values())
    assert len(one) == 15
    assert set(one) - set(two) == {"demo_kite"} and not set(two) - set(one)
    assert sum(len(one[v]) != len(two[v]) for v in two) >= 5
    for v in one:
        assert 4 <= len(one[v]) <= 8 and 30 <= one[v].duration <= 240
    for corpus in (one, two):
        for story in corpus.values():
            assert all(e.segment.sound and e.segment.end <= story.duration for e in story.events)
            assert story.in_order() is story


def test_captions_hold_what_trips_a_tokeniser():
    text = " ".join(path.read_text("utf-8") for path in demo.REFERENCES.values())
    assert all(piece in text for piece in (", ", "'", "500", "café", "jalapeño"))


def test_warnings_are_the_intended_ones(results):
    assert results["good"].warnings == ()
    (reversed_segment,) = results["over_segmenting"].warnings
    (missing,) = results["out_of_order"].warnings
    assert "reversed" in reversed_segment and "'demo_printer' event 14" in reversed_segment
    assert "no prediction" in missing and "'demo_market'" in missing


def test_over_segmenting_wins_where_references_choose_and_loses_one_to_one(results):
    good, over = results["good"], results["over_segmenting"]
    assert over["mIoU"].value > good["mIoU"].value + 0.05
    assert over["mJaccard"].value > good["mJaccard"].value + 0.05
    assert over["PRF"].values["recall"] > good["PRF"].values["recall"]
    assert over["PRF"].values["precision"] < good["PRF"].values["precision"] - 0.3
    assert over["SODA_d"].value < good["SODA_d"].value - 0.2


def test_out_of_order_is_seen_only_by_times_and_words_together(results):
    good, late = results["good"], results["out_of_order"]
    for metric in ("SODA_d", "mIoU", "mJaccard", "PRF"):
        assert late[metric].value == pytest.approx(good[metric].value, abs=0.05), metric
    assert late["SODA_c"].value < good["SODA_c"].value / 10
    assert max(results, key=lambda name: results[name]["SODA_d"].value) == "good"


def words(caption: str) -> set[str]:
    return set(caption.lower().strip(".").replace(",", "").split())


class Overlap(OneByOne):
    """F1 of two bags of words: the simplest scorer that understands a paraphrase."""

    name, version = "overlap", "1"

    def pairs(self, candidates, references):
        shares = [[len(words(c) & words(r)) / (len(words(c)) + len(words(r))) for r in references] for c in candidates]
        return 2 * np.array(shares)


def test_the_ranking_does_not_hang_on_exact_words(monkeypatch):
    monkeypatch.setattr("fabula.pair.captions.scorer", lambda name, session=None: Overlap())
    refs, metric = list(demo.REFERENCES.values()), ["SODA_c(text=overlap,tok=none)"]
    soda = {name: fabula.score(path, refs, metrics=metric)["SODA_c"].value for name, path in demo.SYSTEMS.items()}
    assert soda["good"] > 0.4 and max(soda["out_of_order"], soda["over_segmenting"]) < soda["good"] / 2


def test_the_words_of_out_of_order_are_right():
    pred, ref = fabula.read(demo.SYSTEMS["out_of_order"])[0], fabula.read(demo.REFERENCES["annotator_1"])[0]
    for video, story in pred.items():
        told, meant = (set.union(*map(words, s.captions)) for s in (story, ref[video]))
        assert len(told & meant) / len(told) > 0.6, video


def test_submissions_have_the_challenge_shape():
    for path in demo.SYSTEMS.values():
        assert json.loads(path.read_text("utf-8")).keys() == {"version", "results", "external_data"}


def test_the_inputs_as_files_of_ones_own(tmp_path):
    folder = tmp_path / "tour"
    done = CliRunner().invoke(command, ["demo", "--copy", str(folder)])
    assert done.exit_code == 0 and "6 files" in done.stderr and not done.stdout
    assert {path.name for path in folder.iterdir()} == {path.name for path in demo.inputs()}
    for path in demo.inputs():
        assert (folder / path.name).read_bytes() == path.read_bytes()
    assert CliRunner().invoke(command, ["demo", "--copy", str(folder)]).exit_code == 0  # the same again
    (folder / "out_of_order.json").write_text("mine")
    (folder / "good.json").unlink()
    done = CliRunner().invoke(command, ["demo", "--copy", str(folder)])
    assert isinstance(done.exception, InputError) and "exists already, and is not the demo's" in str(done.exception)
    assert (folder / "out_of_order.json").read_text() == "mine" and not (folder / "good.json").exists()
