"""Rules for the arguments of a verb: subjects and objects (see rules.py)."""

# ruff: noqa: SIM102  (conditions one by one; a loop is faster than any() of a generator)
from __future__ import annotations

from fabula.text.spice.heads import (
    BE,
    CC,
    NN,
    NP,
    PASSIVE,
    PAST,
    SEEM,
    SELF,
    TIME,
    VB,
    Phrases,
    has_be_phrase,
    plain_head,
)
from fabula.text.spice.reshape import labels
from fabula.text.spice.rules import (
    EX_,
    NP_,
    VP_,
    WHNP_,
    WRB_,
    after,
    before,
    chain,
    following,
    has,
    inner,
    is_stranded,
    is_time,
    only,
    over_to_clause,
    rule,
    word,
)

# subjects


@rule("nsubj", "S", "NP WHNP")
def nsubj(g: Phrases, t: int, c: int) -> bool:
    rest = g.kids[t][g.at[c] + 1 :]
    verbs = [k for k in rest if g.label[k] == "VP"]
    if not verbs:
        return False
    if is_time(g, c):
        return g.label[c] == "NP" and not after(g, t, c, NP_)
    if "EX" in g.names[c]:
        return False
    return g.label[g.parent[t]] != "VP" or t == 0 or any("TO" not in g.names[k] for k in verbs)


@rule("nsubj", "S", "NP")
def nsubj_small_clause(g: Phrases, t: int, c: int) -> bool:
    return following(g, t, c) in ("NP", "ADJP") and g.label[g.parent[t]] == "VP"


@rule("nsubj", "SQ PRN", "NP")
def nsubj_inverted(g: Phrases, t: int, c: int) -> bool:
    if "EX" in g.names[c]:
        return False
    if after(g, t, c, VP_):
        return True
    if g.label[t] != "SQ":
        return False
    names, at = g.names[t], g.at[c]
    if at and names[at - 1] in VB:
        verb = g.kids[t][at - 1]
        above = g.parent[t]
        return bool(g.mask[verb] & BE) or labels("NP WHNP").isdisjoint(g.names[above][: g.at[t]])
    return at > 1 and names[at - 1] == "RB" and names[at - 2] in VB


@rule("nsubj", "SQ", "NP")
def nsubj_there(g: Phrases, t: int, c: int) -> bool:
    return any(g.label[k] == "NP" and "EX" in g.names[k] for k in g.kids[t][: g.at[c]])


@rule("nsubj", "SBARQ", "WHNP")
def nsubj_question(g: Phrases, t: int, c: int) -> bool:
    for sq in g.kids[t]:
        if g.label[sq] != "SQ":
            continue
        for k in g.kids[sq]:
            if g.label[k] == "VP" and not before(g, sq, k, NP_):
                return True
            if g.label[k] in VB and not g.mask[k] & BE and not before(g, sq, k, NP_) and not after(g, sq, k, VP_):
                return True
        if g.at[c] == 0 and word(g, sq, VB, BE) and ("PP" in g.names[sq] or inner(g, sq, NP_, EX_)):
            return True
    names = g.names[t]
    for at in range(g.at[c] + 1, len(names)):
        if names[at] in VB and g.mask[g.kids[t][at]] & BE:
            for adj in range(at + 1, len(names)):
                if names[adj] == "ADJP" and "NP" not in names[at + 1 : adj]:
                    return True
    return False


@rule("nsubj", "SBARQ", "SQ")
def nsubj_copular_question(g: Phrases, t: int, c: int) -> bool:
    return word(g, c, VB, BE) and "VP" not in g.names[c]


@rule("nsubj", "SBARQ", "NP")
def nsubj_what_is(g: Phrases, t: int, c: int) -> bool:
    return word(g, t, VB, BE) and inner(g, t, WHNP_, labels("WP"))


INVERTED = labels("VP VBZ VBD VBP VB MD AUX")


@rule("nsubj", "SINV", "NP WHNP")
def nsubj_sinv(g: Phrases, t: int, c: int) -> bool:
    names, at = g.names[t], g.at[c]
    if at == 0:
        return NP.isdisjoint(names[1:])
    if names[at - 1] in INVERTED or (at > 1 and names[at - 1] in ("RB", "ADVP") and names[at - 2] in INVERTED):
        return True
    return g.label[c] == "NP" and "NP" in names[:at] and has_be_phrase(g, g.kids[t], at)


@rule("nsubj", "SBAR", "WHNP")
def nsubj_relative(g: Phrases, t: int, c: int) -> bool:
    for k in g.kids[t]:
        if g.label[k] == "S" and "SBAR" not in g.names[k]:
            names = g.names[k]
            if "VP" in names and "NP" not in names[: names.index("VP")]:
                return True
        if g.label[k] == "VP" and "S" not in g.names[t] and not before(g, t, k, NP_):
            return True
    return False


@rule("nsubjpass", "S SQ", "NP WHNP")
def nsubjpass(g: Phrases, t: int, c: int) -> bool:
    if "EX" in g.names[c]:
        return False
    return any(g.label[k] == "VP" and word(g, k, VB, PASSIVE) and inner(g, k, VP_, PAST) for k in g.kids[t])


@rule("csubj", "S", "SBAR S")
def csubj(g: Phrases, t: int, c: int) -> bool:
    names = g.names[t]
    if following(g, t, c) == ",":
        return False
    return any(names[at] == "VP" and "NP" not in names[:at] for at in range(g.at[c] + 1, len(names)))


