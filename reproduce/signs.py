"""Signs of films against what a person has read in their pictures: found, missed, false, misread; times.

    python reproduce/signs.py TRUTH.json FILMS/ [--out signs.jsonl] [--names a,b] [--fps 4]

The truth is a file of the user's: {"signs": [{"film", "start", "end", "text", "sure": "sure" | "partly", "turned": bool,
"also": [other right readings]}], "films_without_text": [film, …]}. A film is named without its ending.

    found     a sure sign of the truth, upright, with a text of ours at the same time whose letters are like it by .7
    false     a line of ours that is like no sign of the truth at that time, sure or partly, by .5
    words     of lines that are not false: right letter by letter (without case and marks), misread, or invented, where
              no word of the truth at that time is like it by .5
    times     |start| and |end| of found signs against the truth
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path

import fabula
from fabula.data.transcripts import Sign, SignList
from fabula.io.subtitles import read_signs, signs_to_dict
from fabula.media.signs.vote import edits, fold_text

FOUND, LIKE = 0.7, 0.5
SLACK = 0.6  # seconds by which times may differ for two texts to be compared


def alike(a: str, b: str) -> float:
    """1 − edits / letters of the longer text."""
    short, long = sorted((fold_text(a), fold_text(b)), key=len)
    return 1 - edits(short, long, free=False) / len(long) if long else 0.0


def readings(sign: dict) -> list[str]:
    return [sign["text"], *sign.get("also", [])]


def at_one_time(ours: Sign, sign: dict) -> bool:
    return ours.start < sign["end"] + SLACK and sign["start"] - SLACK < ours.end


def best(ours: Sign, sign: dict) -> float:
    return max(alike(ours.text, text) for text in readings(sign)) if at_one_time(ours, sign) else 0.0


def count_words(ours: Sign, signs: list[dict]) -> tuple[int, list[str], list[str]]:
    """Words that are right, misread, invented."""
    known = [word for sign in signs if at_one_time(ours, sign) for text in readings(sign) for word in text.split()]
    whole = [text for sign in signs if at_one_time(ours, sign) for text in readings(sign)]
    right, misread, invented = 0, [], []
    for word in filter(fold_text, ours.text.split()):
        like = max((alike(word, other) for other in [*known, *whole]), default=0.0)
        inside = any(fold_text(word) in fold_text(text) for text in whole)
        if like == 1 or inside:
            right += 1
        elif like >= LIKE:
            misread.append(word)
        else:
            invented.append(word)
    return right, misread, invented


def measure(film: SignList, signs: list[dict]) -> dict:
    """The counts of one film."""
    sure = [s for s in signs if s["sure"] == "sure" and not s.get("turned")]
    found, missed, starts, ends, exact = 0, [], [], [], 0
    for sign in sure:
        match = max(film.signs, key=lambda ours: (best(ours, sign), -abs(ours.start - sign["start"])), default=None)
        if match is None or best(match, sign) < FOUND:
            missed.append(sign["text"])
            continue
        found += 1
        exact += any(fold_text(match.text) == fold_text(text) for text in readings(sign))
        starts.append(abs(match.start - sign["start"]))
        ends.append(abs(match.end - sign["end"]))
    false = [s.text for s in film.signs if max((best(s, sign) for sign in signs), default=0.0) < LIKE]
    right, misread, invented = 0, [], []
    for ours in film.signs:
        if ours.text in false:
            invented += ours.text.split()
            continue
        counts = count_words(ours, signs)
        right, misread, invented = right + counts[0], misread + counts[1], invented + counts[2]
    return {
        "film": film.video, "sure": len(sure), "found": found, "exact": exact, "missed": missed, "false": false,
        "right": right, "misread": misread, "invented": invented, "starts": starts, "ends": ends,
    }  # fmt: skip


def show(rows: list[dict], title: str) -> None:
    print(f"{title}: {sum(r['found'] for r in rows)} of {sum(r['sure'] for r in rows)} sure signs found, "
          f"{sum(r['exact'] for r in rows)} letter by letter; {sum(len(r['false']) for r in rows)} false lines, "
          f"at most {max(len(r['false']) for r in rows)} a film")  # fmt: skip
    words = sum(r["right"] for r in rows), sum(len(r["misread"]) for r in rows), sum(len(r["invented"]) for r in rows)
    print(f"  words: {words[0]} right, {words[1]} misread, {words[2]} invented")
    for name in ("starts", "ends"):
        off = sorted(x for r in rows for x in r[name])
        if off:
            within = sum(x <= 0.5 for x in off)
            print(f"  {name}: median {off[len(off) // 2]:.2f} s off, {within} of {len(off)} within .5 s")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("truth", type=Path)
    parser.add_argument("films", type=Path, help="a folder of films, or a file of signs that was written before")
    parser.add_argument("--out", type=Path)
    parser.add_argument("--names", help="films of one part, with commas; the others are the other part")
    parser.add_argument("--fps", type=float, default=4.0)
    args = parser.parse_args()
    truth = json.loads(args.truth.read_text())
    if args.films.is_dir():
        films = list(fabula.read_signs(args.films, fps=args.fps, processes=1).films)
    else:
        films = read_signs(args.films)[0]
    if args.out:
        args.out.write_text("".join(json.dumps(signs_to_dict(film), ensure_ascii=False) + "\n" for film in films))
    rows = [measure(film, [s for s in truth["signs"] if s["film"] == film.video]) for film in films]
    for row in rows:
        print(f"{row['film']}: {row['found']}/{row['sure']} found ({row['exact']} exact); missed {row['missed']}; "
              f"false {row['false']}; misread {row['misread']}; invented {row['invented']}")  # fmt: skip
    if args.names:
        named = set(args.names.split(","))
        show([r for r in rows if r["film"] in named], "named films")
        show([r for r in rows if r["film"] not in named], "other films")
    show(rows, "all films")


if __name__ == "__main__":
    main()
