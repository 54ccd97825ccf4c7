"""Reshaping of a phrase-structure tree before dependencies are read off it.

Conventions of Stanford's converter (Schuster and Manning, LREC 2016): words that act as one ("such as", "because of")
come under a node MWE, flat coordinations get a node for each part, an adverb after "and" goes into the phrase
that it modifies, and so on. Most captions need none of this; each step looks first whether its words or labels are
there at all.
"""

# ruff: noqa: SIM102, SIM905  (word lists read better as text, conditions one by one)
from __future__ import annotations

from collections.abc import Callable
from functools import cache
from itertools import pairwise

from fabula.text.spice.labels import find_labels
from fabula.text.spice.tree import Tree

MONTHS = (
    "January February March April May June July August September October November December "
    "Jan. Feb. Mar. Apr. Aug. Sep. Sept. Oct. Nov. Dec."
).split()
EITHER = frozenset(["either", "neither", "both"])
BEFORE = frozenset(["after", "before", "until", "since", "during"])
BE = frozenset("be being been am are r is ai was were 'm m 're 's s `s art ar wase".split())
ADVERBS = frozenset(["RB", "ADVP"])
VERBS = frozenset("VB VBD VBG VBN VBP VBZ".split())


# first word → second word → (labels of the phrase, of the first, of the second), in that phrase next to each other
TOGETHER: dict[str, dict[str, tuple[frozenset[str], frozenset[str], frozenset[str]]]] = {}
for _line in """
    such as PP JJ IN | due to PP JJ,IN IN,TO | because of PP,CONJP IN,RB IN | instead of PP,CONJP IN,RB IN
    in case ADVP,SBAR IN,RB NN | of course ADVP,PP IN,RB NN,RB | in order SBAR,PP IN,RB NN,NP,RB
    rather than PP,CONJP,SBAR IN,RB IN | so that PP,SBAR JJ,IN,RB IN,TO | as if SBAR IN,RB IN | prior to PP JJ,RB TO,IN
    as to PP IN TO,IN | kind of ADVP RB,NN IN,RB | let alone ADVP,CONJP VB,RB,VBD RB,JJ
    in between ADVP,PP IN,RB IN,NP,PP,RB,ADVP | all but ADVP,QP,ADJP DT,RB CC,RB,IN | that is ADVP,INTJ NN,DT,RB VBZ,RB
    how come WHADVP WRB VB | had better VP VBD PRT,ADVP | 'd better VP VBD PRT,ADVP
    more than QP,XS JJR,RBR,IN IN | less than QP,XS JJR,RBR,IN IN | up to QP JJR,RBR,IN IN,TO
    """.replace("\n", "|").split("|"):
    if _line.strip():
        _a, _b, *_sets = _line.split()
        _of, _x, _y = (frozenset(part.split(",")) for part in _sets)
        TOGETHER.setdefault(_a, {})[_b] = (_of, _x, _y)


def reshape(t: Tree) -> None:
    have = set(t.label)
    join_words(t)
    coordinated = "CC" in have or "CONJP" in have
    if "CC" in have:
        repeat(t, join_prepositions)
    if "UCP" in have:
        name_mixed(t)
    if "CC" in have:
        while repeat(t, split_flat):
            pass
    if "QP" in have:
        split_numbers(t)
    if "SBARQ" in have:
        open_questions(t)
    if "CD" in have and "NNP" in have:
        flatten_dates(t)
    remove_doubles(t)
    if "CC" in have and not {"so", "yet"}.isdisjoint(t.low):
        repeat(t, and_so)
    if ("ADVP" in have or "RB" in have) and (coordinated or "," in have or "FRAG" in have):
        for step in (into_phrase, into_adverb, into_fragment):
            while repeat(t, step):
                pass
    if "SBAR" in have:
        if not BEFORE.isdisjoint(t.low):
            repeat(t, after_clause)
        if "now" in t.low:
            repeat(t, now_that)


def repeat(t: Tree, step: Callable[[Tree, int], bool]) -> bool:
    """Whether the step changed a phrase."""
    changed = False
    for node in t.phrases():
        if step(t, node):
            changed = True
    return changed


# --- words that belong together -------------------------------------------------------------------------------------


def join_words(t: Tree) -> None:
    low, tags = t.low, t.tags
    if "as" in low and "well" in low:
        repeat(t, as_well)
    for k in range(len(tags) - 1):
        after = TOGETHER.get(low[tags[k]])
        if after is not None:
            rule = after.get(low[tags[k + 1]])
            if rule is not None:
                join_two(t, tags[k], tags[k + 1], *rule)
    if "opposed" in low or "mention" in low or "whether" in low:
        repeat(t, three_words)
    if "at" in low:
        repeat(t, at_least)
    if "according" in low:
        repeat(t, according_to)
    if "also" in low and "CONJP" in t.label:
        repeat(t, but_also)
    if "at" in low:
        repeat(t, at_most)
        repeat(t, at_all)


