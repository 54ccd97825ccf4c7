"""A valid document → a bent one. First the tree is changed (values, keys, shapes), then the text, then the bytes."""

from __future__ import annotations

import gzip
import json
from dataclasses import dataclass, replace
from random import Random
from typing import Any

from tools.fuzz.odd import BLOBS, CUTS, NUMBERS, SOME, STRINGS, TOKENS

Tree = Any


@dataclass(frozen=True, slots=True)
class Doc:
    """A valid file: its name, and what stands in it. `kind`: json, lines (objects), text (lines of it)."""

    name: str
    kind: str
    tree: Tree


class Obj(list[list[Any]]):
    """An object as [key, value] pairs: keys may stand twice."""


class Raw(str):
    """Text that is written as it is, where JSON would have a value."""


def bend(rng: Random, doc: Doc, others: list[Doc], much: int = 3) -> tuple[str, bytes]:
    """The file's name and its bytes: up to `much` changes of the tree, and with luck some of the bytes."""
    tree = loosen(doc.tree)
    if (luck := rng.random()) < 0.003:  # what is read in pieces is faulty at their edges
        swell(tree, 2_200_000 if luck < 0.0001 else 1_100_000 if luck < 0.0003 else 70_000)
    donors = [doc.tree, *(other.tree for other in others)]
    mild = rng.random() < 0.5  # a value stays of its kind, so that more is read and less is refused
    if rng.random() < 0.9:
        for _ in range(rng.choice((1, 1, much))):
            tree = change_mildly(rng, tree) if mild else change_tree(rng, tree, donors)
    data = write_tree(rng, doc.kind, tree)
    name = doc.name
    if not mild and rng.random() < 0.25:
        for _ in range(rng.randint(1, 3)):
            data = change_bytes(rng, data, [write_tree(rng, o.kind, loosen(o.tree)) for o in others[:1]])
    if rng.random() < 0.06:
        name, data = f"{name}.gz", pack(rng, data)
    elif rng.random() < 0.01:
        name = f"{name}.gz"  # not packed at all
    elif rng.random() < 0.02:
        name = rng.choice(("f.json", "f.jsonl", "f.csv", "f.txt", "f", "f.JSON", "f.parquet", "f.json.gz", "f.npy"))
    return name, data


def straight(doc: Doc) -> tuple[str, bytes]:
    """The file as it is."""
    return doc.name, write_tree(Random(0), doc.kind, loosen(doc.tree))


def swell(tree: Tree, size: int) -> None:
    """Repeat the videos of a document, each under an id of its own, until it has about so many characters."""
    times = size // (len(dump(tree, True)) + 1)
    inside = tree
    while isinstance(inside, Obj) and inside and (largest := max(inside, key=lambda pair: size_of(pair[1]))[1]):
        if not isinstance(largest, list) or len(inside) > len(largest):
            break
        inside = largest
    if not isinstance(inside, list):
        return
    for n, one in [(n, one) for n in range(times) for one in inside[:]]:
        twin = copy(one) if not isinstance(inside, Obj) else [f"{one[0]}{n}", copy(one[1])]
        for pair in twin if isinstance(twin, Obj) else ():
            if pair[0] in ("id", "qid", "desc_id", "image_id", "annotation_id", "video"):
                pair[1] = f"{pair[1]}{n}" if isinstance(pair[1], str) else n * 1000 + 999
        inside.append(f"{n}{twin}" if isinstance(twin, str) else twin)


def size_of(tree: Tree) -> int:
    return len(tree) if isinstance(tree, list) else 0


def loosen(tree: Tree) -> Tree:
    if isinstance(tree, dict):
        return Obj([[key, loosen(value)] for key, value in tree.items()])
    return [loosen(value) for value in tree] if isinstance(tree, list | tuple) else tree


# ── trees ───────────────────────────────────────────────────────────────────────────────────────────────────────────


def slots(tree: Tree) -> list[tuple[list[Any], int]]:
    """Every place of the tree that holds a value: a list (or the pair of a key) and an index."""
    found: list[tuple[list[Any], int]] = []
    open_: list[Tree] = [tree]
    while open_:
        node = open_.pop()
        if isinstance(node, Obj):
            found += [(pair, 1) for pair in node]
            open_ += [pair[1] for pair in node]
        elif isinstance(node, list):
            found += [(node, i) for i in range(len(node))]
            open_ += node
    return found


