"""Scene graphs: tuples of one or several captions merged by meaning, as SPICE counts them (Anderson et al., ECCV 2016).

A concept is a set of words and the set of their WordNet synsets. An object joins the node that has the same concept;
else the node that is most similar (1 if they share a word, else |A ∩ B| / |A ∪ B| of the synsets), if any is; else it
becomes a node. Attributes of a node and relations between two nodes join the first that shares a word or a synset. A
node that was joined grows by the words and synsets of what joined it, so the order of tuples matters. Ties go to the
oldest node (in the original a hash of addresses decides; no score was ever seen to depend on it).
"""

from __future__ import annotations

import zipfile
from collections.abc import Iterable
from functools import cache, lru_cache

import numpy as np

from fabula.core.errors import InputError
from fabula.text.meteor.align import DETACHMENT, java_hash
from fabula.text.meteor.index import INSTALL, Tables
from fabula.text.spice.graph import Tuple


class Concept:
    """Words that mean the same here, and their synsets."""

    __slots__ = ("synsets", "words")

    def __init__(self, word: str) -> None:
        self.words: frozenset[str]
        self.synsets: frozenset[int]
        self.words, self.synsets = meaning(word)

    def is_similar(self, other: Concept) -> bool:
        return not self.synsets.isdisjoint(other.synsets) or not self.words.isdisjoint(other.words)

    def is_equal(self, other: Concept) -> bool:
        return self.words == other.words and self.synsets == other.synsets

    def merge(self, other: Concept) -> None:
        self.words |= other.words
        self.synsets |= other.synsets

    def __str__(self) -> str:
        """Merged words in the order of a Java HashSet."""
        if len(self.words) == 1:
            return next(iter(self.words))
        size = 16
        while len(self.words) > 0.75 * size:
            size *= 2
        return "/".join(sorted(sorted(self.words), key=lambda w: (h := java_hash(w), (h ^ h >> 16) & (size - 1))[1]))


Parts = tuple[Concept, ...]  # (object,), (object, attribute) or (subject, relation, object)


class Node:
    __slots__ = ("attributes", "concept")

    def __init__(self, concept: Concept) -> None:
        self.concept = concept
        self.attributes: list[Concept] = []


class Scene:
    """The merged graph of one caption, or of all references of an item."""

    def __init__(self, proposed: Iterable[Tuple] = ()) -> None:
        self.nodes: list[Node] = []
        self.relations: list[tuple[Node, Concept, Node]] = []
        self.by_word: dict[str, Node] = {}  # nodes of a single word
        for parts in proposed:
            self.add(parts)

    def add(self, parts: Tuple) -> None:
        """(object,), (object, attribute) or (subject, object, relation)."""
        node = self.node(parts[0])
        if len(parts) == 2:
            self.attribute(node, Concept(parts[1]))
        elif len(parts) == 3:
            relation = parts[2]
            self.relation(node, Concept(relation[3:] if relation.startswith("be ") else relation), self.node(parts[1]))

    def node(self, word: str) -> Node:
        found = self.by_word.get(word)
        if found is not None and len(found.concept.words) == 1:
            return found
        concept = Concept(word)
        best, most = None, np.float32(0)
        for node in self.nodes:
            other = node.concept
            if word in other.words:
                if concept.is_equal(other):
                    return node
                similarity = np.float32(1)
            else:
                shared = len(concept.synsets & other.synsets)
                if not shared:
                    continue
                similarity = np.float32(shared) / np.float32(len(concept.synsets | other.synsets))
            if similarity > most:
                best, most = node, similarity
        if best is not None:
            best.concept.merge(concept)
            return best
        new = Node(concept)
        self.nodes.append(new)
        self.by_word[word] = new
        return new

    def attribute(self, node: Node, concept: Concept) -> None:
        if not merge_into(concept, node.attributes):
            node.attributes.append(concept)

    def relation(self, source: Node, concept: Concept, target: Node) -> None:
        if not merge_into(concept, (r for a, r, b in self.relations if a is source and b is target)):
            self.relations.append((source, concept, target))

    def tuples(self) -> list[Parts]:
        out: list[Parts] = [(node.concept,) for node in self.nodes]
        out += [(node.concept, attribute) for node in self.nodes for attribute in node.attributes]
        out += [(a.concept, relation, b.concept) for a, relation, b in self.relations]
        return out


def merge_into(concept: Concept, others: Iterable[Concept]) -> bool:
    """True where one of the others is the concept, or else the first that is similar now has its words."""
    similar = None
    for other in others:
        if other.is_equal(concept):
            return True
        if similar is None and other.is_similar(concept):
            similar = other
    if similar is None:
        return False
    similar.merge(concept)
    return True


# --- synsets ------------------------------------------------------------------------------------------------


@cache
def tables() -> tuple[dict[str, str], dict[str, list[str]]]:
    """(lemma → synsets, irregular form → bases) of METEOR's jar; lemmas of several words are joined by `_`."""
    jar_file = Tables.installed().jar
    try:
        with zipfile.ZipFile(jar_file) as jar:
            lines = jar.read("synonym/english.synsets").decode().split("\n")
            pairs = jar.read("synonym/english.exceptions").decode().split("\n")
    except (OSError, KeyError, zipfile.BadZipFile, UnicodeDecodeError) as error:
        raise InputError(f"METEOR's tables cannot be read ({error})", file=jar_file, hint=INSTALL) from error
    bases: dict[str, list[str]] = {}
    for base, forms in zip(pairs[::2], pairs[1::2], strict=False):
        for form in forms.split():
            bases.setdefault(form, []).append(base)
    return dict(zip(lines[::2], lines[1::2], strict=False)), bases


@lru_cache(1 << 16)
def synsets(word: str) -> frozenset[int]:
    """Synsets of the word itself and of its base form."""
    known, bases = tables()
    word = word.lower().replace(" ", "_")
    found = frozenset(map(int, known.get(word, "").split()))
    for base in bases.get(word) or [base_form(word, known)]:
        found |= frozenset(map(int, known.get(base, "").split()))
    return found


@lru_cache(1 << 16)
def meaning(word: str) -> tuple[frozenset[str], frozenset[int]]:
    return frozenset([word]), synsets(word)


def base_form(word: str, known: dict[str, str]) -> str:
    if word.endswith("ss") or len(word) <= 2:
        return word
    for suffix, ending in DETACHMENT:
        if word.endswith(suffix) and (base := word[: -len(suffix)] + ending) in known:
            return base
    return ""
