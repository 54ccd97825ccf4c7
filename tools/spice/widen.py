"""Words, rare tags and rules more for a learned grammar, without learning all of it anew.

    python tools/spice/widen.py DATA --teacher pcfg.txt --out grammar.npz   # --model FILE: another than the package's

Captions that a grammar has not seen have words, tags and rules that it has not seen. The teacher's score of a tree is a
sum, and so is ours; where both rank all trees alike they differ by a potential φ of each state alone:

    θ(parent → children) = w(parent → children) + φ(parent) − Σ φ(child)          θ(word, tag) = w(word, tag) + φ(tag)

φ(tag) is the median over the words of the file, the other φ follow from the rules of the file by least squares (the
median error of a rule is .007). With them a word or a rule more gets its weight from the teacher's score of it:

  1. our states are matched with the teacher's: derivations of one caption that have the same shape name them, and the
     rules of the file, which stand in the teacher's order, name the rest;
  2. words that METEOR's lists (WordNet, paraphrases) and the teacher have: with the tags that it has seen;
     captions of the training splits have a third of them, and a synonym that is not known goes by its signature;
  3. floors (grammar.py) for tags that no word was held to there: interjections, foreign words;
  4. rules that stand in trees of captions: of corenlp_captions, and of captions and bent captions of `tune` that are in
     no pair (split.py);
  5. limits with more slack, as unseen captions go deeper than those that the limits come from.

Captions of the part that is held back (split.py) are not read.
"""

from __future__ import annotations

import argparse
import gzip
import json
import random
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator
from pathlib import Path

import numpy as np
import scipy.sparse as sparse
from rows import spans
from scipy.sparse.linalg import lsqr
from split import BENT, HOLD, TUNE, Captions, pairs, part
from teacher import ALL, Key, Node, Teacher, label

from fabula.text.meteor.index import open_index
from fabula.text.spice import grammar, parse
from fabula.text.spice.pcfg import TAG, UNFINISHED

CAPTIONS = 6000
LEAST, MANY = 3, 8  # words that a tag's offset is the median of; that a floor of it needs
STEADY = 0.3  # half of those words lie no further apart
LONGEST = 20  # words of a caption that names states
SHORT = 17  # words of a caption that the teacher parses
CUT = 8.5  # tags of a word that are worse than its best by more are left out, as in grammar.py
OFTEN = 100  # words that the teacher has seen more often have only the tags that it saw
NO_LIMIT = 1e9
SLACK = 1.5  # added to every limit
MORE, BENDS = 7000, 0.35  # captions of `tune` that the teacher parses, and how many of them are bent
WINDOW = 3000  # rules of the teacher that are looked through for one rule of ours with two states to name


def captions(data: Path) -> Iterator[tuple[list[str], list[Node]]]:
    """Words and the spans of the official tree."""
    with gzip.open(data / "corenlp_captions/captions.jsonl.gz", "rt", encoding="utf-8") as file:
        for row in map(json.loads, file):
            if part(row["text"]) != HOLD:
                yield from (found for s in row["sentences"] if len((found := spans(s["tree"]))[0]) <= LONGEST)


def derivations(parser: grammar.Parser, sentences: list[list[str]]) -> Iterator[list[Node]]:
    """Ours, with the unfinished states."""
    lexicon = parser.lexicon
    for k in range(0, len(sentences), 500):
        words = [[*(parser.find_word(w, j == 0) for j, w in enumerate(s)), parser.end] for s in sentences[k : k + 500]]
        first, flat = np.cumsum([0, *map(len, words)], dtype=np.int64), np.concatenate(words).astype(np.int32)
        at, nodes, *_ = parser.grammar.compiled.trees(
            first, flat, lexicon.at, lexicon.tags, lexicon.scores, 1, True
        )  # fmt: skip
        found = list(map(tuple, nodes.tolist()))
        yield from (found[a:b] for a, b in zip(at[:-1].tolist(), at[1:].tolist(), strict=True))


