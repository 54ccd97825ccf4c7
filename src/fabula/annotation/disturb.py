"""Wrong captions by rule: a word of the caption changed so that it is no longer true of the same video.

    static     colours, numbers, sizes, left and right, people, places and things
    dynamic    verbs by their opposites, directions, before and after, speed

Negatives for the noise evaluator (VERIFIED, Chen et al., NeurIPS 2024, Listings 8 and 9) without a language model. One
change a caption; the rule that made it is told. The grammar stays: verbs keep their form, nouns their number, `a` and
`an` follow their word. What a rule cannot know is whether the changed caption happens to be true as well.
"""

from __future__ import annotations

import random
import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache

from fabula.annotation.candidates import normalise

COLOURS = ("red", "orange", "yellow", "green", "blue", "purple", "pink", "brown", "black", "white", "grey")
NUMBERS = ("one", "two", "three", "four", "five", "six")
GROUPS: dict[str, dict[str, tuple[tuple[str, ...], ...]]] = {
    "static": {
        "colour": (COLOURS,),
        "size": (("big", "small"), ("large", "little"), ("long", "short"), ("tall", "short"), ("wide", "narrow")),
        "side": (("left", "right"), ("front", "back"), ("top", "bottom"), ("upper", "lower"), ("above", "below")),
        "person": (
            ("man", "woman"),
            ("men", "women"),
            ("boy", "girl"),
            ("boys", "girls"),
            ("guy", "lady"),
            ("male", "female"),
            ("adult", "child"),
            ("young", "old"),
        ),
        "light": (("bright", "dark"), ("sunny", "cloudy"), ("lit", "unlit"), ("clean", "dirty"), ("full", "empty")),
        "place": (
            ("kitchen", "bathroom", "bedroom", "garage", "office", "hallway"),
            ("street", "beach", "forest", "field"),
            ("couch", "chair", "bed", "floor"),
            ("table", "desk", "shelf", "counter"),
            ("indoors", "outdoors"),
            ("inside", "outside"),
        ),
        "thing": (
            ("cup", "glass", "bottle", "plate"),
            ("book", "laptop", "phone", "newspaper"),
            ("door", "window", "drawer", "cabinet"),
            ("shirt", "jacket", "sweater", "dress"),
            ("towel", "blanket", "pillow", "bag"),
            ("sandwich", "apple", "pizza", "cake"),
            ("dog", "cat", "horse", "bird"),
            ("car", "bus", "bicycle", "train"),
            ("shoe", "hat", "scarf", "glove"),
            ("water", "coffee", "milk", "juice"),
            ("box", "basket", "bucket", "vase"),
            ("broom", "vacuum", "mop", "camera"),
            ("mirror", "picture", "television", "clock"),
            ("refrigerator", "oven", "closet", "stove"),
            ("doorway", "stairs", "hall", "balcony"),
        ),
        "subject": (("person", "dog"), ("people", "dogs"), ("someone", "nobody")),
    },
    "dynamic": {
        "direction": (
            ("up", "down"),
            ("upward", "downward"),
            ("upwards", "downwards"),
            ("forward", "backward"),
            ("forwards", "backwards"),
            ("toward", "away from"),
            ("towards", "away from"),
            ("into", "out of"),
            ("onto", "off"),
            ("clockwise", "counterclockwise"),
        ),
        "order": (("before", "after"), ("first", "last"), ("begin to", "finish to")),
        "speed": (
            ("quickly", "slowly"),
            ("fast", "slow"),
            ("suddenly", "gradually"),
            ("gently", "violently"),
            ("repeatedly", "once"),
        ),
    },
}
# Verbs and their opposites; each is a base form, others are made of it.
VERBS = """open/close sit/stand put/take pick/drop push/pull enter/leave start/stop begin/finish turn/hold throw/catch
laugh/cry smile/frown walk/run eat/throw drink/pour hold/drop wash/dirty fix/break undress/dress lie/jump pour/drink
watch/ignore play/clean tidy/scatter read/close cook/eat wear/remove talk/listen awaken/sleep sneeze/yawn grab/drop
place/remove remove/place lift/lower raise/lower give/take dress/undress look/turn fold/unfold climb/descend rise/fall
appear/vanish jump/crouch dance/kneel sweep/scatter clean/dirty arrive/depart approach/leave hug/push kiss/slap wave/nod
walk/crawl wipe/scratch snuggle/shiver fall/jump carry/drop bring/hide touch/avoid shake/hold move/freeze show/hide
speak/listen sing/whisper zoom/turn type/write work/rest swim/float ride/push kick/catch spin/kneel"""
IRREGULAR = """
get gets getting got got | come comes coming came come | go goes going went gone | wake wakes waking woke woken |
sit sits sitting sat sat | stand stands standing stood stood | put puts putting put put |
take takes taking took taken | leave leaves leaving left left | begin begins beginning began begun |
stop stops stopping stopped stopped | drop drops dropping dropped dropped | throw throws throwing threw thrown
| catch catches catching caught caught | run runs running ran run | eat eats eating ate eaten |
drink drinks drinking drank drunk | hold holds holding held held | break breaks breaking broke broken |
lie lies lying lay lain | read reads reading read read | wear wears wearing wore worn |
sleep sleeps sleeping slept slept | grab grabs grabbing grabbed grabbed | give gives giving gave given |
rise rises rising rose risen | fall falls falling fell fallen | kneel kneels kneeling knelt knelt |
hug hugs hugging hugged hugged | slap slaps slapping slapped slapped | nod nods nodding nodded nodded |
bring brings bringing brought brought | hide hides hiding hid hidden | shake shakes shaking shook shaken |
speak speaks speaking spoke spoken | freeze freezes freezing froze frozen | show shows showing showed shown |
sing sings singing sang sung | write writes writing wrote written | swim swims swimming swam swum |
ride rides riding rode ridden | spin spins spinning spun spun | cry cries crying cried cried |
tidy tidies tidying tidied tidied | dirty dirties dirtying dirtied dirtied |
carry carries carrying carried carried | sweep sweeps sweeping swept swept
"""
# A verb and its particle, and what both become.
PHRASES = """sit down/stand up, stand up/sit down, put down/pick up, pick up/put down, turn on/turn off,
turn off/turn on,
take off/put on, put on/take off, get up/lie down, lie down/get up, get in/get out, come in/go out, take out/put back,
put away/take out, look up/look down, look down/look up, wake up/fall asleep, run away/come closer"""
WORD = re.compile(r"[A-Za-z]+")
ENDS = re.compile(r"\bfrom (?:the )?(\w+) to (?:the )?(\w+)", re.I)
SUBJECT = re.compile(r"(?:(?:the|a|an|one|another)\s+)?(?:\w+\s+)?(?:person|man|woman|boy|girl|dog|child)\s+", re.I)


