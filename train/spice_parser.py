"""Train the caption parser of text/spice_model.py on a teacher's output (torch, CPU; not needed to use the parser).

    python train/spice_parser.py CAPTIONS.jsonl.gz --more "OUT/*.json" --words captions.txt --seed 1 --out spice.npz

CAPTIONS.jsonl.gz has a caption per line with "sentences": tokens [word, tag, …] and "basic" dependencies [label,
head, child]; `--more` are CoreNLP's JSON files. One caption in twenty (by the CRC-32 of its text) is never trained on
and judges each epoch. The model is two layers of BiLSTM over word, affix and shape embeddings, a tag for each token,
a biaffine score for each arc and for each label (Dozat & Manning, ICLR 2017); the average of the weights over the
last steps is what is written.
"""

# ruff: noqa: SIM905  (word lists read better as text)
from __future__ import annotations

import argparse
import glob
import gzip
import itertools
import json
import random
import re
import time
import zlib
from collections import Counter
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn
from torch import distributed as dist
from torch.nn import functional as F  # noqa: N812
from torch.nn.utils.rnn import pack_padded_sequence, pad_packed_sequence

from fabula.text.spice_features import SHAPES, features

TAGS = (
    "# $ '' , -LRB- -RRB- . : CC CD DT EX FW IN JJ JJR JJS LS MD NN NNP NNPS NNS PDT POS PRP PRP$ RB RBR RBS RP "
    "SYM TO UH VB VBD VBG VBN VBP VBZ WDT WP WP$ WRB `` ADD AFX GW HYPH NFP XX"
).split()
LABELS = (
    "root acl acl:relcl advcl advmod amod appos aux auxpass case cc cc:preconj ccomp compound compound:prt conj "
    "cop csubj csubjpass dep det det:predet discourse dobj expl foreign goeswith iobj list mark mwe name neg "
    "nmod nmod:npmod nmod:poss nmod:tmod nsubj nsubjpass nummod parataxis punct remnant vocative xcomp"
).split()
MEETING = 8  # steps between two averagings
OPEN = frozenset(["NN", "NNS", "JJ", "VB", "VBZ", "VBP", "VBD", "VBN", "VBG", "RB"])
AUXILIARY = frozenset(
    "be is are was were been being am have has had having do does did doing done get gets got getting not n't".split()
)
HELD_BACK = 20  # one caption in so many judges
TAG, LABEL = ({name: k for k, name in enumerate(names)} for names in (TAGS, LABELS))

DEPTHS = 21  # how many more brackets two neighbours share than the two before them: −10 … 10
PHRASES = (
    "? ROOT S SBAR SBARQ SINV SQ NP VP PP ADVP ADJP WHNP WHADVP WHPP WHADJP PRT NP-TMP QP CONJP FRAG INTJ LST "
    "NAC NX PRN RRC UCP X"
).split()
PHRASE = {name: k for k, name in enumerate(PHRASES)}

# words, tags, heads (0 is the root), labels; of the phrase tree: depth steps and lowest common phrases of neighbours
Sentence = tuple[list[str], list[int], list[int], list[int], list[int], list[int]]


def corpus(file: Path) -> Iterator[tuple[str, Sentence]]:
    with gzip.open(file, "rt", encoding="utf-8") as rows:
        for row in map(json.loads, rows):
            for sentence in row["sentences"]:
                arcs = [(label, int(head), int(child)) for label, head, child in sentence["basic"]]
                yield (
                    row["text"],
                    made(
                        [t[0] for t in sentence["tokens"]], [t[1] for t in sentence["tokens"]], arcs, sentence["tree"]
                    ),
                )


def corenlp(files: Iterable[str]) -> Iterator[tuple[str, Sentence]]:
    for name in files:
        try:
            sentences = json.loads(Path(name).read_text(encoding="utf-8"))["sentences"]
        except json.JSONDecodeError:
            continue  # still being written
        for s in sentences:
            arcs = [(d["dep"].lower(), int(d["governor"]), int(d["dependent"])) for d in s["basic-dependencies"]]
            words = [t["word"] for t in s["tokens"]]
            yield " ".join(words), made(words, [t["pos"] for t in s["tokens"]], arcs, s["parse"])