def join_two(t: Tree, a: int, b: int, of: frozenset[str], first: frozenset[str], second: frozenset[str]) -> None:
    parent = t.parent[a]
    if t.label[parent] not in of or t.label[a] not in first:
        return
    at = t.kids[parent].index(a)
    if at + 1 == len(t.kids[parent]):
        return
    found = b = t.kids[parent][at + 1]
    if t.kids[b]:  # a phrase of this one word
        found = t.kids[b][0] if len(t.kids[b]) == 1 else -1
        inside = {"order": "NN", "between": "IN RB", "better": "RBR"}.get(t.low[found] if found >= 0 else "", "")
        if found < 0 or t.label[found] not in inside.split():
            return
    elif t.low[b] == "better":
        return
    if t.label[b] in second:
        t.wrap(parent, at, at + 1, "MWE")


def as_well(t: Tree, node: int) -> bool:
    kids = t.kids[node]
    if t.label[node] not in ("ADVP", "CONJP") or len(kids) < 2 or t.low[kids[0]] != "as" or t.label[kids[0]] != "RB":
        return False
    last = kids[-1]
    if (
        t.label[node] == "CONJP"
        and len(kids) > 2
        and (t.low[kids[1]], t.label[kids[1]], t.low[last], t.label[last]) == ("well", "RB", "as", "IN")
    ):
        new = t.wrap(node, 0, 1, "MWE")
        t.take(last)
        t.put(last, new, 2)
    elif t.low[last] == "well" and t.label[last] in ("IN", "RB"):
        t.wrap(node, 0, len(kids) - 1, "MWE")
    else:
        return False
    return True


@cache
def read_run(text: str) -> list[tuple[str, frozenset[str]]]:
    """ "at/IN,RB least/JJS,RBS": words, `_` for any, and the labels that they may have."""
    pairs = [part.split("/") for part in text.split()]
    return [(word.replace("_", ""), find_labels(tags.replace(",", " "))) for word, tags in pairs]


def find_run(t: Tree, node: int, text: str) -> int:
    """Where such children first stand next to each other, or −1."""
    kids, wanted = t.kids[node], read_run(text)
    for at in range(len(kids) - len(wanted) + 1):
        if all(
            t.label[k] in tags and word in ("", t.low[k]) for k, (word, tags) in zip(kids[at:], wanted, strict=False)
        ):
            return at
    return -1


THREE = {
    "CONJP": ("not/IN,RB to/TO mention/VB,RB", "as/IN opposed/VBN to/TO,IN"),
    "SBAR": ("whether/IN,RB or/CC not/RB",),
}


def three_words(t: Tree, node: int) -> bool:
    for run in THREE.get(t.label[node], ()):
        if (at := find_run(t, node, run)) >= 0:
            t.wrap(node, at, at + 2, "MWE")
            return True
    return False


def at_least(t: Tree, node: int) -> bool:
    above = t.parent[node]
    if t.label[node] != "ADVP" or node == 0 or t.label[above] not in ("S", "SQ", "VP", "ADVP", "PP"):
        return False
    at = find_run(t, node, "at/IN,RB least/JJS,RBS")
    beside = t.kids[above][t.kids[above].index(node) + 1 :]
    if at < 0 or (beside and t.label[beside[0]] == "RB" and t.low[beside[0]] in ("once", "twice")):
        return False
    t.wrap(node, at, at + 1, "MWE")
    return True


def at_most(t: Tree, node: int) -> bool:
    """ "at" as a preposition, "most" as its noun."""
    at = find_run(t, node, "at/IN,RB _/JJS,RBS") if t.label[node] in ("ADVP", "QP") else -1
    if at >= 0:
        t.label[t.kids[node][at]] = "IN"
        t.wrap(t.wrap(node, at, at + 1, "ADVP"), 1, 1, "NP")
    return at >= 0


def at_all(t: Tree, node: int) -> bool:
    at = find_run(t, node, "at/IN,RB all/RB,DT") if t.label[node] == "ADVP" else -1
    if at >= 0:
        t.label[node], t.label[t.kids[node][at]] = "PP", "IN"
        t.wrap(node, at + 1, at + 1, "NP")
    return at >= 0


