"""What a person put right: people merged, tracks split off, names given; kept beside the store and applied again.

    people.npz → people.corrections.json       steps in the order in which they were said

A step names faces, not numbers: video, second, box. After videos were looked at again, or grouped anew, numbers are
others and the same faces are found by their place (IoU ≥ ½, within ¼ s). A step whose faces are not found, or that
would put two faces of one picture into one person, is not applied and told (`Cast.remarks`); it stays in the file.

    merge   the people who have most of these faces are one: the one with the lowest number
    split   the tracks of these faces are a person of their own, with a new number
    name    who has most of these faces is called so
"""

from __future__ import annotations

import unicodedata
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from pathlib import Path

import numpy as np

from fabula.core import atomic
from fabula.core.errors import InputError, SpecError, shown
from fabula.documents.fields import JsonDict
from fabula.documents.files import check_path, dump_json, load_json
from fabula.documents.safe_open import name_failures
from fabula.media.people.base import Ints
from fabula.media.people.cast import Cast
from fabula.media.people.cluster import impossible_merges
from fabula.pair.box_iou import box_iou

LAYOUT = 1
NEAR = 0.25  # seconds
SAME = 0.5  # IoU
ANCHORS = 8  # faces that a person is remembered by
LONGEST = 100  # characters of a name

Anchor = JsonDict
Step = JsonDict


class StaleError(Exception):
    """Why a step cannot be applied to this cast."""


def file_beside(store: str | Path) -> Path:
    """Where the corrections of a store lie."""
    path = check_path(store)
    return path.with_name(f"{path.stem}.corrections.json")


@contextmanager
def taking_turns(store: str | Path) -> Iterator[None]:
    """Who reads corrections to add one does so alone: of two at once, neither is lost."""
    path = check_path(store)
    with ExitStack() as stack:
        if path.is_file():  # a store that is not there is refused by whoever loads it
            with name_failures(path):
                stack.enter_context(atomic.locked(path))
        yield


# ── said ────────────────────────────────────────────────────────────────────────────────────────────────────────────


def merge(store: str | Path, people: Sequence[int]) -> Cast:
    """These are one person."""
    with taking_turns(store):
        cast = Cast.load(store)
        wanted = list(dict.fromkeys(people))
        if len(wanted) < 2:
            raise SpecError("a merge takes two people or more; name them by number")
        for one in wanted:
            check_person(cast, one, store)
        return add(store, cast, {"do": "merge", "people": [remember(cast, one) for one in wanted]})


def split(store: str | Path, person: int, tracks: Sequence[int]) -> Cast:
    """These tracks of a person are somebody else."""
    with taking_turns(store):
        cast = Cast.load(store)
        check_person(cast, person, store)
        own = set(cast.tracks_of(person).tolist())
        wanted = list(dict.fromkeys(tracks))
        if not wanted:
            raise SpecError("a split takes the tracks that are somebody else; name them by number (fabula people show)")
        for one in wanted:
            if one not in own:
                raise InputError(
                    f"{cast.name(person)} has no track {one}", file=store, hint=f"there are: {list_some(sorted(own))}"
                )
        if len(wanted) == len(own):
            raise InputError(f"these are all tracks of {cast.name(person)}", file=store, hint="leave at least one")
        rows = [int(np.flatnonzero(cast.faces.track == one)[0]) for one in wanted]
        return add(store, cast, {"do": "split", "tracks": [anchor(cast, row) for row in rows]})


def name(store: str | Path, person: int, called: str) -> Cast:
    """This person is called so."""
    with taking_turns(store):
        cast = Cast.load(store)
        check_person(cast, person, store)
        check_name(called)
        for other, text in cast.names.items():
            if text == called and other != person:
                raise InputError(
                    f"person {other} is called {called!r} already",
                    file=store,
                    hint=f"merge them (fabula people merge {store} {other} {person}), or choose another name",
                )
        return add(store, cast, {"do": "name", "person": remember(cast, person), "name": called})


def undo(store: str | Path) -> Step:
    """The last correction, taken back."""
    with taking_turns(store):
        path = file_beside(store)
        steps = read_steps(path)
        if not steps:
            raise InputError("there is no correction to undo", file=store, hint="fabula people info lists them")
        write_steps(path, steps[:-1])
        return steps[-1]


