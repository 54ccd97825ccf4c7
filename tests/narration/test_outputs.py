"""What is written is read by others without a word: subtitles, chapters, timelines, pages, submissions."""

from __future__ import annotations

import json
import shutil
import subprocess
import warnings
from pathlib import Path

import pytest

import fabula
from fabula.core.errors import SpecError
from fabula.llm.fake import Server, serving
from fabula.media.coded.server import SeeingReply
from fabula.narration.outputs import plan_outputs
from fabula.narration.tell import tell_films
from tests.narration.toys import captions, options, small_films

FILM = small_films(1)[0]
TRUTH = captions(FILM)


@pytest.fixture(scope="module")
def out(shelf, tmp_path_factory):
    folder = tmp_path_factory.mktemp("outputs")
    files = [folder / f"story{e}" for e in (".json", ".record.json", ".html", ".srt", ".vtt", ".ffmeta", ".otio")]
    with serving(Server(reply=SeeingReply())) as server:
        tell_films([shelf / "films" / "film00.mp4"], options(server.url, out=files))
    return folder


def test_a_submission(out):
    corpus, notes = fabula.read(out / "story.json")
    assert [(e.segment.start, e.segment.end, e.caption) for e in corpus["film00"].events] == TRUTH
    assert not notes.lines()


def test_subtitles_are_read_by_others(out):
    srt = pytest.importorskip("srt", reason="srt is not installed: pip install 'fabula[test]'")
    webvtt = pytest.importorskip("webvtt", reason="webvtt-py is not installed: pip install 'fabula[test]'")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        cues = list(srt.parse((out / "story.srt").read_text()))
        assert [(c.start.total_seconds(), c.end.total_seconds(), c.content) for c in cues] == TRUTH
        read = webvtt.read(str(out / "story.vtt"))
    assert [c.text for c in read] == [c for _, _, c in TRUTH]
    assert "Kind: captions" in (out / "story.vtt").read_text()


def test_a_timeline_is_read_by_opentimelineio(out, shelf):
    otio = pytest.importorskip("opentimelineio", reason="opentimelineio is not installed: pip install 'fabula[test]'")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        timeline = otio.adapters.read_from_file(str(out / "story.otio"))
    (track,) = timeline.tracks
    (clip,) = track
    assert timeline.duration().to_seconds() == FILM.seconds
    found = [
        (m.marked_range.start_time.to_seconds(), m.marked_range.end_time_exclusive().to_seconds(), m.name)
        for m in clip.markers
    ]
    for (start, end, caption), (a, b, words) in zip(found, TRUTH, strict=True):
        assert caption == words and abs(start - a) <= 0.25 and abs(end - b) <= 0.25  # frames of half a second
    assert [(m.metadata["fabula"]["start"], m.metadata["fabula"]["end"]) for m in clip.markers] == [
        t[:2] for t in TRUTH
    ]
    target = (out / clip.media_reference.target_url).resolve()
    assert target == (shelf / "films" / "film00.mp4").resolve()
    again = json.loads(otio.adapters.write_to_string(timeline, "otio_json"))
    assert again == json.loads((out / "story.otio").read_text())  # nothing is missing, and nothing is unknown


def test_chapters_are_taken_by_ffmpeg(out, shelf, tmp_path):
    ffmpeg = shutil.which("ffmpeg")
    if ffmpeg is None:
        av = pytest.importorskip("av")
        with av.open(str(out / "story.ffmeta"), format="ffmetadata") as container:  # FFmpeg's own reader
            found = [(float(c["start"] * c["time_base"]), c["metadata"]["title"]) for c in container.chapters()]
        assert found == [(pytest.approx(a), words) for a, _, words in TRUTH]
        return
    target = tmp_path / "chapters.mp4"
    command = [ffmpeg, "-v", "error", "-i", str(shelf / "films" / "film00.mp4"), "-i", str(out / "story.ffmeta")]
    run = subprocess.run([*command, "-map_chapters", "1", "-c", "copy", str(target)], capture_output=True, text=True)
    assert run.returncode == 0 and not run.stderr


