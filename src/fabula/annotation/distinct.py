"""How distinct captions are: DBSCAN (Ester et al., KDD 1996) of their embeddings, as VERIFIED's Table 2 has it.

    d(i, j) = 1 − e_i · e_j                     e: unit embeddings
    core      i with |{j: d(i, j) ≤ ε}| ≥ n     i itself counts
    cluster   cores within ε of each other, and whatever lies within ε of one of them
    # class = clusters, # instance = captions in them; ε = 0.01, n = 2

The N × N distances are made a strip at a time: memory is bounded however many captions there are. Equal captions
are one point with a weight. With n = 2 this is the connected components of the graph d ≤ ε.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from fabula.core.errors import import_extra
from fabula.media.people.cluster import join, number

Vectors = NDArray[np.float32]  # [N, C]
Labels = NDArray[np.int64]  # [N] number of the cluster, −1 for none
Embedder = Callable[[Sequence[str]], Vectors]
STRIP = 64 << 20  # bytes of a strip of distances
SOME = 1024  # captions embedded at a time


class Distinct(NamedTuple):
    """A line of Table 2."""

    classes: int
    instances: int
    captions: int
    unique: int  # different strings
    labels: Labels


def embed_unit(texts: Sequence[str], embed: Embedder, tell: Callable[[int], None] = lambda done: None) -> Vectors:
    """Unit embeddings, some texts at a time. [N, C]"""
    parts = []
    order = sorted(range(len(texts)), key=lambda i: len(texts[i]))  # of like lengths together: less padding
    for at in range(0, len(texts), SOME):
        found = np.asarray(embed([texts[i] for i in order[at : at + SOME]]), dtype=np.float32)
        parts.append(found / np.maximum(np.linalg.norm(found, axis=1, keepdims=True), 1e-12))
        tell(at + len(found))
    sorted_ = np.concatenate(parts) if parts else np.zeros((0, 1), np.float32)
    out = np.empty_like(sorted_)
    out[order] = sorted_
    return out


def strips(e: Vectors, eps: float) -> Iterator[tuple[NDArray[np.int64], NDArray[np.int64]]]:
    """All pairs i < j within eps, a strip of rows at a time."""
    N = len(e)
    rows = max(1, STRIP // (4 * max(1, N)))
    for a in range(0, N, rows):
        b = min(N, a + rows)
        near = e[a:b] @ e[a:].T >= 1 - eps  # [b − a, N − a]
        i, j = np.nonzero(near)
        keep = j > i
        yield i[keep] + a, j[keep] + a


def find_clusters(texts: Sequence[str], embed: Embedder, eps: float = 0.01, least: int = 2) -> Distinct:
    """The clusters of captions."""
    unique = list(dict.fromkeys(texts))
    number = {text: k for k, text in enumerate(unique)}
    of = np.array([number[text] for text in texts], dtype=np.int64)
    weight = np.bincount(of, minlength=len(unique))
    labels = cluster(embed_unit(unique, embed), weight, eps, least)[of] if unique else of
    inside = labels >= 0
    return Distinct(len(set(labels[inside].tolist())), int(inside.sum()), len(texts), len(unique), labels)


def cluster(e: Vectors, weight: NDArray[np.int64], eps: float, least: int) -> Labels:
    """The cluster of each point; a border point goes to that of its core with the smallest number."""
    N = len(e)
    degree = weight.astype(np.int64).copy()
    for i, j in strips(e, eps):
        np.add.at(degree, i, weight[j])
        np.add.at(degree, j, weight[i])
    core = degree >= least
    parent = np.arange(N)
    border = np.full(N, N, dtype=np.int64)  # the first core of a point that is none
    for i, j in strips(e, eps):
        both = core[i] & core[j]
        join(parent, i[both], j[both])
        one = core[i] & ~core[j]
        np.minimum.at(border, j[one], i[one])
        other = core[j] & ~core[i]
        np.minimum.at(border, i[other], j[other])
    roots = np.where(core, parent, -1)
    reached = ~core & (border < N)
    roots[reached] = roots[border[reached]]
    return number(roots, by_label=True)


def project(e: Vectors, seed: int = 0) -> NDArray[np.float64]:
    """t-SNE (van der Maaten & Hinton, JMLR 2008) in the plane. [N, 2]"""
    manifold = import_extra("sklearn.manifold", "t-SNE", "annotate-stats")
    if len(e) < 4:
        return np.zeros((len(e), 2))
    model = manifold.TSNE(perplexity=min(30.0, (len(e) - 1) / 3), init="pca", random_state=seed, metric="cosine")
    return np.asarray(model.fit_transform(e), dtype=np.float64)
