"""Lists of captions for the teacher to parse.

    python tools/spice/captions.py DATA --kind mixture --number 60000 --seed 1 > captions.txt
    python tools/spice/captions.py DATA --kind frames --number 12000 --seed 5 > frames.txt
    python tools/spice/captions.py DATA --kind short --number 5000 --seed 11 > short.txt

mixture  plain captions, and ones bent as evaluation sets do: words cut, swapped, doubled, replaced, people as ids
frames   rare words in frames of two to four words ("the X", "he X it"): they teach the teacher's word list cheaply
short    single words, short sentences about people with ids, odd signs

DATA is a folder with the public data sets named in docs/spice.md. Only training splits are read, together with
captions that the teacher has parsed already; whatever stands in DATA/golden or is held back (split.py) is left out, so
that it can judge. The lines come in random order: any prefix of the file has the same mixture. --longest bounds the
words; the teacher's time grows with their cube.
"""

# ruff: noqa: SIM905  (word lists read better as text)
from __future__ import annotations

import argparse
import gzip
import itertools
import json
import random
import re
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path

from split import HOLD, part

from fabula.text import ptb
from fabula.text.meteor.index import open_index

Edit = Callable[[list[str], random.Random], list[str]]
INJECTED = [
    "ca n't",
    "$ 5.50",
    "-lrb- red -rrb-",
    "u.s.",
    "café",
    "&",
    "'s",
    "42",
    "o'clock",
    "t-shirt",
    "50 %",
    "#3",
    "|",
]
INSERTED = ["the", "a", "red", "man", "of", "very", "and", "then", "is", "it", "not", "with", "two", "them", "on"]
NAMES = (
    "monica rachel joey chandler ross phoebe sheldon leonard penny howard raj amy bernadette house cuddy wilson "
    "foreman chase castle beckett ryan esposito ted marshall lily robin barney meredith derek izzie george "
    "cristina alex"
).split()
PEOPLE = re.compile(
    r"\b(?:(?:the|a|another|one)(?: \w+)? (?:man|woman|girl|boy|person|lady|guy|child|kid|player|chef|dog)"
    r"|he|she|someone|him)\b"
)


def plain(data: Path) -> dict[str, list[str]]:
    """Raw captions by source."""
    sets: dict[str, list[str]] = {}
    train = json.loads((data / "anet_captions/train.json").read_text(encoding="utf-8"))
    sets["anet"] = [s for video in train.values() for s in video["sentences"]]
    rows = [json.loads(line) for line in lines(data / "verified_fig/charades_fig_train.jsonl")]
    sets["charades"] = [row["fig_desc"] for row in rows] + list({row["cog_desc"] for row in rows})
    recipes = json.loads((data / "youcook2/yc2_train.json").read_text(encoding="utf-8"))
    sets["yc2"] = [s for video in recipes.values() for s in video["sentences"]]
    sets["tvr"] = [json.loads(line)["desc"] for line in lines(data / "tvr/tvr_test_public_release.jsonl")]
    test = set(lines(data / "flickr8k_human/Flickr_8k.testImages.txt"))
    judged = {line.split("\t")[0] for line in lines(data / "flickr8k_human/ExpertAnnotations.txt")}
    tokens = (line.split("\t") for line in lines(data / "flickr8k_human/Flickr8k.token.txt"))
    sets["flickr8k"] = [text for name, text in tokens if name.split("#")[0] not in test | judged]
    with gzip.open(data / "corenlp_captions/captions.jsonl.gz", "rt", encoding="utf-8") as file:
        sets["parsed"] = [json.loads(line)["text"] for line in file]
    return {name: [" ".join(s.split()) for s in sentences if s.strip()] for name, sentences in sets.items()}


def lines(file: Path) -> list[str]:
    return file.read_text(encoding="utf-8").splitlines()


def golden(data: Path) -> set[str]:
    seen: set[str] = set()
    with gzip.open(data / "golden/pairs_tok.jsonl.gz", "rt", encoding="utf-8") as file:
        for row in map(json.loads, file):
            seen.update([row["cand"], *row["refs"]])
    return seen