class Match:
    """Our states' names among the teacher's."""

    def __init__(self, teacher: Teacher, parser: grammar.Parser, data: Path) -> None:
        self.teacher, self.parser = teacher, parser
        some = [found for found, _ in zip(captions(data), range(CAPTIONS), strict=False)]
        votes: dict[int, Counter[int]] = defaultdict(Counter)
        for (words, tree), ours in zip(some, derivations(parser, [words for words, _ in some]), strict=True):
            row = teacher.annotate(words, tree)
            if row and [node[1:] for node in row.nodes] == [node[1:] for node in ours]:
                for (his, *_), (mine, *_) in zip(row.nodes, ours, strict=True):
                    votes[mine][his] += 1
        named = {mine: count.most_common(1)[0] for mine, count in votes.items()}
        self.name = {mine: his for mine, (his, n) in named.items() if n > 1 and n > 0.9 * votes[mine].total()}
        self.looks = [parser.names[k] for k in parser.label]
        self.his_looks = [
            "" if k == UNFINISHED else label(s) for s, k in zip(teacher.states, teacher.kind, strict=True)
        ]
        self.may_be: dict[int, set[int]] = {}
        while self.spread():
            pass

    def spread(self) -> int:
        """Names for states by the rules that they stand in → how many."""
        model = self.parser.grammar
        for ours, his in ((model.binary, self.teacher.binary), (model.unary, self.teacher.unary)):
            self.narrow(list(map(tuple, ours.tolist())), list(map(tuple, his.tolist())))
        taken, found = set(self.name.values()), 0
        for state, names in self.may_be.items():
            names -= taken
            if state not in self.name and len(names) == 1:
                self.name[state] = next(iter(names))
                taken.add(self.name[state])
                found += 1
        return found

    def narrow(self, ours: list[tuple[int, ...]], his: list[tuple[int, ...]]) -> None:
        """Both are in one order: what lies between two rules that are known lies between them in the teacher's, too."""
        name, taken, place = self.name, set(self.name.values()), {rule: k for k, rule in enumerate(his)}
        known = [place.get(tuple(name.get(s, -1) for s in rule)) for rule in ours]
        before, last = [], -1
        for k in known:
            before.append(last)
            last = last if k is None else k
        behind, last = [], len(his)
        for k in reversed(known):
            behind.append(last)
            last = last if k is None else k
        for rule, a, b in zip(ours, before, reversed(behind), strict=True):
            new = {s for s in rule if s not in name}
            if not new or (b - a > WINDOW and len(new) > 1):
                continue
            can: dict[int, set[int]] = defaultdict(set)
            for other in his[a + 1 : b]:
                if all(
                    name[s] == t if s in name else self.alike(s, t, taken) for s, t in zip(rule, other, strict=True)
                ):
                    for s, t in zip(rule, other, strict=True):
                        can[s].add(t)
            for s in new & can.keys():
                self.may_be[s] = self.may_be.get(s, can[s]) & can[s]

    def alike(self, mine: int, his: int, taken: set[int]) -> bool:
        if his in taken or self.teacher.kind[his] != self.parser.grammar.kind[mine]:
            return False
        return self.his_looks[his] == self.looks[mine] and his in self.may_be.get(mine, (his,))