def parents(tree: Tree) -> list[list[Any]]:
    """Every list and every object of the tree."""
    found, open_ = [], [tree]
    while open_:
        node = open_.pop()
        if isinstance(node, list):
            found.append(node)
            open_ += [pair[1] for pair in node] if isinstance(node, Obj) else node
    return found


def change_tree(rng: Random, tree: Tree, donors: list[Tree]) -> Tree:
    """One change somewhere; rarely the root itself."""
    places = slots(tree)
    if not places or rng.random() < 0.01:
        return wrap(rng, tree) if rng.random() < 0.5 else odd(rng)
    how = rng.random()
    if how < 0.62:
        inside, at = rng.choice(places)
        inside[at] = change_value(rng, inside[at], donors)
    elif how < 0.72:
        a, b = rng.choice(places), rng.choice(places)  # swapped, or one copied over the other
        if rng.random() < 0.5 and not (holds(a[0][a[1]], b[0]) or holds(b[0][b[1]], a[0])):
            a[0][a[1]], b[0][b[1]] = b[0][b[1]], a[0][a[1]]
        else:
            a[0][a[1]] = copy(b[0][b[1]])
    else:
        change_shape(rng, rng.choice(parents(tree)), donors)
    return tree


def change_mildly(rng: Random, tree: Tree) -> Tree:
    """A number for a number, a text for a text, entries doubled or in another order."""
    places = slots(tree)
    numbers = [p for p in places if isinstance(p[0][p[1]], int | float) and not isinstance(p[0][p[1]], bool)]
    texts = [p for p in places if isinstance(p[0][p[1]], str)]
    how = rng.random()
    if how < 0.45 and numbers:
        inside, at = rng.choice(numbers)
        other, from_ = rng.choice(numbers)
        inside[at] = rng.choice((other[from_], change_number(rng, inside[at], SOME), round(rng.uniform(0, 60), 1)))
    elif how < 0.8 and texts:
        inside, at = rng.choice(texts)
        inside[at] = bend_text(rng, inside[at])
    else:
        node = rng.choice(parents(tree) or [[]])
        if node and how < 0.9:
            rng.shuffle(node)
        elif node:
            one = rng.choice(node)
            node.append([bend_text(rng, one[0]), copy(one[1])] if isinstance(node, Obj) else copy(one))
    return tree


def holds(tree: Tree, node: Any) -> bool:
    return tree is node or any(inside is node for inside in parents(tree)) or any(s[0] is node for s in slots(tree))


def copy(tree: Tree) -> Tree:
    if isinstance(tree, Obj):
        return Obj([[key, copy(value)] for key, value in tree])
    return [copy(value) for value in tree] if isinstance(tree, list) else tree


def change_shape(rng: Random, node: list[Any], donors: list[Tree]) -> None:
    """Entries lost, doubled, turned round, put in; keys renamed."""
    how = rng.choice(
        ("lose", "lose", "double", "turn", "shuffle", "empty", "repeat", "rename", "rename", "put", "sort")
    )
    if not node or how == "put":
        value = loosen(pick(rng, donors))
        node.insert(rng.randint(0, len(node)), [key(rng), value] if isinstance(node, Obj) else value)
        return
    at = rng.randrange(len(node))
    if how == "lose":
        del node[at]
    elif how == "double":
        node.insert(
            rng.randint(0, len(node)), [node[at][0], copy(node[at][1])] if isinstance(node, Obj) else copy(node[at])
        )
    elif how == "turn":
        node.reverse()
    elif how == "shuffle":
        rng.shuffle(node)
    elif how == "empty":
        node.clear()
    elif how == "repeat":
        one = node[at]
        node += [[one[0], copy(one[1])] if isinstance(node, Obj) else copy(one) for _ in range(rng.choice((2, 9, 40)))]
    elif how == "rename" and isinstance(node, Obj):
        node[at][0] = rng.choice(node)[0] if rng.random() < 0.3 else key(rng, node[at][0])
    elif how == "sort" and not isinstance(node, Obj):
        node.sort(key=repr)


def pick(rng: Random, donors: list[Tree]) -> Tree:
    """A value of some document: one step at a time into it."""
    node = rng.choice(donors)
    while isinstance(node, dict | list) and node and rng.random() < 0.7:
        node = rng.choice(list(node.values()) if isinstance(node, dict) else node)
    return node


