"""From a dependency graph to scene-graph tuples (SPICE: Anderson et al., ECCV 2016; Schuster et al., 2015).

    "a young girl is standing on a table"  →  (girl, young) (girl, table, stand on) (girl) (table)

In this order, per sentence: quantifying phrases give their place to the noun ("a couple of dogs" → dogs), pronouns
become the noun that they probably stand for, then fifteen rules propose tuples. A tuple is (object,), (object,
attribute) or (subject, object, relation); a tuple may be proposed twice. Objects and attributes are lemmas in lower
case.

Where several words match a rule, the original goes through its graph in an order that a hash table decides. That
order is reproduced: words are visited parents first (reverse post-order of a depth-first walk), children by their
place in a table of 16 or more, which is `(29 · sentence + position) % size`.
"""

# ruff: noqa: SIM905  (word lists read better as text)
from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from typing import NamedTuple

Tuple = tuple[str, ...]
Edge = tuple[str, int, int]  # label, head, child; head 0 is the root

NOUN = frozenset(["NN", "NNS", "NNP", "NNPS"])
SINGULAR_NOUN = frozenset(["NN", "NNP"])
PLURAL_NOUN = frozenset(["NNS", "NNPS"])
PRONOUN = frozenset(["PRP", "PRP$"])
SINGULAR = frozenset(
    "i me my mine he she it him her his hers its one one's himself herself itself myself yourself oneself".split()
)

OF_A = frozenset(
    "lot assortment number couple bunch handful litany sheaf slew dozen series variety multitude wad clutch wave "
    "mountain array spate string ton range plethora heap sort form kind type version bit pair triple total".split()
)
OF_MANY = re.compile(
    r"lots|many|several|plenty|tons|dozens|multitudes|mountains|loads|pairs|tens|hundreds|thousands|millions|billions|"
    r"trillions|[0-9]+s"
)
OF_THE = re.compile(
    r"some|all|both|neither|everyone|nobody|one|two|three|four|five|six|seven|eight|nine|ten|hundred|thousand|million|billion|"
    r"trillion|[0-9]+"
)


class Token(NamedTuple):
    """A word with its tag and lemma."""

    word: str
    tag: str
    lemma: str


def table_size(entries: int) -> int:
    """Of the hash table that holds so many."""
    size = 16
    while entries > size * 0.75:
        size *= 2
    return size


class Graph:
    """Words 1 … n and copies of words, with labelled edges; children in the order in which the rules see them."""

    __slots__ = ("heads", "kids", "lemma", "position", "shift", "sorted", "tag", "tokens", "word")

    def __init__(
        self, tokens: Sequence[Token], edges: Iterable[Edge], copies: Sequence[int] = (), sentence: int = 0
    ) -> None:
        """Node n + k is a copy of word copies[k−1]; edges come by the child's position.

        `sentence`: which one of its caption, from 0.
        """
        n = len(tokens)
        self.tokens: Sequence[Token] = tokens
        self.shift = 29 * sentence
        self.position: list[int] = [*range(n + 1), *copies]
        self.word = ["", *[t.word.lower() for t in tokens]]
        self.tag = ["", *[t.tag for t in tokens]]
        self.lemma = ["", *[t.lemma.strip().lower() for t in tokens]]
        for k in copies:
            self.word.append(self.word[k])
            self.tag.append(self.tag[k])
            self.lemma.append(self.lemma[k])
        N = n + 1 + len(copies)
        self.kids: list[list[tuple[str, int]]] = [[] for _ in range(N)]
        self.heads: list[list[tuple[str, int]]] = [[] for _ in range(N)]
        kids, heads = self.kids, self.heads
        for label, head, child in edges:
            kids[head].append((label, child))
            heads[child].append((label, head))
        self.sorted = n < 16 and not copies and not sentence  # the table's order is the sentence's
        if not self.sorted:
            for found in kids:
                if len(found) > 1:
                    self.sort(found)

    def sort(self, kids: list[tuple[str, int]]) -> None:
        """By place in the table; what shares a place stays in the order in which it came."""
        size = table_size(len({k for _, k in kids})) - 1
        position, shift = self.position, self.shift
        kids.sort(key=lambda kid: (position[kid[1]] + shift) & size)

    def add(self, label: str, head: int, child: int) -> None:
        """Two edges may be alike."""
        kids = self.kids[head]
        same = [at for at, (_, kid) in enumerate(kids) if kid == child]
        kids.insert(same[-1] + 1 if same else len(kids), (label, child))
        self.sort(kids)
        self.heads[child].append((label, head))

    def remove(self, label: str, head: int, child: int) -> None:
        self.kids[head].remove((label, child))
        self.heads[child].remove((label, head))

    def child(self, node: int, label: str) -> int:
        """The first child under this label, or 0."""
        for name, kid in self.kids[node]:
            if name == label:
                return kid
        return 0

    def parent(self, node: int) -> int:
        """The first word above it from which the root can be reached; 0 if there is none, or if it is a root."""
        return self.upward(node, {node})

    def upward(self, node: int, used: set[int]) -> int:
        above = {head for _, head in self.heads[node]}
        if 0 in above:
            return 0
        for head in sorted(above - used, key=lambda k: (self.position[k], k)):
            if any(not up for _, up in self.heads[head]) or self.upward(head, used | {head}):
                return head
        return 0

    def order(self) -> list[int]:
        """Parents before children; as the words stand in the table where the graph has a cycle."""
        kids = self.kids
        done: list[int] = []
        state = [0] * len(kids)  # 0 new, 1 open, 2 done
        starts = [k for k in range(1, len(kids)) if kids[k] or self.heads[k]]
        if not self.sorted:
            size = table_size(len(kids) - 1) - 1
            starts.sort(key=lambda k: ((self.position[k] + self.shift) & size, k))
        for start in starts:
            if state[start]:
                continue
            stack = [(start, iter(kids[start]))]
            state[start] = 1
            while stack:
                node, rest = stack[-1]
                for _, kid in rest:
                    if state[kid] == 0:
                        if kids[kid]:
                            state[kid] = 1
                            stack.append((kid, iter(kids[kid])))
                            break
                        state[kid] = 2
                        done.append(kid)
                    elif state[kid] == 1:
                        return starts
                else:
                    state[node] = 2
                    done.append(node)
                    stack.pop()
        done.reverse()
        return done