def according_to(t: Tree, node: int) -> bool:
    at = find_run(t, node, "according/VBG _/PP") if t.label[node] == "PP" else -1
    inner = t.kids[node][at + 1] if at >= 0 else node
    for to in t.kids[inner] if at >= 0 else ():
        if t.word[to] == "to" and t.label[to] in ("TO", "IN"):
            t.take(to)
            t.splice(inner)
            t.put(to, t.wrap(node, at, at, "MWE"), 1)
            return True
    return False


def but_also(t: Tree, node: int) -> bool:
    """The phrase is broken up: "also" goes into what follows."""
    if t.label[node] != "CONJP":
        return False
    but = next((k for k in t.kids[node] if t.label[k] == "CC" and t.word[k] == "but"), -1)
    also = next((k for k in t.kids[node] if t.label[k] == "RB" and t.word[k] == "also"), -1)
    if but < 0 or also < 0:
        return False
    parent = t.parent[node]
    at = t.kids[parent].index(node)
    after = t.kids[parent][at + 1] if at + 1 < len(t.kids[parent]) else -1
    t.kids[parent][at] = but
    t.parent[but] = parent
    if after >= 0 and t.kids[after]:
        t.put(t.node("ADVP", [also], after), after, 0)
    else:
        t.put(t.node("ADVP", [also], parent), parent, at + 1)
    return True


# --- coordination ---------------------------------------------------------------------------------------------------


def join_prepositions(t: Tree, node: int) -> bool:
    """ "to and from the house": one node over both."""
    joined = t.label[node] == "PP" and find_run(t, node, "_/IN,TO _/CC _/IN,TO") == 0
    if joined:
        t.wrap(node, 0, 2, "PCONJP")
    return joined


def name_mixed(t: Tree) -> None:
    for node in reversed(t.phrases()):
        if not t.label[node].startswith("UCP"):
            continue
        kids = [t.label[k] for k in t.kids[node]]
        last = t.kids[node][-1]
        starts = [kids[0], *(kids[1:2] if kids[0] == "DT" else ())]
        older = kids[-1] == "ADJP" and any(
            t.label[k] == "JJR" and t.low[k] in ("younger", "older") for k in t.kids[last]
        )
        if older or any(name.startswith(("JJ", "ADJP")) for name in starts):
            t.label[node] = t.label[node].replace("UCP", "ADJP")
        elif any(name.startswith("N") for name in starts):
            t.label[node] = t.label[node].replace("UCP", "NP")
        elif kids[0].startswith("ADVP"):
            t.label[node] = "ADVP"


def split_flat(t: Tree, node: int) -> bool:
    """A noun phrase whose tags stand around a conjunction without phrases of their own."""
    if not t.label[node].startswith("NP"):
        return False
    kids = t.kids[node]
    if len(kids) < 4:
        return False
    names = [t.label[k] for k in kids]
    for at, name in enumerate(names):
        if (
            name == "CC"
            and 0 < at < len(kids) - 2
            and not any(n.startswith("NP") for n in names[at:])
            and not names[at + 1].startswith("CC")
        ):
            split_at(t, node, at)
            return True
    return False


def phrase_of(tag: str) -> str:
    return "ADJP" if tag.startswith("JJ") else "NP"


def split_at(t: Tree, node: int, cc: int) -> None:
    kids = t.kids[node]
    names = [t.label[k] for k in kids]
    n = len(kids)
    more = next((i for i in range(cc + 1, n - 1) if names[i].startswith("CC")), 0)
    before = names[cc - 1]
    if (
        cc == 1
        and (before in ("DT", "JJ", "RB") or names[2] != "DT")
        and not (before.startswith("NP") or before in ("ADJP", "NNS"))
    ):
        open_left(t, node, more)
    elif cc == 2 and names[0].startswith("DT") and before != "NNS" and (n == 5 or more == 5):
        t.wrap(node, 1, 3, phrase_of(before))
    elif cc > 2 and names[cc - 2] == "," and before != "NNS":
        start = cc - 3
        while start > 1 and names[start - 1] == ",":
            start -= 2
        t.wrap(node, start, cc + 1, phrase_of(before))
    else:
        two_sides(t, node, cc, more)


def open_left(t: Tree, node: int, more: int) -> None:
    """ "a CC b c" → "(a CC b) c", and what comes after a further conjunction in a phrase of its own."""
    names = [t.label[k] for k in t.kids[node]]
    if not more:
        t.wrap(node, 0, 2, phrase_of(names[0]))
        return
    comma = names[more - 1] == ","
    end = more - comma
    t.wrap(node, 0, 2, phrase_of(names[0]))
    if end > 3:
        t.wrap(node, 0, end - 3, phrase_of(names[end - 1]))
    t.wrap(node, 2 + comma, len(t.kids[node]) - 1, "NP")


