"""Tracks, kinds, gates: from sightings that are written down here."""

from __future__ import annotations

import pytest

from fabula.data.transcripts import Sign
from fabula.media.signs.base import Box, Line, Look, Sighting, SignModel
from fabula.media.signs.gates import find_bar, refuse
from fabula.media.signs.join import find_signs
from fabula.media.signs.kinds import Placed, name_kinds
from fabula.media.signs.letters import is_known, lexicon, likely
from fabula.media.signs.tracks import Track, follow_texts
from fabula.media.signs.vote import fold_text, vote

STEP = 0.25
SHAPE = (640, 360)


def sighting(t: float, text: str, box: Box = (0.3, 0.4, 0.6, 0.5), sure: float = 0.95) -> Sighting:
    letters = text.replace(" ", "")
    line = Line(box, letters, (sure,) * len(letters), (0.0,) * len(letters), 0.9)
    return Sighting(line, t - STEP, t + STEP)


def looks(*rows: list[tuple[str, Box]]) -> list[Look]:
    return [Look(i * STEP, [sighting(i * STEP, text, box) for text, box in row]) for i, row in enumerate(rows)]


def moved(box: Box, x: float, y: float = 0.0) -> Box:
    return box[0] + x, box[1] + y, box[2] + x, box[3] + y


HERE: Box = (0.3, 0.4, 0.6, 0.5)


def test_one_text_is_one_track_though_it_is_misread_and_missed():
    rows = [[("STREET", HERE)], [("STREEI", HERE)], [], [("STRET", HERE)], [("STREET", HERE)]]
    (track,) = follow_texts(looks(*rows))
    assert len(track.sightings) == 4 and (track.start, track.end) == (-STEP, 5 * STEP)


def test_a_text_in_the_place_of_another_is_a_new_one():
    rows = looks(*[[("HELLO", HERE)]] * 3, *[[("GOODBYE", HERE)]] * 3)
    rows[3].sightings[0] = rows[3].sightings[0]._replace(since=rows[3].time - STEP / 2)  # it came between two looks
    assert [track.texts[0] for track in follow_texts(rows)] == ["hello", "goodbye"]


def test_a_place_that_stayed_as_it_was_is_one_text_however_it_is_read():
    rows = [[("TLC", HERE)], [("049", HERE)], [("TLC", HERE)], [("7L0", HERE)], [("TLC", HERE)]]
    (track,) = follow_texts(looks(*rows))
    assert vote([s.line for s in track.sightings]).text == "TLC"  # 049 is like nothing, and has no vote


def test_a_text_that_moves_is_one_track():
    rows = [[("CREDITS", moved(HERE, 0, -0.05 * i))] for i in range(8)]
    assert len(list(follow_texts(looks(*rows)))) == 1


def test_two_lines_that_are_alike_stay_two():
    below = moved(HERE, 0, 0.12)
    rows = [[("PLATFORM 1", HERE), ("PLATFORM 2", below)]] * 4
    tracks = list(follow_texts(looks(*rows)))
    assert len(tracks) == 2 and all(len(set(track.texts)) == 1 for track in tracks)


def test_a_text_that_comes_back_later_is_two():
    rows = [[("NEWS", HERE)]] * 3 + [[]] * 12 + [[("NEWS", HERE)]] * 3
    assert len(list(follow_texts(looks(*rows)))) == 2


def track_of(text: str, count: int = 4, box: Box = HERE, sure: float = 0.95) -> Track:
    track = Track()
    for i in range(count):
        track.add(i * STEP, sighting(i * STEP, text, box, sure), fold_text(text))
    return track


