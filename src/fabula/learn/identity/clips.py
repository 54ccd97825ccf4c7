"""Videosets from files: captionsets (docs/identity.md) with a feature store per stream, as MICap trains on them.

    features/frame.safetensors     clip → [n, C]   pictures, 5 a second (CLIP)
    features/action.safetensors    clip → [m, C]   (I3D)
    features/face.safetensors      clip → [k, C]   (ArcFace); a clip without a face has no entry
    features/box.safetensors       clip → [k, 5]   x1, y1, x2, y2 in pixels, video frame; a sixth column says who it is
    features/text.safetensors      set → [blanks, C]   (BERT); without it, blanks are described by words around them
    features/gender.safetensors    set → [blanks, 1]   0 man, 1 woman, 2 several or unknown: FillIn's second task

Any of them may be an .h5 or a folder of .npy. Faces without a sixth column are clustered set by set: two faces are one
person's if a chain of faces leads from one to the other, each within `face_eps` cosine distance of the next (DBSCAN
with min_samples 1).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from functools import cache, cached_property
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from fabula.core.errors import InputError, SpecError
from fabula.core.notes import Notes, name_id
from fabula.documents.fields import JsonObject
from fabula.documents.files import check_path
from fabula.evaluate.captionsets import People
from fabula.io.identity.captionsets import SetText
from fabula.learn.identity.split_sets import read_sets_of as read_sets_of
from fabula.learn.identity.videosets import Batch, ClipFeatures, Floats, Videoset, collate, pool_people
from fabula.learn.identity.wordpiece import WHO, Pieces, mask_people, open_pieces
from fabula.media.sentences import EMBEDDERS
from fabula.media.stores.features import Features
from fabula.media.stores.kinds import H5

if TYPE_CHECKING:
    from fabula.learn.identity.film import Films
    from fabula.learn.models.fillin import Config as FillInConfig
    from fabula.learn.models.micap import Config

NAMES = ("frame", "action", "face", "box", "text", "gender")
OF_SETS = {"text", "gender"}  # a key per set; the others have one per clip
KEPT = 1 << 28  # bytes of clips in memory
BOX = 5  # columns, and maybe one more
EVERY = 1 << 30  # faces


class Streams:
    """The stores of a folder by stream, opened when they are first used."""

    def __init__(self, folder: str | Path) -> None:
        self.path = check_path(folder)
        if not self.path.is_dir():
            raise InputError(
                "no such folder of streams",
                file=folder,
                hint=f"a folder with a store per stream: {', '.join(NAMES)} (.safetensors, .h5, or folders of .npy)",
            )
        self.cache: dict[str, ClipFeatures] = {}
        self.size = 0  # bytes of what is kept
        self.files = {name: file for name in NAMES if (file := self.find(name)) is not None}
        if not self.files.keys() - OF_SETS:
            raise InputError("no stream in this folder", file=folder, hint=f"there should be {', '.join(NAMES[:4])}")
        if ("face" in self.files) != ("box" in self.files):
            raise InputError("faces and boxes go together, and there is one of the two", file=folder, hint="write both")

    def find(self, name: str) -> Path | None:
        for file in (self.path / f"{name}{end}" for end in (".safetensors", *H5, "")):
            if file.exists():
                return file
        return None

    @cached_property
    def stores(self) -> dict[str, Features]:
        return {name: Features(file) for name, file in self.files.items()}

    @property
    def simulated(self) -> bool:
        return any(store.metadata.get("simulated") for store in self.stores.values())

    @property
    def metadata(self) -> JsonObject:
        """Of all stores."""
        return {key: value for store in self.stores.values() for key, value in store.metadata.items()}

    def dim(self, name: str) -> int | None:
        return self.stores[name].dim if name in self.stores else None

    def lacks(self, clip: str) -> str | None:
        """The stream in which a clip is missing; a clip may be without faces, and nothing else."""
        return next((n for n in ("frame", "action") if n in self.stores and clip not in self.stores[n]), None)

    def read(self, clip: str, most: int) -> ClipFeatures:
        """Read one clip, with at most `most` faces. The last clips are cached, because sets overlap."""
        if clip in self.cache and len(self.cache[clip].face) <= most:
            return self.cache[clip]
        features = self.open(clip, most)
        if len(features.face) < most:  # whole
            self.cache[clip], self.size = features, self.size + size_of(features)
        while self.size > KEPT:
            self.size -= size_of(self.cache.pop(next(iter(self.cache))))
        return features

    def open(self, clip: str, most: int) -> ClipFeatures:
        arrays: dict[str, Floats] = {}
        for name in ("frame", "action"):
            arrays[name] = self.stores[name][clip] if name in self.stores else np.zeros((0, 1), np.float32)
        if "face" not in self.stores or clip not in self.stores["face"]:
            none, dim = np.zeros(0), self.dim("face") or 1
            empty = np.zeros((0, dim), np.float32)
            box = np.zeros((0, 4), np.float32)
            return ClipFeatures(clip, arrays["frame"], arrays["action"], empty, box, none, none.astype(np.int64))
        face, box = self.stores["face"][clip], self.stores["box"][clip]
        if len(face) != len(box) or box.shape[1] not in (BOX, BOX + 1):
            raise InputError(
                f"{len(face)} faces and boxes of shape {list(box.shape)}",
                file=self.files["box"],
                video=clip,
                noun="clip",
                hint="a row a face: x1, y1, x2, y2, video frame, and maybe who it is",
            )
        face, box = face[:most], box[:most]
        person = box[:, BOX].astype(np.int64) if box.shape[1] > BOX else np.full(len(face), -1, np.int64)
        at = box[:, 4].astype(np.float64)
        return ClipFeatures(clip, arrays["frame"], arrays["action"], face, box[:, :4], at, person)


def size_of(clip: ClipFeatures) -> int:
    return clip.frame.nbytes + clip.action.nbytes + clip.face.nbytes + clip.box.nbytes


def link_faces(faces: Floats, eps: float) -> NDArray[np.int64]:
    """Who is who, 0, 1, … by first appearance: chains of faces, each within `eps` cosine distance of the next."""
    n = len(faces)
    x = faces / np.maximum(np.linalg.norm(faces, axis=1, keepdims=True), 1e-12)
    near = 1 - x @ x.T <= eps
    who = np.full(n, -1, np.int64)
    for first in range(n):
        if who[first] >= 0:
            continue
        who[first], reach = who.max() + 1, [first]
        while reach:
            new = np.flatnonzero(near[reach].any(0) & (who < 0))
            who[new], reach = who[first], new.tolist()
    return who


class ClipSets:
    """Captionsets with their features: what the data sets of all models share.

    To be trained on (`use` is "train"), a set with more clips than the model takes is as many windows as it has room
    for, one clip after the other (LSMDC's shifted groupings). To be asked about ("fitb", "caption", "both"), a set is
    one unit however long it is; "caption" needs no captions, and for the others no id in them is looked at.
    """

    def __init__(
        self,
        sets: Mapping[str, SetText],
        streams: Streams,
        config: Config | FillInConfig,
        use: str = "train",
        people: People = "model",  # whom predictions name
        films: Films | None = None,  # of predictions on raw films
    ) -> None:
        self.streams, self.config, self.use, self.people, self.films = streams, config, use, people, films
        self.sets = {name: check_set(name, one, use != "caption") for name, one in sets.items()}
        spare = {name: len(one.clips or ()) - config.clips if use == "train" else 0 for name, one in self.sets.items()}
        self.windows = [(name, k) for name in self.sets for k in range(max(1, spare[name] + 1))]
        self.embed = None if "text" in streams.files else EMBEDDERS["hashing"]()
        self.relink: float | None = None  # cluster faces at this eps, whatever the data say of people
        self.masked: tuple[str | None, list[list[tuple[str, str]]]] = (None, [])
        self.described: dict[str, Floats] = {}
        self.notes = Notes()  # what is left out, and what there is nothing to learn from
        self.note_people()
        self.note_faces()

    def note_people(self) -> None:
        """Note captions that name no person: they have no blanks and do not train the identities."""
        if self.use == "caption":
            return
        empty = [name for name, one in self.sets.items() if not any(map(WHO.search, one.captions or ()))]
        if len(empty) == len(self.sets) and self.use == "train" and self.config.task == "fitb":
            raise InputError(
                f"none of {len(self.sets)} captionsets names a person: no blank to fill in",
                hint="people are written P1, P2, … or [PERSON1]; without any, train with --task caption",
            )
        nothing = "have no person to learn from" if self.use == "train" else "have no blank to fill in"
        for name in empty:
            self.notes.add("{n} captionsets name nobody and " + nothing, name_id(name))

    def note_faces(self) -> None:
        """Note windows with more faces than the model reads; it reads the first ones, as published."""
        most = self.config.faces
        store = self.streams.stores.get("face")
        if "face" not in self.config.stream_names or store is None or self.config.pool_faces:
            return
        count = cache(lambda clip: store.count(clip) if clip in store else 0)
        for name in self.sets:
            faces = [count(clip) for clip in self.clips(name)]
            N = self.config.clips
            there = max(sum(faces[k : k + N]) for k in range(max(1, len(faces) - N + 1)))
            if there > most:
                text = f"{{n}} captionsets have more than {most} faces in {N} clips, of which the first {most} are seen"
                self.notes.add(text, f"{name_id(name)} ({there:,})")

    def __len__(self) -> int:
        return len(self.windows)

    def clips(self, name: str) -> tuple[str, ...]:
        return self.sets[name].clips or ()

    def captions(self, name: str) -> tuple[str, ...]:
        return self.sets[name].captions or ()

    def look(self, clips: Sequence[str]) -> tuple[tuple[ClipFeatures, ...], bool]:
        """Features of clips, with clustered people if the data name none; and whether the data name them.

        With `pool_faces`, what the model sees of a person in a clip is one face, the mean.
        """
        pooled = self.config.pool_faces
        left, features = EVERY if pooled else self.config.faces, list[ClipFeatures]()
        for clip in clips:
            features.append(self.streams.read(clip, left))
            left -= len(features[-1].face)
        eps = self.config.face_eps if self.relink is None else self.relink
        numbered = self.relink is None and not any((one.person < 0).any() for one in features)
        if not numbered and self.config.face_clusters == "clip":
            features = [replace(one, person=link_faces(one.face, eps)) for one in features]
        elif not numbered:
            who = iter(link_faces(np.concatenate([one.face for one in features]), eps))
            features = [replace(one, person=np.array([next(who) for _ in one.person], np.int64)) for one in features]
        return tuple(pool_people(one) if pooled else one for one in features), numbered

    def mask(self, name: str, captions: Sequence[str]) -> list[list[tuple[str, str]]]:
        """What stands around the blanks of each clip; of a long set once, not for every window."""
        if self.masked[0] != name:
            self.masked = name, mask_people(captions)
        return self.masked[1]

    def rows_of_blanks(self, store: str, name: str, captions: Sequence[str], clips: Sequence[int]) -> Floats:
        """The rows of a store that has one for each blank of a set: those of some clips."""
        rows, counts = self.streams.stores[store][name], list(map(len, self.mask(name, captions)))
        if len(rows) != sum(counts):
            raise InputError(
                f"{len(rows)} rows for {sum(counts)} blanks",
                file=self.streams.files[store],
                video=name,
                noun="captionset",
                hint="a row a blank, in the order of the captions",
            )
        ends = np.cumsum([0, *counts])
        return np.concatenate([rows[ends[k] : ends[k + 1]] for k in clips])

    def describe(self, name: str, captions: Sequence[str], clips: Sequence[int]) -> Floats | None:
        """The text features of the blanks of some clips. [blanks, C]"""
        masked = self.mask(name, captions)
        count = sum(len(masked[k]) for k in clips)
        if not count:
            return None
        if self.embed is None:
            return self.rows_of_blanks("text", name, captions, clips)
        both = [text for k in clips for pair in masked[k] for text in pair]
        new = [text for text in dict.fromkeys(both) if text not in self.described]
        for text, row in zip(new, self.embed(new), strict=True) if new else ():
            self.described[text] = row / max(float(np.linalg.norm(row)), 1e-12)
        return np.array([self.described[text] for text in both], np.float32).reshape(count, -1)


class Videosets(ClipSets):
    """Captionsets with their features as tokens, MICap's data set: len, [i], collate."""

    config: Config

    @cached_property
    def pieces(self) -> Pieces:
        return open_pieces(self.config)

    def __getitem__(self, i: int) -> Videoset:
        name, first = self.windows[i]
        return self.window(name, range(first, min(first + self.config.clips, len(self.clips(name)))))

    def window(self, name: str, clips: Sequence[int]) -> Videoset:
        """Some clips of a set, in this order."""
        one = self.sets[name]
        assert one.clips is not None
        features, numbered = self.look([one.clips[k] for k in clips])
        if one.captions is None or self.use == "caption":
            return Videoset(name, features, numbered=numbered)
        captions = [one.captions[k] for k in clips]
        tokens = self.pieces.encode(captions, name, blank=self.use != "train")
        text = self.describe(name, one.captions, clips) if "text" in self.config.stream_names else None
        return Videoset(name, features, tokens, text, numbered)

    def collate(self, examples: Sequence[Videoset]) -> Batch:
        return collate(examples, self.config)


class FilmSets(dict[str, SetText]):
    """Captionsets of raw films, with the films' clips, people and features."""

    def __init__(
        self,
        sets: Mapping[str, SetText],
        films: Films,
        faces: Mapping[str, Mapping[int, Mapping[int, float]]],  # by film: number of a P → person → attention
    ) -> None:
        super().__init__(sets)
        self.films, self.faces, self.recipes = films, faces, films.recipes


def check_set(name: str, one: SetText, captions: bool) -> SetText:
    """Clips are named, and there is a caption for each."""
    if not one.clips:
        raise InputError(
            "no clips are named", video=name, noun="captionset", hint='name its clips: "clips": ["film-0012", …]'
        )
    if captions and (one.captions is None or len(one.captions) != len(one.clips)):
        raise InputError(
            f"{len(one.captions or ())} captions for {len(one.clips)} clips",
            video=name,
            noun="captionset",
            hint="a caption a clip",
        )
    return one


def only_complete(sets: Mapping[str, SetText], streams: Streams, skip: bool, notes: Notes) -> dict[str, SetText]:
    """The sets whose clips all have features; others are an error, or with `skip` left out and counted."""
    complete: dict[str, SetText] = {}
    for name, one in sets.items():
        missing = next(((c, s) for c in one.clips or () if (s := streams.lacks(c)) is not None), None)
        if missing is None:
            complete[name] = one
        elif not skip:
            raise InputError(
                "no features of this clip",
                file=streams.files[missing[1]],
                video=missing[0],
                noun="clip",
                hint="extract its features, or use --skip-missing",
            )
        else:
            notes.add(
                "{n} captionsets have clips without features and are left out, as --skip-missing says", name_id(name)
            )
    if not complete:
        raise SpecError(f"none of the {len(sets)} captionsets has features in {streams.path}")
    return complete


def texts_of(sets: Mapping[str, SetText]) -> Iterator[str]:
    return (caption for one in sets.values() for caption in one.captions or ())