def add(store: str | Path, cast: Cast, step: Step) -> Cast:
    """Applied now, or refused; then written down."""
    try:
        corrected = apply_step(cast, step)
    except StaleError as error:
        raise InputError(str(error), file=store, hint="nothing was changed") from None
    path = file_beside(store)
    write_steps(path, [*read_steps(path), step])
    return corrected


def check_person(cast: Cast, person: int, store: str | Path) -> None:
    people = cast.people()
    if person not in people:
        raise InputError(
            f"there is no person {person}",
            file=store,
            hint=f"there are {len(people)}: {list_some(people)}"
            if people
            else "there are no people: no face was found",
        )


def check_name(called: str) -> None:
    if not called.strip():
        raise SpecError("an empty name; give one with visible characters")
    if len(called) > LONGEST:
        raise SpecError(f"a name of {len(called)} characters; at most {LONGEST}")
    if any(unicodedata.category(c) in ("Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp") for c in called):
        raise SpecError(f"{shown(called)} has characters that cannot be seen; give a name on one line")


def list_some(numbers: Sequence[int], most: int = 12) -> str:
    return ", ".join(map(str, numbers[:most])) + (", …" if len(numbers) > most else "")


# ── kept ────────────────────────────────────────────────────────────────────────────────────────────────────────────


def anchor(cast: Cast, row: int) -> Anchor:
    f = cast.faces
    video = cast.videos[int(f.video[row])].id
    return {"video": video, "time": round(float(f.time[row]), 4), "box": [round(float(v), 1) for v in f.box[row]]}