@rule("csubjpass", "S", "SBAR S")
def csubjpass(g: Phrases, t: int, c: int) -> bool:
    if following(g, t, c) == ",":
        return False
    for k in g.kids[t][g.at[c] + 1 :]:
        if g.label[k] == "VP" and not before(g, t, k, NP_):
            for vp in (k, *chain(g, k, VP_)):
                if g.label[vp] == "VP" and word(g, vp, VB, PASSIVE) and inner(g, vp, VP_, PAST):
                    return True
    return False


@rule("expl", "S SQ SINV", "NP")
def expl(g: Phrases, t: int, c: int) -> bool:
    return g.existential and any(g.label[k] == "EX" for k in chain(g, c, NP_))


# objects


def is_object(g: Phrases, t: int, c: int) -> bool:
    """A noun phrase that is no time and not the first of two, or the one before a time."""
    at = g.at[c] + 1
    names = g.names[t]
    if at == len(names):
        return not is_time(g, c)
    if names[at] == "NP":
        return is_time(g, g.kids[t][at])
    return names[at] == "NP-TMP" or not is_time(g, c)


def after_colon(g: Phrases, t: int, c: int) -> bool:
    """After an object and a colon."""
    names = g.names[t]
    if ":" not in names:
        return False
    between = names[g.at[plain_head(g, t)] + 1 : g.at[c]]
    return "NP" in between and ":" in between[between.index("NP") :]


@rule("dobj", "VP", "NP WHNP")
def dobj(g: Phrases, t: int, c: int) -> bool:
    return not word(g, t, VB, BE | SEEM) and is_object(g, t, c) and not after_colon(g, t, c)


@rule("dobj", "SQ", "NP WHNP")
def dobj_question(g: Phrases, t: int, c: int) -> bool:
    verbs = [k for k in g.kids[t] if g.label[k] in VB]
    above = g.parent[t]
    return (
        len(verbs) == 1
        and not g.mask[verbs[0]] & BE
        and "VP" not in g.names[t]
        and "WHNP" in g.names[above][: g.at[t]]
        and is_object(g, t, c)
    )


@rule("dobj", "SBARQ", "WHNP")
def dobj_what(g: Phrases, t: int, c: int) -> bool:
    if not has(g, c, WRB_) and not is_time(g, c):
        for k in chain(g, t, labels("SQ SINV S VP")):
            if g.label[k] == "VP" and before(g, g.parent[k], k, NP_) and open_for_object(g, k):
                return True
    names = g.names[t]
    for at in range(g.at[c] + 1, len(names)):
        if names[at] in VB and g.mask[g.kids[t][at]] & BE:
            for adj in range(at + 1, len(names)):
                if names[adj] == "ADJP" and "NP" in names[at + 1 : adj]:
                    bare = [k for k in g.kids[g.kids[t][adj]] if g.label[k] == "PP" and "NP" not in g.names[k]]
                    if not bare:
                        return True
    return False


def open_for_object(g: Phrases, vp: int) -> bool:
    if has(g, vp, labels("NP TO")) or over_to_clause(g, vp):
        return False
    for at, k in enumerate(g.kids[vp]):
        if g.label[k] == "PP" and only(g, k) >= 0 and g.label[only(g, k)] in ("IN", "TO"):
            return False
        if g.label[k] in VB and g.mask[k] & BE:
            if any(g.label[j] == "VP" and has(g, j, PAST) for j in g.kids[vp][at + 1 :]):
                return False
    return True


def gap(g: Phrases, t: int, c: int, lacking: bool) -> bool:
    """In a relative clause: there is a subject, and the verb phrase is a simple one."""
    if has(g, c, WRB_):
        return False
    for s in g.kids[t]:
        if g.label[s] == "S" and "NP" in g.names[s]:
            for vp in g.kids[s]:
                if g.label[vp] == "VP":
                    if ("SBAR" in g.names[vp] or is_stranded(g, vp) or over_to_clause(g, vp)) is lacking:
                        return True
    return False


@rule("dobj", "SBAR", "WHNP")
def dobj_relative(g: Phrases, t: int, c: int) -> bool:
    return gap(g, t, c, False)


@rule("rel", "SBAR", "WHNP")
def rel(g: Phrases, t: int, c: int) -> bool:
    return gap(g, t, c, True)


@rule("rel", "SBARQ", "WHNP")
def rel_question(g: Phrases, t: int, c: int) -> bool:
    if has(g, c, WRB_) or is_time(g, c):
        return False
    return any(
        g.label[k] in VB and g.mask[k] & BE and not after(g, g.parent[k], k, VP_)
        for k in chain(g, t, labels("SQ SINV"))
    )


def has_dollar(g: Phrases, node: int) -> bool:
    return any("$" in name for name in g.names[node])


@rule("iobj", "VP", "NP")
def iobj(g: Phrases, t: int, c: int) -> bool:
    if following(g, t, c) == "NP" and not has_dollar(g, c) and not is_time(g, c):
        if not is_time(g, g.kids[t][g.at[c] + 1]):
            return True
    names, kids = g.names[c], g.kids[c]
    if names.count("NP") < 2 or not CC.isdisjoint(names) or "," in names:
        return False
    for at, k in enumerate(kids):
        if names[at] == "NP" and not has_dollar(g, k) and ":" not in names[at + 1 :]:
            for j in kids[at + 1 :]:
                if g.label[j] == "NP" and second_object(g, j):
                    return True
    return False


def second_object(g: Phrases, node: int) -> bool:
    k = only(g, node)
    if k >= 0 and (g.label[k] == "DT" or (g.label[k] == "PRP" and g.mask[k] & SELF)):
        return False
    return not any(g.label[k] in NN and (g.mask[k] & TIME or g.low[k] == "lot") for k in g.kids[node])
