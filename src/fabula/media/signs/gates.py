"""What is believed: a text that several looks agree on, large enough, and the surer the less it is like words.

    once      read in one look only, though there were more while it stood there
    short     fewer than two letters or digits: a detector sees one letter in any texture
    large     higher than 0.4 of the picture: frames on a wall are read as 品
    small     lower than 7 pixels of the film
    unsure    the voted letters are less sure than what is asked of such a text; or the readings disagree

Each is counted; docs/read-signs.md says on which films the numbers were chosen.
"""

from __future__ import annotations

from collections.abc import Sequence
from statistics import mean, median

from fabula.media.signs.base import Box, set_spaces
from fabula.media.signs.letters import is_known, is_latin, likely
from fabula.media.signs.tracks import Track
from fabula.media.signs.vote import SPACED, Voted, fold_text, likeness

LOWEST, HIGHEST = 7.0, 0.4  # pixels of the film; share of the picture
WORDS, PLAUSIBLE, UNLIKELY = 0.5, 0.62, 0.75  # asked of texts whose letters are those of words · could be · are not
OTHER = 0.65  # asked of other scripts and of numbers
SHORT, MORE_FOR_SHORT = 4, 0.15  # letters; asked on top of a text that has fewer
LIKELY = -5.5  # letters.likely, from which letters could be a word
AGREED = 0.6  # mean likeness of the readings to the voted text
ALONE = 0.9  # asked of a text in a film of a single picture
HINTED = 0.02  # what readings leave for a space on average, from which two words may be split
WORD = 0.45  # of a word within a text; a less sure one is left out


def refuse(track: Track, voted: Voted, height: int, looks: int) -> str | None:
    """Why a track is no sign; None where it is one. `height`: pixels of the film; `looks`: of the whole film."""
    text = fold_text(voted.letters)
    tall = [s.line.box[3] - s.line.box[1] for s in track.sightings]
    if len(text) < 2 or (len(set(text)) < 2 and not text.isdigit()):
        return "short"
    if median(tall) > HIGHEST:
        return "large"
    if median(tall) * height < LOWEST:
        return "small"
    if len(track.sightings) < 2 and looks > 1:
        return "once"
    if mean(likeness(text, other) for other in track.texts) < AGREED:
        return "unsure"
    bar = find_bar(voted) if looks > 1 else max(ALONE, find_bar(voted))
    return None if voted.confidence >= bar else "unsure"


def find_bar(voted: Voted) -> float:
    """How sure the letters of such a text must be."""
    words = [word for word in voted.text.split() if any(c.isalpha() for c in word)]
    latin = [word for word in words if is_latin(word)]
    letters = sum(len(word) for word in latin)
    text = fold_text(voted.letters)
    if letters < 0.5 * len(text):
        bar = OTHER
    else:
        known = sum(len(word) for word in latin if is_known(word))
        could = sum(len(word) for word in latin if is_known(word) or likely(word) >= LIKELY)
        bar = WORDS if known >= 0.7 * letters else PLAUSIBLE if could >= 0.6 * letters else UNLIKELY
    has_ideographs = any(c > "\u2e80" for c in text)
    return bar + (MORE_FOR_SHORT if len(text) < SHORT and not has_ideographs else 0.0)


def keep_sure_words(voted: Voted) -> Voted:
    """The text without those words at which the readings were at a loss."""
    spans, begin = [], 0
    for k in range(1, len(voted.letters) + 1):
        if k == len(voted.letters) or voted.space[k] >= SPACED:
            spans.append(range(begin, k))
            begin = k
    sure = [span for span in spans if mean(voted.sure[k] for k in span) >= WORD]
    at = [k for span in sure for k in span]
    space = [1.0 if k == span.start and i else voted.space[k] for i, span in enumerate(sure) for k in span]
    return Voted("".join(voted.letters[k] for k in at), tuple(voted.sure[k] for k in at), tuple(space))


def split_words(voted: Voted) -> str:
    """The text with its spaces: also where one is only hinted at, if both sides then are words and together are none.

    ORIGINALAND TASTY → ORIGINAL AND TASTY, for the readings leave 5 % for a space there."""
    space = list(voted.space)
    words = set_spaces(voted.letters, space, SPACED).split(" ")
    begin = 0
    for word in words:
        inner = range(begin + 1, begin + len(word))
        begin += len(word)
        if len(word) < 5 or not word.isalpha() or is_known(word) or not is_latin(word):
            continue
        for k in sorted((k for k in inner if HINTED <= space[k] < SPACED), key=lambda k: -space[k]):
            left, right = word[: k - inner.start + 1], word[k - inner.start + 1 :]
            if min(len(left), len(right)) >= 3 and is_known(left) and is_known(right):
                space[k] = 1.0
                break
    return set_spaces(voted.letters, space, SPACED)


def middle_box(boxes: Sequence[Box]) -> Box:
    """The median of each side: where a text stands most of the time."""
    left, top, right, bottom = (float(median(side)) for side in zip(*boxes, strict=True))
    return left, top, right, bottom