def is_free(text: str, left_out: set[str]) -> bool:
    """May be learned from."""
    return text not in left_out and part(text) != HOLD


class Words:
    """Synonyms and paraphrases for the bent captions, from METEOR's tables."""

    def __init__(self) -> None:
        self.index = open_index()
        self.by_synset: dict[int, list[str]] = {}
        start, ids = self.index.synset_start.tolist(), self.index.synset_ids.tolist()
        self.of = {word: ids[start[k] : start[k + 1]] for word, k in self.index.words.items()}
        for word, synsets in self.of.items():
            for synset in synsets:
                self.by_synset.setdefault(synset, []).append(word)
        self.names = {k: word for word, k in self.index.words.items()}

    def synonym(self, word: str, rng: random.Random) -> str:
        found = [w for s in self.of.get(word, []) for w in self.by_synset[s] if w != word and "_" not in w]
        return rng.choice(found) if found else word

    def paraphrase(self, words: list[str], rng: random.Random) -> list[str]:
        """`words` with one span replaced."""
        for _ in range(6):
            a = rng.randrange(len(words))
            b = min(len(words), a + rng.choice([1, 1, 2, 2, 3]))
            node: int | None = None
            for k, word in enumerate(words[a:b]):
                number = self.index.words.get(word)
                if number is None or number >= self.index.phrase_words:
                    node = None
                    break
                node = number if k == 0 else self.index.children(node).get(number)
                if node is None:
                    break
            entries = self.index.entries(node) if node is not None else slice(0, 0)
            places = range(entries.start, entries.stop)
            if places:
                return [*words[:a], *self.phrase(int(self.index.target_node[rng.choice(places)])), *words[b:]]
        return words

    def phrase(self, node: int) -> list[str]:
        words: list[str] = []
        first = self.index.trie_first
        while True:
            words.append(self.names[int(self.index.trie_word[node])])
            if node < self.index.phrase_words:
                return words[::-1]
            node = int(first.searchsorted(node, side="right")) - 1


def edits(words: Words) -> dict[str, tuple[int, Edit]]:
    """Name → (share, edit) of the bent captions."""

    def cut(w: list[str], rng: random.Random) -> list[str]:
        return [x for x in w if rng.random() > 0.15] or w

    def swap(w: list[str], rng: random.Random) -> list[str]:
        w = list(w)
        for _ in range(rng.randint(1, 2)):
            k = rng.randrange(max(1, len(w) - 1))
            w[k : k + 2] = w[k : k + 2][::-1]
        return w

    def twice(w: list[str], rng: random.Random) -> list[str]:
        a = rng.randrange(len(w))
        b = min(len(w), a + rng.randint(1, 3))
        return w[:b] + w[a:b] + w[b:]

    def inflect(w: list[str], rng: random.Random) -> list[str]:
        return [x + rng.choice(["s", "ed", "ing", " 's", "er", "s"]) if rng.random() < 0.12 else x for x in w]

    def rotate(w: list[str], rng: random.Random) -> list[str]:
        k = rng.randrange(len(w))
        return w[k:] + w[:k]

    def put(w: list[str], rng: random.Random) -> list[str]:
        w = list(w)
        for _ in range(rng.randint(1, 3)):
            w.insert(rng.randint(0, len(w)), rng.choice(INSERTED))
        return w

    def inject(w: list[str], rng: random.Random) -> list[str]:
        w = list(w)
        for _ in range(rng.randint(1, 2)):
            w.insert(rng.randint(0, len(w)), rng.choice(INJECTED))
        return w

    def synonyms(w: list[str], rng: random.Random) -> list[str]:
        return [words.synonym(x, rng) if rng.random() < 0.3 else x for x in w]

    def paraphrases(w: list[str], rng: random.Random) -> list[str]:
        for _ in range(rng.randint(1, 4)):
            w = words.paraphrase(w, rng)
        return w

    def piece(w: list[str], rng: random.Random) -> list[str]:
        a = rng.randrange(len(w))
        return w[a : a + rng.randint(1, 5)]

    return {
        "delete": (3, cut),
        "swap": (4, swap),
        "reverse": (2, lambda w, rng: w[::-1]),
        "shuffle": (3, lambda w, rng: rng.sample(w, len(w))),
        "twice": (3, twice),
        "inflect": (3, inflect),
        "rotate": (3, rotate),
        "insert": (3, put),
        "inject": (3, inject),
        "synonyms": (4, synonyms),
        "synonyms, swapped": (2, lambda w, rng: swap(synonyms(w, rng), rng)),
        "paraphrases": (6, paraphrases),
        "paraphrases, rotated": (2, lambda w, rng: rotate(paraphrases(w, rng), rng)),
        "piece": (2, piece),
    }