def tuples(graph: Graph) -> list[Tuple]:
    """All steps on one sentence's graph, which is changed."""
    promote_quantified(graph)
    resolve_pronouns(graph)
    return propose(graph)


# --- quantifiers and pronouns ---------------------------------------------------------------------------------------


def promote_quantified(g: Graph) -> None:
    """ "a couple of dogs" → dogs, with `a` as its det:qmod and `couple`, `of` as parts of it."""
    if "of" not in g.word:
        return
    for quantifier in (of_a, of_many, of_the):
        found = {}
        for q in range(1, len(g.word)):
            if g.kids[q] and (phrase := quantifier(g, q)) is not None:
                found[q] = phrase
        for q in found if len(found) < 2 else [q for q in g.order() if q in found]:
            if not promote(g, q, *found[q]):
                return


def find_quantified(g: Graph, q: int) -> list[tuple[int, int]]:
    """(noun, of) for what the word may quantify."""
    return [
        (noun, of)
        for label, noun in g.kids[q]
        if label.startswith("nmod") and g.tag[noun].startswith(("NN", "PRP"))
        for name, of in g.kids[noun]
        if name == "case" and g.word[of] == "of" and g.position[of] == g.position[q] + 1
    ]


def of_a(g: Graph, q: int) -> tuple[int, list[int]] | None:
    """ "a couple of dogs": the noun, the words before it."""
    if g.word[q] in OF_A:
        for label, det in g.kids[q]:
            if label == "det" and g.word[det] in ("a", "an"):
                for noun, of in find_quantified(g, q):
                    left = [k for name, k in g.kids[q] if name == "amod" and g.position[k] < g.position[q]]
                    return noun, [det, q, of, *left]
    return None


def of_many(g: Graph, q: int) -> tuple[int, list[int]] | None:
    """ "lots of dogs"."""
    if OF_MANY.fullmatch(g.word[q]):
        for noun, of in find_quantified(g, q):
            return noun, [q, of, *words_before(g, q)]
    return None


def of_the(g: Graph, q: int) -> tuple[int, list[int]] | None:
    """ "some of the dogs", "some of them"."""
    if OF_THE.fullmatch(g.word[q]):
        for noun, of in find_quantified(g, q):
            if g.tag[noun] in PRONOUN or any(
                label == "det" and g.position[k] == g.position[of] + 1 for label, k in g.kids[noun]
            ):
                return noun, [q, of, *words_before(g, q)]
    return None


def words_before(g: Graph, q: int) -> list[int]:
    return [k for _, k in g.kids[q] if g.position[k] < g.position[q]]


def promote(g: Graph, q: int, noun: int, words: list[int]) -> bool:
    """The noun takes the quantifier's place; False ends the search, as it does in the original."""
    if ("root", 0) in g.heads[q]:
        g.remove("root", 0, q)
        g.add("root", 0, noun)
    else:
        parent = g.parent(q)
        if not parent:
            return False
        label = next(name for name, head in g.heads[q] if head == parent)
        g.remove(label, parent, q)
        g.add(label, parent, noun)
    nmod = next((name for name, k in g.kids[q] if k == noun), None)
    if nmod is not None:
        g.remove(nmod, q, noun)
    first, *rest = sorted(set(words), key=lambda k: (g.position[k], k))
    for k in (first, *rest):
        for name, head in list(g.heads[k]):
            g.remove(name, head, k)
        if k == first:
            g.add("det:qmod", noun, k)
        else:
            g.add("mwe", first, k)
    return True


