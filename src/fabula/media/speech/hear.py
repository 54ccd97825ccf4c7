"""From films to lines of speech: subtitles where there are some, else sound, gate, recogniser, language; in one pass.

    film ─▶ subtitles beside it or in it ──────────────────────────────────────────────────────▶ lines
         └▶ sound ─▶ stretches ─▶ segments of speech ─▶ texts with evidence ─▶ is it English? ─▶ lines

Each stretch of a film is a sealed record in the work folder (media/texts.py), so a film of hours goes on in the minute
where it was killed, and the lines are the same.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from contextlib import AbstractContextManager, closing, contextmanager, nullcontext
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Protocol

from fabula.data.transcripts import SpokenLine, Transcript
from fabula.documents.fields import JsonDict
from fabula.io.subtitles import transcript_to_dict
from fabula.llm.options import EndpointOptions
from fabula.media.decode import import_av, name_faults, open_container
from fabula.media.pipeline import Stages
from fabula.media.speech import gate, language
from fabula.media.speech.endpoint import Endpoint, Segment, open_endpoint
from fabula.media.speech.gate import HOP, Detector, Stretch, cut_stretches
from fabula.media.speech.language import Heard
from fabula.media.speech.moonshine import VERSION, Moonshine, load_moonshine, weights_digest
from fabula.media.speech.sound import RATE, NoSoundError, Sound
from fabula.media.speech.subtitles import find_subtitles
from fabula.media.texts import TextStage

RULES = 1  # of gate, lines and language; lines made under other rules are other lines
NO_SOUND = "no sound"  # source of a film that has none
MARGIN = 0.1  # seconds around a segment that the recogniser hears
SPOKEN = 0.2  # of a segment's time, in which the gate must hear speech, where an endpoint gives its own segments
NOT_SPEECH, UNSURE = 0.6, -1.0  # an endpoint's probability that nothing is said, and its mean log-probability


@dataclass(frozen=True)
class Hearing:
    """How films are heard; a value that travels between processes and, as its recipe, is part of a run's identity."""

    track: int | None = None
    language: str | None = None
    ignore_subtitles: bool = False
    endpoint: EndpointOptions | None = None

    def recipe(self) -> JsonDict:
        """All that changes what is found."""
        plain: JsonDict = {
            "rules": RULES,
            "track": self.track,
            "language": self.language,
            "ignore_subtitles": self.ignore_subtitles,
        }
        if self.endpoint is not None:
            return {**plain, "endpoint": self.endpoint.url, "model": self.endpoint.model}
        return {**plain, "recogniser": f"moonshine-voice {VERSION} tiny-en", "weights": weights_digest()}

    def open(self) -> AbstractContextManager[Recogniser]:
        if self.endpoint is None:
            return nullcontext(Offline(load_moonshine()))
        return EndpointRecogniser.connect(self.endpoint, self.language)


class Recogniser(Protocol):
    """Hears stretches one after the other, then chooses among all that it heard in a film."""

    @property
    def source(self) -> str: ...

    def hear(self, stretch: Stretch) -> list[JsonDict]:
        """What is said in a stretch, as rows that JSON holds; seconds count from the film's zero."""
        ...

    def choose(self, rows: list[JsonDict]) -> tuple[list[SpokenLine], str | None, JsonDict]:
        """The lines of a film, their language, and what was left out."""
        ...


# ── one film ────────────────────────────────────────────────────────────────────────────────────────────────────────


@dataclass(frozen=True)
class SpeechStage(TextStage):
    """The lines of one film after the other."""

    hearing: Hearing = Hearing()

    def describe(self, path: Path, part: str) -> JsonDict:
        stages = Stages()
        notes: list[str] = []
        if not self.hearing.ignore_subtitles:
            found = find_subtitles(path, self.hearing.language, notes.append)
            if found is not None:
                return self.record(found, measure(path), notes, stages)
        sound = Sound(path, self.hearing.track)
        try:
            with self.hearing.open() as recogniser:
                transcript = self.transcribe(sound, part, recogniser, stages)
        except NoSoundError as error:
            notes.append(f"{path.name} {error.problem}: no lines")
            return self.record(Transcript(path.stem, (), source=NO_SOUND), measure(path), notes, stages)
        if len(sound.tracks) > 1 and self.hearing.track is None:
            chosen = sound.tracks[sound.chosen - 1]
            notes.append(
                f"{path.name} has {len(sound.tracks)} sound tracks; {chosen} was heard (--track N hears another)"
            )
        return self.record(transcript, max(sound.duration, measure(path)), notes, stages)

    def transcribe(self, sound: Sound, part: str, recogniser: Recogniser, stages: Stages) -> Transcript:
        """Stretch by stretch; those that an earlier run has finished are passed over."""
        known: list[JsonDict] = []
        while (found := self.find_stretch(part, len(known))) is not None:
            known.append(found)
        rows = [row for one in known for row in one["rows"]]
        spoken = sum(one["spoken"] for one in known)
        seconds = int(measure(sound.path))
        blocks = stages.ahead("decode", sound)
        stretches = stages.ahead("gate", cut_stretches(blocks, Detector(), [one["end"] for one in known]), depth=1)
        with closing(stretches):
            for stretch in stretches:
                with stages.clock("hear"):
                    record: JsonDict = {
                        "end": stretch.end,
                        "spoken": stretch.spoken(),
                        "rows": recogniser.hear(stretch),
                    }
                self.put(record, f"{part}-{stretch.index}")
                rows += record["rows"]
                spoken += stretch.spoken()
                self.watch(f"speech in {sound.path.name}", int(stretch.end / RATE), seconds)
        lines, spoken_language, left_out = recogniser.choose(rows)
        about: dict[str, object] = {"speech": round(spoken, 2), **left_out}
        if len(sound.tracks) > 1:
            about["track"] = sound.tracks[sound.chosen - 1]
        return Transcript(sound.path.stem, tuple(lines), None, spoken_language, recogniser.source, about)

    @staticmethod
    def record(transcript: Transcript, duration: float, notes: list[str], stages: Stages) -> JsonDict:
        """Seconds of work are the run's, not the film's: they stay out of what is written."""
        plain = replace(transcript, duration=round(duration, 3))
        return {"transcript": transcript_to_dict(plain), "notes": notes, "seconds": stages.seconds}


