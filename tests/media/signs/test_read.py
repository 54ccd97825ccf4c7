"""fabula read: films in, signs out; resumed, killed, odd films; SIMULATED films."""

from __future__ import annotations

import json
import random
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest

import fabula
from fabula.core.errors import InputError, SpecError
from fabula.core.notes import Notes
from fabula.data.transcripts import Sign, SignList
from fabula.io.subtitles import read_signs
from fabula.media.signs.calls import write_films
from tests.media.conftest import noise, write_sound, write_video
from tests.media.signs.conftest import Painted, paint_film

pytestmark = pytest.mark.usefixtures("weights")
STREET = Painted("BAKER STREET", start=0.25, end=0.8, height=22)


@pytest.fixture(scope="module")
def film(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return paint_film(tmp_path_factory.mktemp("film") / "street.mp4", [STREET], 1.0, (240, 320))


def test_one_film(film, tmp_path, command_line):
    out = tmp_path / "signs.json"
    done = command_line("read", film, "-o", out)
    assert done.returncode == 0 and "1 film of 1 s, 1 sign →" in done.stderr
    ((found,), notes) = read_signs(out)
    assert not notes.lines() and found.video == "street" and found.source.startswith("rapidocr 3.10.0")
    (sign,) = found.signs
    assert sign.text == "BAKER STREET" and sign.kind == "sign" and sign.confidence > 0.9
    assert abs(sign.start - 0.25) <= 0.06 and abs(sign.end - 0.8) <= 0.06  # a picture lasts .05
    assert sign.box is not None and abs(sign.box[0] - 0.3) < 0.03
    assert found.about["looks"] <= 10
    again = command_line("read", film, "-o", out)
    assert again.returncode == 2 and "exists already" in again.stderr
    first = out.read_bytes()
    assert command_line("read", film, "-o", out, "--overwrite").returncode == 0 and out.read_bytes() == first


def test_printed(film, command_line):
    done = command_line("read", film, "--fps", "2")
    assert done.returncode == 0 and "BAKER STREET" in done.stdout and len(done.stdout.splitlines()) == 1


def test_as_subtitles():
    films = [SignList("a", (Sign(0.5, 1.25, "BAKER STREET", 0.9, "sign", (0.1, 0.1, 0.4, 0.2)),), 2.0)]
    notes = Notes()
    for kind, part in (("srt", "00:00:00,500 --> 00:00:01,250\nBAKER STREET"), ("vtt", "00:00.500"), ("txt", "BAKER")):
        ((id, text),) = write_films(films, kind, notes)
        assert id == "a" and part in text
    ((_, text),) = write_films(films, "jsonl", notes)
    assert text.count("\n") == 1 and json.loads(text)["signs"][0]["kind"] == "sign"


def test_folders_processes_and_films_that_cannot_be_read(film, tmp_path, command_line):
    folder = tmp_path / "films"
    folder.mkdir()
    (folder / "street.mp4").write_bytes(film.read_bytes())
    write_video(folder / "noise.mkv", noise(1, 3))
    (folder / "broken.mp4").write_bytes(film.read_bytes()[:5000])
    write_sound(folder / "song.wav")
    refused = command_line("read", folder, "-o", tmp_path / "a.jsonl", "--processes", "1", "--fps", "2")
    assert refused.returncode == 2 and "broken.mp4" in refused.stderr and not (tmp_path / "a.jsonl").exists()
    done = command_line(
        "read", folder, "-o", tmp_path / "a.jsonl", "--processes", "2", "--resume", "--skip-bad", "--fps", "2"
    )
    assert done.returncode == 0, done.stderr
    films, _ = read_signs(tmp_path / "a.jsonl")
    assert {f.video: len(f.signs) for f in films} == {"noise": 0, "street": 1}
    assert not (tmp_path / "a.jsonl.work").exists()
    few = ("--fps", "2", "--processes", "1")
    done = command_line("read", folder / "street.mp4", folder / "noise.mkv", "-o", tmp_path / "out", *few)
    assert done.returncode == 0 and sorted(f.name for f in (tmp_path / "out").iterdir()) == [
        "noise.json",
        "street.json",
    ]


def test_odd_films(tmp_path, command_line):
    (tmp_path / "empty.mp4").write_bytes(b"")
    (tmp_path / "text.mp4").write_text("no film")
    write_sound(tmp_path / "song.wav")
    for name, said in (
        ("empty.mp4", "cannot be read"),
        ("text.mp4", "cannot be read"),
        ("song.wav", "has no pictures"),
    ):
        done = command_line("read", tmp_path / name, "-o", tmp_path / "o.json", "--overwrite")
        errors = [line for line in done.stderr.splitlines() if "error" in line]
        assert done.returncode == 2 and len(errors) == 1 and said in errors[0] and "Traceback" not in done.stderr
        assert not (tmp_path / "o.json").exists()
        for work in tmp_path.glob("*.work"):
            __import__("shutil").rmtree(work)
    assert command_line("read", tmp_path / "none.mp4").returncode == 2
    for flags in (["--fps", "0"], ["--fps", "61"], ["--least", "2"], ["--still", "0"], ["--kind", "srt"]):
        assert command_line("read", tmp_path / "text.mp4", *flags).returncode == 2


def test_a_film_of_one_picture(tmp_path):
    path = paint_film(tmp_path / "still.mkv", [Painted("BAKER STREET")], 0.05, codec="ffv1")
    (film,) = fabula.read_signs(path).films
    assert [sign.text for sign in film.signs] == ["BAKER STREET"] and film.signs[0].end == pytest.approx(0.05)


def test_nothing_is_read_where_nothing_is_written(tmp_path):
    path = paint_film(tmp_path / "plain.mp4", [], 0.6, (240, 320), seed=5)
    done = fabula.read_signs([path])
    assert done.signs == 0 and len(done.films) == 1


def test_library_call_refuses_what_the_verb_refuses(film, tmp_path):
    with pytest.raises(SpecError, match="fps"):
        fabula.read_signs(film, fps=0)
    with pytest.raises(InputError, match="no such video"):
        fabula.read_signs(tmp_path / "none.mp4")


@pytest.mark.slow
def test_killed_at_random_moments_it_is_the_unbroken_one(tmp_path):
    texts = [Painted("BAKER STREET", start=k + 0.3, end=k + 0.9, y=0.2 + 0.1 * (k % 5)) for k in range(0, 130, 9)]
    path = paint_film(tmp_path / "long.mp4", texts, 130, (240, 320), fps=8)
    command = [sys.executable, "-m", "fabula", "read", str(path), "--fps", "2"]
    began = time.monotonic()
    subprocess.run([*command, "-o", str(tmp_path / "whole.json")], check=True, capture_output=True)
    took, rng = time.monotonic() - began, random.Random(3)
    for _ in range(4):
        process = subprocess.Popen(
            [*command, "-o", str(tmp_path / "killed.json"), "--resume"],
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        time.sleep(rng.uniform(0.3, 0.8) * took)
        process.send_signal(signal.SIGKILL)
        process.wait()
        if process.returncode == 0:  # it was quicker
            (tmp_path / "killed.json").unlink()
        assert not (tmp_path / "killed.json").exists()
    subprocess.run(
        [*command, "-o", str(tmp_path / "killed.json"), "--resume", "--overwrite"], check=True, capture_output=True
    )
    assert (tmp_path / "killed.json").read_bytes() == (tmp_path / "whole.json").read_bytes()
    assert len(json.loads((tmp_path / "whole.json").read_text())["signs"]) >= 10


@pytest.mark.slow
def test_a_page_full_of_words(tmp_path):
    """10,000 words on one picture: bounded, and told."""
    rng = np.random.default_rng(1)
    words = ["".join(rng.choice(list("abcdefghijklm"), 4)) for _ in range(10_000)]
    lines = [
        Painted(" ".join(words[i : i + 60]), x=0.01, y=0.01 + 0.98 * i / 10_000, height=9) for i in range(0, 10_000, 60)
    ]
    path = paint_film(tmp_path / "page.mkv", lines, 0.1, (2160, 3840), codec="ffv1")
    (film,) = fabula.read_signs(path).films
    assert len(film.signs) <= 500
