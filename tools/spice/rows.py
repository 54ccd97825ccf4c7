"""Captions and the teacher's derivations of them, which the grammar of SPICE is learned from (tools/spice/grammar.py).

Official trees, whose annotated states are found by parsing under them; captions with new words; the mixture of
tools/spice/captions.py; bent captions; captions with ids for people; and for every word, the best tree of its shortest
caption if the word had another tag.
"""

# ruff: noqa: SIM905  (word lists read better as text)
from __future__ import annotations

import glob
import gzip
import json
import random
import re
from collections import Counter
from collections.abc import Iterable, Iterator
from pathlib import Path

from captions import frames, is_free, mixture, plain, short
from teacher import Row, Teacher, base

from fabula.text import ptb
from fabula.text.spice import parse

LONGEST, FURTHER = 60, 26  # words of the official trees; of further captions
OPEN = "NN NNS NNP VB VBZ VBP VBD VBN VBG JJ RB CD IN".split()
ODD = (
    "$ % & # / * + = @ \\ < > ~ ^ _ | -lrb- -rrb- -lsb- -rsb- -lcb- -rcb- 's n't 're 'm 've 'll 'd ' '' `` -- - "
    "... ; : , . ! ? ?! !! mr. mrs. dr. st. jr. inc. co. ltd. corp. e.g. i.e. etc. vs. no. vol. a.m. p.m. u.s. "
    "u.k. ph.d. jan. aug. dec. tsp. tbsp. oz. lb. ft. min. sec. approx. café naïve crème à la hi x y z b c é ok "
    "oh yeah wow hey um hmm t v tv dvd cd ca wo do did does ai gon wan got na ta lem gim 'em 'cause o'clock "
    "and/or w/o 24/7 50/50 x-ray t-shirt well-known man-made e-mail www.site.com user@mail.com #tag @name :) <3 ♪ "
    "★ ™ © ° € £ 100m 5km 3ft 4x4 r2d2 1950s '60s 80s 2nd 21st 3-2 -5 +7 1e10 3.14 .5 5. 1,000 2,000.5 1,000,000 "
    "1/2 3/4"
).split()
PEOPLE = set(
    "he she they him it man woman boy girl person guy lady someone people men women player child kid baby dog".split()
)
OPENINGS = (
    "meanwhile later now then inside outside nearby suddenly slowly upstairs today finally soon again as while when "
    "after behind beside elsewhere"
).split()
NUMBERS = "2 10 3rd 1990s 100 7 half 2nd 50 first 12 1/2 3:00 5.5".split()
LETTERS = "abcdefghijklmnopqrstuvwxyz"
FOREIGN = "абвгдежзиклмно男が走る人語éüßñ"


def printed(data: Path, trees: str | None) -> Iterator[str]:
    """The teacher's trees as text."""
    with gzip.open(data / "corenlp_captions/captions.jsonl.gz", "rt", encoding="utf-8") as file:
        for line in file:
            yield from (s["tree"] for s in json.loads(line)["sentences"])
    for path in sorted(glob.glob(trees)) if trees else []:  # noqa: PTH207 (the pattern may be absolute)
        yield from (s["parse"] for s in json.loads(Path(path).read_text(encoding="utf-8"))["sentences"])


def spans(tree: str) -> tuple[list[str], list[tuple[str, int, int]]]:
    """Words, and (category, start, end) of every node and of the unfinished states that it may have."""
    words: list[str] = []
    found: list[tuple[str, int, int]] = []
    open_: list[tuple[str, int, list[int]]] = []  # label, start, ends of the children
    for token in re.findall(r"\([^\s()]+|\)|[^\s()]+", tree):
        if token[0] == "(":
            open_.append((base(token[1:]), len(words), []))
        elif token != ")":
            words.append(token)
        else:
            name, start, ends = open_.pop()
            found.append((name, start, len(words)))
            edges = [start, *ends]
            found += [("@" + name, a, b) for k, a in enumerate(edges) for b in edges[k + 1 :]]
            if open_:
                open_[-1][2].append(len(words))
    return words, found


