"""The rows that lie nearest to a query, exactly, from one-byte codes: a scan of a quarter of the bytes, and a proof.

A row x [D] is coded around the mean c of all, with a scale of its own; a query q in whole numbers of sixteen bits:

    v = round((x − c)/a) in ±127,  a = max|x − c|/127        u = round(q/b) in ±U,  b = max|q|/U,  127·U·D < 2³¹
    q·x = q·c + a·b·(u·v) + q·(x − c − a·v) + (q − b·u)·a·v                                        an identity
    |q·x − q·c − a·b·(u·v)| ≤ ‖q‖·E + ‖q − b·u‖·a·‖v‖ =: ε,    E ≥ ‖x − c − a·v‖,  ‖v‖ ≤ 127·√D     Cauchy–Schwarz

u·v is a sum of whole numbers below 2³¹, the same on every processor. q·c is the same for all rows, so rows are ranked
by q·x − q·c, which lies between lower = a·b·(u·v) − ε and upper = a·b·(u·v) + ε. With τ the k-th largest lower bound,

    upper < τ   ⟹   k rows are better, strictly   ⟹   the row is not among the k nearest, whatever decides ties

All others are compared as they are: s = Σ x_d·q_d in double, eight lanes in a fixed order. Hence the list is that of
comparing all rows so, of equal products the first row first: nothing is approximate but the work that is saved.

Roundings: E is rounded up to float32 and holds η·(‖x‖ + ‖c‖) more, η = (D + 64)·2⁻⁵⁰: more than the roundings of x − c,
of the norm and of s together (a product of two float32 is exact in double; D additions err by D·2⁻⁵³·‖q‖·‖x‖ at
most). ε holds 2⁻⁴⁵·‖q‖·a·‖v‖ more, for those of a·b·(u·v), of ε and of the bounds. Numbers that overflow float32 make
E infinite: such a row is always compared.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from fabula._kernels import native, threads
from fabula.core.errors import InputError

Floats = NDArray[np.float32]
Ints = NDArray[np.int64]
Doubles = NDArray[np.float64]
Marks = NDArray[np.bool_]
PAD, MOST, LANES = 32, 127, 8
BLOCK = 4096  # rows of the twin that are looked at together
DRAWN = 1 << 16  # rows that the mean is taken of: any centre is right, a near one is quick


class Nearest(NamedTuple):
    """Rows that lie nearest, the nearest first, and how many were compared as they are."""

    row: Ints  # [k]
    score: Doubles  # [k]
    compared: int


@dataclass(frozen=True)
class Codes:
    """Rows as bytes. W: D, up to a multiple of 32."""

    code: NDArray[np.int8]  # [N, W]
    scale: Floats  # [N] a
    error: Floats  # [N] E

    @classmethod
    def empty(cls, n: int, dims: int) -> Codes:
        return cls(np.zeros((n, width_of(dims)), np.int8), np.zeros(n, np.float32), np.zeros(n, np.float32))


def width_of(dims: int) -> int:
    return -(-dims // PAD) * PAD


def slack(dims: int) -> float:
    """η: room for the roundings of a sum of D numbers in double."""
    return float(np.ldexp(dims + 64.0, -50))


# ── codes ───────────────────────────────────────────────────────────────────────────────────────────────────────────


def encode(rows: Floats, into: Codes | None = None, where: object = None) -> Codes:
    """The codes of rows [N, D] of a store; a row with a number that is not finite is refused."""
    n, dims = rows.shape
    out = Codes.empty(n, dims) if into is None else into
    drawn = rows[:: max(1, n // DRAWN)]
    with np.errstate(invalid="ignore", over="ignore"):
        mean = drawn.mean(axis=0, dtype=np.float64).astype(np.float32) if n else np.zeros(dims, np.float32)
    if not np.isfinite(mean).all():  # so is a row
        mean = np.zeros(dims, np.float32)
    kernel = native()
    if kernel is not None:
        bad = kernel.encode_rows(rows, mean, out.code, out.scale, out.error, threads())
    else:
        bad = encode_python(rows, mean, out)
    if bad >= 0:
        at = int(np.flatnonzero(~np.isfinite(rows[bad]))[0])
        raise InputError(
            f"vector {bad:,} has {rows[bad, at]} at place {at}; a search needs finite numbers",
            file=where,
            hint="index its video again",
        )
    return out


def encode_python(rows: Floats, mean: Floats, out: Codes) -> int:
    """The kernel's twin: fills the codes; the first row that is not finite, or −1."""
    dims = rows.shape[1]
    eta, c = slack(dims), mean.astype(np.float64)
    length = np.linalg.norm(c)
    for i in range(0, len(rows), BLOCK):
        x = rows[i : i + BLOCK].astype(np.float64)
        if not (finite := np.isfinite(x).all(axis=1)).all():
            return i + int(np.argmin(finite))
        r = x - c
        a = (np.abs(r).max(axis=1, initial=0.0) / MOST).astype(np.float32)
        wide = a.astype(np.float64)[:, None]
        by = np.divide(1.0, wide, out=np.zeros_like(wide), where=wide > 0)
        v = np.rint(np.clip(r * by, -MOST, MOST))
        e = np.linalg.norm(r - wide * v, axis=1) * (1 + eta) + eta * (np.linalg.norm(x, axis=1) + length)
        block = slice(i, i + len(x))
        out.code[block, :dims], out.scale[block], out.error[block] = v, a, round_up(e)
    return -1


