"""How well the parser agrees with the original SPICE: every figure of docs/spice.md in one run.

    python tools/spice/agree.py DATA [--model FILE]
    python tools/spice/agree.py DATA --part tune       # captions that may be looked at, by kind
    python tools/spice/agree.py DATA --part hold       # those that nobody looks at (split.py): once, at the end
    python tools/spice/agree.py DATA --from-trees      # the steps after parsing, from the original's own trees

DATA has golden/ (the original's tuples and scores), coco_fakecap/ and flickr8k_human/, as docs/spice.md names them.
"""

from __future__ import annotations

import argparse
import gzip
import json
import re
import time
import zlib
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
from split import PARTS, answers, key, mark, pairs

from fabula.text import ispice, ptb, spice
from fabula.text.spice import depend, grammar
from fabula.text.spice.collapse import collapse
from fabula.text.spice.graph import Graph, Token, tuples
from fabula.text.spice.lemma import lemma

ANSWERS = Path(__file__).resolve().parents[2] / "tests/text/spice_split.npz"


def rows(file: Path) -> list[dict[str, Any]]:
    with gzip.open(file, "rt", encoding="utf-8") as lines:
        return [json.loads(line) for line in lines]


def f1(pairs: list[tuple[Counter[Any], Counter[Any]]]) -> float:
    tp = sum((a & b).total() for a, b in pairs)
    return 2 * tp / sum(a.total() + b.total() for a, b in pairs)


def golden(data: Path) -> None:
    official = rows(data / "golden/spice_tok.jsonl.gz")
    found = spice.scores([r["cand"] for r in official], [r["refs"] for r in official])
    tuples: dict[str, list[tuple[Counter[Any], Counter[Any]]]] = {}
    for s, r in zip(found, official, strict=True):
        for mine, theirs in ((s.candidate, r["test_tuples"]), (s.references, r["ref_tuples"])):
            pair = Counter(t for t, _ in mine), Counter(tuple(t["tuple"]) for t in theirs)
            tuples.setdefault(r["kind"], []).append(pair)
    mine = np.array([s.f for s in found])
    theirs = np.array([r["scores"]["All"]["f"] or 0.0 for r in official])
    print(f"golden: {len(official)} pairs, tuple F1 {f1([p for kind in tuples.values() for p in kind]):.4f}")
    print(
        f"  Pearson {np.corrcoef(mine, theirs)[0, 1]:.4f}, corpus {100 * mine.mean():.2f} vs {100 * theirs.mean():.2f}"
    )
    print("  by kind: " + ", ".join(f"{kind} {f1(pairs):.3f}" for kind, pairs in sorted(tuples.items())))
    ours, want = [], []
    for s, r in zip(found, official, strict=True):
        if re.search(r"\bp\d+\b", " ".join([r["cand"], *r["refs"]])):
            ours.append(ispice.from_spice(s).value)
            sides = [[t["tuple"] for t in r[side]] for side in ("test_tuples", "ref_tuples")]
            want.append(ispice.score_tuples(*sides).value)
    print(f"  iSPICE: {len(ours)} pairs with ids, Pearson {np.corrcoef(ours, want)[0, 1]:.4f}, "
          f"mean {100 * np.mean(ours):.2f} vs {100 * np.mean(want):.2f}")  # fmt: skip


def by_part(data: Path, part: str, file: Path) -> None:
    """Against the original's answers to the pairs of split.py, by kind; tiny graphs: up to 3 tuples on either side."""
    said, drawn = answers(file), pairs(data, part)
    some = [(pair, said[k]) for pair in drawn if (k := key(pair.candidate, pair.references)) in said]
    found = spice.scores([pair.candidate for pair, _ in some], [pair.references for pair, _ in some])
    groups: dict[str, list[int]] = {"all": list(range(len(some)))}
    for k, (pair, official) in enumerate(some):
        groups.setdefault(pair.kind, []).append(k)
        if max(len(official.candidate), len(official.references)) <= 3:
            groups.setdefault("tiny graphs", []).append(k)
    both = []
    for s, (_, official) in zip(found, some, strict=True):
        sides = (s.candidate, official.candidate), (s.references, official.references)
        both.append([(Counter(mark(t) for t, _ in ours), Counter(his)) for ours, his in sides])
    mine, theirs = np.array([s.f for s in found]), np.array([official.f for _, official in some])
    print(f"{part}: {len(some)} of {len(drawn)} pairs")
    for name, rows in groups.items():
        x, y = mine[rows], theirs[rows]
        print(
            f"  {name:12} n {len(rows):4}  F1 {f1([p for k in rows for p in both[k]]):.4f}  "
            f"Pearson {np.corrcoef(x, y)[0, 1]:.4f}  "
            f"corpus {100 * x.mean():.2f} vs {100 * y.mean():.2f}  scores equal {np.mean(abs(x - y) < 1e-9):.3f}"
        )