def test_the_record_has_every_frame_and_prompt(out):
    record = json.loads((out / "story.record.json").read_text())
    assert record["usage"]["calls"] == len(record["windows"]) == 2
    assert set(record["asking"]["prompts"]) == {"rules", "dense", "earlier", "cuts"}
    for window in record["windows"]:
        times = [frame["time"] for frame in window["frames"]["sent"]]
        assert times == [window["start"] + k for k in range(len(times))]
        assert all(len(frame["digest"]) == 64 for frame in window["frames"]["sent"])
    lines = [json.loads(line) for line in (out / "story.json.work" / "answers.jsonl").read_text().splitlines()]
    assert {line["key"] for line in lines} == {key for w in record["windows"] for key in w["calls"]}
    assert all(line["provenance"]["film"] == "film00" and line["provenance"]["sent"] for line in lines)


def test_the_page_plays_the_film(out):
    page = (out / "story.html").read_text()
    assert "No person has checked it." in page and "<script" in page and "http://" not in page.split("<script")[0]


@pytest.mark.parametrize(
    ("paths", "to", "problem"),
    [
        (["a.srt"], (), "2 films do not fit into a.srt; name a folder, with --to srt"),
        (["a.xyz"], (), "ends in .xyz"),
        (["a.json"], ("srt",), "the endings of files say it"),
        (["out"], ("srtt",), "srtt"),
        (["a.json", "./a.json"], (), "written twice"),
        (["x.json"], (), None),
    ],
)
def test_outputs_that_cannot_be_are_refused_before_anything_is_asked(paths, to, problem, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    films = {"x": Path("x.mp4"), "y": Path("y.mp4")}
    if problem is None:
        assert [(o.kind, o.films) for o in plan_outputs([Path(p) for p in paths], to, films)] == [
            ("submission", ("x", "y"))
        ]
        return
    with pytest.raises(SpecError, match=problem):
        plan_outputs([Path(p) for p in paths], to, films)


class Chaptered(SeeingReply):
    """Three sections a window; the last call joins them into two chapters."""

    def __call__(self, body):
        text = super().__call__(body)
        if self.received[-1]:
            return text
        events = [{"start": 0, "end": 14.2, "caption": "Beginning"}, {"start": 14.2, "end": 35, "caption": "The rest"}]
        return json.dumps({"title": "Two halves", "events": events})


def test_chapters(shelf, tmp_path):
    with serving(Server(reply=Chaptered())) as server:
        settings = {"style": "chapters", "untitled": False, "out": [tmp_path / "c.vtt", tmp_path / "c.ffmeta"]}
        narrated = tell_films([shelf / "films" / "film00.mp4"], options(server.url, **settings))
    film = narrated.films["film00"]
    edge = min((a for a, _, _ in TRUTH), key=lambda a: abs(a - 14.2))  # chapters begin where sections do
    assert [(e.start, e.end, e.caption) for e in film.events] == [
        (0.0, edge, "Beginning"),
        (edge, FILM.seconds, "The rest"),
    ]
    assert film.title == "Two halves" and "Kind: chapters" in (tmp_path / "c.vtt").read_text()


def test_descriptions_stand_in_the_gaps_of_speech(shelf, tmp_path):
    lines = [{"start": k * 10.0, "end": k * 10.0 + 6, "text": "bla"} for k in range(4)]
    (tmp_path / "lines.json").write_text(json.dumps({"video": "film00", "lines": lines}))
    with serving(Server(reply=SeeingReply())) as server:
        settings = {"style": "descriptions", "lines": tmp_path / "lines.json", "out": tmp_path / "d.vtt"}
        narrated = tell_films([shelf / "films" / "film00.mp4"], options(server.url, **settings))
    film = narrated.films["film00"]
    assert film.events and "Kind: descriptions" in (tmp_path / "d.vtt").read_text()
    for event in film.events:
        assert not any(event.start < line["end"] and line["start"] < event.end for line in lines)
    counts = film.record["counts"]
    assert (
        counts["descriptions left out"] + len(film.events)
        == len(TRUTH)
        == len(film.record["events"]) + len(film.record.get("left out", []))
    )
