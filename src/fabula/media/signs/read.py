"""From films to signs: a record of each film, made in stretches of a minute, so that hours go on where they stopped.

    film ─▶ looks (looks.py) ─▶ lines (ocr.py) ─▶ tracks ─▶ votes ─▶ gates ─▶ kinds (join.py) ─▶ SignList

What was read in a minute is a sealed record in the work folder (media/texts.py). Signs are made of all minutes at the
end, in a second that needs no picture.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from fabula.data.transcripts import SignList
from fabula.documents.fields import JsonDict
from fabula.io.subtitles import signs_to_dict
from fabula.media.signs.base import PACKAGE, VERSION, Look, Sighting, SignModel
from fabula.media.signs.join import find_signs
from fabula.media.signs.looks import FilmWalk, Stretch
from fabula.media.texts import TextStage

SOURCE = f"{PACKAGE} {VERSION} PP-OCRv6 small"


@dataclass(frozen=True)
class SignStage(TextStage):
    """The signs of one film after the other."""

    model: SignModel = field(default_factory=SignModel)

    def describe(self, path: Path, part: str) -> JsonDict:
        walk = FilmWalk(path, self.model)

        known: dict[int, float | None] = {}  # when the last picture of a minute was read, if an earlier run did

        def last_look(k: int) -> float | None:
            if k not in known:
                found = self.find_stretch(part, k)
                known[k] = None if found is None else float(found["last"])
            return known[k]

        for stretch in walk.stretches(last_look):
            self.put(describe_stretch(stretch), f"{part}-{stretch.number}")
            self.watch(f"signs in {path.name}", int(walk.video.end), 0)
        signs = self.join(path, [f"{part}-{k}.json" for k in sorted(known)], walk)
        return {
            "signs": signs_to_dict(signs),
            "seconds": {name: round(took, 3) for name, took in walk.stages.seconds.items()},
        }

    def join(self, path: Path, names: list[str], walk: FilmWalk) -> SignList:
        """The signs of a film from the records of its minutes, of which one is held at a time."""
        sums = Counter[str]()
        for record in self.records(names):
            sums.update(looks=len(record["looks"]), turned=record["turned"], surplus=record["surplus"])
        with walk.stages.clock("join"):
            looks = (look for record in self.records(names) for look in read_looks(record))
            found, left_out = find_signs(looks, walk.video.duration, walk.shape, sums["looks"], self.model)
        more = {name: sums[name] for name in ("surplus", "turned") if sums[name]}
        about: dict[str, object] = {**self.model.settings(), "looks": sums["looks"], "left_out": {**left_out, **more}}
        return SignList(path.stem, tuple(found), round(walk.video.duration, 3), SOURCE, about)

    def records(self, names: list[str]) -> Iterator[JsonDict]:
        for name in names:
            yield self.folder.get(self.parts, name)


def describe_stretch(stretch: Stretch) -> JsonDict:
    """What was read in a minute, as JSON holds it."""
    looks = [[round(look.time, 3), [s.as_list() for s in look.sightings]] for look in stretch.looks]
    return {"looks": looks, "last": looks[-1][0], "turned": stretch.turned, "surplus": stretch.surplus}


def read_looks(record: JsonDict) -> Iterator[Look]:
    for time, sightings in record["looks"]:
        yield Look(time, [Sighting.from_list(one) for one in sightings])
