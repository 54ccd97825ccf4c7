"""What calls to a store's server share (server.py): the store as it is now, its searcher, who may ask, answers."""

from __future__ import annotations

import asyncio
import hashlib
import math
import os
import threading
import time
from collections.abc import Callable
from pathlib import Path, PurePosixPath

from fastapi import HTTPException, Request

from fabula.documents.fields import JsonDict
from fabula.library.calibrate import FILE as CALIBRATION
from fabula.library.find import Moment, Searcher
from fabula.library.page.catalogue import Catalogue, people_of, seen_in
from fabula.library.page.cut import can_cut
from fabula.library.page.previews import Previews
from fabula.library.query import parse
from fabula.library.store import Store, read_manifest
from fabula.web.binding import Binding
from fabula.web.media import find_fault
from fabula.web.pages import TokenDesk
from fabula.web.tokens import hash_token, looks_right

FIRST = 12  # videos that are listed before anything is asked
GUESSES = 10  # that are shown behind "nothing found"
AT_ONCE = 4  # searches under way
CUTTING = 1  # exports of clips under way, and clips that are made to be played
LOOKED = 1.0  # seconds between two looks at whether the store has changed
NO_CUT = "cutting needs PyAV: pip install av where the server runs"
JPEG = b"\xff\xd8\xff"


class Desk(TokenDesk):
    """What the calls share: the store as of now, the searcher, who may ask."""

    def __init__(self, reopen: Callable[[], Searcher], binding: Binding, token: str | None = None) -> None:
        super().__init__(binding, "fabula-search")
        self.reopen = reopen
        self.searcher = reopen()
        self.calibrated = stamp(self.searcher.store)
        self.token = None if token is None else hash_token(token)
        self.catalogue, self.looked = Catalogue(self.searcher.store), time.monotonic()
        self.lock, self.previews = threading.Lock(), Previews()
        self.people = people_of(self.searcher.cast)
        for row in self.catalogue.search("", FIRST):  # what the page shows first is at hand
            if row["clip"] is not None:
                self.catalogue.thumb(row["clip"])
        self.searching, self.cutting, self.previewing = map(asyncio.Semaphore, (AT_ONCE, CUTTING, CUTTING))
        self.waiting = 0

    def enter(self, request: Request, token: str) -> None:
        """Let in who has the token; wrong ones are few before they cost time."""
        if self.token is None or (looks_right(token) and hash_token(token) == self.token):
            return
        raise self.refuse_token(request, "open the link that fabula serve prints; it contains the token")

    def refresh(self) -> Catalogue:
        """The store as it is now."""
        with self.lock:
            if time.monotonic() - self.looked >= LOOKED:
                store = self.searcher.store
                moved = store.folder is not None and read_manifest(store.where) != store.manifest
                calibrated = stamp(store)
                if moved or calibrated != self.calibrated:
                    self.searcher = self.reopen()  # videos elsewhere, other vectors, or another calibration
                    self.calibrated, self.people = calibrated, people_of(self.searcher.cast)
                if self.searcher.store.version != self.catalogue.version:
                    self.catalogue = Catalogue(self.searcher.store)
                self.looked = time.monotonic()
            return self.catalogue

    def plain(self, text: str) -> str:
        """What is said of a file, without the way to it: others need not know the server's folders."""
        store = self.searcher.store
        return text.replace(f"{store.root.resolve()}{os.sep}", "").replace(store.where, name_of(store.where))

    # calls

    def store(self) -> JsonDict:
        now, embedder = self.refresh(), self.searcher.embedder
        return {
            "name": name_of(now.store.where),
            "id": hashlib.sha256(place_of(now.store).encode()).hexdigest()[:16],
            "version": now.version,
            "clips": now.clips,
            "videos": len(now.videos),
            "problems": now.problems,
            "seconds": now.seconds,
            "people": self.people,
            "embedder": {"name": embedder.name, "weak": embedder.weak},
            "calibrated": self.searcher.calibration is not None,
            "cuts": can_cut(),
        }

    def videos(self, words: str, limit: int) -> JsonDict:
        now = self.refresh()
        return {"videos": now.search(words, limit), "of": len(now.videos)}

    def video(self, key: str) -> JsonDict:
        now = self.refresh()
        if (video := now.find(key)) is None:
            raise HTTPException(404, "no such video")
        gone = now.path(video) is None
        people = seen_in(self.searcher.cast, video.video)
        return {**now.describe(video), "gone": gone, "strip": now.strip(video), "people": people}

    def search(self, text: str, limit: int, where: JsonDict) -> JsonDict:
        now, begun = self.refresh(), time.perf_counter()
        query = parse(text, pictures=False)
        found = self.searcher.find(query, limit, **where)
        guesses: tuple[Moment, ...] = ()
        if found.nothing and where["min_probability"] is not None:
            guesses = self.searcher.find(query, GUESSES, **{**where, "min_probability": None}).moments
        now = self.refresh()
        moments = [m for m in (*found.moments, *guesses) if m.video in now.by_name]
        document = found.document()
        document["moments"] = [tell(m) for m in found.moments if m.video in now.by_name]
        document["guesses"] = [tell(m) for m in guesses if m.video in now.by_name]
        names = dict.fromkeys(m.video for m in moments)
        document["videos"] = {v: now.describe(now.by_name[v]) for v in names}
        document |= {"version": now.version, "clips": now.clips, "seconds": time.perf_counter() - begun}
        return document

    def film(self, key: str) -> Path:
        now = self.refresh()
        video = now.find(key)
        path = None if video is None else now.path(video)
        if path is None:
            raise HTTPException(404, "the video is not there, or is another since it was indexed")
        return path

    def playable(self, key: str) -> Path:
        """A film that is sent as it is."""
        path = self.film(key)
        if find_fault(path, self.searcher.store.root):
            raise HTTPException(404, "no video that browsers play")
        return path

    def preview(self, key: str, start: float, end: float) -> Path:
        path = self.film(key)
        if not can_cut():
            raise HTTPException(501, NO_CUT)
        return self.previews.get(path, start, end)

    def thumb(self, clip: int) -> bytes:
        raw = self.refresh().thumb(clip)
        if raw is None or not raw.startswith(JPEG):
            raise HTTPException(404, "no such picture")
        return bytes(raw)


def stamp(store: Store) -> int | None:
    """When a store was calibrated."""
    try:
        return None if store.folder is None else (store.folder / CALIBRATION).stat().st_mtime_ns
    except OSError:
        return None


def tell(moment: Moment) -> JsonDict:
    shares = {"score": moment.score if math.isfinite(moment.score) else 0.0, "probability": moment.probability}
    return {"video": moment.video, "start": moment.start, "end": moment.end, "clips": list(moment.clips)[:8], **shares}


def place_of(store: Store) -> str:
    """The same, however the store was named."""
    return store.where if store.folder is None else str(store.folder.resolve())


def name_of(where: str) -> str:
    """A store's own name, without the way to it."""
    return PurePosixPath(where.replace("\\", "/").rstrip("/")).name.strip(".") or "store"
