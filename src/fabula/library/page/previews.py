"""Stretches of films that no browser plays, made into ones that they do (cut.py) and kept for a while."""

from __future__ import annotations

import tempfile
import threading
from collections import OrderedDict
from pathlib import Path

from fabula.library.page.cut import cut

MOST_FILES = 24  # files; the one that was asked for longest ago goes
LONGEST = 60.0  # seconds of a preview


class Previews:
    """Files in a folder of their own, gone when the server ends."""

    def __init__(self) -> None:
        self.folder = tempfile.TemporaryDirectory(prefix="fabula-previews-")
        self.files: OrderedDict[tuple[str, int, float, float], Path] = OrderedDict()
        self.lock, self.count = threading.Lock(), 0

    def get(self, path: Path, start: float, end: float) -> Path:
        """The .mp4 of a stretch, its beginning where it is long; one is made at a time."""
        end = min(end, start + LONGEST)
        what = (str(path), path.stat().st_mtime_ns, round(start, 2), round(end, 2))
        with self.lock:
            if what not in self.files:
                self.count += 1
                out = Path(self.folder.name) / f"{self.count}.mp4"
                try:
                    cut(path, start, end, out)
                except BaseException:
                    out.unlink(missing_ok=True)
                    raise
                self.files[what] = out
                while len(self.files) > MOST_FILES:
                    self.files.popitem(last=False)[1].unlink(missing_ok=True)
            self.files.move_to_end(what)
            return self.files[what]
