"""A small library of coloured films, made here, indexed by colour, and a server of it in a thread."""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from fabula.library.calibrate import FILE, Calibration, as_json
from fabula.library.embedders import embedder
from fabula.library.find import Searcher
from fabula.library.store import Store
from fabula.verbs.searching.index import index

RGB = {
    "red": (230, 20, 20),
    "green": (20, 200, 20),
    "blue": (20, 20, 230),
    "yellow": (250, 250, 20),
    "white": (250,) * 3,
}
EVIL = "<script>window.bad=1</script><img src=x onerror='window.bad=2'> & \"quoted\""
FPS = 10  # pictures a second


def make_film(path: Path, colours: list[str], each: float = 4.0, codec: str = "libx264") -> Path:
    """`each` seconds of every colour, in order."""
    import av

    path.parent.mkdir(parents=True, exist_ok=True)
    with av.open(str(path), "w") as out:
        stream = out.add_stream(codec, rate=FPS)
        stream.width, stream.height, stream.pix_fmt = 192, 108, "yuv420p"
        for i in range(round(FPS * each * len(colours))):
            picture = np.full((108, 192, 3), RGB[colours[int(i / FPS // each)]], np.uint8)
            picture[40:68, (7 * i) % 180 : (7 * i) % 180 + 12] = 0  # something moves
            out.mux(stream.encode(av.VideoFrame.from_ndarray(picture, "rgb24")))
        out.mux(stream.encode())
    return path


def make_films(root: Path) -> Path:
    make_film(root / "flag.mp4", ["red", "white", "blue"])
    make_film(root / "deep" / "lawn.mp4", ["green", "green", "yellow", "green"])
    make_film(root / f"evil {EVIL.replace('/', '⁄')}.mp4", ["blue", "yellow"])
    make_film(root / "old.avi", ["white", "red"], codec="mpeg4")
    return root


def make_store(folder: Path, root: Path) -> Path:
    """A store, with a calibration that is made up: a clip that is half of the colour has one chance in three."""
    index(root, store=str(folder), with_="colours", processes=1)
    recipe = as_json(Store.open(folder).recipe)
    Calibration("sigmoid", "score", weights=(20.0, -14.0), recipe=recipe).save(folder / FILE)
    return folder


def make_cast(name: str) -> Any:
    """Two people in flag.mp4: one of this name, twice; then another."""
    from fabula.media.people.cast import Cast, Faces, FilmedVideo

    time = np.array([0.0, 0.5, 1.0, 5.0, 5.5, 6.0, 6.5, 7.0, 7.5])
    none, n = np.zeros(len(time), np.int64), len(time)
    boxes, ones = np.zeros((n, 4), np.float32), np.ones(n, np.float32)
    faces = Faces(none, (time * 2).astype(np.int64), time, none, np.arange(n), boxes, ones, ones[:, None])
    seen = (FilmedVideo("flag", 12.0, 192, 108, np.zeros((0, 2))),)
    person = np.array([0, 0, 0, 0, 0, 1, 1, 1, 1])
    return Cast(seen, faces, person, {0: name}, {}, {"recipe": {"look": {"fps": 2}}})


@contextlib.contextmanager
def serving(reopen: Any, token: str | None = None, **where: Any) -> Iterator[str]:
    """A server in a thread: its address."""
    from fabula.library.page.server import make_app
    from fabula.web.binding import Binding, open_socket
    from fabula.web.connections import make_server

    binding = Binding(port=0, **where)
    bound = open_socket(binding)
    server = make_server(make_app(reopen, binding, token), log_level="error", timeout_graceful_shutdown=1)
    thread = threading.Thread(target=server.run, kwargs={"sockets": [bound]}, daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{bound.getsockname()[1]}"
    finally:
        while CLIENTS:
            CLIENTS.pop().close()
        server.should_exit = True
        thread.join(20)
        bound.close()


CLIENTS: list[Any] = []  # closed when the server ends


def open_client(address: str, **more: Any) -> Any:
    import httpx

    CLIENTS.append(httpx.Client(base_url=address, timeout=60, headers={"Origin": address}, **more))
    return CLIENTS[-1]


def open_searcher(folder: Path, cast: Any = None) -> Searcher:
    store = Store.open(folder)
    return Searcher(store, embedder("colours"), cast=cast)
