"""Simulated films for identity-aware captions (the setting of MICap, Raajesh et al., CVPR 2024): no video is seen.

A film has a cast and runs over clips. In each clip somebody (the agent) does something, perhaps to somebody else (the
patient), somewhere, perhaps with a thing; a caption says so by a small grammar, with people as ids. Features show it:

    face     unit(base_p + pose · u + jitter · ε)   base_p the character's own vector, u anew in every clip
    action   verb + noise · ε, some a clip
    frame    place + thing + noise · ε, some a clip

An agent's face is large, a patient's of middle size, a bystander's small: so a name in a caption finds its face. Faces
are missing where somebody is turned away (`absent`), and others walk through the picture (`bystanders`). What a text
alone can know is set by two numbers: `stay`, that an agent goes on being the agent, and `told`, that a caption hints at
the person (his, her, the soldier). With both at chance, identities can be solved only by looking across clips.

The same recipe gives the same films, bit for bit. Characters of one split are in no other.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from functools import cache
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from fabula.core.errors import InputError, SpecError
from fabula.core.notes import Notes
from fabula.documents.document import open_document
from fabula.documents.fields import JsonDict, Source
from fabula.documents.files import write_text
from fabula.io.identity.captionsets import SetText, write_sets
from fabula.learn.simulate import unit
from fabula.media.sentences import digest
from fabula.media.stores.features import write_features
from fabula.text.identity import ids, renumber_ids

Floats = NDArray[np.float32]
PLACES = ("kitchen", "garden", "street", "office", "library", "station", "church", "tent")
THINGS = ("phone", "letter", "lamp", "cup", "book", "hat", "bag", "key", "photograph", "rope")
ALONE = ("walks", "sits", "waits", "smiles", "dances", "sleeps")
WITH_THING = ("takes", "opens", "drops", "lifts", "hides", "finds")
WITH_PERSON = ("hugs", "follows", "watches", "pushes", "kisses", "calls")
JOBS = ("soldier", "doctor", "pilot", "waiter", "singer", "teacher")
WIDTH, HEIGHT, STRIDE = 854, 480, 5
STREAMS = ("frame", "action", "face", "box")
TRUTH = "who"  # files that no model reads: whose faces there are, and whom ids mean


@dataclass(frozen=True)
class Recipe:
    """Every number of the world."""

    seed: int = 0
    train_films: int = 60
    val_films: int = 10
    test_films: int = 20
    clips: int = 40  # of a film
    set_clips: int = 5  # N
    stride: int = 1  # from one training set to the next; the other splits' sets do not overlap
    cast: int = 4  # people of a film
    stay: float = 0.4  # the agent is the agent of the clip before
    told: float = 0.2  # a caption hints at who the agent is
    absent: float = 0.15  # a person who is named has no face in the clip
    bystanders: float = 0.2  # somebody walks through the picture
    pose: float = 0.7  # how far a face is from its base, anew in every clip
    jitter: float = 0.2  # and anew in every picture
    noise: float = 0.7  # of action and frame features
    face_dim: int = 64
    action_dim: int = 32
    frame_dim: int = 32
    face_eps: float = 0.6  # cosine distance within which two faces are one person's
    pictures: int = 4  # frame features of a clip
    looks: int = 2  # pictures of a clip in which faces are looked for
    actions: int = 6  # action features of a clip

    def __post_init__(self) -> None:
        if self.cast < 2 or self.clips < self.set_clips or min(self.set_clips, self.stride, self.pictures) < 1:
            raise SpecError(
                "a film has at least two people, and as many clips as a set; sets, strides, pictures at least 1"
            )
        for name in ("stay", "told", "absent", "bystanders"):
            if not 0 <= getattr(self, name) <= 1:
                raise SpecError(f"{name} is {getattr(self, name)}; it is a probability")

    def films(self, split: str) -> int:
        return {"train": self.train_films, "val": self.val_films, "test": self.test_films}[split]


# How hard it is to know who is who; `faces`: nothing but the faces of other clips tells it.
DIFFICULTIES: dict[str, JsonDict] = {
    "default": {},
    "easy": {"cast": 3, "absent": 0.05, "bystanders": 0.1, "pose": 0.4, "noise": 0.4},
    "hard": {"cast": 6, "stay": 0.17, "told": 0.1, "absent": 0.3, "bystanders": 0.4, "pose": 0.9, "noise": 1.0},
    "faces": {"stay": 0.25, "told": 0.0, "absent": 0.0},
}


@dataclass(frozen=True)
class Scene:
    """One clip: who does what to whom, where, with what; who else is there; what a caption says."""

    agent: int
    patient: int | None
    verb: str
    thing: str | None
    place: str
    others: tuple[int, ...]
    caption: str  # people by their numbers in the cast: P1 is number 0


@dataclass(frozen=True)
class Film:
    name: str
    recipe: Recipe
    base: Floats  # [cast, C]
    man: tuple[bool, ...]
    job: tuple[str, ...]
    scenes: tuple[Scene, ...]

    def clip(self, k: int) -> str:
        return f"{self.name}-{k:04d}"


@cache
def vector_of(word: str, dim: int) -> Floats:
    """What a verb, a thing or a place looks like: the same in all films of all worlds."""
    return unit(np.random.default_rng(digest("world", word)).standard_normal(dim))


def make_film(name: str, recipe: Recipe) -> Film:
    """A cast and what it does."""
    rng = np.random.default_rng(digest(recipe.seed, name, "story"))
    base = unit(rng.standard_normal((recipe.cast, recipe.face_dim)))
    man = tuple(bool(x) for x in rng.random(recipe.cast) < 0.5)
    job = tuple(str(x) for x in rng.permutation(JOBS)[np.arange(recipe.cast) % len(JOBS)])
    scenes: list[Scene] = []
    place = str(rng.choice(PLACES))
    for _ in range(recipe.clips):
        before = scenes[-1].agent if scenes else int(rng.integers(recipe.cast))
        others = [p for p in range(recipe.cast) if p != before]
        agent = before if rng.random() < recipe.stay else int(rng.choice(others))
        place = place if rng.random() < 0.7 else str(rng.choice(PLACES))
        scenes.append(make_scene(rng, recipe, agent, place, man, job))
    return Film(name, recipe, base, man, job, tuple(scenes))


def make_scene(
    rng: np.random.Generator, recipe: Recipe, agent: int, place: str, man: tuple[bool, ...], job: tuple[str, ...]
) -> Scene:
    """One clip and its caption, by the grammar."""
    others = [p for p in range(recipe.cast) if p != agent]
    patient, thing = int(rng.choice(others)), str(rng.choice(THINGS))
    A, B = f"P{agent + 1}", f"P{patient + 1}"
    form = int(rng.integers(5))
    verb = str(rng.choice((ALONE, WITH_THING, WITH_PERSON, WITH_PERSON, WITH_THING)[form]))
    hint = rng.random() < recipe.told
    who = f"{A}, the {job[agent]}," if hint and rng.random() < 0.5 else A
    own = ("his" if man[agent] else "her") if hint and who == A else "the"
    then = str(rng.choice(ALONE))
    caption = (
        f"{who} {verb} in the {place}.",
        f"{who} {verb} {own} {thing} in the {place}.",
        f"{who} {verb} {B} in the {place}.",
        f"{who} {verb} {B}, and {B} {then}.",
        f"{who} {verb} {own} {thing} and gives it to {B}.",
    )[form]
    has_patient, has_thing = form in (2, 3, 4), form in (1, 4)
    named = {agent, *([patient] if has_patient else [])}
    around = tuple(p for p in range(recipe.cast) if p not in named and rng.random() < recipe.bystanders)
    return Scene(agent, patient if has_patient else None, verb, thing if has_thing else None, place, around, caption)


def features_of(film: Film, k: int) -> dict[str, Floats]:
    """The features of clip k: frame [n, C], action [m, C], face [j, C], box [j, 5] (x1, y1, x2, y2, video frame).

    who [j] says whose face each is; no model reads it.
    """
    r, scene = film.recipe, film.scenes[k]
    rng = np.random.default_rng(digest(r.seed, film.name, k))
    scene_features = vector_of(scene.place, r.frame_dim) + (vector_of(scene.thing, r.frame_dim) if scene.thing else 0)
    frame = scene_features + r.noise * rng.standard_normal((r.pictures, r.frame_dim)) / np.sqrt(r.frame_dim)
    action = vector_of(scene.verb, r.action_dim) + r.noise * rng.standard_normal((r.actions, r.action_dim)) / np.sqrt(
        r.action_dim
    )
    roles = [(scene.agent, 220.0, r.absent), *([(scene.patient, 130.0, r.absent)] if scene.patient is not None else [])]
    there = [
        (p, tall) for p, tall, absent in [*roles, *((p, 55.0, 0.0) for p in scene.others)] if rng.random() >= absent
    ]
    pose = {p: film.base[p] + r.pose * unit(rng.standard_normal(r.face_dim)) for p, _ in there}
    corner = {p: (rng.uniform(0, WIDTH - 200), rng.uniform(0, HEIGHT - 260)) for p, _ in there}
    faces: list[Floats] = []
    boxes: list[list[float]] = []
    who: list[int] = []
    for at in sorted(rng.choice(r.pictures * STRIDE, size=min(r.looks, r.pictures * STRIDE), replace=False)):
        for p, height in there:  # as detectors list them: picture by picture, the largest first
            tall, (left, top) = height * rng.uniform(0.85, 1.15), corner[p]
            faces.append(unit(pose[p] + r.jitter * rng.standard_normal(r.face_dim) / np.sqrt(r.face_dim)))
            who.append(p)
            boxes.append([left, top, left + 0.75 * tall, top + tall, float(at)])
    arrays = {
        "frame": frame,
        "action": action,
        "face": np.array(faces).reshape(-1, r.face_dim),
        "box": np.array(boxes).reshape(-1, 5),
        "who": np.array(who),
    }
    return {stream: np.asarray(x, dtype=np.float32) for stream, x in arrays.items()}


def sets_of(film: Film, stride: int) -> Iterator[tuple[str, SetText]]:
    """Captionsets of consecutive clips, ids by first appearance in each."""
    n = film.recipe.set_clips
    for k in range(0, len(film.scenes) - n + 1, stride):
        captions = tuple(renumber_ids([scene.caption for scene in film.scenes[k : k + n]]))
        yield film.clip(k), SetText(captions, clips=tuple(film.clip(i) for i in range(k, k + n)))


def list_people(film: Film) -> Iterator[str]:
    """Lines that say whom the ids of a captionset mean, for the sets that begin at any clip."""
    for name, one in sets_of(film, 1):
        first = next(k for k in range(len(film.scenes)) if film.clip(k) == name)
        captions = [scene.caption for scene in film.scenes[first : first + film.recipe.set_clips]]
        both = zip(ids(" ".join(one.captions or ())), ids(" ".join(captions)), strict=True)
        people = {renamed: int(own[1:]) - 1 for renamed, own in both}
        yield json.dumps({"id": name, "people": people}) + "\n"


def make_films(recipe: Recipe, split: str) -> list[Film]:
    return [make_film(f"sim-{split}-{i:03d}", recipe) for i in range(recipe.films(split))]


def write_world(folder: str | Path, recipe: Recipe | None = None, overwrite: bool = False) -> int:
    """The world's folder: a .jsonl per split and a store per stream. Returns the number of captionsets.

    No model reads who.safetensors, boxes with whose face each is, and who.jsonl, whom the ids of each set mean.
    """
    recipe, folder = recipe or Recipe(), Path(folder)
    if (folder / "train.jsonl").exists() and not overwrite:
        raise InputError("exists already", file=folder, hint="choose another name, or use --overwrite")
    folder.mkdir(parents=True, exist_ok=True)
    films = {split: make_films(recipe, split) for split in ("train", "val", "test")}
    every = [film for split_films in films.values() for film in split_films]
    features = {film.clip(k): features_of(film, k) for film in every for k in range(len(film.scenes))}
    metadata: dict[str, object] = {
        "simulated": True,
        "note": "made by fabula.learn.worlds.films; no video was seen",
        "recipe": asdict(recipe),
        "face_eps": recipe.face_eps,
    }
    for stream in STREAMS:
        items = ((clip, one[stream]) for clip, one in features.items() if len(one[stream]))  # no faces, no entry
        write_features(folder / f"{stream}.safetensors", items, {**metadata, "stream": stream}, overwrite)
    owned = ((clip, np.column_stack([one["box"], one["who"]])) for clip, one in features.items() if len(one["box"]))
    write_features(folder / f"{TRUTH}.safetensors", owned, {**metadata, "stream": "box"}, overwrite)
    write_text(folder / f"{TRUTH}.jsonl", (line for film in every for line in list_people(film)))
    count = 0
    for split, split_films in films.items():
        stride = recipe.stride if split == "train" else recipe.set_clips
        sets = dict(one for film in split_films for one in sets_of(film, stride))
        path = folder / f"{split}.jsonl"
        write_text(path, write_sets(sets, Source(open_document(path), Notes(), noun="captionset")))
        count += len(sets)
    return count