def key(rng: Random, old: str = "") -> str:
    how = rng.random()
    if how < 0.4 and isinstance(old, str):
        return bend_text(rng, old)
    return (
        rng.choice(STRINGS) if how < 0.8 else rng.choice(("id", "video", "duration", "timestamp", "caption", "start"))
    )


def change_value(rng: Random, value: Any, donors: list[Tree]) -> Any:
    how = rng.random()
    if how < 0.25:
        return odd(rng)
    if how < 0.33:
        return loosen(pick(rng, donors))
    if how < 0.38:
        return wrap(rng, value)
    if isinstance(value, bool) or value is None:
        return rng.choice((True, False, None, 0, 1, "true"))
    if isinstance(value, int | float):
        return change_number(rng, value)
    if isinstance(value, str):
        return bend_text(rng, value)
    if isinstance(value, list) and value:
        change_shape(rng, value, donors)
    return value


def wrap(rng: Random, value: Any) -> Any:
    return rng.choice(([value], [[value]], Obj([["a", value]]), [value, value], str(value)[:200], not value))


def odd(rng: Random) -> Any:
    how = rng.random()
    if how < 0.3:
        return rng.choice(NUMBERS)
    if how < 0.6:
        return rng.choice(STRINGS)
    if how < 0.75:
        return Raw(rng.choice(TOKENS))
    if how < 0.78:
        deep = rng.choice((5, 60, 400, 990, 3000)) if rng.random() < 0.95 else 100_000
        return Raw(rng.choice(("[" * deep + "]" * deep, '{"a":' * deep + "1" + "}" * deep, "[" * deep)))
    return rng.choice(
        (None, True, False, [], Obj(), [[]], [0, 1], [1, 0], [0, 0], [None, None], Obj([["a", 1]]), ["x"], [[0, 1]], "")
    )


def change_number(rng: Random, x: float, some: tuple[float, ...] = NUMBERS) -> Any:
    """Another number; of `SOME`, a finite one that a file may well have."""
    ways = (
        lambda: -x,
        lambda: x * 1000,
        lambda: x / 1000,
        lambda: x + 1,
        lambda: x - 1,
        lambda: int(x),
        lambda: float(x),
        lambda: str(x),
        lambda: x * 1e300,
        lambda: x + 1e-12,
        lambda: bool(x),
        lambda: 0,
        lambda: Raw(f"{x}e0"),
        lambda: Raw(f"{x}" + "0" * 40),
        lambda: Raw(str(x).translate({48 + d: 0x660 + d for d in range(10)})),
        lambda: round(rng.uniform(-5, 200), rng.randint(0, 3)),
        lambda: rng.choice(some),
    )
    if some is SOME:
        ways = (*ways[:7], ways[9], *ways[-2:])
    try:
        return rng.choice(ways)()
    except (OverflowError, ValueError):
        return 0


def bend_text(rng: Random, text: str) -> str:
    """Some characters other than they were; what is in it stays recognisable."""
    how, at = rng.random(), rng.randint(0, len(text))
    if how < 0.15:
        return rng.choice(STRINGS)
    if how < 0.45:
        return text[:at] + rng.choice(STRINGS) + text[at:]
    if how < 0.6:
        return text[:at] + rng.choice(TOKENS)[:300] + text[at + rng.randint(0, 3) :]
    if how < 0.7:
        return text[:at]
    if how < 0.8:
        return rng.choice((text.upper(), text.swapcase(), text.title(), text[::-1], text * 2, f" {text} ", f"v_{text}"))
    words = text.split(" ")
    if how < 0.9:
        rng.shuffle(words)
        return " ".join(words)
    return text.translate({48 + d: rng.choice((0x660, 0xFF10, 0x1D7CE)) + d for d in range(10)})


# ── text and bytes ──────────────────────────────────────────────────────────────────────────────────────────────────


