"""24 SIMULATED films: fonts, sizes, contrasts, motion, fades, scripts. A test of the code, no evidence of quality."""

from __future__ import annotations

from pathlib import Path

import pytest

import fabula
from fabula.media.signs.vote import edits, fold_text
from tests.media.signs.conftest import Painted, paint_film

pytestmark = [pytest.mark.slow, pytest.mark.usefixtures("weights")]

HD, SMALL, WIDE = (720, 1280), (240, 320), (360, 640)
YELLOW, BLACK, DIM = (250, 220, 40), (5, 5, 5), (170, 170, 170)
CASES: dict[str, tuple[tuple[int, int], list[Painted]]] = {
    "bold": (WIDE, [Painted("BAKER STREET", 0.6, 1.8)]),
    "sans": (WIDE, [Painted("Platform seven", 0.6, 1.8, font="sans")]),
    "serif": (WIDE, [Painted("The Winter Garden", 0.6, 1.8, font="serif", height=24)]),
    "mono": (WIDE, [Painted("return to sender", 0.6, 1.8, font="mono", height=24)]),
    "italic": (WIDE, [Painted("Fresh bread daily", 0.6, 1.8, font="italic", height=26)]),
    "narrow": (WIDE, [Painted("NO PARKING HERE", 0.6, 1.8, font="narrow", height=26)]),
    "small letters": (WIDE, [Painted("mind the gap", 0.6, 1.8, font="sans", height=14)]),
    "tiny letters in HD": (HD, [Painted("mind the gap", 0.6, 1.8, font="sans", height=18)]),
    "large letters": (WIDE, [Painted("EXIT NOW", 0.6, 1.8, x=0.15, height=80)]),
    "a small film": (SMALL, [Painted("HOTEL ROMA", 0.6, 1.8, height=18)]),
    "yellow": (WIDE, [Painted("LOW BRIDGE", 0.6, 1.8, colour=YELLOW)]),
    "black": (WIDE, [Painted("Reading room", 0.6, 1.8, colour=BLACK, height=34)]),
    "low contrast": (WIDE, [Painted("SILENCE PLEASE", 0.6, 1.8, colour=DIM, height=30)]),
    "see-through": (WIDE, [Painted("CHANNEL FOUR", 0.6, 1.8, strength=0.5)]),
    "moves across": (WIDE, [Painted("TAXI STAND", 0.4, 2.0, x=0.2, speed=(0.2, 0.0))]),
    "scrolls up": (WIDE, [Painted("Director of music", 0.4, 2.0, y=0.8, speed=(0.0, -0.3), height=24)]),
    "fades": (WIDE, [Painted("THE LAST DAY", 0.4, 2.0, fade=0.4)]),
    "short": (WIDE, [Painted("WATCH OUT", 0.9, 1.3)]),
    "subtitles": (
        WIDE,
        [
            Painted("Where have you been?", 0.3, 1.1, x=0.3, y=0.88, height=22, font="sans"),
            Painted("I missed the train.", 1.1, 2.0, x=0.31, y=0.88, height=22, font="sans"),
        ],
    ),
    "logo and sign": (WIDE, [Painted("KINO", x=0.85, y=0.05, height=22), Painted("TICKETS", 0.6, 1.8)]),
    "numbers": (WIDE, [Painted("tel. 555-0172", 0.6, 1.8, font="sans")]),
    "Polish": (WIDE, [Painted("ŻÓŁTA ŁÓDŹ", 0.6, 1.8, height=34)]),
    "German": (WIDE, [Painted("Straßenbahn nach Süden", 0.6, 1.8, font="sans", x=0.2)]),
    "Chinese": (WIDE, [Painted("我从上海来到北京", 0.6, 1.8, font="cjk")]),
}


def likeness(a: str, b: str) -> float:
    short, long = sorted((fold_text(a), fold_text(b)), key=len)
    return 1 - edits(short, long, free=False) / max(1, len(long))


def test_simulated_films(tmp_path: Path) -> None:
    painted = found = exact = 0
    missed, false, off = [], [], []
    for k, (name, (size, texts)) in enumerate(CASES.items()):
        path = paint_film(tmp_path / f"{k}.mp4", texts, 2.4, size, seed=10 + k)
        (film,) = fabula.read_signs(path).films
        for text in texts:
            painted += 1
            best = max(film.signs, key=lambda sign, text=text: likeness(sign.text, text.text), default=None)
            if best is None or likeness(best.text, text.text) < 0.8:
                missed.append((name, text.text, [sign.text for sign in film.signs]))
                continue
            found += 1
            exact += best.text == text.text
            off += [(abs(best.start - text.start), name), (abs(best.end - min(text.end, 2.4)), name)]
        false += [(name, s.text) for s in film.signs if max(likeness(s.text, t.text) for t in texts) < 0.5]
    late = [one for one in off if one[0] > 0.25]
    print(f"{len(CASES)} films, {found} of {painted} texts, {exact} to the letter; false {false}; missed {missed}")
    print(f"{len(off) - len(late)} of {len(off)} times within .25 s: {late}")
    assert found >= 24 and exact >= 20 and not false and len(late) <= 6