def resolve_pronouns(g: Graph) -> None:
    """Each pronoun gives its edges to its antecedent, if that comes before it."""
    tag = g.tag
    pronouns = [k for k in range(2, len(g.tokens) + 1) if tag[k] in PRONOUN]
    if not pronouns or not g.kids[0]:
        return
    root = g.kids[0][0][1]
    found = []
    for k in pronouns:
        wanted = SINGULAR_NOUN if g.tokens[k - 1].word in SINGULAR else NOUN
        mention = antecedent(g, root, wanted)
        if mention > 0 and g.position[mention] < k and g.parent(k):
            found.append((k, g.position[mention]))
    size = 1
    while len(found) > size * 0.75:
        size *= 2
    found.sort(key=lambda pair: pair[0] & (size - 1))
    for k, mention in found:
        for label, head in sorted(g.heads[k], key=lambda arc: arc[1]):
            g.remove(label, head, k)
            g.add(label, head, mention)
        for label, kid in sorted(g.kids[k], key=lambda arc: arc[1]):
            g.remove(label, k, kid)
            g.add(label, mention, kid)


def antecedent(g: Graph, start: int, wanted: frozenset[str]) -> int:
    """The first noun met breadth first."""
    visited, queue = {start}, [start]
    for node in queue:
        if g.tag[node] in wanted:
            return node
        for kid in sorted({kid for _, kid in g.kids[node]} - visited, key=g.position.__getitem__):
            visited.add(kid)
            queue.append(kid)
    return 0


# --- the fifteen rules ----------------------------------------------------------------------------------------------

SUBJECT, OBJECT, MODIFIER, COPULA, CASE, ADJECTIVAL, CLAUSE, COMPOUND, PATIENT = range(1, 10)
KIND = {
    "nsubj": SUBJECT,
    "dobj": OBJECT,
    "iobj": OBJECT,
    "cop": COPULA,
    "case": CASE,
    "amod": ADJECTIVAL,
    "acl": CLAUSE,
    "compound": COMPOUND,
    "nsubjpass": PATIENT,
}
Arc = tuple[str, int]


def propose(g: Graph) -> list[Tuple]:
    """One walk over the words; what each rule finds is put together in the order of the rules."""
    tag, lemma, all_kids, kind = g.tag, g.lemma, g.kids, KIND.get
    order = g.order()
    relations: list[Tuple] = []  # 1: subject, predicate, object
    described: list[tuple[int, int]] = []  # 2: a noun and the verb of a clause that describes it
    plain: list[Tuple] = []  # 3: no object
    copular: list[Tuple] = []  # 4: with a copula
    attributes: list[Tuple] = []  # 5: adjectives
    predicates: list[Tuple] = []  # 6: adjectives that have a subject
    places: list[Tuple] = []  # 7: prepositions between nouns
    owners: list[Tuple] = []  # 8
    agents: list[Tuple] = []  # 9: by whom
    compounds: list[Tuple] = []  # 13
    objects: dict[int, list[Arc]] = {}
    governs_plural: set[int] = set()
    joined: set[int] = set()
    nouns, plurals = [], []
    for node in order:
        noun = tag[node] in NOUN
        if noun:
            nouns.append(node)
            if tag[node] in PLURAL_NOUN:
                plurals.append(node)
        kids = all_kids[node]
        if not kids:
            continue
        subjects: list[int] = []
        patients: list[int] = []
        by: list[int] = []
        own: list[Arc] = []
        copulas = case = 0
        for label, kid in kids:
            k = kind(label)
            if k is None:
                if not label.startswith("nmod:"):
                    continue
                k = MODIFIER
            if k == MODIFIER:
                is_noun = tag[kid] in NOUN
                if is_noun:
                    own.append((label, kid))
                if label == "nmod:poss":
                    if noun and is_noun:
                        owners.append((lemma[kid], lemma[node], "have"))
                elif label == "nmod:agent":
                    if is_noun:
                        by.append(kid)
                elif noun:
                    places.append((lemma[node], lemma[kid], label[5:].replace("_", " ")))
            elif k == SUBJECT:
                subjects.append(kid)
            elif k == OBJECT:
                if tag[kid] in NOUN:
                    own.append((label, kid))
            elif k == ADJECTIVAL:
                attributes.append((lemma[node], lemma[kid]))
            elif k == COMPOUND:
                if noun and tag[kid] in NOUN:
                    compounds.append((lemma[node], lemma[kid]))
                    joined.update((node, kid))
            elif k == CASE:
                case = case or kid
            elif k == COPULA:
                copulas += 1
            elif k == PATIENT:
                if tag[kid] in NOUN:
                    patients.append(kid)
            elif tag[kid].startswith("V"):  # a clause
                described.append((node, kid))
        if own:
            objects[node] = own
        if by and patients and tag[node].startswith("V"):
            agents += [(lemma[agent], lemma[patient], predicate(g, node, "")) for agent in by for patient in patients]
        if subjects:
            if tag[node].startswith("J"):
                predicates += [(lemma[subject], lemma[node]) for subject in subjects]
            subjects = [subject for subject in subjects if tag[subject] in NOUN]
            if not copulas and own:
                for subject in subjects:
                    relations += [(lemma[subject], lemma[obj], predicate(g, node, label)) for label, obj in own]
            elif subjects:
                proposed = [describe_subject(g, subject, node, case) for subject in subjects]
                if copulas:
                    copular += [t for t in proposed if t for _ in range(copulas)]
                else:
                    plain += [t for t in proposed if t]
            if any(tag[subject] in PLURAL_NOUN for subject in subjects):
                governs_plural.add(node)
    clauses = [
        (lemma[node], lemma[obj], predicate(g, verb, label))
        for node, verb in described
        for label, obj in objects.get(verb, ())
    ]
    out = [*relations, *clauses, *plain, *copular, *attributes, *predicates, *places, *owners, *agents]
    if plurals:
        out += count_plurals(g, order, plurals, governs_plural)
    out += compounds
    out += [(lemma[node],) for node in nouns if node not in joined]
    return out