def official(teacher: Teacher, trees: Iterable[str], left_out: set[str], limit: int | None) -> list[Row]:
    rows: list[Row] = []
    seen = set(left_out)
    for tree in trees:
        if limit is not None and len(rows) >= limit:
            break
        words, found = spans(tree)
        if not words or len(words) > LONGEST or not is_free(" ".join(words), seen):
            continue
        seen.add(" ".join(words))
        row = teacher.annotate(words, found)
        if row:
            rows.append(row)
    return rows


def with_new_words(data: Path, known: set[str], left_out: set[str], limit: int | None) -> list[list[str]]:
    """For every word of the caption sets that is not known, the shortest caption that has it."""
    texts = sorted({s for captions in plain(data).values() for s in captions if len(s) < 160})
    shortest: dict[str, list[str]] = {}
    for line in ptb.engine().lines([text + "\n" for text in texts]):
        for sentence in re.split(r" [.!?](?: |$)", line.strip().lower()):
            words = [w for w in sentence.split() if re.search(r"\w", w) and w not in ("-lrb-", "-rrb-")]
            if not 2 <= len(words) <= 22 or not is_free(" ".join(words), left_out):
                continue
            for w in set(words) - known:
                if w not in shortest or len(words) < len(shortest[w]):
                    shortest[w] = words
    return [list(w) for w in sorted({tuple(w) for w in shortest.values()})][:limit]


def odd(rng: random.Random) -> str:
    kind = rng.random()
    if kind < 0.7:
        return rng.choice(ODD)
    if kind < 0.8:
        return str(rng.randrange(10 ** rng.randrange(1, 5)))
    if kind < 0.85:
        return f"{rng.randrange(1, 13)}:{rng.randrange(60):02d}"
    if kind < 0.9:
        return f"{rng.randrange(100)}.{rng.randrange(10)}"
    return "".join(rng.choices(LETTERS if kind < 0.95 else FOREIGN, k=rng.randrange(1, 8)))


def inflected(word: str, rng: random.Random) -> str:
    less = word[:-1] if word.endswith("s") else word[:-3] if word.endswith("ing") else word + "es"
    return rng.choice([*(word + end for end in ("s", "ed", "ing", "er", "ly")), less]) or word


def bend(words: list[str], captions: list[list[str]], rng: random.Random) -> list[str]:
    """One change of a caption; `captions` lend words and endings."""
    w = list(words)
    i, j = rng.randrange(1, len(w)), rng.randrange(len(w))
    kinds = {"turn": 4, "reverse": 1, "shuffle": 1, "double": 1, "drop": 1, "swap": 1, "insert": 1, "inflect": 2}
    kinds |= {"piece": 2, "word": 2, "number": 2, "join": 1, "odd": 4}
    match rng.choices(list(kinds), list(kinds.values()))[0]:
        case "turn":
            w = w[i:] + w[:i]
        case "reverse":
            w.reverse()
        case "shuffle":
            rng.shuffle(w)
        case "double":
            w.insert(j, w[j])
        case "drop":
            del w[j]
        case "swap":
            w[i - 1], w[i] = w[i], w[i - 1]
        case "insert":
            w.insert(i, rng.choice(rng.choice(captions)))
        case "inflect":
            w[j] = inflected(w[j], rng)
        case "piece":
            w = w[j : j + rng.randrange(1, 5)]
        case "word":
            w[j] = rng.choice(rng.choice(captions))
        case "number":
            w[j] = rng.choice(NUMBERS)
        case "join":
            w += [rng.choice(["and", "then", "while", "but", "as"]), *rng.choice(captions)[:8]]
        case "odd":
            for _ in range(rng.choice([1, 1, 2, 3])):
                w.insert(rng.randrange(len(w) + 1), odd(rng))
    return w