def two_sides(t: Tree, node: int, cc: int, more: int) -> None:
    """ "the phone book and tour guide" → (the phone book) and (tour guide)."""
    kids = t.kids[node]
    names = [t.label[k] for k in kids]
    end = more or len(kids)
    out: list[int] = []
    begin = 0
    if t.low[kids[0]] in EITHER:
        t.label[kids[0]] = "CC"
        out.append(kids[0])
        begin = 1
    comma_left = names[cc - 1] == ","
    comma_right = names[end - 1] == ","
    left = kids[begin : cc - comma_left]
    right = kids[cc + 1 : end - comma_right]
    if left:
        out.append(t.node(phrase_of(names[cc - 1]), left, node))
    if comma_left:
        out.append(kids[cc - 1])
    out.append(kids[cc])
    if right:
        out.append(t.node(phrase_of(names[end - 1]), right, node))
    comma = [kids[end - 1]] if comma_right else []
    if more:
        t.kids[node] = [t.node("NP", out, node), *comma, *kids[end:]]
    else:
        t.kids[node] = out + comma


def split_numbers(t: Tree) -> None:
    for node in t.phrases():  # NP over two of them, the second with a conjunction
        kids = t.kids[node]
        for at in range(len(kids) - 1):
            a, b = kids[at : at + 2]
            if t.label[node] == "NP" and t.label[a] == t.label[b] == "QP" and "CC" in (t.label[k] for k in t.kids[b]):
                t.wrap(node, at, at + 1, "QP")
                t.splice(a)
                t.splice(b)
                break
    while repeat(t, split_number):
        pass
    repeat(t, split_money)


def split_number(t: Tree, node: int) -> bool:
    kids = t.kids[node]
    names = [t.label[k] for k in kids]
    if t.label[node] != "QP" or any(t.kids[k] for k in kids) or "CC" not in names[1:-1]:
        return False
    at = names.index("CC", 1)
    left, right = (
        "QP" if any(n.startswith("$") or n.endswith("CC") for n in side) else "NP"
        for side in (names[:at], names[at + 1 :])
    )
    t.wrap(node, at + 1, len(kids) - 1, right)
    t.wrap(node, 0, at - 1, left)
    return True


def split_money(t: Tree, node: int) -> bool:
    kids = t.kids[node]
    if t.label[node] != "QP":
        return False
    for at, k in enumerate(kids[:-1]):
        if t.label[k] == "$" and all(t.label[j].startswith(("$", "CD")) and not t.kids[j] for j in kids[at + 1 :]):
            t.wrap(node, at + 1, len(kids) - 1, "QP")
            return True
    return False


# --- other phrases --------------------------------------------------------------------------------------------------


def is_be(t: Tree, k: int) -> bool:
    return t.label[k] in VERBS and t.low[k] in BE


def open_questions(t: Tree) -> None:
    """ "who is the man": the verb comes next to the question word."""
    for node in t.phrases():
        kids = t.kids[node]
        for what, sq in pairwise(kids):
            if t.label[node] == "SBARQ" and t.label[what] == "WHNP" and t.label[sq] == "SQ":
                if any(t.label[k] == "WP" for k in t.kids[what]) and copular(t, sq):
                    t.splice(sq)
                    break


def copular(t: Tree, sq: int) -> bool:
    kids = t.kids[sq]
    after = [*(t.label[k] for k in kids[1:]), ""]
    if not any(is_be(t, k) and after[at] != "PP" for at, k in enumerate(kids)):
        return False
    if any(t.label[k] in VERBS and not is_be(t, k) for k in kids):
        return False
    if after[0] == "NP" and is_be(t, kids[0]):
        if any(t.label[j] == "EX" and t.word[j] == "there" for j in t.kids[kids[1]]):
            return False
    for k in kids:
        if t.label[k].startswith("V") and any(t.label[j] in VERBS for j in t.kids[k]):
            return False
        if t.label[k] == "ADJP" and any(t.label[j] == "PP" and is_bare(t, j) for j in t.kids[k]):
            return False
    return True


def is_bare(t: Tree, pp: int) -> bool:
    """Nothing but a preposition."""
    return len(t.kids[pp]) == 1 and t.label[t.kids[pp][0]] in ("IN", "TO")


