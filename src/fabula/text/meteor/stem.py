"""The English Snowball stemmer (Porter2, Porter 2001) in the older form of METEOR 1.5 (Denkowski & Lavie 2014).

Newer releases of the PyPI `snowballstemmer` changed the rules (3.x stems other words than the jar does), and a
stemmer that moves with a dependency would move published scores with it. So the frozen rules are written out
here, once in Python and once in C++ (`_kernels/meteor/meteor_stem.cpp`), and tested against `snowballstemmer` 2.2.0,
which agrees with the jar.

R1 is what follows the first consonant after the first vowel, R2 is R1 of R1; a suffix goes only if it lies in
its region.
"""

from __future__ import annotations

from collections.abc import Container

VOWELS = frozenset("aeiouy")
DOUBLES = frozenset(["bb", "dd", "ff", "gg", "mm", "nn", "pp", "rr", "tt"])
LI_ENDING = frozenset("cdeghkmnrt")  # letters that may stand before a -li that is dropped
NOT_SHORT = VOWELS | frozenset("wxY")

WHOLE_WORDS = {
    **{"skis": "ski", "skies": "sky", "dying": "die", "lying": "lie", "tying": "tie"},
    **{"idly": "idl", "gently": "gentl", "ugly": "ugli", "early": "earli", "only": "onli", "singly": "singl"},
    **{word: word for word in ("sky", "news", "howe", "atlas", "cosmos", "bias", "andes")},
}
AFTER_1A = frozenset(["inning", "outing", "canning", "herring", "earring", "proceed", "exceed", "succeed"])
R1_PREFIXES = ("gener", "commun", "arsen")

STEP_2 = {
    **{"tional": "tion", "enci": "ence", "anci": "ance", "abli": "able", "entli": "ent"},
    **{"izer": "ize", "ization": "ize", "ational": "ate", "ation": "ate", "ator": "ate"},
    **{"alism": "al", "aliti": "al", "alli": "al", "fulness": "ful", "ousli": "ous", "ousness": "ous"},
    **{"iveness": "ive", "iviti": "ive", "biliti": "ble", "bli": "ble", "fulli": "ful", "lessli": "less"},
    **{"ogi": "og", "li": ""},  # only after l, only after a letter of LI_ENDING
}
STEP_3 = {
    **{"tional": "tion", "ational": "ate", "alize": "al", "icate": "ic", "iciti": "ic", "ical": "ic"},
    **{"ful": "", "ness": "", "ative": ""},  # -ative only in R2
}
STEP_4 = frozenset(
    [
        *["al", "ance", "ence", "er", "ic", "able", "ible", "ant", "ement", "ment", "ent"],
        *["ism", "ate", "iti", "ous", "ive", "ize", "ion"],  # -ion only after s or t
    ]
)


def stem(word: str) -> str:
    """The stem of a lower-cased word."""
    if word in WHOLE_WORDS:
        return WHOLE_WORDS[word]
    if len(word) < 3:
        return word
    w = _mark_consonant_y(word.removeprefix("'"))
    p1 = next((len(prefix) for prefix in R1_PREFIXES if w.startswith(prefix)), None)
    p1 = _region(w, 0) if p1 is None else p1
    p2 = _region(w, p1)

    w = _step_1a(w)
    if w not in AFTER_1A:
        w = _step_1b(w, p1)
        if len(w) > 2 and w[-1] in "yY" and w[-2] not in VOWELS:
            w = w[:-1] + "i"  # step 1c
        w = _step_2(w, p1)
        w = _step_3(w, p1, p2)
        w = _step_4(w, p2)
        w = _step_5(w, p1, p2)
    return w.replace("Y", "y")


def _mark_consonant_y(w: str) -> str:
    """Y for a y that sounds as a consonant: at the start or after a vowel."""
    letters = list(w)
    for k, letter in enumerate(letters):
        if letter == "y" and (k == 0 or letters[k - 1] in VOWELS):
            letters[k] = "Y"
    return "".join(letters)


def _region(w: str, start: int) -> int:
    """Where the region begins that follows the first vowel-consonant pair at or after `start`."""
    for k in range(start, len(w) - 1):
        if w[k] in VOWELS:
            following = next((j for j in range(k + 1, len(w)) if w[j] not in VOWELS), None)
            return len(w) if following is None else following + 1
    return len(w)


def _ends_short(w: str) -> bool:
    """Whether w ends in a short syllable: consonant, vowel, consonant other than w x Y; or a vowel-consonant word."""
    if len(w) >= 3 and w[-1] not in NOT_SHORT and w[-2] in VOWELS and w[-3] not in VOWELS:
        return True
    return len(w) == 2 and w[1] not in VOWELS and w[0] in VOWELS


def _longest(w: str, suffixes: Container[str], most: int) -> str | None:
    for size in range(min(most, len(w)), 0, -1):
        if w[-size:] in suffixes:
            return w[-size:]
    return None


def _step_1a(w: str) -> str:
    for mark in ("'s'", "'s", "'"):
        if w.endswith(mark):
            w = w[: -len(mark)]
            break
    if w.endswith("sses"):
        return w[:-2]
    if w.endswith(("ied", "ies")):
        return w[:-2] if len(w) > 4 else w[:-1]
    if w.endswith("s") and not w.endswith(("us", "ss")) and not VOWELS.isdisjoint(w[:-2]):
        return w[:-1]
    return w


def _step_1b(w: str, p1: int) -> str:
    suffix = _longest(w, ("eed", "eedly", "ed", "edly", "ing", "ingly"), 5)
    if suffix is None:
        return w
    base = w[: -len(suffix)]
    if suffix.startswith("eed"):
        return base + "ee" if len(base) >= p1 else w
    if VOWELS.isdisjoint(base):
        return w
    if base.endswith(("at", "bl", "iz")):
        return base + "e"
    if base[-2:] in DOUBLES:
        return base[:-1]
    return base + "e" if len(base) == p1 and _ends_short(base) else base


def _step_2(w: str, p1: int) -> str:
    suffix = _longest(w, STEP_2, 7)
    if suffix is None or len(w) - len(suffix) < p1:
        return w
    before = w[-len(suffix) - 1 : -len(suffix)]
    if (suffix == "ogi" and before != "l") or (suffix == "li" and before not in LI_ENDING):
        return w
    return w[: -len(suffix)] + STEP_2[suffix]


def _step_3(w: str, p1: int, p2: int) -> str:
    suffix = _longest(w, STEP_3, 7)
    if suffix is None or len(w) - len(suffix) < (p2 if suffix == "ative" else p1):
        return w
    return w[: -len(suffix)] + STEP_3[suffix]


def _step_4(w: str, p2: int) -> str:
    suffix = _longest(w, STEP_4, 5)
    if suffix is None or len(w) - len(suffix) < p2 or (suffix == "ion" and not w[:-3].endswith(("s", "t"))):
        return w
    return w[: -len(suffix)]


def _step_5(w: str, p1: int, p2: int) -> str:
    base = w[:-1]
    if w.endswith("e") and (len(base) >= p2 or (len(base) >= p1 and not _ends_short(base))):
        return base
    if w.endswith("ll") and len(base) >= p2:
        return base
    return w