class Wider:
    """A model file with more words and floors."""

    def __init__(self, teacher: Teacher, data: dict[str, np.ndarray], name: dict[int, int], cut: float = CUT) -> None:
        self.teacher, self.data, self.name, self.cut = teacher, dict(data), dict(name), cut
        self.new = {his: mine for mine, his in name.items()}
        self.words = str(data["words"]).split("\n")
        ends = np.cumsum(data["tags_of"].astype(np.int64))
        tags, scores = (np.split(data[key], ends[:-1]) for key in ("tags", "scores"))
        self.own = [dict(zip(t.tolist(), v.tolist(), strict=True)) for t, v in zip(tags, scores, strict=True)]
        self.offset = self.find_offsets()
        self.floor = dict(zip(data["floors"].tolist(), data["floor_scores"].tolist(), strict=True))
        self.common = self.find_common()

    def find_offsets(self) -> dict[int, float]:
        """Of every tag: how far our weights of words lie above the teacher's scores of them."""
        values: dict[int, list[float]] = defaultdict(list)
        for word, own in zip(self.words, self.own, strict=True):
            for tag, value in own.items():
                if self.times(word, tag):
                    values[tag].append(value - self.score(word, tag))
        wide = {tag: np.subtract(*np.percentile(found, [75, 25])) for tag, found in values.items()}
        self.steady = {tag for tag, found in values.items() if len(found) >= MANY and wide[tag] <= STEADY}
        return {t: float(np.median(v)) for t, v in values.items() if len(v) >= LEAST and wide[t] <= STEADY}

    def times(self, word: str, tag: int) -> float:
        """How often the teacher has seen a word with a tag of ours."""
        return self.teacher.seen.get((word, self.teacher.states[self.name[tag]]), 0.0) if tag in self.name else 0.0

    def score(self, word: str, tag: int) -> float:
        return self.teacher.log_word(word, self.teacher.states[self.name[tag]], False)

    def find_common(self) -> dict[int, float]:
        """How likely a tag is in captions, as a logarithm: in the file's table of what follows what."""
        tags = np.flatnonzero(self.data["kind"] == TAG).tolist()
        p = np.exp(self.data["follows"][1:] / 20.0)
        share = np.full(len(tags), 1 / len(tags))
        for _ in range(30):  # the share of each tag in the long run
            share = share @ p
            share /= share.sum()
        return dict(zip(tags, np.log(share).tolist(), strict=True))

    def add_floors(self) -> None:
        """For tags that words of the teacher may have though it has not seen them with it."""
        some = [w for w in self.words if 0 < self.teacher.seen.get((w, ALL), 0.0) <= OFTEN]
        for tag, offset in self.offset.items():
            values = [v for w in some if not self.times(w, tag) and (v := self.score(w, tag)) > -100]
            if tag in self.steady and tag not in self.floor and values:
                self.floor[tag] = offset + float(np.median(values))

    def add_words(self, words: list[str]) -> None:
        for word in words:
            tags = [self.new[n] for t in self.teacher.of_word[word] if (n := self.teacher.number[t]) in self.new]
            own = {t: self.offset[t] + self.score(word, t) for t in tags if t in self.offset}
            if own:
                self.words.append(word)
                self.own.append(own)

    def potentials(self) -> dict[int, float]:
        """φ of the teacher's states that ours has."""
        model, rows, wanted = self.data, [], []
        for kind in ("binary", "unary"):
            for rule, weight in zip(model[kind].tolist(), model[f"{kind}_scores"].tolist(), strict=True):
                if all(s in self.name for s in rule):
                    his = tuple(self.name[s] for s in rule)
                    rows.append(his)
                    wanted.append(weight - self.teacher.rule[his])
        ends = [self.teacher.number["ROOT"], *(self.name[t] for t in self.offset)]
        trust = np.array([1.0] * len(rows) + [5.0] * len(ends))
        y = np.array([*wanted, 0.0, *self.offset.values()]) * trust
        cells = [(k, s, 1.0 if j == 0 else -1.0) for k, rule in enumerate(rows) for j, s in enumerate(rule)]
        cells += [(len(rows) + k, s, 1.0) for k, s in enumerate(ends)]
        at, states, signs = zip(*cells, strict=True)
        A = sparse.diags(trust) @ sparse.coo_matrix((signs, (at, states)), (len(y), len(self.teacher.states))).tocsr()
        return dict(enumerate(lsqr(A, y, damp=0.01, iter_lim=400)[0].tolist()))

    def add_rules(self, rules: Iterable[Key]) -> None:
        """With the states that they need; rules over tags that are not ours stay out."""
        phi, place = self.potentials(), self.teacher.place
        known = {tuple(self.name.get(s, -1) for s in r) for k in ("binary", "unary") for r in self.data[k].tolist()}
        some = [r for r in rules if r not in known and all(s in self.new or not self.teacher.is_tag[s] for s in r)]
        for state in sorted({s for rule in some for s in rule} - self.new.keys()):
            self.add_state(state)
            phi[state] = 0.0  # any: it stands on both sides
        for kind, size in (("binary", 3), ("unary", 2)):
            rows, last = [], -1
            for rule, weight in zip(self.data[kind].tolist(), self.data[f"{kind}_scores"].tolist(), strict=True):
                last = place.get(tuple(self.name.get(s, -1) for s in rule), last)
                rows.append((last, rule, weight))
            for rule in some:
                if len(rule) == size:
                    weight = self.teacher.rule[rule] + phi[rule[0]] - sum(phi[s] for s in rule[1:])
                    rows.append((place[rule], [self.new[s] for s in rule], weight))
            rows.sort(key=lambda row: row[0])
            self.data[kind] = np.array([rule for _, rule, _ in rows], np.int16)
            self.data[f"{kind}_scores"] = np.array([weight for *_, weight in rows], np.float32)

    def add_state(self, state: int) -> None:
        names, number = str(self.data["names"]).split("\n"), len(self.data["label"])
        look = "" if self.teacher.kind[state] == UNFINISHED else label(self.teacher.states[state])
        if look not in names:
            names.append(look)
        for key, value in (("label", names.index(look)), ("kind", self.teacher.kind[state]), ("limits", NO_LIMIT)):
            self.data[key] = np.append(self.data[key], np.array(value, self.data[key].dtype))
        self.data["names"] = np.array("\n".join(names))
        self.new[state], self.name[number] = number, state

    def floors_of(self, floors: list[int]) -> list[int]:
        """How many of the floors each word has: those that are not much worse than its best tag."""
        found = []
        for word, own in zip(self.words, self.own, strict=True):
            if not 0 < self.teacher.seen.get((word, ALL), 0.0) <= OFTEN:
                found.append(0)
                continue
            least = max(v + self.common[t] for t, v in own.items()) - self.cut
            found.append(sum(self.floor[t] + self.common[t] > least for t in floors))
        return found

    def arrays(self) -> dict[str, np.ndarray]:
        floors = sorted(self.floor, key=lambda t: -self.floor[t] - self.common[t])
        return self.data | {
            "limits": self.data["limits"] + np.float32(SLACK),
            "words": np.array("\n".join(self.words)),
            "tags_of": np.array([len(own) for own in self.own], np.int16),
            "tags": np.array([t for own in self.own for t in own], np.int16),
            "scores": np.array([v for own in self.own for v in own.values()], np.float32),
            "floors": np.array(floors, np.int16),
            "floor_scores": np.array([self.floor[t] for t in floors], np.float32),
            "floors_of": np.array(self.floors_of(floors), np.int16),
        }


