"""SoccerNet's dense captions (Mkhallati et al., CVPRW 2023): comments at points of a game, a story per half.

labels        …/<game>/Labels-caption.json              {"annotations": [{"gameTime", "label", "anonymized"}]}
predictions   …/<game>/results_dense_captioning.json    {"predictions": [{"gameTime", "label", "comment"}]}

A file is one game; a folder is the whole tree (`--format soccernet-predictions`); {game: file} in one document is read
too. A comment at gameTime "1 - 10:31" is the window 15 s before to 15 s after it in half 1, sorted by time. As in the
published evaluator only gameTime is read (position, half and confidence are not), and comments with a label that it
does not know, or of a third half, are left out.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any

from fabula.core.notes import name_id
from fabula.data.stories import Event, Segment, Story
from fabula.documents.fields import Source
from fabula.documents.files import load_json
from fabula.io.format import STORIES, Format, HeadRule

AROUND = 15.0  # seconds before and after
LABELS = frozenset(
    {"corner", "substitution", "y-card", "whistle", "soccer-ball", "injury", "penalty", "yr-card", "r-card"}
    | {"soccer-ball-own", "penalty-missed", "", "comments"}
)
FILES = {"annotations": "Labels-caption.json", "predictions": "results_dense_captioning.json"}
WORDS = {"annotations": "anonymized", "predictions": "comment"}
TIME = re.compile(r"(\d)\D.*?(\d+):(\d+)\s*")  # half - minutes:seconds
HINT = 'a time is "half - minutes:seconds", as "1 - 10:31"'


def gather(folder: Path, side: str) -> dict[str, Any]:
    """Every game below a folder, by its place there."""
    files = sorted(folder.rglob(FILES[side]))
    return {str(file.parent.relative_to(folder)): load_json(file) for file in files}


def read_stories(document: Any, source: Source, side: str) -> Iterator[Story]:
    hint = f'a game is {{"{side}": [{{"gameTime", "label", "{WORDS[side]}"}}, …]}}'
    root = source.mapping(document, "the root", hint=hint)
    if isinstance(root.get(side), list):
        root = {"game": root}
    for place, entry in root.items():
        entry = source.mapping(entry, "its entry", place, hint)
        url = entry.get("UrlLocal")
        game = url.strip("/") if place == "game" and isinstance(url, str) and url else place
        yield from read_game(game, source.listing(source.entry(entry, side, game), side, game, hint), source, side)


def read_game(game: str, entries: list[Any], source: Source, side: str) -> Iterator[Story]:
    halves: dict[int, list[Event]] = {1: [], 2: []}
    for i, entry in enumerate(entries):
        at = f"{side}[{i}]"
        entry = source.mapping(entry, at, game)
        if source.text(entry.get("label", ""), f"{at} label", game, HINT) not in LABELS:
            source.notes.add("{n} comments have a label that SoccerNet's evaluator does not know", name_id(game, i))
            continue
        said = source.text(source.entry(entry, "gameTime", game, at), f"{at} gameTime", game, HINT)
        found = TIME.fullmatch(said)
        if found is None:
            raise source.wrong(f"a time {said[:40]!r}", game, f"{at} gameTime", HINT)
        half, t = int(found[1]), 60 * int(found[2]) + int(found[3])
        if half > 2:
            source.notes.add("{n} comments of a third half or later are left out", name_id(game, i))
            continue
        words = source.caption(source.entry(entry, WORDS[side], game, at), f"{at} {WORDS[side]}", game)
        halves[1 if half == 1 else 2].append(Event(Segment(t - AROUND, t + AROUND), words))
    for half, events in halves.items():
        if events or side == "annotations":
            yield Story(f"{game}/{half}", tuple(sorted(events, key=lambda event: event.segment.start)))


def make_format(name: str, side: str, holds: str, example: str) -> Format:
    return Format(
        name=name,
        about=f'SoccerNet\'s {FILES[side]}, a game or the tree of them: {{"{side}": [{{gameTime, {WORDS[side]}}}]}}',
        known_by=(HeadRule(at=f"/{side}/0", all=("gameTime",)),),
        holds=holds,  # type: ignore[arg-type]
        tasks=STORIES,
        read_stories=partial(read_stories, side=side),
        gathers=partial(gather, side=side),
        example=example,
    )


FORMATS = (
    make_format(
        "soccernet",
        "annotations",
        "references",
        '{"UrlLocal": "league/season/game", "annotations": [{"gameTime": "1 - 10:31", "label": "corner", '
        '"anonymized": "[PLAYER] takes the corner"}]}',
    ),
    make_format(
        "soccernet-predictions",
        "predictions",
        "predictions",
        '{"UrlLocal": "league/season/game", "predictions": [{"gameTime": "1 - 10:31", "label": "comments", '
        '"comment": "a corner", "position": "631000", "half": "1", "confidence": "0.5"}]}',
    ),
)