def flatten_dates(t: Tree) -> None:
    for node in t.phrases():
        kids = t.kids[node]
        if t.label[node] != "NP" or not 2 <= len(kids) <= 3 or t.label[kids[0]] != "NP" or t.label[kids[-1]] != "NP":
            continue
        first, last = t.kids[kids[0]], t.kids[kids[-1]]
        year = len(last) == 1 and t.label[last[0]] == "CD"
        month = first and t.label[first[0]] == "NNP" and any(m in t.word[first[0]] for m in MONTHS)
        if not (year and month):
            continue
        day = len(first) == 2 and t.label[first[1]] == "CD" and len(kids) == 3 and t.word[kids[1]] == ","
        if day or (len(first) == 1 and len(kids) == 2):
            t.splice(kids[-1])
            t.splice(kids[0])


def remove_doubles(t: Tree) -> None:
    """NP over nothing but an NP."""
    label, kids = t.label, t.kids
    for node in t.phrases():
        k = kids[node]
        while len(k) == 1 and label[k[0]] == label[node] and kids[k[0]]:
            kids[node] = k = kids[k[0]]
            t.known = None
            for j in k:
                t.parent[j] = node


CLAUSES = ("S", "PP", "VP")


def begins(name: str, wanted: tuple[str, ...]) -> bool:
    return name.startswith(wanted) and not name.startswith("SYM")


def and_so(t: Tree, node: int) -> bool:
    kids = t.kids[node]
    names = [t.label[k] for k in kids]
    if not t.label[node].startswith(CLAUSES):
        return False
    for at in range(1, len(kids) - 2):
        cc, adverb = kids[at : at + 2]
        if names[at] != "CC" or t.word[cc] != "and" or not begins(names[at + 2], CLAUSES):
            continue
        if not any(begins(name, CLAUSES) for name in names[:at]):
            continue
        so = any(t.label[k] in ("RB", "IN") and t.word[k] == "so" for k in t.kids[adverb])
        if (names[at + 1] == "RB" and t.word[adverb] in ("yet", "so")) or (names[at + 1] == "ADVP" and so):
            t.wrap(node, at, at + 1, "CONJP")
            return True
    return False


def one_adverb(t: Tree, k: int) -> bool:
    kids = t.kids[k]
    if t.label[k] == "RB":
        return t.word[k] in ("not", "then")
    return t.label[k] == "ADVP" and len(kids) == 1 and t.label[kids[0]] == "RB"


def into(t: Tree, node: int, sisters: tuple[str, ...], goals: tuple[str, ...]) -> bool:
    """The adverb after a conjunction or comma becomes the first child of the phrase after it."""
    kids = t.kids[node]
    if len(kids) < 4:
        return False
    names = [t.label[k] for k in kids]
    for at in range(1, len(kids) - 2):
        if names[at] in (",", "CC", "CONJP") and names[at + 1] in ADVERBS and begins(names[at + 2], goals):
            adverb, phrase = kids[at + 1 : at + 3]
            if one_adverb(t, adverb) and any(name.startswith(sisters) for name in names[:at]):
                t.take(adverb)
                t.put(adverb, phrase, 0)
                return True
    return False


PHRASES = (*CLAUSES, "NP")


def into_phrase(t: Tree, node: int) -> bool:
    return t.label[node].startswith(PHRASES) and into(t, node, PHRASES, PHRASES)


def into_adverb(t: Tree, node: int) -> bool:
    return t.label[node].startswith("ADVP") and into(t, node, ("ADVP",), ("ADVP", "PP"))


def into_fragment(t: Tree, node: int) -> bool:
    at = find_run(t, node, "_/RB,ADVP _/VP") if t.label[node].startswith("FRAG") else -1
    if at >= 0:
        adverb, phrase = t.kids[node][at : at + 2]
        t.take(adverb)
        t.put(adverb, phrase, 0)
    return at >= 0


def after_clause(t: Tree, node: int) -> bool:
    """ "the day after he left": as a prepositional phrase."""
    after_noun, changed = False, False
    for k in t.kids[node] if t.label[node] == "NP" else ():
        if after_noun and t.label[k] == "SBAR":
            inner = t.kids[k]
            if any(
                t.label[j] == "IN" and t.low[j] in BEFORE and "S" in [t.label[i] for i in inner[at + 1 :]]
                for at, j in enumerate(inner)
            ):
                t.label[k] = "PP"
                changed = True
        after_noun = after_noun or t.label[k] == "NP"
    return changed


def now_that(t: Tree, node: int) -> bool:
    kids = t.kids[node]
    if t.label[node] != "ADVP" or len(kids) < 2 or t.low[kids[0]] != "now" or t.label[kids[1]] != "SBAR":
        return False
    first = t.kids[kids[1]][0]
    if t.label[first] == "IN" and t.low[first] == "that":
        t.label[node] = "SBAR"
        t.splice(kids[1])
        return True
    return False