def write_tree(rng: Random, kind: str, tree: Tree) -> bytes:
    ascii_ = rng.random() < 0.5
    if kind == "text":
        some = tree if isinstance(tree, list) else [tree]
        text = "".join(f"{one if isinstance(one, str) else dump(one, ascii_)}\n" for one in some)
    elif kind == "lines" and isinstance(tree, list) and not isinstance(tree, Obj):
        text = "".join(f"{dump(one, ascii_)}\n" for one in tree)
    else:
        text = dump(tree, ascii_, rng.choice((", ", ",", ",\n  ")))
    return text.encode("utf-8", "surrogatepass")


def dump(tree: Tree, ascii_: bool, comma: str = ", ") -> str:
    """JSON, with whatever is raw as it is."""
    if isinstance(tree, Raw):
        return str(tree)
    if isinstance(tree, Obj):
        return (
            "{" + comma.join(f"{json.dumps(k, ensure_ascii=ascii_)}: {dump(v, ascii_, comma)}" for k, v in tree) + "}"
        )
    if isinstance(tree, list):
        return "[" + comma.join(dump(value, ascii_, comma) for value in tree) + "]"
    if isinstance(tree, int) and abs(tree) > 10**300:
        return f"{'-' if tree < 0 else ''}1{'0' * 400}"  # longer than str() likes
    return json.dumps(tree, ensure_ascii=ascii_)


def change_bytes(rng: Random, data: bytes, others: list[bytes]) -> bytes:
    """Flipped, cut, put in, doubled, spliced, or in another encoding."""
    a = rng.randint(0, len(data))
    b = min(len(data), a + rng.choice((0, 1, 1, 2, 5, 20, 100)))
    how = rng.randrange(14)
    if how == 0 and data:
        at = rng.randrange(len(data))
        return data[:at] + bytes([data[at] ^ (1 << rng.randrange(8))]) + data[at + 1 :]
    if how == 1:
        return data[:a] + data[b:]
    if how == 2:
        return data[:a]
    if how == 3:
        return data[:a] + data[a:b] * rng.choice((2, 3, 50)) + data[b:]
    if how == 4:
        return data[:a] + bytes(rng.choice(CUTS) for _ in range(rng.randint(1, 8))) + data[b:]
    if how == 5:
        return data[:a] + rng.choice(BLOBS) + data[b:]
    if how == 6:
        return data[:a] + rng.choice(TOKENS).encode() + data[b:]
    if how == 7 and others:
        other = rng.choice(others)
        return data[:a] + other[rng.randint(0, len(other)) :]
    if how == 8:
        return data + rng.choice(
            (b"\n", b"\x00" * 9, b" ", b"}", b"]", b"garbage", data, b"\r\n\r\n", b"\n{}\n", b"\n[]")
        )
    if how == 9:
        return rng.choice(BLOBS) + data
    if how == 10 and rng.random() < 0.3:
        text = data.decode("utf-8", "replace")
        return text.encode(rng.choice(("utf-16", "utf-16-le", "utf-32", "utf-8-sig", "latin-1", "utf-7")), "replace")
    if how == 11:
        return data.replace(b"\n", rng.choice((b"\r\n", b"\r", b"\n\n", b"\x0b", b"\xe2\x80\xa8")))
    if how == 12:
        return data.replace(b" ", rng.choice((b"\t", b"", b"\xc2\xa0", b"\x00", b"   ")))
    at = rng.randint(0, len(data))
    return data[:at] + bytes(rng.randrange(256) for _ in range(rng.randint(1, 6))) + data[at:]


def pack(rng: Random, data: bytes) -> bytes:
    """gzip, in one member or two, often damaged."""
    half = rng.randint(0, len(data))
    whole = (
        gzip.compress(data[:half], 1, mtime=0) + gzip.compress(data[half:], 1, mtime=0)
        if rng.random() < 0.3
        else gzip.compress(data, 1, mtime=0)
    )
    how = rng.random()
    if how < 0.25:
        return whole
    if how < 0.5:
        return whole[: rng.randint(0, len(whole))]
    if how < 0.65:
        return whole + rng.choice((b"\x00" * 20, b"garbage", whole[:10], b"\x1f\x8b"))
    if how < 0.8:
        at = rng.randrange(max(1, len(whole) - 8), len(whole)) if len(whole) > 8 else 0
        return whole[:at] + bytes([whole[at] ^ 0xFF]) + whole[at + 1 :]  # the checksum, or the length
    return change_bytes(rng, whole, [])


def renamed(doc: Doc, name: str) -> Doc:
    return replace(doc, name=name)