def round_up(value: Doubles) -> Floats:
    """The least float32 that is no smaller; infinity beyond the largest."""
    with np.errstate(over="ignore"):
        near = value.astype(np.float32)
        return np.where(near >= value, near, np.nextafter(near, np.float32(np.inf)))


# ── asked ───────────────────────────────────────────────────────────────────────────────────────────────────────────


def nearest(codes: Codes, rows: Floats, q: Floats, k: int, allowed: Marks | None = None) -> Nearest:
    """The k rows of [N, D] with the largest products with q [D], among those allowed [N]; of equal ones the first."""
    q = np.ascontiguousarray(q, dtype=np.float32)
    if not (finite := np.isfinite(q)).all():
        at = int(np.argmin(finite))
        raise InputError(f"the query's vector has {q[at]} at place {at}; a search needs finite numbers")
    k = min(k, len(rows))
    kernel = native()
    if kernel is None:
        return nearest_python(codes, rows, q, k, allowed)
    found = kernel.nearest_rows(codes.code, codes.scale, codes.error, rows, q, k, allowed, threads())
    return Nearest(*found)


def nearest_python(codes: Codes, rows: Floats, q: Floats, k: int, allowed: Marks | None = None) -> Nearest:
    """The kernel's twin."""
    dims = rows.shape[1]
    eta, wide = slack(dims), q.astype(np.float64)
    largest = min(32767, (2**31 - 1) // (MOST * max(dims, 1)))
    b = float(np.abs(wide).max(initial=0.0)) / largest
    u = np.rint(wide / b).clip(-largest, largest) if b > 0 else np.zeros(dims)
    length, off = float(np.linalg.norm(wide)), float(np.linalg.norm(wide - b * u))
    reach = length * (1 + 2 * eta) + np.finfo(np.float64).tiny
    loss = (off * (1 + 2 * eta) + length * 2.0**-45) * MOST * dims**0.5 * (1 + eta)
    value = np.empty(len(rows))
    for i in range(0, len(rows), BLOCK):  # sums of whole numbers below 2³¹ are exact in double
        value[i : i + BLOCK] = codes.code[i : i + BLOCK, :dims] @ u
    scale = codes.scale.astype(np.float64)
    value *= b * scale
    margin = reach * codes.error.astype(np.float64) + loss * scale
    at = np.arange(len(rows)) if allowed is None else np.flatnonzero(allowed)
    k = min(k, len(at))
    if 0 < k < len(at):
        least = np.partition((value - margin)[at], len(at) - k)[len(at) - k]
        at = at[(value + margin)[at] >= least]
    at = at if k else at[:0]
    score = exact_products(rows, q, at)
    order = np.lexsort((at, -score))[:k]
    return Nearest(at[order], score[order], len(at))


def exact_products(rows: Floats, q: Floats, at: Ints) -> Doubles:
    """q · x of these rows in double: eight lanes, then their sum in a fixed order. [n]"""
    out = np.empty(len(at))
    for i in range(0, len(at), BLOCK):
        x = rows[at[i : i + BLOCK]].astype(np.float64) * q.astype(np.float64)
        lane = np.zeros((len(x), LANES))
        for d in range(0, x.shape[1], LANES):
            part = x[:, d : d + LANES]
            lane[:, : part.shape[1]] += part
        half = lane[:, :4] + lane[:, 4:]
        out[i : i + BLOCK] = (half[:, 0] + half[:, 2]) + (half[:, 1] + half[:, 3])
    return out