def people(rng: random.Random) -> list[str]:
    """Three people in one of the ways in which data sets name them."""
    pick = rng.random()
    if pick < 0.55:
        return [f"P{k}" for k in rng.sample(range(1, 12), 3)]
    if pick < 0.7:
        return [f"<person_{k}>" for k in rng.sample(range(1, 10), 3)]
    if pick < 0.8:
        return [f"[PERSON{k}]" for k in rng.sample(range(1, 10), 3)]
    if pick < 0.87:
        return [f"person {k}" for k in rng.sample(range(1, 10), 3)]
    if pick < 0.9:
        return [f"#{k}" for k in rng.sample(range(1, 10), 3)]
    return [name.capitalize() for name in rng.sample(NAMES, 3)]


def peopled(text: str, rng: random.Random) -> str:
    """People replaced by ids, as identity-aware captions have them."""
    ids = people(rng)
    return PEOPLE.sub(lambda match: rng.choice(ids), text)


def mixture(data: Path, rng: random.Random) -> Iterator[str]:
    sets = plain(data)
    known = golden(data) | set(sets["parsed"])
    bent = edits(Words())
    names, shares = list(bent), [share for share, _ in bent.values()]
    for sentences in sets.values():
        rng.shuffle(sentences)
    decks = {name: list(sentences) for name, sentences in sets.items()}

    def draw(source: str) -> str:
        if not decks[source]:
            decks[source] = list(sets[source])
        return decks[source].pop()

    def some() -> str:
        return draw(rng.choices(["anet", "parsed", "charades", "tvr", "yc2"], [4, 4, 1, 1, 1])[0])

    while True:
        kind = rng.choices(
            ["anet", "charades", "tvr", "yc2", "flickr8k", "raw", "raw people", "people", "long", "bent"],
            [18, 7, 10, 7, 5, 8, 9, 6, 3, 34],
        )[0]
        if kind in sets:
            text = ptb.tokenize(draw(kind))
        elif kind == "raw":
            text = draw(rng.choice(["anet", "anet", "charades", "tvr"]))
        elif kind == "raw people":
            text = peopled(draw(rng.choice(["anet", "anet", "tvr", "charades"])), rng)
            text = text if text.endswith((".", "!", "?")) else text + "."
            text = text[:1].upper() + text[1:]
        elif kind == "people":
            text = ptb.tokenize(peopled(some(), rng))
        elif kind == "long":
            text = " ".join(ptb.tokenize(some()) for _ in range(rng.randint(2, 3)))
        else:
            words = ptb.tokenize(some()).split()
            text = " ".join(bent[rng.choices(names, shares)[0]][1](words, rng)) if words else ""
        text = " ".join(text.split())
        if text and is_free(text, known):
            known.add(text)
            yield text


