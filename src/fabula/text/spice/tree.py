"""A phrase-structure tree that can be reshaped.

A tree is three lists: the labels of its nodes in pre-order, the number of each node's parent (0 for the root,
which is node 0), and the words. A node without children is a tag; the tags take the words in order.
"""

from __future__ import annotations

from collections.abc import Sequence


class Tree:
    """Nodes are numbers; a tag has a word and no children."""

    __slots__ = ("kids", "known", "label", "low", "parent", "tags", "word")

    def __init__(self, label: Sequence[str], parent: Sequence[int], words: Sequence[str]) -> None:
        n = len(label)
        self.label = list(label)
        self.parent = list(parent)
        self.kids: list[list[int]] = [[] for _ in range(n)]
        kids = self.kids
        for k in range(1, n):
            kids[parent[k]].append(k)
        self.word = [""] * n
        self.low = [""] * n
        self.known: list[int] | None = [k for k in range(n) if kids[k]]
        self.tags = [k for k in range(n) if not kids[k]]
        for k, word in zip(self.tags, words, strict=True):
            self.word[k] = word
            self.low[k] = word.lower()

    def node(self, label: str, kids: list[int], parent: int) -> int:
        self.known = None
        new = len(self.label)
        self.label.append(label)
        self.kids.append(kids)
        self.parent.append(parent)
        self.word.append("")
        self.low.append("")
        for k in kids:
            self.parent[k] = new
        return new

    def wrap(self, parent: int, first: int, last: int, label: str) -> int:
        """A new node over the children at first … last."""
        kids = self.kids[parent]
        new = self.node(label, kids[first : last + 1], parent)
        kids[first : last + 1] = [new]
        return new

    def splice(self, node: int) -> None:
        """The node's children take its place."""
        self.known = None
        parent = self.parent[node]
        at = self.kids[parent].index(node)
        self.kids[parent][at : at + 1] = self.kids[node]
        for k in self.kids[node]:
            self.parent[k] = parent

    def take(self, node: int) -> None:
        self.known = None
        self.kids[self.parent[node]].remove(node)

    def put(self, node: int, parent: int, at: int) -> None:
        self.known = None
        self.kids[parent].insert(at, node)
        self.parent[node] = parent

    def phrases(self) -> list[int]:
        """Nodes with children, parents first, left to right."""
        if self.known is None:
            kids = self.kids
            out, stack = [], [0]
            while stack:
                node = stack.pop()
                out.append(node)
                for k in reversed(kids[node]):
                    if kids[k]:
                        stack.append(k)
            self.known = out
        return self.known