def rules_of(teacher: Teacher, data: Path, number: int) -> Counter[Key]:
    """Rules in trees of captions."""
    found: Counter[Key] = Counter()
    for words, tree in captions(data):
        if row := teacher.annotate(words, tree):
            found.update(teacher.parts(row.words, row.nodes)[0])
    for row in teacher.parse(further(data, number)):
        found.update(teacher.parts(row.words, row.nodes)[0])
    return found


def further(data: Path, number: int) -> list[list[str]]:
    """Captions of `tune` that are in no pair, as they are or bent."""
    some, rng = Captions(data, TUNE), random.Random("more")
    ways = ["synonyms", "synonyms, swapped", "paraphrases", *BENT, "piece"]
    used = {text for pair in pairs(data, TUNE) for text in (pair.candidate, *pair.references)}
    found: dict[str, list[str]] = {}
    while len(found) < number:
        text = some.seed(rng, 2)
        if rng.random() < BENDS:
            text = " ".join(some.edits[rng.choice(ways)](text.split(), rng))
        if text and text not in used and text not in found and part(text) == TUNE:
            for words in parse.split_sentences(text):
                name = " ".join(words)
                if 2 <= len(words) <= SHORT and name not in used and part(name) == TUNE:
                    found[name] = words
    return list(found.values())


def word_list(teacher: Teacher, known: set[str]) -> list[str]:
    """Words of METEOR's lists that the teacher knows."""
    return sorted(w for w in open_index().words if w in teacher.of_word and w not in known)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("data", type=Path)
    parser.add_argument("--teacher", type=Path, required=True)
    parser.add_argument("--model", type=Path, help="another model than the one of the package")
    parser.add_argument("--more", type=int, default=MORE, help="captions that the teacher parses")
    parser.add_argument("--out", type=Path, required=True)
    options = parser.parse_args()
    data = dict(np.load(options.model)) if options.model else grammar.read_data()
    teacher = Teacher(options.teacher)
    wider = Wider(teacher, data, Match(teacher, grammar.Parser(data), options.data).name)
    wider.add_floors()
    wider.add_words(word_list(teacher, set(wider.words)))
    wider.add_rules(rules_of(teacher, options.data, options.more))
    np.savez_compressed(options.out, **wider.arrays())
    rules = len(wider.data["binary"]) + len(wider.data["unary"])
    print(
        f"{len(wider.words)} words, {len(wider.floor)} floors, {rules} rules, {len(wider.name)} states: {options.out}"
    )


if __name__ == "__main__":
    main()
