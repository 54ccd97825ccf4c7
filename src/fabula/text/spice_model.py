"""The caption parser's network: half-precision weights in, tags and a labelled tree for each sentence out.

    e_i = Σ embeddings of word, ends and shape      h = BiLSTM(BiLSTM(e))      tag_i = argmax W_t h_i
    m = leaky(W_m [root; h])     arc[i, j] = [child_i; 1]ᵀ U head_j     label[i, j, r] = [c_i; 1]ᵀ V_r [d_j; 1]

(Dozat & Manning, ICLR 2017.) The tree is the best projective one with one root word (Eisner, COLING 1996). Sentences go through
the network together, sorted by length, so that the work is in large matrix products.
"""

from __future__ import annotations

import io
from collections.abc import Sequence
from functools import cache
from importlib import resources
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fabula._kernels import native
from fabula.text.spice_features import features

Floats = NDArray[np.float32]
Parse = tuple[list[str], list[int], list[str]]  # tags, heads (0 is the root), labels

FILE = "spice_parser.npz"
TOGETHER = 64  # sentences in one pass


class Model:
    """The weights, ready to multiply."""

    def __init__(self, arrays: dict[str, NDArray[Any]]) -> None:
        def names(kind: str) -> list[str]:
            return arrays[f"names.{kind}"].tobytes().decode().split("\n")

        def floats(name: str) -> Floats:
            return np.ascontiguousarray(arrays[name], np.float32)

        kinds = ("words", "suffix3", "suffix2", "prefix3")
        self.number = [{name: k + 1 for k, name in enumerate(names(kind))} for kind in kinds]
        self.tags, self.labels = names("tags"), names("labels")
        self.embed = [floats(f"embed.{k}.weight") for k in range(5)]
        self.layers = []
        for layer in ("one", "two"):
            for end in ("", "_reverse"):
                W, U = floats(f"{layer}.weight_ih_l0{end}"), floats(f"{layer}.weight_hh_l0{end}")
                b = floats(f"{layer}.bias_ih_l0{end}") + floats(f"{layer}.bias_hh_l0{end}")
                H = U.shape[1]
                # gates i, f, g, o: σ(x) = ½ + ½ tanh(½x), so one tanh serves all four
                half = np.repeat(np.array([0.5, 0.5, 1.0, 0.5], np.float32), H)
                self.layers.append((to_columns(W * half[:, None]), b * half, to_columns(U * half[:, None])))
        self.tag_W, self.tag_b = to_columns(floats("tag.weight")), floats("tag.bias")
        self.mlp_W, self.mlp_b = to_columns(floats("mlp.weight")), floats("mlp.bias")
        self.root = floats("root")
        self.arc, self.lab = floats("arc"), floats("lab")
        A = self.arc.shape[1]
        L = self.lab.shape[1] - 1
        self.cuts = (A, 2 * A, 2 * A + L)
        self.cache: dict[tuple[str, bool], Floats] = {}

    def embedding(self, word: str, first: bool) -> Floats:
        found = self.cache.get((word, first))
        if found is None:
            *names, shape = features(word, first)
            found = self.embed[4][shape] + sum(
                table[number.get(name, 0)] for table, number, name in zip(self.embed, self.number, names, strict=False)
            )
            if len(self.cache) > 50000:
                self.cache.clear()
            self.cache[word, first] = found
        return found

    def parse(self, sentences: Sequence[Sequence[str]]) -> list[Parse]:
        """One tree per sentence."""
        out: list[Parse] = [([], [], []) for _ in sentences]
        order = sorted((k for k, words in enumerate(sentences) if words), key=lambda k: -len(sentences[k]))
        for start in range(0, len(order), TOGETHER):
            group = order[start : start + TOGETHER]
            for k, parse in zip(group, self.parse_group([sentences[k] for k in group]), strict=True):
                out[k] = parse
        return out

    def parse_group(self, sentences: list[Sequence[str]]) -> list[Parse]:
        """Sentences in order of falling length."""
        lengths = np.array([len(words) for words in sentences])
        T, B = int(lengths[0]), len(sentences)
        E = self.embed[0].shape[1]
        x = np.zeros((T, B, E), np.float32)
        for b, words in enumerate(sentences):
            for t, word in enumerate(words):
                x[t, b] = self.embedding(word, t == 0)
        alive = [int((lengths > t).sum()) for t in range(T)]
        h = x
        for k in (0, 2):
            h = np.concatenate([recur(h, alive, *self.layers[k], False), recur(h, alive, *self.layers[k + 1], True)], 2)
        flat = h.transpose(1, 0, 2)[np.arange(T)[None] < lengths[:, None]]  # [N, 2H], sentence by sentence
        tags = (flat @ self.tag_W + self.tag_b).argmax(1).tolist()
        m = leaky(np.vstack([self.root[None], flat]) @ self.mlp_W + self.mlp_b)
        child, head, lc, ld = np.split(m, self.cuts, 1)
        child = child @ self.arc[:-1] + self.arc[-1]
        out: list[Parse] = []
        a = 1
        all_heads: list[NDArray[np.int64]] = []
        for n in lengths.tolist():
            rows = np.concatenate([[0], np.arange(a, a + n)])
            arcs = child[a : a + n] @ head[rows].T
            heads = eisner(arcs)
            all_heads.append(np.where(heads > 0, heads + a - 1, 0))
            out.append(([self.tags[t] for t in tags[a - 1 : a - 1 + n]], heads.tolist(), []))
            a += n
        chosen = ld[np.concatenate(all_heads)]
        labels = self.label(lc[1:], chosen)
        a = 0
        for tags_, heads_, labels_ in out:
            n = len(tags_)
            labels_ += [self.labels[r] for r in labels[a : a + n]]
            a += n
        return out

    def label(self, lc: Floats, ld: Floats) -> list[int]:
        R, L1, _ = self.lab.shape
        L = L1 - 1
        left = lc @ self.lab[:, :L].transpose(1, 0, 2).reshape(L, R * L1) + self.lab[:, L].reshape(R * L1)
        left = left.reshape(-1, R, L1)
        scores = np.matmul(left[:, :, :L], ld[:, :, None])[:, :, 0] + left[:, :, L]
        found: list[int] = scores.argmax(1).tolist()
        return found