def measure(path: Path) -> float:
    """Seconds of a film, as its container tells."""
    av = import_av()
    with name_faults(av, path), closing(open_container(av, path)) as container:
        return float(container.duration or 0) / int(av.time_base)


# ── who hears ───────────────────────────────────────────────────────────────────────────────────────────────────────


@dataclass(frozen=True)
class Offline:
    """Moonshine, here; English alone."""

    model: Moonshine
    source: str = f"moonshine-voice {VERSION} tiny-en"

    def hear(self, stretch: Stretch) -> list[JsonDict]:
        rows = []
        for first, last in stretch.segments():
            begin, end = max(0, first * HOP - int(MARGIN * RATE)), last * HOP + int(MARGIN * RATE)
            found = self.model.decode(stretch.samples[begin:end])
            heard = Heard(
                start=(stretch.start + first * HOP) / RATE,
                end=(stretch.start + min(last * HOP, len(stretch.samples))) / RATE,
                text=found.text,
                logs=tuple(round(log, 4) for log in found.logs.tolist()),
                tokens=found.tokens,
                speech=round(float(stretch.speech[first:last].mean()), 4),
            )
            rows.append(asdict(heard))
        return rows

    def choose(self, rows: list[JsonDict]) -> tuple[list[SpokenLine], str | None, JsonDict]:
        return language.choose_english([Heard.of(row) for row in rows])


@dataclass(frozen=True)
class EndpointRecogniser:
    """A server's model; it hears only stretches in which the gate finds speech."""

    endpoint: Endpoint

    @classmethod
    @contextmanager
    def connect(cls, options: EndpointOptions, wanted: str | None) -> Iterator[EndpointRecogniser]:
        with open_endpoint(options, wanted) as endpoint:
            yield cls(endpoint)

    @property
    def source(self) -> str:
        return f"endpoint {self.endpoint.options.model}"

    def hear(self, stretch: Stretch) -> list[JsonDict]:
        segments = stretch.segments()
        if not segments:
            return []
        reply = self.endpoint.hear(stretch.samples)
        rows = []
        for one in reply.segments:
            row = {
                "start": stretch.start / RATE + one.start,
                "end": stretch.start / RATE + one.end,
                "text": one.text,
                "log": one.log,
                "language": reply.language,
                "silent": is_silent(one, stretch),
            }
            rows.append(row)
        return rows

    def choose(self, rows: list[JsonDict]) -> tuple[list[SpokenLine], str | None, JsonDict]:
        lines: list[SpokenLine] = []
        silent = repeated = 0
        seconds: dict[str, float] = {}
        for row in rows:
            if row["silent"]:
                silent += 1
            elif [line.text for line in lines[-2:]] == [
                row["text"]
            ] * 2:  # a third time: such models get caught in loops
                repeated += 1
            else:
                sure = None if row["log"] is None else round(min(1.0, math.exp(row["log"])), 4)
                lines.append(SpokenLine(row["start"], row["end"], row["text"], sure))
                if row["language"]:
                    seconds[row["language"]] = seconds.get(row["language"], 0.0) + row["end"] - row["start"]
        spoken = max(seconds, key=lambda code: seconds[code]) if seconds else None
        about = {"without speech": silent, "repeated": repeated}
        return lines, spoken, {"left_out": {what: n for what, n in about.items() if n}} if silent + repeated else {}


def is_silent(one: Segment, stretch: Stretch) -> bool:
    """Whether a segment is text without speech: by the gate, or by the model's own word."""
    if one.silent is not None and one.silent > NOT_SPEECH and (one.log is None or one.log < UNSURE):
        return True
    first, last = int(one.start * RATE / HOP), max(int(one.start * RATE / HOP) + 1, int(one.end * RATE / HOP))
    part = stretch.speech[first:last]
    return not len(part) or float((part >= gate.OFF).mean()) < SPOKEN


def read_lines(record: JsonDict) -> Transcript:
    """The transcript of a film's record."""
    found = record["transcript"]
    lines = (SpokenLine(**{"confidence": None, "speaker": None, **line}) for line in found["lines"])
    return Transcript(
        found["video"],
        tuple(lines),
        found.get("duration"),
        found.get("language"),
        found.get("source", ""),
        found.get("about", {}),
    )