def made(words: list[str], tags: list[str], arcs: list[tuple[str, int, int]], tree: str) -> Sentence:
    """Punctuation has no arc in the teacher's output: it hangs on the root as `punct`."""
    heads, labels = [0] * len(words), [LABEL["punct"]] * len(words)
    for label, head, child in arcs:
        heads[child - 1], labels[child - 1] = head, LABEL.get(label, LABEL["dep"])
    return words, [TAG.get(tag, TAG["NN"]) for tag in tags], heads, labels, *brackets(tree, len(words))


def brackets(tree: str, n: int) -> tuple[list[int], list[int]]:
    """The phrase tree as two labels for each word (Gómez-Rodríguez & Vilares, EMNLP 2018): more to learn from."""
    paths: list[list[tuple[int, str]]] = []
    stack: list[tuple[int, str]] = []
    for number, piece in enumerate(re.findall(r"\(\S+|\)|[^\s()]+", tree)):
        if piece[0] == "(":
            stack.append((number, piece[1:]))
        elif piece == ")":
            stack.pop()
        else:
            paths.append(stack[:-1])
    if len(paths) != n:
        return [-1] * n, [-1] * n
    depths, phrases, before = [], [], 0
    for a, b in itertools.pairwise(paths):
        shared = [x for x, y in zip(a, b, strict=False) if x == y]
        depths.append(max(-10, min(10, len(shared) - before)) + 10)
        phrases.append(PHRASE.get(shared[-1][1], 0))
        before = len(shared)
    return [*depths, -1], [*phrases, -1]


class Vocabulary:
    """Words and affixes by number; 0 is what was never seen."""

    def __init__(self, texts: Iterable[list[str]], word_count: int, affix_count: int) -> None:
        counts = [Counter(), Counter(), Counter(), Counter()]  # type: list[Counter[str]]
        for words in texts:
            for k, word in enumerate(words):
                for counter, value in zip(counts, features(word, k == 0)[:4], strict=True):
                    counter[value] += 1
        least = (word_count, affix_count, affix_count, affix_count)
        self.lists = [
            [w for w, n in sorted(c.items(), key=lambda p: (-p[1], p[0])) if n >= m]
            for c, m in zip(counts, least, strict=True)
        ]
        self.counts = [0, *(counts[0][w] for w in self.lists[0])]
        self.index()

    def index(self) -> None:
        self.maps = [{w: k + 1 for k, w in enumerate(names)} for names in self.lists]

    def rows(self, words: list[str]) -> list[list[int]]:
        out = []
        for k, word in enumerate(words):
            *names, shape = features(word, k == 0)
            out.append([m.get(name, 0) for m, name in zip(self.maps, names, strict=True)] + [shape])
        return out


class Parser(nn.Module):
    def __init__(self, sizes: list[int], E: int, H: int, A: int, L: int, drop: float) -> None:
        super().__init__()
        self.embed = nn.ModuleList([nn.Embedding(n, E) for n in [*sizes, SHAPES]])
        for table in self.embed:
            nn.init.normal_(table.weight, std=0.3)
        self.one = nn.LSTM(E, H, batch_first=True, bidirectional=True)
        self.two = nn.LSTM(2 * H, H, batch_first=True, bidirectional=True)
        self.tag = nn.Linear(2 * H, len(TAGS))
        self.mlp = nn.Linear(2 * H, 2 * A + 2 * L)
        self.root = nn.Parameter(torch.zeros(2 * H))
        self.arc = nn.Parameter(torch.zeros(A + 1, A))
        self.lab = nn.Parameter(torch.zeros(len(LABELS), L + 1, L + 1))
        nn.init.normal_(self.arc, std=0.02)
        nn.init.normal_(self.lab, std=0.02)
        nn.init.normal_(self.root, std=0.1)
        self.aux = nn.Linear(2 * H, DEPTHS + len(PHRASES))  # only while learning
        self.A, self.L, self.drop = A, L, drop

    def forward(self, x: Tensor, lengths: Tensor) -> tuple[Tensor, Tensor, Tensor, Tensor, Tensor]:
        """x [B, T, 5] → tags [B, T, tags], arcs [B, T, T+1] (head 0 is the root), and what labels are made of."""
        e = sum(table(x[..., k]) for k, table in enumerate(self.embed))
        h = shared_dropout(e, self.drop * 0.7, self.training)
        for layer in (self.one, self.two):
            packed = pack_padded_sequence(h, lengths, batch_first=True)
            h, _ = pad_packed_sequence(layer(packed)[0], batch_first=True)
            h = shared_dropout(h, self.drop, self.training)
        tags, aux = self.tag(h), self.aux(h)
        h = torch.cat([self.root.expand(len(h), 1, -1), h], 1)
        m = F.leaky_relu(self.mlp(h), 0.1)
        m = shared_dropout(m, self.drop, self.training)
        child, head, lc, lh = m.split([self.A, self.A, self.L, self.L], -1)
        child = F.pad(child[:, 1:], (0, 1), value=1.0)
        arcs = child @ self.arc @ head.transpose(1, 2)
        return tags, aux, arcs, F.pad(lc[:, 1:], (0, 1), value=1.0), F.pad(lh, (0, 1), value=1.0)

    def labels(self, lc: Tensor, lh: Tensor) -> Tensor:
        """[N, L+1] children and their heads → [N, labels]."""
        return torch.einsum("ni,rij,nj->nr", lc, self.lab, lh)