def held_back(data: Path) -> None:
    """Captions that were never trained on, tuples before merging."""
    some = [r for r in rows(data / "corenlp_captions/captions.jsonl.gz") if zlib.crc32(r["text"].encode()) % 20 == 0]
    pairs = [(Counter(spice.tuples(r["text"])), Counter(map(tuple, r["proposed"]))) for r in some]
    same = sum(a == b for a, b in pairs) / len(pairs)
    print(f"held-back captions: {len(some)}, tuple F1 {f1(pairs):.4f}, all tuples equal in {same:.3f}")


def coco(data: Path) -> None:
    items = json.loads((data / "coco_fakecap/vdtk_dataset_with_refs.json").read_text(encoding="utf-8"))
    candidates = ptb.tokenize_all([i["candidates"][0] for i in items])
    references = [ptb.tokenize_all(i["references"]) for i in items]
    began = time.process_time()
    found = spice.scores(candidates, references)
    rate = sum(1 + len(r) for r in references) / (time.process_time() - began)
    print(f"coco_fakecap: SPICE {100 * np.mean([s.f for s in found]):.2f} (13.3), {rate:.0f} captions/s of CPU")


def flickr8k(data: Path) -> None:
    from scipy.stats import kendalltau

    captions: dict[str, list[str]] = {}
    for line in (data / "flickr8k_human/Flickr8k.token.txt").read_text(encoding="utf-8").splitlines():
        name, text = line.split("\t")
        captions.setdefault(name.split("#")[0], []).append(text)
    judged = [line.split() for line in (data / "flickr8k_human/ExpertAnnotations.txt").read_text().splitlines()]
    candidates, references, marks = [], [], []
    for image, candidate, *three in judged:
        source, number = candidate.split("#")
        if source != image:  # a caption is not judged by itself
            candidates.append(captions[source][int(number)])
            references.append(captions[image])
            marks.append([int(m) for m in three])
    texts = list({*candidates, *(t for r in references for t in r)})
    tokens = dict(zip(texts, ptb.tokenize_all(texts), strict=True))
    found = spice.scores([tokens[c] for c in candidates], [[tokens[t] for t in r] for r in references])
    values = np.repeat([s.f for s in found], 3)
    tau = kendalltau(values, np.array(marks).ravel(), variant="c").statistic
    print(f"flickr8k: {len(candidates)} pairs, {values.size} judgements, Kendall tau-c {100 * tau:.2f}")


def from_trees(file: Path) -> None:
    """Dependencies, graphs and tuples from the original's phrase-structure trees and tags."""
    captions = rows(file)
    sentences = basic = graphs = lemmas = same = ordered = 0
    wrong: Counter[tuple[str, str]] = Counter()
    spent = 0.0
    for row in captions:
        found = []
        for place, s in enumerate(row["sentences"]):
            label, parent, words = depend.read_trees(s["tree"])
            tags = [t[1] for t in s["tokens"]]
            began = time.process_time()
            heads, names = depend.depend(label, parent, words, place)
            tokens = [Token(word, tag, lemma(word, tag)) for word, tag in zip(words, tags, strict=True)]
            edges, copies = collapse(tokens, heads, names, place)
            found += tuples(Graph(tokens, edges, copies, place))
            spent += time.process_time() - began
            want = {int(child): (int(head), name) for name, head, child in s["basic"]}
            got = {k + 1: arc for k, arc in enumerate(zip(heads, names, strict=True))}
            wrong.update((want[k][1], got[k][1]) for k in got if got[k] != want[k])
            sentences += 1
            basic += got == want
            numbers = {f"{word}'{copies[: k + 1].count(word)}": len(tokens) + 1 + k for k, word in enumerate(copies)}
            teachers = [(name, numbers.get(a) or int(a), numbers.get(b) or int(b)) for name, a, b in s["ccproc"]]
            graphs += Counter(edges) == Counter(teachers)
            lemmas += [t.lemma for t in tokens] == [t[2] for t in s["tokens"]]
        official = [tuple(t) for t in row["proposed"]]
        same += Counter(found) == Counter(official)
        ordered += found == official
    print(f"{file.name}: {sentences} sentences; equal: dependencies {basic}, graphs {graphs}, lemmas {lemmas}")
    print(f"  {len(captions)} captions; equal tuples {same}, in the same order {ordered}")
    print(
        f"  {1e6 * spent / sentences:.0f} µs of CPU a sentence; dependencies that differ: {dict(wrong.most_common(20))}"
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("data", type=Path)
    parser.add_argument("--model", type=Path, help="another model than the one of the package")
    parser.add_argument("--from-trees", action="store_true", help="start at the original's phrase-structure trees")
    parser.add_argument("--part", choices=PARTS, help="only the pairs of split.py of one part")
    parser.add_argument("--answers", type=Path, default=ANSWERS, help="what the original said")
    options = parser.parse_args()
    if options.from_trees:
        from_trees(options.data / "corenlp_captions/captions.jsonl.gz")
        from_trees(options.data / "golden/corenlp_parses_tok.jsonl.gz")
        return
    if options.model:
        model = grammar.Parser(dict(np.load(options.model)))
        grammar.load = lambda: model  # type: ignore[assignment]
    if options.part:
        by_part(options.data, options.part, options.answers)
        return
    golden(options.data)
    held_back(options.data)
    coco(options.data)
    flickr8k(options.data)


if __name__ == "__main__":
    main()