def remember(cast: Cast, person: int) -> list[Anchor]:
    """Faces by which somebody will be known again: the middle one of their longest tracks."""
    rows = np.flatnonzero(cast.person == person)
    tracks, count = np.unique(cast.faces.track[rows], return_counts=True)
    longest = tracks[np.argsort(-count, kind="stable")][:ANCHORS]
    middle = [(own := rows[cast.faces.track[rows] == t])[len(own) // 2] for t in longest]
    return [anchor(cast, int(row)) for row in middle]


def read_steps(path: Path) -> list[Step]:
    if not path.exists():
        return []
    document = load_json(path)
    hint = "fix the file, or move it away to start without corrections"
    if (
        not isinstance(document, dict)
        or document.get("corrections") != LAYOUT
        or not isinstance(document.get("steps"), list)
    ):
        raise InputError(f"not a file of corrections of layout {LAYOUT}", file=path, hint=hint)
    for k, step in enumerate(document["steps"], 1):
        if not is_step(step):
            raise InputError(f"not a correction: {shown(step)}", file=path, field=f"step {k}", hint=hint)
    steps: list[Step] = document["steps"]
    return steps


def is_step(step: object) -> bool:
    if not isinstance(step, dict):
        return False
    match step.get("do"):
        case "merge":
            members = step.get("people")
            return isinstance(members, list) and len(members) > 1 and all(map(are_anchors, members))
        case "split":
            return are_anchors(step.get("tracks"))
        case "name":
            return are_anchors(step.get("person")) and isinstance(step.get("name"), str)
    return False


def are_anchors(values: object) -> bool:
    """A list of faces, not empty."""
    return isinstance(values, list) and bool(values) and all(map(is_anchor, values))


def is_anchor(one: object) -> bool:
    if not isinstance(one, dict) or not isinstance(one.get("video"), str) or not isinstance(one.get("box"), list):
        return False
    numbers = [one.get("time"), *one["box"]]
    return len(numbers) == 5 and all(isinstance(v, int | float) and abs(v) < 1e9 for v in numbers)


def write_steps(path: Path, steps: Sequence[Step]) -> None:
    dump_json(path, {"corrections": LAYOUT, "steps": list(steps)}, indent=1)


# ── applied ─────────────────────────────────────────────────────────────────────────────────────────────────────────


def apply_file(cast: Cast, store: str | Path) -> Cast:
    """The cast with the corrections that lie beside its store; those that no longer apply are told."""
    return apply(cast, read_steps(file_beside(store)))


def apply(cast: Cast, steps: Iterable[Step]) -> Cast:
    remarks = list(cast.remarks)
    for k, step in enumerate(steps, 1):
        try:
            cast = apply_step(cast, step)
        except StaleError as error:
            what = f"{step['do']} {shown(step['name'])}" if step["do"] == "name" else step["do"]
            remarks.append(f"correction {k} ({what}) no longer applies: {error}")
    return replace(cast, remarks=tuple(remarks))


def apply_step(cast: Cast, step: Step) -> Cast:
    match step["do"]:
        case "merge":
            return apply_merge(cast, step["people"])
        case "split":
            return apply_split(cast, step["tracks"])
        case _:
            check_name(step["name"])
            who = find_person(cast, step["person"])
            return replace(cast, names={**cast.names, who: step["name"]})  # what was said last counts


def apply_merge(cast: Cast, sides: Sequence[Sequence[Anchor]]) -> Cast:
    who = sorted({find_person(cast, side) for side in sides})
    if len(who) == 1:
        return cast
    person = np.where(np.isin(cast.person, who), who[0], cast.person)
    check_pictures(cast, person, who[0], " and ".join(cast.name(one) for one in who))
    names = {p: text for p, text in cast.names.items() if p not in who}
    if own_names := [cast.names[p] for p in who if p in cast.names]:
        names[who[0]] = own_names[0]
    return replace(cast, person=person, names=names)


def apply_split(cast: Cast, tracks: Sequence[Anchor]) -> Cast:
    found = [row for one in tracks if (row := find_face(cast, one)) is not None]
    if not found:
        raise StaleError(f"none of its {len(tracks)} tracks is found among the faces")
    rows = np.isin(cast.faces.track, cast.faces.track[found])
    old = np.unique(cast.person[rows & (cast.person >= 0)])
    if len(old) == 1 and not (cast.person[~rows] == old[0]).any():
        return cast  # a person of their own already
    person = cast.person.copy()
    new = max(int(person.max(initial=-1)), max(cast.names, default=-1)) + 1
    person[rows] = new
    check_pictures(cast, person, new, "the tracks")
    left = set(np.unique(person).tolist())
    return replace(cast, person=person, names={p: text for p, text in cast.names.items() if p in left})


def check_pictures(cast: Cast, person: Ints, who: int, verb: str) -> None:
    """Nobody is in a picture twice."""
    own = np.flatnonzero(person == who)
    pictures = cast.faces.pictures()[own]
    twice = impossible_merges(person[own], pictures)
    if twice:
        value, count = np.unique(pictures, return_counts=True)
        row = int(own[np.flatnonzero(pictures == value[count > 1][0])[0]])
        video, t = cast.videos[int(cast.faces.video[row])].id, float(cast.faces.time[row])
        many = f"{int((count > 1).sum()):,} picture{'s' * (int((count > 1).sum()) != 1)}"
        raise StaleError(
            f"{verb} are seen together in {many}, first at {t:.1f} s of {video!r}: they cannot be one person"
        )


def find_person(cast: Cast, anchors: Sequence[Anchor]) -> int:
    """Who has most of these faces; of equals, the lowest number."""
    rows = [row for one in anchors if (row := find_face(cast, one)) is not None]
    votes = Counter(int(cast.person[row]) for row in rows if cast.person[row] >= 0)
    if not votes:
        first = anchors[0]
        place = f"the first at {first['time']:.1f} s of {shown(first['video'])}"
        raise StaleError(f"none of its {len(anchors)} faces is found ({place})")
    return min(votes, key=lambda p: (-votes[p], p))


def find_face(cast: Cast, one: Anchor) -> int | None:
    """The face at this place, the nearest in time."""
    f = cast.faces
    video = next((k for k, v in enumerate(cast.videos) if v.id == one["video"]), None)
    if video is None or not len(f):
        return None
    rows = np.flatnonzero((f.video == video) & (np.abs(f.time - one["time"]) <= NEAR + 1e-9))
    if not len(rows):
        return None
    iou = box_iou(np.array([one["box"]], np.float64), f.box[rows].astype(np.float64))[0]
    good = iou >= SAME
    if not good.any():
        return None
    rows, iou = rows[good], iou[good]
    return int(rows[np.lexsort((-iou, np.abs(f.time[rows] - one["time"])))[0]])