class Exchange:
    """Swaps words that the teacher gives one tag whatever the context: to a grammar without words they are the same.

    The teacher is an unlexicalised grammar, so its tree does not change when "onion" becomes "violin". The forms of be,
    have and do are its exception.
    """

    def __init__(self, rows: Iterable[Sentence], vocabulary: Vocabulary, share: float) -> None:
        tags: dict[str, Counter[int]] = {}
        for words, given, *_ in rows:
            for word, tag in zip(words, given, strict=True):
                tags.setdefault(word, Counter())[tag] += 1
        self.share = share
        self.group = torch.zeros(len(vocabulary.lists[0]) + 1, dtype=torch.long)
        members: dict[int, list[list[int]]] = {}
        for word, counts in tags.items():
            tag, most = counts.most_common(1)[0]
            sure = counts.total() >= 5 and most >= 0.97 * counts.total()
            if sure and TAGS[tag] in OPEN and word not in AUXILIARY and word.isalpha() and word.islower():
                row = vocabulary.rows(["a", word])[1]
                if row[0]:
                    self.group[row[0]] = tag + 1
                    members.setdefault(tag + 1, []).append(row)
        self.members = {tag: torch.tensor(rows) for tag, rows in members.items()}
        print("exchangeable:", {TAGS[tag - 1]: len(rows) for tag, rows in self.members.items()}, flush=True)

    def __call__(self, x: Tensor, tags: Tensor) -> None:
        group = self.group[x[..., 0]]
        chosen = (torch.rand(group.shape) < self.share) & (x[..., 4] == 0) & (group == tags + 1)
        for tag, rows in self.members.items():
            here = chosen & (group == tag)
            x[here] = rows[torch.randint(len(rows), (int(here.sum()),))]


def shared_dropout(x: Tensor, p: float, training: bool) -> Tensor:
    """One mask for all positions of a sentence."""
    if not training or not p:
        return x
    return x * (torch.rand(x.shape[0], 1, x.shape[2]) > p).float() / (1 - p)


def batches(data: list[Any], tokens: int, rng: random.Random | None) -> Iterator[list[Any]]:
    order = sorted(range(len(data)), key=lambda k: len(data[k][0]) + (rng.random() * 2 if rng else 0))
    groups, group = [], []
    for k in order:
        if group and (len(group) + 1) * len(data[k][0]) > tokens:
            groups.append(group)
            group = []
        group.append(data[k])
    groups.append(group)
    if rng:
        rng.shuffle(groups)
    yield from groups


def tensors(group: list[Any]) -> tuple[Tensor, Tensor, Tensor]:
    group = sorted(group, key=lambda row: -len(row[0]))
    lengths = torch.tensor([len(row[0]) for row in group])
    x = torch.zeros(len(group), int(lengths[0]), 5, dtype=torch.long)
    rest = torch.full((5, len(group), int(lengths[0])), -1, dtype=torch.long)
    for b, row in enumerate(group):
        n = len(row[0])
        x[b, :n] = torch.tensor(row[0])
        for k in range(5):
            rest[k, b, :n] = torch.tensor(row[k + 1])
    return x, lengths, rest


