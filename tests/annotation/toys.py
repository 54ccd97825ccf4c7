"""Moments without videos, and somebody who shows them."""

import json

from fabula.annotation.moments import Moment

WORDS = ("a man opens a door", "a woman sits down", "a dog runs away", "two boys play ball", "a person leaves the room")


def make_moments(n):
    return [Moment(i, f"v{i % 7}", float(i), i + 5.5, f"{WORDS[i % 5]} {i // 5}.", 99.0) for i in range(n)]


def write_moments(path, n):
    lines = [
        {"desc_id": m.id, "video": m.video, "time": [m.start, m.end], "cog_desc": m.caption, "duration": m.duration}
        for m in make_moments(n)
    ]
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))
    return path


class FakeSampler:
    """Shows bytes that depend on video and time alone."""

    def __init__(self, salt=""):
        self.salt, self.looks = salt, 0

    def sample(self, moment, keys, even):
        self.looks += 1

        def frames(n, name):
            times = [moment.start + (i + 0.5) * (moment.end - moment.start) / n for i in range(n)]
            return [(t, f"{name} {moment.video} {t} {self.salt}".encode()) for t in times]

        return {
            "keys": frames(min(keys, 1 + len(moment.video + moment.caption) % 3), "key"),
            "even": frames(even, "even"),
        }
