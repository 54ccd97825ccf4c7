"""Sound: samples stand where the film's clock has them; gaps are silence; what is damaged is refused in one line."""

from __future__ import annotations

import numpy as np
import pytest

from fabula.core.errors import InputError, SpecError
from fabula.media.speech.sound import RATE, NoSoundError, Sound
from tests.media.speech.conftest import tone


def hear(sound: Sound) -> np.ndarray:
    blocks = list(sound)
    assert all(len(block) == RATE for block in blocks[:-1]), "blocks of a second, the last may be shorter"
    return np.concatenate(blocks)


def begin_of(samples: np.ndarray) -> float:
    """When the sound begins, in seconds."""
    return int(np.flatnonzero(np.abs(samples) > 0.05)[0]) / RATE


@pytest.mark.parametrize("rate", [8_000, 16_000, 44_100, 48_000])
def test_samples_are_those_of_the_film_at_any_rate(film, rate):
    path = film("a.mkv", [(0, tone(2.5, rate))], rate=rate)
    sound = Sound(path)
    found = hear(sound)
    assert sound.duration == pytest.approx(2.5, abs=0.001) and abs(len(found) - 2.5 * RATE) < 40
    middle = slice(RATE // 2, 2 * RATE)
    assert np.abs(found[middle] - tone(2.5)[: len(found)][middle]).max() < 0.02, "in phase: no sample has moved"


def test_a_track_that_begins_late_and_one_with_a_gap(film):
    late = hear(Sound(film("late.mkv", [(RATE, tone(1.0))], pictures=2.0)))
    assert begin_of(late) == pytest.approx(1.0, abs=0.002) and not late[: RATE - 50].any()
    gap = hear(Sound(film("gap.mkv", [(0, tone(2.0))], gaps=[(RATE, RATE // 2)])))
    assert abs(len(gap) - 2.5 * RATE) < 40
    assert not gap[RATE + 50 : RATE + RATE // 2 - 50].any() and np.abs(gap[RATE + RATE // 2 + 50 :]).max() > 0.4


def test_the_clock_is_that_of_the_pictures(film):
    """A film whose first stream does not begin at 0: what a player calls 0:00 is 0 here."""
    path = film("shifted.mkv", [(5 * RATE, tone(1.0))])
    assert begin_of(hear(Sound(path))) == pytest.approx(0.0, abs=0.002)


def test_one_of_eight_tracks(film):
    tracks = [(0, tone(0.5, height=200.0 * (i + 1))) for i in range(8)]
    path = film("eight.mkv", tracks, languages=["eng", "deu", *["und"] * 6])
    sound = Sound(path)
    hear(sound)
    assert len(sound.tracks) == 8 and sound.chosen == 1 and sound.tracks[1] == "2 (deu, pcm_s16le)"
    third = hear(Sound(path, 3))
    spectrum = np.abs(np.fft.rfft(third))
    assert spectrum.argmax() * RATE / len(third) == pytest.approx(600, abs=3)
    with pytest.raises(SpecError, match=r"--track 9; eight\.mkv has 1 \(eng, pcm_s16le\), 2 \(deu"):
        hear(Sound(path, 9))


def test_what_cannot_be_heard_costs_one_line(film, tmp_path):
    with pytest.raises(NoSoundError, match=r"mute\.mkv: has no sound \(streams: video\)"):
        hear(Sound(film("mute.mkv", pictures=1.0)))
    path = film("a.mkv", [(0, tone(4.0))], codec="flac")
    whole = path.read_bytes()
    broken = tmp_path / "broken.mkv"
    broken.write_bytes(whole[: len(whole) // 2] + bytes(200) + whole[len(whole) // 2 + 200 :])
    with pytest.raises(InputError, match=r"broken\.mkv: its sound (cannot be decoded|breaks off) at \d"):
        hear(Sound(broken))
    text = tmp_path / "text.mp4"
    text.write_text("no film")
    with pytest.raises(InputError, match=r"text\.mp4: cannot be read as a video"):
        hear(Sound(text))
    for name, codec in (("b.flac", "flac"), ("b.mkv", "pcm_s16le"), ("b.mp4", "aac")):
        whole = film(name, [(0, tone(20.0))], codec=codec).read_bytes()
        cut = tmp_path / f"cut.{name[2:]}"
        cut.write_bytes(whole[: len(whole) // 2])
        with pytest.raises(InputError, match=r"cut\.\w+: (its sound|cannot be read)") as raised:
            hear(Sound(cut))
        assert "\n" not in str(raised.value)