def describe_subject(g: Graph, subject: int, node: int, case: int) -> Tuple:
    """ "the man is in a room", "the man is tall", "the man runs"."""
    if case:
        parts = [written_word(g, case), *(written_word(g, k) for name, k in g.kids[case] if name == "mwe")]
        return g.lemma[subject], g.lemma[node], " ".join(parts)
    return () if g.lemma[node] == "be" else (g.lemma[subject], g.lemma[node])


def written_word(g: Graph, node: int) -> str:
    """The word as it was written."""
    return g.tokens[g.position[node] - 1].word


def predicate(g: Graph, node: int, label: str) -> str:
    """The verb's lemma, its particle, the preposition."""
    words = g.tokens[g.position[node] - 1].lemma
    if particle := g.child(node, "compound:prt"):
        words = f"{'' if words == 'be' else words} {written_word(g, particle)}".strip()
    if label.startswith("nmod:") and label not in ("nmod:poss", "nmod:agent"):
        words += " " + label[5:].replace("_", " ")
    return words


def count_plurals(g: Graph, order: list[int], plurals: list[int], governs_plural: set[int]) -> list[Tuple]:
    """10–12, how many: plural subject and plural object, plural subject or root alone, other plurals."""
    if not any(label in ("nummod", "det:qmod") for node in plurals for label, _ in g.kids[node]):
        return []
    out: list[Tuple] = []
    with_object: dict[int, int] = {}
    for node in governs_plural:
        if other := plural_object(g, node):
            with_object[node] = other
    for node in order:
        if node in with_object:
            subject = next(k for label, k in g.kids[node] if label == "nsubj" and g.tag[k] in PLURAL_NOUN)
            out += count_noun(g, subject) + count_noun(g, with_object[node])
    for node in plurals:
        for label, head in g.heads[node]:
            if label == "root" or (label == "nsubj" and head not in with_object):
                out += count_noun(g, node)
                break
    for node in plurals:
        for label, head in g.heads[node]:
            if label in ("root", "nsubj"):
                break
            if head in governs_plural and (label in ("dobj", "iobj") or label.startswith("nmod")):
                break
        else:
            out += count_noun(g, node)
    return out


def plural_object(g: Graph, node: int) -> int:
    """A plural object, or else a plural noun with its preposition."""
    plural = [(label, k) for label, k in g.kids[node] if g.tag[k] in PLURAL_NOUN]
    for label, k in plural:
        if label in ("dobj", "iobj"):
            return k
    for label, k in plural:
        if label.startswith("nmod:") and "agent" not in label and g.child(k, "case"):
            return k
    return 0


def count_noun(g: Graph, noun: int) -> list[Tuple]:
    """(noun, number) where a number stands before it; a quantifier where there is no number."""
    if number := g.child(noun, "nummod"):
        return [(g.lemma[noun], g.lemma[number])] if g.position[number] < g.position[noun] else []
    number = g.child(noun, "det:qmod")
    return [(g.lemma[noun], g.lemma[number])] if number else []