def losses(model: Parser, x: Tensor, lengths: Tensor, wanted: Tensor) -> tuple[Tensor, Any]:
    tags, heads, labels, depths, phrases = wanted
    t, aux, arcs, lc, lh = model(x, lengths)
    T = arcs.shape[1]
    beyond = torch.arange(T + 1)[None] > lengths[:, None]
    arcs = arcs.masked_fill(beyond[:, None], -1e4)
    b, i = torch.nonzero(heads >= 0, as_tuple=True)
    gold = heads[b, i]
    scored = model.labels(lc[b, i], lh[b, gold])
    loss = (
        F.cross_entropy(arcs[b, i], gold)
        + 0.7 * F.cross_entropy(scored, labels[b, i])
        + 0.7 * F.cross_entropy(t[b, i], tags[b, i])
        + 0.3 * mean_loss(aux[..., :DEPTHS], depths)
        + 0.3 * mean_loss(aux[..., DEPTHS:], phrases)
    )
    with torch.no_grad():
        found = arcs[b, i].argmax(-1)
        right = (
            (t[b, i].argmax(-1) == tags[b, i]).sum().item(),
            (found == gold).sum().item(),
            ((found == gold) & (scored.argmax(-1) == labels[b, i])).sum().item(),
            len(b),
        )
    return loss, right


def mean_loss(scores: Tensor, wanted: Tensor) -> Tensor:
    """0 where nothing is wanted."""
    total = F.cross_entropy(scores.flatten(0, 1), wanted.flatten(), ignore_index=-1, reduction="sum")
    return total / max(1, int((wanted >= 0).sum()))


def judged(model: Parser, data: list[Any]) -> tuple[float, float, float]:
    model.eval()
    total = np.zeros(4)
    with torch.no_grad():
        for group in batches(data, 4000, None):
            total += losses(model, *tensors(group))[1]
    return tuple(float(v) for v in total[:3] / total[3])  # type: ignore[return-value]