def bent(rows: list[Row], number: int, left_out: set[str], rng: random.Random) -> list[list[str]]:
    captions = [row.words for row in rows if 4 <= len(row.words) <= 18]
    found: dict[str, list[str]] = {}
    while len(found) < number:
        words = bend(rng.choice(captions), captions, rng)
        if len(words) > 3 and rng.random() < 0.25:
            words = bend(words, captions, rng)
        if is_free(" ".join(words), left_out):
            found[" ".join(words)] = words
    return list(found.values())


def further(data: Path, number: int, left_out: set[str], rng: random.Random) -> list[list[str]]:
    """Sentences of the mixture that tools/spice/captions.py makes, and of its frames and short ones."""
    found: dict[str, list[str]] = {}
    for lines, share in ((mixture, 0.75), (short, 0.1), (frames, 0.15)):
        wanted = len(found) + share * number
        for line in lines(data, rng):
            for words in parse.split_sentences(line):
                if len(words) <= FURTHER and is_free(" ".join(words), left_out):
                    found[" ".join(words)] = words
            if len(found) >= wanted:
                break
    return list(found.values())


def named(words: list[str], openings: list[str], rng: random.Random) -> list[str]:
    """A caption as a film's description would have it: ids for people, a capital, a full stop, at times an opening."""
    found: list[str] = []
    for word in words:
        someone = f"P{rng.randrange(1, 13)}"
        if word in PEOPLE and rng.random() < 0.8:
            if found and found[-1] in ("a", "the", "another", "one"):
                found.pop()
            found += [someone, "and", f"P{rng.randrange(1, 13)}"] if rng.random() < 0.1 else [someone]
        elif word in ("his", "her", "their") and rng.random() < 0.15:
            found += [someone, "'s"]
        else:
            found.append(word)
    if rng.random() < 0.3:
        found = [rng.choice(openings), *([","] if rng.random() < 0.5 else []), *found]
    found[0] = found[0][:1].upper() + found[0][1:]
    return found + ["."] * (rng.random() < 0.85)


def with_people(rows: list[Row], number: int, left_out: set[str], rng: random.Random) -> list[list[str]]:
    captions = [row.words for row in rows if 3 <= len(row.words) <= 20]
    some = [words for words in captions if PEOPLE & set(words)]
    doing = sorted({w for words in captions for w in words if w.endswith("ing") and len(w) > 5})
    found: dict[str, list[str]] = {}
    while len(found) < number:
        words = named(
            rng.choice(some if rng.random() < 0.9 else captions), OPENINGS if rng.random() < 0.6 else doing, rng
        )
        if is_free(" ".join(words), set()) and is_free(" ".join(words).lower().rstrip(" ."), left_out):
            found[" ".join(words)] = words
    return list(found.values())


def plausible(word: str, often: bool) -> Iterator[str]:
    """Tags to force upon a word; a frequent one has more."""
    for tag in OPEN:
        fits = {
            "VBG": word.endswith(("g", "in'")),
            "VBZ": word.endswith("s"),
            "VBD": often or word.endswith(("d", "t", "n")),
            "VBN": often or word.endswith(("d", "t", "n")),
            "CD": any(c.isdigit() for c in word) or (often and len(word) <= 6),
            "IN": often,
        }
        if fits.get(tag, True):
            yield tag


def forced(teacher: Teacher, rows: list[Row]) -> Iterator[Row]:
    """For every word, its shortest caption's best tree if the word had another tag; the other words keep theirs."""
    count = Counter(w for row in rows for w in row.words)
    shortest: dict[str, Row] = {}
    for row in rows:
        for w in dict.fromkeys(row.words) if 2 <= len(row.words) <= 20 else ():
            if w not in shortest or len(row.words) < len(shortest[w].words):
                shortest[w] = row
    sentences, bases = [], []
    for word, row in shortest.items():
        at, have = row.words.index(word), teacher.tags_in(row)
        can = {teacher.base[t] for t in teacher.tags(word, at == 0)[0]} - {have[at]}
        for tag in plausible(word, count[word] > 5):
            if tag in can:
                sentences.append(row.words)
                bases.append([*have[:at], tag, *have[at + 1 :]])
    return teacher.parse(sentences, bases)