@pytest.mark.parametrize(
    ("text", "count", "box", "sure", "reason"),
    [
        ("STREET", 4, HERE, 0.95, None),
        ("STREET", 1, HERE, 0.99, "once"),
        ("S", 4, HERE, 0.99, "short"),
        ("品", 40, HERE, 0.98, "short"),
        ("OOOO", 4, HERE, 0.99, "short"),
        ("STREET", 4, (0.1, 0.1, 0.9, 0.8), 0.99, "large"),
        ("STREET", 4, (0.3, 0.4, 0.4, 0.415), 0.99, "small"),
        ("STREET", 4, HERE, 0.45, "unsure"),
        ("KCDX", 4, HERE, 0.7, "unsure"),
        ("KCDX", 4, HERE, 0.9, None),
        ("THE", 4, HERE, 0.6, "unsure"),
        ("THE", 4, HERE, 0.9, None),
        ("大家好", 4, HERE, 0.9, None),
        ("2026", 4, HERE, 0.9, None),
    ],
)
def test_gates(text, count, box, sure, reason):
    track = track_of(text, count, box, sure)
    assert refuse(track, vote([s.line for s in track.sightings]), 360, 100) == reason


def test_a_film_of_one_picture_asks_for_more():
    for sure, reason in ((0.95, None), (0.85, "unsure")):
        track = track_of("STREET", 1, sure=sure)
        assert refuse(track, vote([s.line for s in track.sightings]), 360, 1) == reason


def test_the_less_like_words_the_surer():
    bars = [find_bar(vote([sighting(0, text).line])) for text in ("STREET", "PIASKOWA", "KCDXQ")]
    assert bars == sorted(bars) and len(set(bars)) == 3


def test_letters():
    assert len(lexicon()) > 50_000 and is_known("Street") and is_known("TÉA") and not is_known("strxet")
    assert likely("street") > -4 > -5.5 > likely("kcdxq")
    assert likely("mistrzostwa") > -5.5 > likely("xzqjk")


def test_parts_of_a_text_are_joined_and_doubtful_doubles_left_out():
    far = moved(HERE, 0.2, 0.2)
    rows = [[("BAKER STREET", HERE)]] * 6 + [[("BAKER STREET", far), ("BAKER STR", moved(far, 0.01))]] * 3
    rows += [[("BAKER STREET", far)]] * 4
    signs, left_out = find_signs(looks(*rows), 5.0, SHAPE, len(rows), SignModel())
    assert [sign.text for sign in signs] == ["BAKERSTREET"] and left_out == {"again": 1}
    assert (signs[0].start, signs[0].end) == (-0.25, 3.25)


def sign(start: float, end: float, box: Box, text: str = "x") -> Sign:
    return Sign(start, end, text, 0.9, box=box)


LOW: Box = (0.3, 0.86, 0.7, 0.93)


def test_kinds():
    placed = [
        Placed(sign(0, 58, (0.85, 0.05, 0.95, 0.1), "TLC"), 0.0),
        Placed(sign(3, 5, LOW, "one"), 0.0),
        Placed(sign(5, 8, LOW, "two"), 0.0),
        Placed(sign(8, 40, LOW, "long"), 0.0),
        Placed(sign(10, 12, LOW, "moves"), 0.2),
        Placed(sign(10, 60, (0.0, 0.05, 0.1, 0.1), "walks"), 0.3),
        Placed(sign(10, 12, (0.3, 0.3, 0.6, 0.4), "wall"), 0.0),
    ]
    named = {s.text: s.kind for s in name_kinds(placed, 60.0)}
    assert named == {
        "TLC": "logo", "one": "subtitle", "two": "subtitle", "long": "sign", "moves": "sign", "walks": "sign",
        "wall": "sign",
    }  # fmt: skip


def test_lines_at_one_height_are_subtitles_though_not_quite_centred():
    box: Box = (0.4, 0.74, 0.85, 0.8)
    one = [Placed(sign(1, 2, box, "one"), 0.0)]
    assert name_kinds(one, 60.0)[0].kind == "sign"
    two = [*one, Placed(sign(3, 4, moved(box, -0.1), "two"), 0.0)]
    assert {s.kind for s in name_kinds(two, 60.0)} == {"subtitle"}
