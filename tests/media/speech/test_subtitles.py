"""Subtitles beside and inside films: which win, and what their lines are."""

from __future__ import annotations

from pathlib import Path

import pytest

from fabula.media.speech.codes import short_code
from fabula.media.speech.subtitles import find_beside, find_subtitles
from tests.media.speech.conftest import tone

CUE = "1\n00:00:00,500 --> 00:00:01,500\n{}\n"
SRT = "1\n00:00:00,500 --> 00:00:01,500\nHello <i>there</i>\n\n2\n00:00:02,000 --> 00:00:03,000\nSecond line\nof two\n"


def add_track(film: Path, srt: str, languages: tuple[str, ...] = ("eng",)) -> Path:
    """The film again, with the cues as tracks of text."""
    import av

    text = film.with_suffix(".tmp.srt")
    text.write_text(srt)
    out_path = film.with_name(f"{film.stem}_text.mkv")
    with av.open(str(film)) as source, av.open(str(out_path), "w") as out:
        kept = {s.index: out.add_stream_from_template(s) for s in source.streams}
        tracks = []
        for language in languages:
            lines = av.open(str(text))
            track = out.add_stream_from_template(lines.streams.subtitles[0])
            track.metadata["language"] = language
            tracks.append((lines, track))
        packets = [(p, kept[p.stream.index]) for p in source.demux() if p.size]
        for lines, track in tracks:
            packets += [(p, track) for p in lines.demux() if p.size]
        for packet, stream in sorted(packets, key=lambda one: float(one[0].pts * one[0].time_base)):
            packet.stream = stream
            out.mux(packet)
        for lines, _ in tracks:
            lines.close()
    text.unlink()
    return out_path


def test_which_file_beside_a_film_is_its_own(tmp_path):
    film = tmp_path / "film.mp4"
    others = ("film.part2.srt", "film2.srt", "film.txt", "other.srt", "film.en.srt.bak")
    for name in others:
        (tmp_path / name).write_text("")
    assert find_beside(film) is None
    order = ["film.srt", "film.vtt", "film.en.srt", "film.eng.vtt", "film.de.srt", "film.en.forced.srt"]
    for name in order:
        (tmp_path / name).write_text("")
    assert find_beside(film, "de") == tmp_path / "film.de.srt"
    for name in order:
        assert find_beside(film) == tmp_path / name
        (tmp_path / name).unlink()
    (tmp_path / "film.SRT").write_text("")
    assert find_beside(film) == tmp_path / "film.SRT"


def test_codes_of_languages():
    assert [short_code(x) for x in ("en", "eng", "English", "en-GB", "pt_BR", "zho", "xx")] == [
        "en", "en", "en", "en", "pt", "zh", "xx",
    ]  # fmt: skip
    assert [short_code(x) for x in ("", "und", "part2", "klingon", "e")] == [None] * 5


def test_lines_of_a_file_beside(film):
    path = film("a.mkv", [(0, tone(1.0))])
    path.with_name("a.en-GB.srt").write_text(CUE.format("Good <b>morning</b>."))
    heard: list[str] = []
    found = find_subtitles(path, warn=heard.append)
    assert found is not None and [(x.start, x.end, x.text, x.confidence) for x in found.lines] == [
        (0.5, 1.5, "Good morning.", None)
    ]
    assert (found.video, found.language, found.source) == ("a", "en", "subtitles a.en-GB.srt")
    assert any("styles" in line for line in heard), "what is taken away is said"


def test_lines_of_a_track_inside(film):
    path = add_track(film("a.mkv", [(0, tone(4.0))]), SRT)
    found = find_subtitles(path)
    assert found is not None and [(x.start, x.end, x.text) for x in found.lines] == [
        (0.5, 1.5, "Hello there"),
        (2.0, 3.0, "Second line\nof two"),
    ]
    assert found.language == "en" and found.source == "subtitles in track 1 (srt)"
    two = add_track(film("b.mkv", [(0, tone(4.0))]), SRT, ("deu", "eng"))
    assert find_subtitles(two).source == "subtitles in track 2 (srt)"
    assert find_subtitles(two, "de").language == "de"
    two.with_suffix(".srt").write_text(CUE.format("beside"))
    assert find_subtitles(two).lines[0].text == "beside", "a file beside wins over a track"
    assert find_subtitles(film("c.mkv", [(0, tone(1.0))])) is None


def test_a_damaged_file_costs_one_line(film):
    from fabula.core.errors import InputError

    path = film("a.mkv", [(0, tone(1.0))])
    path.with_suffix(".srt").write_bytes(b"\xff\xfe\x00\xd8\x00")
    with pytest.raises(InputError) as raised:
        find_subtitles(path)
    assert "a.srt" in str(raised.value) and "\n" not in str(raised.value)
    assert raised.value.file == path, "--skip-bad leaves the film out"