@dataclass(frozen=True, slots=True)
class Disturbed:
    """A caption that is wrong, and how it became so."""

    text: str
    kind: str  # static, dynamic
    rule: str  # colour, verb, …
    was: str
    now: str


def inflect(verb: str) -> tuple[str, str, str, str, str]:
    """Base, -s, -ing, past, participle."""
    if verb in irregular():
        return irregular()[verb]
    stem = verb[:-1] if verb.endswith("e") else verb
    es = verb.endswith(("s", "sh", "ch", "x", "z", "o"))
    past = f"{stem}ed"
    return verb, verb + ("es" if es else "s"), f"{stem}ing", past, past


@cache
def irregular() -> dict[str, tuple[str, str, str, str, str]]:
    words = IRREGULAR.replace("|", " ").split()
    rows = [words[i : i + 5] for i in range(0, len(words), 5)]
    return {row[0]: (row[0], row[1], row[2], row[3], row[4]) for row in rows}


@cache
def table() -> dict[str, list[tuple[str, str, str]]]:
    """Word → (kind, rule, what may stand in its place)."""
    out: dict[str, list[tuple[str, str, str]]] = {}

    def add(word: str, kind: str, rule: str, other: str) -> None:
        if word != other and (kind, rule, other) not in out.setdefault(word, []):
            out[word].append((kind, rule, other))

    for kind, rules in GROUPS.items():
        for rule, groups in rules.items():
            for group in groups:
                for a in group:
                    for b in group:
                        add(a, kind, rule, b)
                        if rule == "thing":
                            add(plural(a), kind, rule, plural(b))
    for i, a in enumerate(NUMBERS[1:], 1):
        for b in (NUMBERS[i - 1], *NUMBERS[i + 1 : i + 2]):
            if b != "one":  # the noun would have to change with it
                add(a, "static", "number", b)
    pairs = [tuple(pair.split("/")) for pair in VERBS.split()]
    known = {a for a, _ in pairs}
    for a, b in [*pairs, *((b, a) for a, b in pairs if b not in known)]:
        for x, y in zip(inflect(a), inflect(b), strict=True):
            add(x, "dynamic", "verb", y)
    return out


@cache
def phrases() -> dict[str, str]:
    """Every form of the phrases."""
    out: dict[str, str] = {}
    for pair in PHRASES.replace("\n", " ").split(","):
        (a, p), (b, q) = (side.split() for side in pair.split("/"))
        out |= {f"{x} {p}": f"{y} {q}" for x, y in zip(inflect(a), inflect(b), strict=True)}
    return out


