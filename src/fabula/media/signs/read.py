"""From films to signs: a record of each film, made in stretches of a minute, so that hours go on where they stopped.

    film ─▶ looks (looks.py) ─▶ lines (ocr.py) ─▶ tracks ─▶ votes ─▶ gates ─▶ kinds (join.py) ─▶ SignList

What was read in a minute is a sealed record in the work folder (media/texts.py). Signs are made of all minutes at the
end, in a second that needs no picture.
"""

from __future__ import annotations

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
        records = [self.folder.get(self.parts, f"{part}-{k}.json") for k in sorted(known)]
        signs = self.join(path, records, walk)
        return {
            "signs": signs_to_dict(signs),
            "seconds": {name: round(took, 3) for name, took in walk.stages.seconds.items()},
        }

    def join(self, path: Path, records: list[JsonDict], walk: FilmWalk) -> SignList:
        """The signs of a film from the records of its minutes."""
        count = sum(len(record["looks"]) for record in records)
        with walk.stages.clock("join"):
            found, left_out = find_signs(read_looks(records), walk.video.duration, walk.shape, count, self.model)
        about: dict[str, object] = {**self.model.settings(), "looks": count}
        turned, surplus = (sum(record[name] for record in records) for name in ("turned", "surplus"))
        more = {"turned": turned, "beyond the most lines of a picture": surplus}
        about["left_out"] = {**left_out, **{name: n for name, n in more.items() if n}}
        return SignList(path.stem, tuple(found), round(walk.video.duration, 3), SOURCE, about)


def describe_stretch(stretch: Stretch) -> JsonDict:
    """What was read in a minute, as JSON holds it."""
    looks = [[round(look.time, 3), [s.as_list() for s in look.sightings]] for look in stretch.looks]
    return {"looks": looks, "last": looks[-1][0], "turned": stretch.turned, "surplus": stretch.surplus}


def read_looks(records: list[JsonDict]) -> Iterator[Look]:
    for record in records:
        for time, sightings in record["looks"]:
            yield Look(time, [Sighting.from_list(one) for one in sightings])
