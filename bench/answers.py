"""How fast answers in words are read: our own reader of windows on plain answers and an odd mix, beside the others.

python bench/answers.py [--seconds S]      answers per second of processor time, one process; simulated answers
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable, Sequence

from fabula.io.answers.readers import READERS

TIMES = ("10.5", "12.0", "3", "47.25", "8", "61.5", "0.0", "119")
PLAIN = (
    "The event happens in {a} - {b} seconds.",
    "From {a} to {b} seconds.",
    "{a} - {b}",
    "It starts at {a} seconds and ends at {b} seconds.",
    "The given query happens in {a} to {b}.",
)
ODD = (
    *PLAIN,
    "from {a}s to {b}s",
    "{a} seconds - {b} seconds",
    "between {a} and {b}",
    "between {a} and {b} seconds",
    "starts at {a} and ends at {b}",
    "The start time is {a} seconds and the end time is {b} seconds.",
    "Start: {a}\nEnd: {b}",
    "start time: {a}, end time: {b}",
    "[{a}, {b}]",
    "({a}, {b})",
    "[[{a}, {b}]]",
    "[{a}, {b}] and [20, 22]",
    '{{"start": {a}, "end": {b}}}',
    '{{"start_time": "00:10", "end_time": "00:12"}}',
    '```json\n[{{"start": {a}, "end": {b}}}]\n```',
    "00:10 - 00:12",
    "0:00:10 to 0:00:12",
    "1:05.5 to 1:10.25",
    "1:02:03 - 1:02:10",
    "The event occurs at 00:10.",
    "{b} - {a}",
    "{a} - {b}, 20 - 22 seconds",
    "{a} to {b} and 20 to 22",
    "<think>maybe 1.00 to 2.00</think><answer>{a} to {b}</answer>",
    "<think>1.00 to 2.00, or so; the man opens the door and then leaves</think>{a} - {b}",
    "<answer>{a} - {b}</answer>",
    "<time>{a} - {b}</time>",
    "<time>{a} - {b} seconds</time>",
    "person 1 starts at {a} and ends at {b}",
    "2-3 people walk; happens in {a} - {b} seconds",
    "10,5 - 12,0",
    "{a} – {b}",
    "{a} — {b} s",
    "{a} ~ {b}",
    "{a}s–{b}s",
    "about {a} to about {b} seconds",
    "from second {a} to second {b}",
    "from 1 minute 5 seconds to 1 minute 20 seconds",
    "from 1 to 2 minutes",
    "1m5s - 1m20s",
    "frames 10 to 20",
    "10% - 20%",
    "I am sorry, I cannot see this event in the video.",
    "",
    "The video shows a man who opens a door. He walks in at {a} seconds, sits down, and leaves at {b} seconds.",
    "**{a} - {b} seconds**",
    "Answer: {a}-{b}",
    "{a}-{b}s",
    "the interval is {a} until {b}",
)


def fill(forms: Sequence[str]) -> list[str]:
    """Every form with eight pairs of times."""
    return [form.format(a=a, b=b) for form in forms for a, b in zip(TIMES, TIMES[1:] + TIMES[:1], strict=True)]


def rate(read: Callable[[str], object], texts: Sequence[str], seconds: float) -> float:
    """Answers per second, the best of five rounds of processor time."""
    best = 0.0
    for _ in range(5):
        count, start = 0, time.process_time()
        while (spent := time.process_time() - start) < seconds / 5:
            for text in texts:
                read(text)
            count += len(texts)
        best = max(best, count / spent)
    return best


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=float, default=2.0, help="for each line")
    seconds = parser.parse_args().seconds
    plain, odd = fill(PLAIN), fill(ODD)
    print(f"{'reader':16}{'plain':>12}{'odd mix':>12}   answers/s of processor time, {len(ODD)} odd forms, simulated")
    for reader in READERS.all():
        print(f"{reader.name:16}{rate(reader.read, plain, seconds):12,.0f}{rate(reader.read, odd, seconds):12,.0f}")


if __name__ == "__main__":
    main()