FRAMES = ["the {}", "he {} it", "they {} the ball", "a {} man"]
ALONE = [
    "smiles",
    "laughs",
    "walks away",
    "sits down",
    "stands up",
    "nods",
    "cries",
    "enters the room",
    "looks at the clock",
    "opens the door",
    "closes the window",
    "drinks coffee",
    "reads a book",
    "runs out",
    "waves",
    "turns around",
    "leaves",
    "wakes up",
    "falls asleep",
    "holds a gun",
    "shakes her head",
    "lowers his eyes",
    "puts on a coat",
    "starts the car",
    "takes a seat",
    "shrugs",
    "winces",
    "frowns",
    "answers the phone",
    "drives off",
    "bows his head",
    "gets out of bed",
    "climbs the stairs",
    "watches",
]
TO = [
    "kisses",
    "hugs",
    "follows",
    "pushes",
    "talks to",
    "smiles at",
    "looks at",
    "sits next to",
    "walks towards",
    "runs away from",
    "hands a letter to",
    "waves at",
    "dances with",
    "shouts at",
    "whispers to",
    "fights with",
    "runs after",
    "takes the hand of",
    "sits beside",
    "stands behind",
    "opens the door for",
    "leans on",
    "stares at",
    "laughs with",
    "helps",
    "meets",
    "pulls",
    "watches",
    "thanks",
    "points at",
    "throws the ball to",
    "shows a photo to",
    "shakes hands with",
    "grabs",
    "leaves",
    "waits for",
    "drives",
]
SIGNS = (
    "café crème naïve résumé piñata jalapeño мальчик идёт играет собака 男 走る 狗 公园 β ½ 1/2 3/4 2,000 1990s 60s "
    "p.m. a.m. u.s. u.k. dr. mr. st. i.e. e.g. etc. vs. at&t r&b and/or w/o -lrb- -rrb- -lsb- -rsb- o'clock "
    "y'all 'em 'til n't 've 're 's #1 @home user@mail.com www.site.com state-of-the-art t-shirt re-enter x-ray "
    "!! ?! ... -- | ~ * % $ & 42 3.5"
).split()


def frames(data: Path, rng: random.Random) -> Iterator[str]:
    """Words that are rare in the parsed captions, commoner ones first, each in three frames."""
    counts = Counter(word for text in plain(data)["parsed"] for word in text.split())
    words = [word for word, n in counts.items() if n < 300 and re.fullmatch(r"[a-z][a-z'-]+", word)]
    for word in sorted(words, key=lambda word: (-min(counts[word], 20) // 5, rng.random())):
        texts = [frame.format(word) for frame in rng.sample(FRAMES, 3)]
        yield from (text for text in texts if is_free(text, set()))


def short(data: Path, rng: random.Random) -> Iterator[str]:
    seen, parsed = golden(data), plain(data)["parsed"]
    words = [word for word, _ in Counter(w for text in parsed for w in text.split()).most_common(4000)]
    some = [text.split() for text in parsed if 2 <= len(text.split()) <= 7]
    while True:
        pick = rng.random()
        if pick < 0.5:
            a, b, c = people(rng)
            ending = rng.choice(["", "", f" while {c} {rng.choice(ALONE)}", f" and {rng.choice(ALONE)}"])
            act = rng.choice([f"{a} {rng.choice(TO)} {b}{ending}", f"{a} {rng.choice(ALONE)}"])
            text = ptb.tokenize(act) if rng.random() < 0.75 else act + "."
        elif pick < 0.8:
            text = rng.choice(words)
        else:
            tokens = list(rng.choice(some))
            for _ in range(rng.randint(1, 2)):
                tokens.insert(rng.randint(0, len(tokens)), rng.choice(SIGNS))
            text = " ".join(tokens)
        if is_free(text, seen):
            seen.add(text)
            yield text


KINDS = {"mixture": mixture, "frames": frames, "short": short}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("data", type=Path)
    parser.add_argument("--kind", choices=KINDS, default="mixture")
    parser.add_argument("--number", type=int, default=60000)
    parser.add_argument("--longest", type=int, default=48)
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    texts = KINDS[options.kind](options.data, random.Random(options.seed))
    for text in itertools.islice((t for t in texts if len(t.split()) <= options.longest), options.number):
        print(text)


if __name__ == "__main__":
    main()