def save(model: Parser, vocabulary: Vocabulary, file: Path) -> None:
    """Half-precision arrays by name, in an npz without pickles."""
    state = {name: value.numpy().astype(np.float16) for name, value in model.state_dict().items() if "aux" not in name}
    for name, words in zip(("words", "suffix3", "suffix2", "prefix3"), vocabulary.lists, strict=True):
        state[f"names.{name}"] = np.frombuffer("\n".join(words).encode(), np.uint8)
    for name, words in (("tags", TAGS), ("labels", LABELS)):
        state[f"names.{name}"] = np.frombuffer("\n".join(words).encode(), np.uint8)
    np.savez_compressed(file, **state)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("captions", type=Path)
    parser.add_argument("--more", default="", help="pattern of CoreNLP JSON files")
    parser.add_argument("--words", type=Path, help="unparsed captions: their words join the vocabulary")
    parser.add_argument("--without", type=Path, help="pairs_tok.jsonl.gz: captions that judge and are not learned from")
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--checkpoint", type=Path, help="written each epoch; with --resume training goes on from it")
    parser.add_argument("--resume", type=Path)
    parser.add_argument("--epochs", type=float, default=14)
    parser.add_argument("--rate", type=float, default=2.5e-3)
    parser.add_argument("--keep", type=float, default=0.995, help="how much of the average a step keeps")
    parser.add_argument("--warm", type=int, default=300)
    parser.add_argument("--tokens", type=int, default=1000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--sizes", type=int, nargs=4, default=[128, 128, 128, 64], metavar=("E", "H", "A", "L"))
    parser.add_argument("--exchange", type=float, default=0.35, help="share of exchangeable words that are swapped")
    parser.add_argument("--drop", type=float, default=0.25)
    parser.add_argument(
        "--ranks", type=int, default=1, help="processes that learn from shares of the data and average their weights"
    )
    parser.add_argument("--rank", type=int, default=0)
    parser.add_argument(
        "--meet", type=Path, default=Path("meet"), help="a file through which the processes find each other"
    )
    parser.add_argument("--seconds", type=float, default=1e9, help="stop the schedule after so long")
    o = parser.parse_args()
    torch.manual_seed(o.seed + o.rank)
    torch.set_num_threads(o.threads)
    rng = random.Random(o.seed)
    if o.ranks > 1:
        dist.init_process_group("gloo", init_method=f"file://{o.meet.resolve()}", rank=o.rank, world_size=o.ranks)

    rows = [*corpus(o.captions)]
    natural = len(rows)
    if o.more:
        rows += [*corenlp(sorted(glob.glob(o.more)))]  # noqa: PTH207
    if o.without:
        with gzip.open(o.without, "rt", encoding="utf-8") as pairs:
            left_out = {text.lower() for row in map(json.loads, pairs) for text in (row["cand"], *row["refs"])}
        kept = [text.lower().rstrip(" .") not in left_out for text, _ in rows]
        natural = sum(kept[:natural])
        rows = list(itertools.compress(rows, kept))
    texts = [s[0] for _, s in rows]
    if o.words:
        texts += [line.split() for line in o.words.read_text(encoding="utf-8").splitlines()]
    vocabulary = Vocabulary(texts, 2, 4)
    if o.resume:
        stored = torch.load(o.resume, weights_only=True)
        vocabulary.lists = stored["lists"]
        vocabulary.counts = stored["counts"]
        vocabulary.index()
    sizes = [len(names) + 1 for names in vocabulary.lists]
    model = Parser(sizes, *o.sizes, o.drop)
    if o.resume:
        model.load_state_dict(stored["model"], strict=False)
    held = [zlib.crc32(text.encode()) % HELD_BACK == 0 for text, _ in rows]
    data = [(vocabulary.rows(s[0]), *s[1:]) for _, s in rows if s[0]]
    train = [row for row, out in zip(data, held, strict=True) if not out]
    test = [row for row, out in zip(data, held, strict=True) if out]
    print(f"{len(train)} to learn from, {len(test)} to judge, vocabulary {sizes}", flush=True)

    seen = [s for (_, s), out in zip(rows[:natural], held[:natural], strict=True) if not out]
    exchange = Exchange(seen, vocabulary, o.exchange)
    known = torch.tensor(vocabulary.counts, dtype=torch.float)
    blank = 0.3 / (0.3 + known)
    optimiser = torch.optim.Adam(model.parameters(), lr=o.rate, betas=(0.9, 0.95), eps=1e-8)
    average = {k: v.clone() for k, v in model.state_dict().items()}
    per_epoch = sum(1 for _ in batches(train, o.tokens, None)) // o.ranks
    steps = int(o.epochs * per_epoch)
    weights = list(model.parameters())
    step, epoch, began, decay = 0, 0, time.time(), 0.0
    while decay < 1:
        model.train()
        total, number = 0.0, 0
        for group in itertools.islice(batches(train, o.tokens, rng), o.rank, per_epoch * o.ranks, o.ranks):
            if o.ranks > 1 and step % MEETING == 0:  # local steps, then all take the mean
                clock = torch.tensor([time.time() - began if o.rank == 0 else 0.0])
                flat = torch.cat([p.data.flatten() for p in weights] + [clock])
                dist.all_reduce(flat)
                elapsed = flat[-1].item()
                for p, part in zip(weights, (flat[:-1] / o.ranks).split([p.numel() for p in weights]), strict=True):
                    p.data.copy_(part.view_as(p))
            elif o.ranks == 1:
                elapsed = time.time() - began
            decay = max(step / steps, elapsed / o.seconds)
            if decay >= 1:
                break
            keep = min(o.keep, (step + 1) / (step + 10))
            if step % MEETING == 0:
                with torch.no_grad():
                    for k, v in model.state_dict().items():
                        average[k].mul_(keep**MEETING).add_(v, alpha=1 - keep**MEETING)
            for g in optimiser.param_groups:
                g["lr"] = o.rate * min(1.0, (step + 1) / o.warm) * (0.5 + 0.5 * np.cos(np.pi * decay)) + 1e-5
            x, lengths, wanted = tensors(group)
            exchange(x, wanted[0])
            x[..., 0][torch.rand(x.shape[:2]) < blank[x[..., 0]]] = 0
            loss, _ = losses(model, x, lengths, wanted)
            optimiser.zero_grad()
            loss.backward()
            nn.utils.clip_grad_norm_(model.parameters(), 5.0)
            optimiser.step()
            total, number, step = total + loss.item(), number + 1, step + 1
            if number % 100 == 0:
                print(f"  step {step}/{steps} loss {total / number:.4f} {time.time() - began:.0f} s", flush=True)
        epoch += 1
        if o.rank:
            continue
        now = {k: v.clone() for k, v in model.state_dict().items()}
        model.load_state_dict(average)
        tag, uas, las = judged(model, test)
        print(
            f"epoch {epoch} loss {total / max(1, number):.4f} tags {tag:.4f} heads {uas:.4f} labelled {las:.4f}",
            flush=True,
        )
        save(model, vocabulary, o.out)
        if o.checkpoint:
            torch.save({"model": average, "lists": vocabulary.lists, "counts": vocabulary.counts}, o.checkpoint)
        model.load_state_dict(now)


if __name__ == "__main__":
    main()
