"""The caption parser's network: half-precision weights in, tags and a labelled tree for each sentence out.

    e_i = Σ embeddings of word, ends and shape      h = BiLSTM(BiLSTM(e))      tag_i = argmax W_t h_i
    m = leaky(W_m [root; h])     arc[i, j] = [child_i; 1]ᵀ U head_j     label[i, j, r] = [c_i; 1]ᵀ V_r [d_j; 1]

(Dozat & Manning, ICLR 2017.) The tree is the best projective one with one root word (Eisner, COLING 1996). Sentences go
through the network together, sorted by length, so that the work is in large matrix products.
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
TOGETHER = 128  # sentences in one pass
KNOWN = 20000  # words whose part of the first layer is kept (4 KB each)


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
        R, L1, _ = self.lab.shape
        self.lab_W = np.ascontiguousarray(self.lab[:, :L].transpose(1, 0, 2)).reshape(L, R * L1)
        self.lab_b = np.ascontiguousarray(self.lab[:, L]).reshape(R * L1)
        # the first layer's input part depends on the word alone: worked out once per word
        self.first_W = np.concatenate([self.layers[0][0], self.layers[1][0]], 1)
        self.first_b = np.concatenate([self.layers[0][1], self.layers[1][1]])
        self.second_W = np.concatenate([self.layers[2][0], self.layers[3][0]], 1)
        self.second_b = np.concatenate([self.layers[2][1], self.layers[3][1]])
        self.rows: dict[tuple[str, bool], int] = {}
        self.table = np.zeros((0, self.first_W.shape[1]), np.float32)

    def inputs(self, sentences: Sequence[Sequence[str]], T: int) -> Floats:
        """[T, B, 8H]: both directions' gates of the first layer before the recurrent part; zeros behind the end."""
        keys = [[(word, t == 0) for t, word in enumerate(words)] for words in sentences]
        fresh = list(dict.fromkeys(key for row in keys for key in row if key not in self.rows))
        if len(self.rows) + len(fresh) > KNOWN:
            self.rows, self.table = {}, self.table[:0]
            fresh = list(dict.fromkeys(key for row in keys for key in row))
        if fresh:
            e = np.stack([self.embedding(*key) for key in fresh])
            self.rows.update((key, len(self.table) + k) for k, key in enumerate(fresh))
            self.table = np.vstack([self.table, e @ self.first_W + self.first_b])
        numbers = np.zeros((T, len(sentences)), np.int64)
        for b, row in enumerate(keys):
            numbers[: len(row), b] = [self.rows[key] for key in row]
        return self.table[numbers]

    def embedding(self, word: str, first: bool) -> Floats:
        *names, shape = features(word, first)
        e: Floats = self.embed[4][shape].copy()
        for table, number, name in zip(self.embed, self.number, names, strict=False):
            e += table[number.get(name, 0)]
        return e

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
        alive = [int((lengths > t).sum()) for t in range(T)]
        H4 = self.layers[0][2].shape[1]
        z = self.inputs(sentences, T)
        h = np.empty((T, B, H4 // 2), np.float32)
        recur(z[..., :H4], alive, self.layers[0][2], h[..., : H4 // 4], False)
        recur(z[..., H4:], alive, self.layers[1][2], h[..., H4 // 4 :], True)
        z = (h.reshape(T * B, -1) @ self.second_W + self.second_b).reshape(T, B, -1)
        h = np.empty((T, B, H4 // 2), np.float32)
        recur(z[..., :H4], alive, self.layers[2][2], h[..., : H4 // 4], False)
        recur(z[..., H4:], alive, self.layers[3][2], h[..., H4 // 4 :], True)
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
        for tags_, _, labels_ in out:
            n = len(tags_)
            labels_ += [self.labels[r] for r in labels[a : a + n]]
            a += n
        return out

    def label(self, lc: Floats, ld: Floats) -> list[int]:
        R, L1, _ = self.lab.shape
        L = L1 - 1
        found: list[int] = []
        for k in range(0, len(lc), 256):  # what fits the cache
            left = (lc[k : k + 256] @ self.lab_W + self.lab_b).reshape(-1, R, L1)
            right = np.matmul(left[:, :, :L], ld[k : k + 256, :, None])[:, :, 0]
            found += (right + left[:, :, L]).argmax(1).tolist()
        return found


def to_columns(W: Floats) -> Floats:
    return np.ascontiguousarray(W.T)


def leaky(x: Floats) -> Floats:
    made: Floats = np.maximum(x, 0.1 * x)
    return made


def recur(z: Floats, alive: list[int], U: Floats, out: Floats, back: bool) -> None:
    """One direction of an LSTM: inputs' part z [T, B, 4H] → out [T, B, H]; sentence b lives while alive[t] > b."""
    T, B, _ = z.shape
    H = U.shape[0]
    h, c = np.zeros((B, H), np.float32), np.zeros((B, H), np.float32)
    for t in range(T - 1, -1, -1) if back else range(T):
        n = alive[t]
        gates = h[:n] @ U
        gates += z[t, :n]
        np.tanh(gates, out=gates)
        g = gates[:, 2 * H : 3 * H].copy()
        gates *= 0.5
        gates += 0.5
        g *= gates[:, :H]
        now = c[:n]
        now *= gates[:, H : 2 * H]
        now += g
        np.tanh(now, out=g)
        np.multiply(g, gates[:, 3 * H :], out=h[:n])
        out[t, :n] = h[:n]
        out[t, n:] = 0.0


def eisner(arcs: Floats) -> NDArray[np.int64]:
    """Heads of the best projective tree with exactly one word under the root; arcs[i, j] is word i+1 under head j."""
    kernels = native()
    if kernels is None:
        return eisner_python(arcs)
    return np.array(kernels.eisner(arcs), np.int64)


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