@cache
def phrase_pattern() -> re.Pattern[str]:
    words = (r"\s+".join(phrase.split()) for phrase in sorted(phrases(), key=len, reverse=True))
    return re.compile(rf"\b(?:{'|'.join(words)})\b", re.I)


def plural(noun: str) -> str:
    return {"shelf": "shelves"}.get(noun, noun + ("es" if noun.endswith(("s", "sh", "ch", "x")) else "s"))


def every(caption: str, kind: str | None = None) -> Iterator[Disturbed]:
    """Every caption that one change makes, in the order of its words."""
    taken: list[tuple[int, int]] = []
    for found in phrase_pattern().finditer(caption):
        taken.append(found.span())
        if kind in (None, "dynamic"):
            was, now = found[0].lower(), phrases()[" ".join(found[0].lower().split())]
            yield Disturbed(swap(caption, found, now), "dynamic", "verb", was, now)
    taken += [found.span() for found in ENDS.finditer(caption)]
    for found in WORD.finditer(caption):
        if any(a <= found.start() < b for a, b in taken):
            continue
        word = found[0].lower()
        for k, rule, other in table().get(word, ()):
            if (kind is None or k == kind) and not is_fixed(caption, found, rule):
                yield Disturbed(swap(caption, found, other), k, rule, word, other)
    if kind in (None, "dynamic"):
        yield from swap_clauses(caption)
        yield from swap_ends(caption)


def is_fixed(caption: str, found: re.Match[str], rule: str) -> bool:
    """`left` that is a verb, `up` that belongs to one."""
    before, after = caption[: found.start()].lower(), caption[found.end() :].lower()
    if rule == "side" and found[0].lower() in ("left", "right"):
        verb = re.search(r"\b(?:has|have|had|is|just|who|person|he|she|man|woman)\s$", before)
        return found[0].lower() == "left" and verb is not None and not re.match(r"\s(?:hand|side|of|arm|foot)", after)
    if rule == "direction" and found[0].lower() == "up":
        return before.endswith(("wakes ", "wake ", "waking ", "cleans ", "cleaning ", "dressed "))
    return False


def swap(caption: str, found: re.Match[str], other: str) -> str:
    """The caption with another word there, its capital and its article right."""
    word = other.capitalize() if found[0][0].isupper() else other
    before, after = caption[: found.start()], caption[found.end() :]
    if article := re.search(r"\b(a|an)(\s+)$", before, re.I):
        fitting = ("An" if article[1][0] == "A" else "an") if other[0] in "aeiou" else article[1][0]
        before = before[: article.start()] + fitting + article[2]
    return before + word + after


def swap_clauses(caption: str) -> Iterator[Disturbed]:
    """`A then B` becomes `B then A`."""
    body = caption.rstrip(" .")
    parts = re.split(r"(,? and then |,? then )", body, maxsplit=1)
    if len(parts) == 3 and len(parts[0].split()) > 3 and len(parts[2].split()) > 1:
        subject = SUBJECT.match(parts[0])
        if subject:
            first, second = parts[0][subject.end() :], parts[2]
            text = f"{subject[0]}{second}{parts[1]}{first}{caption[len(body) :]}"
            yield Disturbed(text, "dynamic", "order", "A then B", "B then A")


def swap_ends(caption: str) -> Iterator[Disturbed]:
    """`from left to right` becomes `from right to left`."""
    for found in ENDS.finditer(caption):
        a, b = found[1], found[2]
        if a.lower() != b.lower():
            text = caption[: found.start(1)] + b + caption[found.end(1) : found.start(2)] + a + caption[found.end(2) :]
            yield Disturbed(text, "dynamic", "direction", f"from {a} to {b}", f"from {b} to {a}")


def disturb(caption: str, kind: str, n: int = 3, seed: int = 0) -> list[Disturbed]:
    """Up to n wrong captions of a kind, of different rules and words first; the same seed gives the same ones."""
    found = list({normalise(d.text): d for d in every(caption, kind)}.values())
    found = [d for d in found if normalise(d.text) != normalise(caption)]
    random.Random(f"{seed}\0{caption}").shuffle(found)
    chosen: list[Disturbed] = []
    for level in range(3):  # other rule and word; other word; whatever is left
        for d in found:
            taken = [(c.rule, c.was) for c in chosen]
            fresh = (
                d.rule not in [r for r, _ in taken] if level == 0 else d.was not in [w for _, w in taken] or level == 2
            )
            if len(chosen) < n and d not in chosen and fresh:
                chosen.append(d)
    return chosen
