"""OpenTimelineIO JSON of a film's story, written by us: a timeline with the film as its clip, and events as markers.

    Timeline.1 → Stack.1 → Track.1 (Video) → Clip.2 with an ExternalReference.1 and a Marker.2 for every event

Times are frames at the film's own rate, as editors count them; the exact seconds stand in the metadata.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from fabula.documents.fields import JsonDict
from fabula.narration.record import FilmStory

COLOUR = "GREEN"
TICKS = 1000.0  # a second, where a film's rate is not known


def build_timeline(story: FilmStory, address: str) -> JsonDict:
    """The whole document. `address`: where the film is, from where the file will lie."""
    rate = read_rate(story.record["film"]["rate"])
    whole = make_range(0.0, story.duration, rate)
    names = story.events
    markers = [
        make_marker(event.caption, event.start, event.end, rate, about)
        for event, about in zip(names, story.record["events"], strict=True)
    ]
    clip = {
        "OTIO_SCHEMA": "Clip.2",
        "metadata": {},
        "name": story.id,
        "source_range": whole,
        "effects": [],
        "markers": markers,
        "enabled": True,
        "color": None,
        "media_references": {"DEFAULT_MEDIA": make_reference(story.id, address, whole)},
        "active_media_reference_key": "DEFAULT_MEDIA",
    }
    stack: JsonDict = {
        "OTIO_SCHEMA": "Stack.1",
        "metadata": {},
        "name": "tracks",
        "source_range": None,
        "effects": [],
        "markers": [],
        "enabled": True,
        "color": None,
        "children": [make_track("Film", [clip])],
    }
    about = {"signature": story.signature, "style": story.record["asking"]["style"], "title": story.title}
    return {
        "OTIO_SCHEMA": "Timeline.1",
        "metadata": {"fabula": about},
        "name": story.title or story.id,
        "global_start_time": None,
        "tracks": stack,
    }


def read_rate(text: str | None) -> float:
    """`30000/1001` as a number."""
    if not text:
        return TICKS
    above, _, below = text.partition("/")
    return int(above) / int(below or 1)


def make_time(seconds: float, rate: float) -> JsonDict:
    return {"OTIO_SCHEMA": "RationalTime.1", "rate": rate, "value": float(round(seconds * rate))}


def make_range(start: float, end: float, rate: float) -> JsonDict:
    first, last = make_time(start, rate), make_time(end, rate)
    lasts = {**last, "value": max(1.0, last["value"] - first["value"])}
    return {"OTIO_SCHEMA": "TimeRange.1", "duration": lasts, "start_time": first}


def make_marker(caption: str, start: float, end: float, rate: float, about: JsonDict) -> JsonDict:
    return {
        "OTIO_SCHEMA": "Marker.2",
        "metadata": {"fabula": {"start": start, "end": end, "people": about.get("people", [])}},
        "name": caption,
        "color": COLOUR,
        "marked_range": make_range(start, end, rate),
        "comment": "",
    }


def make_reference(name: str, address: str, whole: JsonDict) -> JsonDict:
    return {
        "OTIO_SCHEMA": "ExternalReference.1",
        "metadata": {},
        "name": name,
        "available_range": whole,
        "available_image_bounds": None,
        "target_url": address,
    }


def make_track(name: str, children: Sequence[JsonDict]) -> JsonDict:
    return {
        "OTIO_SCHEMA": "Track.1",
        "metadata": {},
        "name": name,
        "source_range": None,
        "effects": [],
        "markers": [],
        "enabled": True,
        "color": None,
        "children": list(children),
        "kind": "Video",
    }


def make_address(film: Path, folder: Path) -> str:
    """The film's address as seen from a folder: relative where it can be."""
    from fabula.report.links import link_file

    return link_file(film, folder) or film.absolute().as_uri()