def to_columns(W: Floats) -> Floats:
    return np.ascontiguousarray(W.T)


def leaky(x: Floats) -> Floats:
    return np.maximum(x, 0.1 * x)


def recur(x: Floats, alive: list[int], W: Floats, b: Floats, U: Floats, back: bool) -> Floats:
    """One direction of an LSTM over [T, B, E]; sentence b lives as long as alive[t] > b."""
    T, B, E = x.shape
    H = U.shape[0]
    z = (x.reshape(T * B, E) @ W + b).reshape(T, B, 4 * H)
    out = np.zeros((T, B, H), np.float32)
    h, c = np.zeros((B, H), np.float32), np.zeros((B, H), np.float32)
    for t in range(T - 1, -1, -1) if back else range(T):
        n = alive[t]
        gates = np.tanh(z[t, :n] + h[:n] @ U)
        i, f, o = (0.5 + 0.5 * gates[:, k * H : (k + 1) * H] for k in (0, 1, 3))
        c[:n] = f * c[:n] + i * gates[:, 2 * H : 3 * H]
        h[:n] = o * np.tanh(c[:n])
        out[t, :n] = h[:n]
    return out


def eisner(arcs: Floats) -> NDArray[np.int64]:
    """Heads of the best projective tree with exactly one word under the root; arcs[i, j] is word i+1 under head j."""
    kernels = native()
    if kernels is not None and hasattr(kernels, "eisner"):
        return np.asarray(kernels.eisner(np.ascontiguousarray(arcs, np.float32)), np.int64)
    return eisner_python(arcs)


def eisner_python(arcs: Floats) -> NDArray[np.int64]:
    """The readable twin: the best tree over the words for each choice of the root's word, in one table."""
    n = len(arcs)
    S = arcs[:, 1:].astype(np.float64)  # [child, head] among words
    incomplete = np.full((2, n, n), -np.inf)
    complete = np.full((2, n, n), -np.inf)
    split_i = np.zeros((n, n), int)
    split_c = np.zeros((2, n, n), int)
    for k in range(n):
        complete[:, k, k] = 0.0
    for width in range(1, n):
        for s in range(n - width):
            t = s + width
            both = complete[1, s, s:t] + complete[0, s + 1 : t + 1, t]
            q = int(both.argmax())
            split_i[s, t] = s + q
            incomplete[0, s, t] = both[q] + S[s, t]  # t heads s
            incomplete[1, s, t] = both[q] + S[t, s]  # s heads t
            left = complete[0, s, s:t] + incomplete[0, s:t, t]
            split_c[0, s, t] = s + int(left.argmax())
            complete[0, s, t] = left.max()
            right = incomplete[1, s, s + 1 : t + 1] + complete[1, s + 1 : t + 1, t]
            split_c[1, s, t] = s + 1 + int(right.argmax())
            complete[1, s, t] = right.max()
    root = int((arcs[:, 0] + complete[0, 0] + complete[1, :, n - 1]).argmax())
    heads = np.zeros(n, np.int64)
    stack = [(0, 0, root, True), (1, root, n - 1, True)]
    while stack:
        side, s, t, whole = stack.pop()
        if s == t:
            continue
        if whole:
            q = int(split_c[side, s, t])
            stack += [(0, s, q, True), (0, q, t, False)] if side == 0 else [(1, s, q, False), (1, q, t, True)]
        else:
            heads[s if side == 0 else t] = (t if side == 0 else s) + 1
            q = int(split_i[s, t])
            stack += [(1, s, q, True), (0, q + 1, t, True)]
    return heads


@cache
def load() -> Model:
    """The model that comes with the package."""
    return read(resources.files("fabula.text").joinpath(FILE).read_bytes())


def read(content: bytes) -> Model:
    with np.load(io.BytesIO(content), allow_pickle=False) as arrays:
        return Model(dict(arrays))
