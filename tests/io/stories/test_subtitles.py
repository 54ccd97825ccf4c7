"""Captions of films as stories: a file a film, folders of them, scored as a submission and as references."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

import fabula
from fabula import demo, io
from fabula.core.errors import InputError, SpecError
from fabula.data.stories import Corpus, Event, Segment, Story
from tests.io.story_toys import corpus_of

Put = Callable[..., Path]
SRT = "1\n00:00:00,000 --> 00:00:10,500\nA kite\nrises.\n\n2\n00:00:30,000 --> 00:00:12,000\n<i>It falls.</i>\n"


def test_a_file_is_a_film_and_times_stay_as_they_are(put: Put) -> None:
    corpus, notes = io.read(put(SRT, "v_kite.srt"))
    events = (Event(Segment(0, 10.5), "A kite rises."), Event(Segment(30, 12), "It falls."))
    assert corpus.format == "srt" and corpus["v_kite"] == Story("v_kite", events)
    assert notes.lines() == ["1 cues hold styles (italics, colours), which are not kept: v_kite.srt line 7"]


def test_voices_of_captions_go(put: Put) -> None:
    text = "WEBVTT\n\n00:01.000 --> 00:02.000\n<v A>one</v> <v B>two\n\n00:03.000 --> 00:04.000\n"
    corpus, notes = io.read(put(text, "a.b.vtt"))
    assert corpus.format == "vtt"
    assert [e.caption for e in corpus["a.b"].events] == ["one two", ""]
    assert notes.lines() == ["1 cues name who speaks, which a story does not hold: a.b.vtt line 3"]


def test_an_encoding_behind_the_colon(put: Put) -> None:
    for name, text in (("kite.srt", SRT), ("kite.vtt", "WEBVTT\n\n" + SRT.replace(",", "."))):
        path = put(text.replace("falls", "Привет").encode("cp1251"), name)
        corpus, notes = io.read(path, f"{name[-3:]}:cp1251")
        assert corpus["kite"].events[1].caption == "It Привет."
        assert not [line for line in notes.lines() if "UTF-8" in line]
    with pytest.raises(SpecError, match="no encoding is called 'klingon'"):
        io.read(path, "vtt:klingon")


def test_folders(tmp_path: Path) -> None:
    folder = tmp_path / "captions"
    folder.mkdir()
    for name in ("_a.srt", "b.SRT", "c.srt.gz"):
        io.write(corpus_of([Story("x", (Event(Segment(0, 1), name),))]), folder / name.lower(), "srt")
        (folder / name.lower()).rename(folder / name)
    (folder / "film.mp4").touch()
    (folder / ".hidden.srt").touch()
    corpus, notes = io.read(folder)
    assert {id: story.events[0].caption for id, story in corpus.items()} == {
        "_a": "_a.srt",
        "b": "b.SRT",
        "c": "c.srt.gz",
    }
    assert notes.lines() == [f"1 files of the folder {folder} were skipped: film.mp4"]
    (folder / "d.vtt").write_text("WEBVTT\n")
    with pytest.raises(InputError, match="files of several formats: srt, vtt"):
        io.read(folder)
    assert len(io.read(folder, "srt")[0]) == 4
    (folder / "d.vtt").rename(folder / "b.srt")
    with pytest.raises(InputError, match=r"'b': this video id stands twice, first in b\.SRT"):
        io.read(folder)
    (folder / "lines.jsonl").write_text("")
    assert len(io.read(folder)[0]) == 0  # lines first, as ever


def test_scores_are_those_of_the_submission(tmp_path: Path) -> None:
    metrics, refs = ["SODA_d", "mIoU", "PRF"], list(demo.REFERENCES.values())
    for format in ("srt", "vtt"):
        converted = fabula.convert(demo.SYSTEMS["good"], tmp_path / format, to=format)
        assert converted.to == format and len(list((tmp_path / format).iterdir())) == 15
        for k, ref in enumerate(refs):
            fabula.convert(ref, tmp_path / f"{format}-refs-{k}", to=format)
        ours = fabula.score(
            tmp_path / format, [tmp_path / f"{format}-refs-{k}" for k in range(len(refs))], metrics=metrics
        )
        theirs = fabula.score(demo.SYSTEMS["good"], refs, metrics=metrics)
        for name, score in theirs.scores.items():
            assert dict(ours[name].values) == pytest.approx(dict(score.values), abs=1e-12)  # films are added by name
        assert ours.task == theirs.task == "dense"


def test_one_film_a_file(tmp_path: Path) -> None:
    corpus = corpus_of([Story("a", ()), Story("b", ())])
    with pytest.raises(InputError, match="a file of subtitles holds one film, and there are 2; name a folder"):
        io.write(corpus, tmp_path / "both.srt", "srt")
    assert list(tmp_path.iterdir()) == []
    io.write(corpus, tmp_path / "new", "vtt")
    assert sorted(p.name for p in (tmp_path / "new").iterdir()) == ["a.vtt", "b.vtt"]
    assert list(io.read(tmp_path / "new")[0]) == ["a", "b"]


@pytest.mark.parametrize("id", ["", "a/b", "..", ".a", "a\0b", "x" * 260])
def test_ids_that_no_file_can_have(id: str, tmp_path: Path) -> None:
    with pytest.raises(InputError, match="no file can have the name of the film"):
        io.write(corpus_of([Story("good", ()), Story(id, ())]), tmp_path / "new", "srt")
    assert list(tmp_path.iterdir()) == []


def test_a_folder_that_is_there(tmp_path: Path) -> None:
    (tmp_path / "old.srt").write_text("")
    (tmp_path / "a.srt").write_text("old")
    notes = io.write(corpus_of([Story("a", (Event(Segment(0, 1), "new"),))]), tmp_path, "srt")
    assert notes.lines() == [f"1 other files of subtitles are in the folder {tmp_path}: old.srt"]
    assert "new" in (tmp_path / "a.srt").read_text() and (tmp_path / "old.srt").exists()


def test_what_is_lost_is_said(tmp_path: Path) -> None:
    events = (
        Event(Segment(5, 6), "late", 0.5),
        Event(Segment(2, 1), "back"),
        Event(Segment(0, 1)),
        Event(Segment(3, 4), "x"),
    )
    corpus = Corpus({"a": Story("a", events, 9.5)}, external={"version": 1})
    notes = io.write(corpus, tmp_path / "a.vtt", "vtt:chapters")
    assert [line.partition(":")[2].strip().partition(":")[0] or line for line in notes.lines()] == [
        "the durations of 1 videos",
        "the scores of 1 events",
        "the header ('version')",
        "1 events that are no stretch of time",
        "1 events without words",
        "'x' at 3.000 s",
    ]
    text = (tmp_path / "a.vtt").read_text()
    assert text.startswith("WEBVTT\nKind: chapters\n\n00:00:03.000") and text.endswith("late\n")


@pytest.mark.parametrize(
    ("target", "to", "seen"),
    [
        ("x.json", "srt", "srt is text of one film; let the name end in .srt, or name a folder"),
        ("x.vtt", "srt", "srt is text of one film; let the name end in .srt"),
        ("x.srt", "submission", "submission is no format of subtitles; choose a name that does not end so"),
        ("x.srt", "vtt:films", "vtt is text of one film"),
        ("x.vtt", "vtt:films", "a WebVTT track has no kind 'films'"),
        ("x.doc", None, "let the name end in .json, .jsonl, .parquet, .srt or .vtt"),
    ],
)
def test_targets_that_do_not_fit(target: str, to: str | None, seen: str, tmp_path: Path, put: Put) -> None:
    with pytest.raises((InputError, SpecError)) as caught:
        fabula.convert(put(SRT, "v_kite.srt"), tmp_path / target, **({"to": to} if to else {}))
    assert seen in str(caught.value)
    assert not (tmp_path / target).exists()


def test_the_ending_names_the_format(tmp_path: Path, put: Put) -> None:
    path = put(SRT.replace("00:00:30,000", "00:00:11,000"), "v_kite.srt")
    for name in ("v_kite.vtt", "v_kite.vtt.gz", "v_kite.jsonl"):
        fabula.convert(path, tmp_path / name)
        assert io.read(tmp_path / name)[0].stories == io.read(path)[0].stories


def test_the_command_line(command_line, tmp_path: Path, monkeypatch) -> None:
    monkeypatch.chdir(tmp_path)
    run = command_line("convert", demo.SYSTEMS["good"], "captions", "--to", "vtt")
    assert run.returncode == 0 and "15 videos, 87 events: submission → vtt (captions)" in run.stderr
    run = command_line("convert", demo.SYSTEMS["good"], "captions", "--to", "vtt")  # once more, into the same folder
    assert run.returncode == 0
    run = command_line("convert", "captions", "captions", "--to", "vtt")
    assert run.returncode == 2 and "is the folder that is read" in run.stderr
    Path("junk.srt").write_text("hello\n")
    run = command_line("score", "junk.srt", "--refs", "captions")
    assert (run.returncode, run.stderr.count("\n")) == (2, 1)
    assert run.stderr.startswith("fabula: error: junk.srt: line 1: holds no subtitles")
    assert command_line("lint", "captions").returncode == 0


times = st.integers(0, 10**7).map(lambda ms: ms / 1000)
sentences = st.lists(st.sampled_from(["a", "kite", "<b>", "&amp;", "-->", "É", "{x}", "1984"]), min_size=1, max_size=6)
films = st.lists(st.tuples(times, times, sentences.map(" ".join)), max_size=5)


@given(events=films)
def test_whole_milliseconds_and_plain_words_come_back(events: list[tuple[float, float, str]], tmp_path_factory) -> None:
    folder = tmp_path_factory.getbasetemp()
    spans = sorted((min(a, b), max(a, b) + 0.001, words) for a, b, words in events)
    story = Story("x", tuple(Event(Segment(a, round(b, 3)), words) for a, b, words in spans))
    io.write(corpus_of([story]), folder / "x.vtt", "vtt")
    assert io.read(folder / "x.vtt")[0]["x"].in_order() == story.in_order()
    notes = io.write(corpus_of([story]), folder / "x.srt", "srt")
    back = io.read(folder / "x.srt")[0]["x"]
    assert back.spans.tolist() == story.spans.tolist() or notes.lines()
    assert back.in_order() == story.in_order() or notes.lines()
