"""Rules for the parts of clauses: auxiliaries, coordination, subjects, objects, inner clauses (see rules.py)."""

# ruff: noqa: SIM102, SIM110  (conditions one by one; a loop is faster than any() of a generator)
from __future__ import annotations

from fabula.text.spice.heads import (
    ASK,
    BE,
    CC,
    CLAUSES,
    EITHER,
    HAVE,
    HOW,
    JJS,
    NN,
    NOMINAL,
    NOT,
    NP,
    NPS,
    ONLY,
    PASSIVE,
    PAST,
    PP,
    PUNCT,
    SEEM,
    SELF,
    STOP,
    TELL,
    TELL_TO,
    THAT,
    TIME,
    VB,
    Phrases,
    has_be_phrase,
    plain_head,
)
from fabula.text.spice.reshape import labels
from fabula.text.spice.rules import (
    ADJP_,
    EX_,
    IN_,
    NP_,
    S_,
    SBAR_,
    VBG_,
    VP_,
    WHNP_,
    WRB_,
    after,
    always,
    before,
    chain,
    ends_in_etc,
    far,
    first,
    following,
    has,
    has_etc,
    inner,
    is_etc,
    is_time,
    only,
    over_to_clause,
    participle_first,
    previous,
    rule,
    stranded,
    to_clause,
    word,
)

# verbs and their auxiliaries


@rule("aux", "VP", VB | labels("MD POS"))
def with_verb_phrase(g: Phrases, t: int, c: int) -> bool:
    return "VP" in g.names[t]


@rule("aux", "SQ SINV", VB | labels("MD"))
def aux_question(g: Phrases, t: int, c: int) -> bool:
    return after(g, t, c, VP_ | ADJP_)


@rule("aux", "SINV", "VP")
def aux_fronted(g: Phrases, t: int, c: int) -> bool:
    return word(g, c, VB | labels("POS"), BE) and any(
        g.label[k] == "VP" and has(g, k, VBG_) for k in g.kids[t][: g.at[c]]
    )


@rule("auxpass", "VP", VB | labels("POS"))
def auxpass(g: Phrases, t: int, c: int) -> bool:
    if not g.mask[c] & PASSIVE:
        return False
    for k in g.kids[t]:
        if g.label[k] in ("VP", "ADJP"):
            if has(g, k, PAST) or ("CC" in g.names[k] and inner(g, k, VP_ | ADJP_, PAST)):
                return True
    return False


@rule("auxpass", "SQ SINV", VB | labels("POS"))
def auxpass_question(g: Phrases, t: int, c: int) -> bool:
    return bool(g.mask[c] & BE) and any(g.label[k] == "VP" and has(g, k, PAST) for k in g.kids[t][g.at[c] + 1 :])


@rule("auxpass", "SINV", "VP")
def auxpass_fronted(g: Phrases, t: int, c: int) -> bool:
    if not any(g.label[k] == "VP" and has(g, k, PAST) for k in g.kids[t][: g.at[c]]):
        return False
    tags = VB | labels("POS")
    return word(g, c, tags, BE) or any(g.label[k] == "VP" and word(g, k, tags, BE) for k in g.kids[c])


def adjective_clause(g: Phrases, k: int) -> bool:
    """S over nothing but an adjective phrase."""
    under = only(g, k) if g.label[k] == "S" else -1
    return under >= 0 and g.label[under] == "ADJP" and "JJ" in g.names[under]


@rule("cop", "VP", VB)
def cop(g: Phrases, t: int, c: int) -> bool:
    if not g.mask[c] & BE:
        return False
    for k in g.kids[t][g.at[c] + 1 :]:
        label = g.label[k]
        if label in ("NP", "WHNP") or label.startswith(("ADJP", "PP", "UCP")):
            names = g.names[k]
            if not any(
                name in PAST and not any(other.startswith("N") for other in names[at + 1 :])
                for at, name in enumerate(names)
            ):
                return True
        elif adjective_clause(g, k):
            return True
    return False


@rule("cop", "SQ SINV", VB)
def cop_question(g: Phrases, t: int, c: int) -> bool:
    if not g.mask[c] & BE:
        return False
    rest = g.kids[t][g.at[c] + 1 :]
    return (
        any(g.label[k] == "ADJP" and not has(g, k, PAST) for k in rest)
        or sum(g.label[k] == "NP" for k in rest) > 1
        or any(adjective_clause(g, k) for k in rest)
    )


@rule("cop", "SBARQ", VB)
def cop_what(g: Phrases, t: int, c: int) -> bool:
    return bool(g.mask[c] & BE) and inner(g, t, WHNP_, labels("WP"))


@rule("cop", "SINV", "VP")
def cop_fronted(g: Phrases, t: int, c: int) -> bool:
    h = g.head[t]
    if g.label[h] != "NP" or not word(g, c, VB, BE):
        return False
    return "NP" in g.names[t][g.at[h] + 1 : g.at[c]]


# coordination

CONTENT = ("A", "N", "V", "PP", "PRP", "J", "W", "R")


def is_content(label: str) -> bool:
    return label.startswith(("S", *CONTENT)) or label.endswith("SINV")


def joins(g: Phrases, t: int, at: int, but: tuple[str, ...]) -> bool:
    """The conjunction at this place has something to its left that does not begin with one of these."""
    return any(not name.startswith(but) for name in g.names[t][:at])


CLAUSE_BUT = ("``", "-LRB-", "PRN", "PP", "ADVP", "RB")
CLAUSE_BUT_MWE = (*CLAUSE_BUT, "MWE")


def stands_before(g: Phrases, t: int, at: int) -> bool:
    """A sister other than a quotation mark, a bracket, a parenthesis."""
    return any(name not in ("``", "-LRB-", "PRN") for name in g.names[t][:at])


@rule("conj", CLAUSES, lambda label: label not in STOP)
def conj_clause(g: Phrases, t: int, c: int) -> bool:
    names, at = g.names[t], g.at[c]
    if at < 2:
        return False
    if names[at - 1] in CC:
        return g.label[c] != "SBAR" and joins(g, t, at - 1, CLAUSE_BUT_MWE)
    return names[at - 1] == "ADVP" and names[at - 2] in CC and joins(g, t, at - 2, CLAUSE_BUT)


@rule("conj", "SBAR", "SBAR")
def conj_sbar(g: Phrases, t: int, c: int) -> bool:
    at = g.at[c]
    return at > 1 and g.names[t][at - 1] in CC and "SBAR" in g.names[t][: at - 1]


@rule("conj", CLAUSES - {"RRC"}, is_content)
def conj_listed(g: Phrases, t: int, c: int) -> bool:
    """After a comma, in a phrase with a conjunction, with a comma or conjunction between it and the head."""
    names, end = g.names[t], g.at[c]
    if not end or names[end - 1] not in STOP or CC.isdisjoint(names):
        return False
    if not any(name in CC and joins(g, t, at, CLAUSE_BUT) for at, name in enumerate(names)):
        return False
    head = g.at[plain_head(g, t)]
    commas = [at for at in range(end) if names[at].startswith(":") or names[at].endswith(",")]
    for at in range(head + 1, end):
        if names[at] in CC and not any(comma > at for comma in commas):
            return True
        if at in commas:
            if not any(name.startswith("CC") or name.endswith("CONJP") for name in names[:at]):
                return True
            own = g.at[plain_head(g, c)] if g.kids[c] else -1
            if "," in g.names[c][: max(own, 0)]:
                return True
    return False


JOINED = labels("ADJP JJP PP QP NP NP-TMP WHNP ADVP UCP NX NML")


@rule("conj", JOINED, lambda label: label not in STOP)
def conj_phrase(g: Phrases, t: int, c: int) -> bool:
    names, at = g.names[t], g.at[c]
    if at > 1:
        if names[at - 1] in CC and stands_before(g, t, at - 1):
            return True
        if names[at - 1] == "ADVP" and names[at - 2] in CC and stands_before(g, t, at - 2):
            return g.label[t] not in ("JJP", "QP")
    return is_etc(g, c)


@rule("conj", JOINED - {"JJP", "QP"}, is_content)
def conj_phrase_listed(g: Phrases, t: int, c: int) -> bool:
    names, at = g.names[t], g.at[c]
    if not at or names[at - 1] not in STOP:
        return False
    return any(name in CC and stands_before(g, t, k) for k, name in enumerate(names)) or has_etc(g, t)


@rule("conj", "NX NML", lambda label: label.startswith(("S", *CONTENT)))
def conj_before_comma(g: Phrases, t: int, c: int) -> bool:
    if following(g, t, c) != ",":
        return False
    return not CC.isdisjoint(g.names[t][1:]) or any(g.label[k] == "FW" and is_etc(g, k) for k in g.kids[t])


@rule("conj", (JOINED - {"JJP"}) | (CLAUSES - {"SQ", "RRC"}), lambda label: label not in STOP)
def conj_after_both(g: Phrases, t: int, c: int) -> bool:
    names, at = g.names[t], g.at[c]
    if at > 1 and names[at - 1] in CC and "CC" in names[: at - 1]:
        return True
    return at == len(names) - 1 and is_etc(g, c)


@rule("conj", "PCONJP", "IN TO")
def conj_preposition(g: Phrases, t: int, c: int) -> bool:
    return previous(g, t, c) == "CC"


@rule("conj", JOINED | CLAUSES, lambda label: True)
def conj_slash(g: Phrases, t: int, c: int) -> bool:
    names, at = g.names[t], g.at[c]
    return at > 1 and "," in names[at - 1] and names[at - 2] == names[at] and "/" in g.word[g.kids[t][at - 1]]


@rule("cc", None, "CC")
def cc(g: Phrases, t: int, c: int) -> bool:
    return not g.mask[c] & EITHER


def not_only(g: Phrases, c: int) -> bool:
    for a, b in zip(g.kids[c], g.kids[c][1:], strict=False):
        if g.label[a] == "RB" and g.low[a] == "not" and g.label[b] in ("RB", "JJ") and g.mask[b] & ONLY:
            return True
    return False


@rule("cc", None, "CONJP")
def cc_phrase(g: Phrases, t: int, c: int) -> bool:
    return not not_only(g, c)


always("punct", None, PUNCT | labels("* HYPH NFP"))


@rule("cc:preconj", "NP NP-TMP NX NML S SBAR VP ADJP PP ADVP UCP", "PDT CC DT")
def preconj(g: Phrases, t: int, c: int) -> bool:
    if not g.mask[c] & EITHER:
        return False
    return after(g, t, c, labels("CC")) or (g.label[t] in NP | labels("NX NML") and inner(g, t, NP_, labels("CC")))


@rule("cc:preconj", "NP NP-TMP NX NML S SBAR VP ADJP PP ADVP UCP", "CONJP")
def preconj_not_only(g: Phrases, t: int, c: int) -> bool:
    return (
        any(g.label[k] == "RB" and g.low[k] == "not" for k in g.kids[c])
        and word(g, c, labels("RB JJ"), ONLY)
        and after(g, t, c, CC)
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
                    if ("SBAR" in g.names[vp] or stranded(g, vp) or over_to_clause(g, vp)) is lacking:
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


# clauses


def begins(g: Phrases, node: int, tags: frozenset[str], bits: int) -> bool:
    k = first(g, node)
    return k >= 0 and bool(g.mask[k] & bits) and g.label[k] in tags


IN_DT = labels("IN DT")


def that_clause(g: Phrases, sbar: int) -> bool:
    """ "that he sleeps"."""
    if not begins(g, sbar, IN_DT, THAT):
        return False
    return any(g.label[s] == "S" and any(g.label[k] == "VP" for k in chain(g, s, S_)) for s in g.kids[sbar])


def bare_clause(g: Phrases, sbar: int) -> bool:
    """A clause without a conjunction before it."""
    names = g.names[sbar]
    marks = labels("IN WHADVP")
    if names[0] in marks or (len(names) > 1 and names[1] in marks and names[0] in ("ADVP", "RB")):
        return False
    return inner(g, sbar, S_, VP_)


@rule("ccomp", "VP", "S")
def ccomp(g: Phrases, t: int, c: int) -> bool:
    if not before(g, t, c, NP_):
        for k in g.kids[c]:
            if g.label[k] == "VP" and g.names[k][0] not in ("TO", "VBG", "VBN"):
                return True
    return "VP" in g.names[c] and has(g, c, NP) and word(g, t, VB, HAVE)


@rule("ccomp", "VP", "SBAR")
def ccomp_sbar(g: Phrases, t: int, c: int) -> bool:
    if that_clause(g, c):
        return True
    if has(g, c, CC) and any(g.label[k] == "SBAR" and that_clause(g, k) for k in g.kids[c]):
        return True
    noun = before(g, t, c, NP_)
    if not noun or word(g, t, VB, TELL):
        if bare_clause(g, c):
            return True
        if not noun and inner(g, c, S_, VP_):
            k = first(g, c)
            if g.label[k] == "WHADVP" and word(g, k, WRB_, HOW):
                return True
    if word(g, t, VB, ASK) and not before(g, t, c, labels("SBAR S :")) and (not noun or word(g, t, VB, TELL)):
        return asked(g, c) or (plain_sbar(g, c) >= 0 and asked(g, plain_sbar(g, c)))
    return False


def plain_sbar(g: Phrases, c: int) -> int:
    """The head, where it is a clause with a conjunction, too."""
    h = plain_head(g, c)
    return h if h >= 0 and g.label[h] == "SBAR" else -1


def asked(g: Phrases, sbar: int) -> bool:
    """ "when he comes", "where he is": a question word, perhaps after an adverb, and no infinitive."""
    names = g.names[sbar]
    for at, k in enumerate(g.kids[sbar]):
        if names[at] in ("WHADVP", "WHNP") and all(name.startswith(("RB", "ADVP")) for name in names[:at]):
            if any(g.label[j] == "WRB" and not g.mask[j] & HOW for j in g.kids[k]):
                return not over_to_clause(g, sbar)
    return False


always("ccomp", "VP", "SBARQ")


@rule("ccomp", "S SINV", "S SBARQ")
def ccomp_said(g: Phrases, t: int, c: int) -> bool:
    """ "…", he said."""
    names, at = g.names[t], g.at[c]
    if following(g, t, c) not in (",", ".", "''") or (at and names[at - 1] in ("CC", "CONJP", ":")):
        return False
    if at > 1 and names[at - 1] == "," and names[at - 2] in CC:
        return False
    for k in g.kids[c]:
        if g.label[k] == "VP":
            if has(g, k, labels("TO VBG VBN")):
                return False
            vp = first(g, k)
            if g.label[vp] == "VP" and participle_first(g, vp):
                return False
    return not any(names[k] == "S" and CC.isdisjoint(names[k + 1 :]) for k in range(at))


@rule("ccomp", "ADVP", "SBAR")
def ccomp_adverb(g: Phrases, t: int, c: int) -> bool:
    if "WHNP" in g.names[c]:
        return True
    mark = any(g.label[k] == "IN" and g.low[k].startswith(("as", "that")) for k in g.kids[c])
    return mark and any(
        g.label[s] == "S" and any(g.label[k] == "VP" and "TO" not in g.names[k] for k in g.kids[s]) for s in g.kids[c]
    )


@rule("ccomp", "ADJP", "SBAR")
def ccomp_adjective(g: Phrases, t: int, c: int) -> bool:
    return "S" in g.names[c] and not any(g.label[k] == "IN" and g.word[k] == "as" for k in g.kids[c])


@rule("ccomp", "S", "SBAR")
def ccomp_first(g: Phrases, t: int, c: int) -> bool:
    return g.at[c] == 0 and following(g, t, c) != "VP" and begins(g, c, IN_, THAT)


@rule("ccomp", NP, "SBAR")
def ccomp_noun(g: Phrases, t: int, c: int) -> bool:
    if not has(g, t, labels("JJ NN NNS")):
        return False
    return not over_to_clause(g, c) or not before(g, t, c, labels("NP NN NNP NNS"))


def after_order(g: Phrases, node: int) -> bool:
    """ "in order" comes right before."""
    at = g.at[node]
    k = g.kids[g.parent[node]][at - 1] if at else -1
    return k >= 0 and g.label[k] == "NN" and g.word[k] == "order"


def left_verb(g: Phrases, t: int, c: int, bits: int) -> bool:
    return any(g.mask[k] & bits and g.label[k] in VB for k in g.kids[t][: g.at[c]])


def after_comma_phrase(g: Phrases, t: int, c: int) -> bool:
    """After a comma that follows an object or a verb phrase."""
    names, at = g.names[t], g.at[c]
    if at < 2 or names[at - 1] != ",":
        return False
    two = names[at - 2]
    return two in NP or two == "VP" or (two in ("PP", "ADVP") and not NP.isdisjoint(names[: at - 2]))


def after_be(g: Phrases, t: int) -> bool:
    """The phrase itself stands after a form of "be"."""
    above = g.parent[t]
    return any(g.mask[k] & BE and g.label[k] in VB for k in g.kids[above][: g.at[t]])


def small_clause(g: Phrases, c: int) -> bool:
    names = g.names[c]
    return any(names[at] == "NP" and names[at + 1] in ("NP", "ADJP") for at in range(len(names) - 1))


def adjectival(g: Phrases, c: int) -> bool:
    """S over an adjective phrase without a subject."""
    for k in g.kids[c]:
        if g.label[k] == "ADJP" and not JJS.isdisjoint(g.names[k]):
            if not before(g, c, k, NP | S_):
                return True
    return False


@rule("xcomp", "VP", "S")
def xcomp(g: Phrases, t: int, c: int) -> bool:
    names = g.names[c]
    if "VP" not in names:
        return True
    if not after_order(g, c):
        if to_clause(g, c) and (not before(g, t, c, NP_) or left_verb(g, t, c, TELL_TO)):
            return True
        if small_clause(g, c):
            return True
    if "NP" not in names and inner(g, c, VP_, VBG_) and not after_comma_phrase(g, t, c):
        if not before(g, t, c, labels(": VBG")):
            return True
    return previous(g, t, c) in VB and adjectival(g, c)


@rule("xcomp", "ADJP", "S")
def xcomp_adjective(g: Phrases, t: int, c: int) -> bool:
    k = first(g, c)
    return g.label[k] == "VP" and g.names[k][0] == "TO"


@rule("xcomp", "VP", "VP")
def xcomp_verb(g: Phrases, t: int, c: int) -> bool:
    if has(g, c, labels("VB VBG")) and previous(g, t, c) in VB:
        if plain_head(g, t) == g.kids[t][g.at[c] - 1]:
            return True
    return left_verb(g, t, c, SEEM) and not after_be(g, t)


@rule("xcomp", "VP", "SBAR")
def xcomp_sbar(g: Phrases, t: int, c: int) -> bool:
    if not any(g.label[k] == "S" and to_clause(g, k) and not after_order(g, k) for k in g.kids[c]):
        return False
    above = g.parent[t]
    return not (g.label[above] == "VP" and any(g.label[k] == "VB" and g.word[k] == "be" for k in g.kids[above]))


@rule("xcomp", "VP", "NP WHNP")
def xcomp_noun(g: Phrases, t: int, c: int) -> bool:
    if word(g, t, VB, SEEM):
        if g.label[c] == "NP" and after_be(g, t):
            return True
        if is_object(g, t, c) and not after_colon(g, t, c):
            return True
    if g.label[c] != "NP" or not word(g, t, VB, BE):
        return False
    h = plain_head(g, t)
    if not (g.mask[h] & BE and g.label[h] in VB):
        return False
    above = g.parent[t]
    return not any(k != t and g.label[k] == "NP" and "EX" in g.names[k] for k in g.kids[above])


@rule("xcomp", "SINV", "NP")
def xcomp_fronted(g: Phrases, t: int, c: int) -> bool:
    h = g.head[t]
    return g.label[h] == "VP" and word(g, h, VB, BE) and "NP" in g.names[t][g.at[c] + 1 : g.at[h]]


always("xcomp", "VP", "ADJP")


@rule("mark", "VP", "TO")
def mark_to(g: Phrases, t: int, c: int) -> bool:
    return "VP" in g.names[t]


@rule("mark", "SBAR", "IN DT MWE")
def mark(g: Phrases, t: int, c: int) -> bool:
    if after(g, t, c, labels("S FRAG")):
        return True
    if g.label[c] == "MWE" or g.word[c] not in ("that", "whether") or not t:
        return False
    above, at = g.parent[t], g.at[t]
    left = g.names[above][:at]
    if not VB.isdisjoint(left) or (left and left[-1] in ("NP", "NN", "NNS")) or g.label[above] in ("ADJP", "PP"):
        return True
    if g.label[above] in NP | labels("UCP SBAR") and has(g, above, CC) and above:
        return not VB.isdisjoint(g.names[g.parent[above]][: g.at[above]])
    return False


@rule("mark", "PP PP-TMP", "IN TO MWE PCONJP VBN JJ")
def mark_preposition(g: Phrases, t: int, c: int) -> bool:
    return following(g, t, c) in ("S", "SBAR")


@rule("advcl", "VP", "SBAR")
def advcl(g: Phrases, t: int, c: int) -> bool:
    if adverbial(g, c) or any(g.label[k] == "SBAR" and adverbial(g, k) for k in g.kids[c]):
        return True
    if before(g, t, c, labels(":")):
        return False
    if not (
        not word(g, t, VB, ASK)
        or before(g, t, c, labels("SBAR S"))
        or (not word(g, t, VB, TELL) and before(g, t, c, NP_))
    ):
        return False
    return asked(g, c) or (plain_sbar(g, c) >= 0 and asked(g, plain_sbar(g, c)))


def adverbial(g: Phrases, sbar: int) -> bool:
    """ "because he sleeps", "had he slept", "now that he sleeps"."""
    kids, names = g.kids[sbar], g.names[sbar]
    if "MWE" in names or any(names[at] == "IN" and not g.mask[k] & THAT for at, k in enumerate(kids)):
        return True
    if names == ("SINV",):
        return g.names[kids[0]][0] in VB | labels("MD")
    that = any(g.label[k] == "IN" and g.word[k] == "that" for k in kids)
    if that and any(g.label[k] in ("RB", "IN") and g.word[k] in ("so", "now") for k in kids):
        return True
    if len(kids) > 1 and names[:2] == ("ADVP", "IN") and g.word[kids[1]] == "that":
        return any(g.label[k] == "RB" and g.word[k] == "now" for k in g.kids[kids[0]])
    return False


def marked(g: Phrases, c: int) -> bool:
    """It begins with a conjunction other than "that", and not with "in order"."""
    k = first(g, c)
    if g.label[k] not in ("IN", "MWE") or g.mask[k] & THAT:
        return False
    return not (len(g.kids[c]) > 1 and g.label[g.kids[c][1]] == "NN" and g.word[g.kids[c][1]] == "order")


@rule("advcl", "S SQ SINV", "SBAR")
def advcl_fronted(g: Phrases, t: int, c: int) -> bool:
    names, at = g.names[t], g.at[c]
    following_ = following(g, t, c)
    if marked(g, c) and following_ != "VP":
        if all(name.startswith(("CC", "CONJP", "``", ",", "INTJ", "PP")) for name in names[:at]):
            return True
        if following_ == "," and after(g, t, c, NP):
            return True
    if g.label[t] == "SINV":
        return False
    if asked(g, c) and not before(g, t, c, labels(":")):
        return True
    k = plain_sbar(g, c)
    if k >= 0 and asked(g, k) and not before(g, c, k, labels(":")):
        return True
    return g.label[t] == "S" and after(g, t, c, NP) and after(g, t, c, VP_)


@rule("advcl", "SBARQ", "SBAR")
def advcl_question(g: Phrases, t: int, c: int) -> bool:
    return marked(g, c) and following(g, t, c) == "," and after(g, t, c, labels("SQ S SBARQ"))


@rule("advcl", "S SINV", "S")
def advcl_participle(g: Phrases, t: int, c: int) -> bool:
    names, at = g.names[t], g.at[c]
    if g.label[t] == "S" and to_clause(g, c) and following(g, t, c) == ",":
        if not NP.isdisjoint(names[at + 2 :]):
            return True
    verbs = [k for k in g.kids[c] if g.label[k] == "VP"]
    verbs += [g.kids[k][0] for k in verbs if g.names[k][0] == "VP"]
    if not any(participle_first(g, k) for k in verbs):
        return False
    if at > 1 and names[at - 1] == ",":
        if names[at - 2] in NP or (names[at - 2] == "PP" and has(g, t, NP)):
            return True
    return following(g, t, c) == "," and at + 2 < len(names) and names[at + 2] in NP


@rule("advcl", "VP", "S")
def advcl_verb(g: Phrases, t: int, c: int) -> bool:
    if after_comma_phrase(g, t, c) and any(g.label[k] == "VP" and participle_first(g, k) for k in g.kids[c]):
        return True
    names, at = g.names[t], g.at[c]
    if "VBG" in names[:at] and inner(g, c, VP_, VBG_):
        if any(names[k] == "VBG" and ":" not in names[k + 1 : at] for k in range(at)):
            return True
    return "NP" in names[:at] and to_clause(g, c) and not left_verb(g, t, c, TELL_TO)


@rule("advcl", "SBARQ", "S")
def advcl_wh(g: Phrases, t: int, c: int) -> bool:
    return "WHNP" in g.names[t] and any(g.label[k] == "VP" and g.names[k][0] == "TO" for k in g.kids[c])


@rule("advcl", "ADVP", "SBAR")
def advcl_than(g: Phrases, t: int, c: int) -> bool:
    return "ADVP" in g.names[t]


def after_joined(g: Phrases, t: int, c: int) -> bool:
    """After a conjunction that follows other things."""
    at = g.at[c]
    return at > 1 and g.names[t][at - 1] in CC


@rule("advcl", "ADJP ADVP VP SQ S", PP)
def advcl_preposition(g: Phrases, t: int, c: int) -> bool:
    names = g.names[c]
    if not NOMINAL.isdisjoint(names) or after_joined(g, t, c) or not CC.isdisjoint(names):
        return False
    if len(names) == 1 and names[0] in ("IN", "TO"):
        return False
    return any("PP" not in name and "IN" not in name for name in names) and not ends_in_etc(g, t)


@rule("advcl", "VP ADJP", "PP PP-TMP")
def advcl_joined(g: Phrases, t: int, c: int) -> bool:
    for k in g.kids[t]:
        if g.label[k] == "PP" and has(g, k, labels("SBAR S")) and after(g, t, k, CC):
            return True
    return False


def reduced_relative(g: Phrases, t: int, c: int, marks: frozenset[str]) -> bool:
    """ "the ball he throws": a clause with subject and without object, after a noun phrase."""
    names, at = g.names[t], g.at[c]
    if not any(names[k] == "NP" and "CC" not in names[k + 1 : at] for k in range(at)):
        return False
    if has(g, c, labels("WHPP WHNP WHADVP")):
        return False
    k = only(g, c)
    if k >= 0 and g.label[k] == "S" and not to_clause(g, k):
        return False
    for s in g.kids[c]:
        if g.label[s] == "S":
            for vp in g.kids[s]:
                if g.label[vp] == "VP" and before(g, s, vp, NP) and lacks_object(g, vp, marks):
                    return True
    return False


def lacks_object(g: Phrases, vp: int, marks: frozenset[str]) -> bool:
    names = g.names[vp]
    if "SBAR" in names:
        return False
    for at, k in enumerate(g.kids[vp]):
        if g.mask[k] & BE and names[at] in VB and names[at + 1 : at + 2] != ("VP",):
            return False
    for k in chain(g, vp, VP_):
        if g.label[k] == "NP" or (g.label[k] == "PP" and g.names[k] and g.names[k][-1] in marks):
            return False
        if g.label[k] in VB and g.mask[k] & BE:
            above = g.kids[g.parent[k]]
            at = g.at[k] + 1
            if at < len(above) and g.label[above[at]] == "VP" and has(g, above[at], PAST):
                return False
    return True


@rule("advcl", "NP", "SBAR")
def advcl_comparison(g: Phrases, t: int, c: int) -> bool:
    than = any(g.label[k] == "IN" and g.low[k] == "than" for k in g.kids[c])
    return than and reduced_relative(g, t, c, labels("IN TO MWE"))


@rule("acl:relcl", "NP", "SBAR")
def relcl_reduced(g: Phrases, t: int, c: int) -> bool:
    if any(g.label[k] == "IN" and g.low[k] in ("than", "that", "whether") for k in g.kids[c]):
        return False
    return reduced_relative(g, t, c, labels("IN TO"))


@rule("acl:relcl", NPS, "RRC")
def relcl_rrc(g: Phrases, t: int, c: int) -> bool:
    return g.label[g.head[t]] in ("NP", "WHNP", "NML", "DT", "S")


@rule("acl:relcl", "ADVP", "SBAR")
def relcl_where(g: Phrases, t: int, c: int) -> bool:
    return any(
        g.label[k] == "ADVP" and any(g.label[j] == "RB" and g.word[j].endswith("where") for j in g.kids[k])
        for k in g.kids[t]
    )


NOUNS = labels("WHNP NP NP-TMP NML NX")


@rule("acl", NOUNS, "VP")
def acl(g: Phrases, t: int, c: int) -> bool:
    if has(g, c, labels("VBG VBN VBD")) and before(g, t, c, NP | labels("NML NX")):
        return True
    return previous(g, t, c) == "," and participle_first(g, c)


@rule("acl", NOUNS, PP)
def acl_preposition(g: Phrases, t: int, c: int) -> bool:
    names = g.names[c]
    if not NOMINAL.isdisjoint(names) or after_joined(g, t, c):
        return False
    if not any("PP" not in n and "CC" not in n and "CONJP" not in n and "," not in n for n in names):
        return False
    for k in g.kids[c]:
        if g.label[k] == "PP":
            two = g.names[k][:2]
            if len(two) == 2 and two[0] in ("IN", "RB", "MWE", "PCONJP", "VBN", "JJ") and two[1] in NP:
                return False
    return not ends_in_etc(g, t)


@rule("acl", NP, "S")
def acl_to(g: Phrases, t: int, c: int) -> bool:
    return to_clause(g, c) and before(g, t, c, labels("NP NN NNP NNS"))


@rule("acl", NP, "SBAR")
def acl_sbar(g: Phrases, t: int, c: int) -> bool:
    return over_to_clause(g, c) and before(g, t, c, labels("NP NN NNP NNS"))


# relations to something other than a child


@far("nsubj", "S", "EX")
def there_is(g: Phrases, t: int) -> list[int]:
    """ "there is a man": man."""
    if not g.existential or not any(g.label[k] == "NP" and "EX" in g.names[k] for k in g.kids[t]):
        return []
    verbs = [k for k in chain(g, t, VP_) if g.label[k] == "VP"]
    return [k for vp in verbs for k in g.kids[vp] if g.label[k] == "NP"]


@far("nsubj", "SBAR", "WHNP")
def asked_who(g: Phrases, t: int) -> list[int]:
    """ "who he says came": who."""
    if "WHNP" in g.names[t] or g.label[g.parent[t]] != "VP":
        return []
    if not any(g.label[k] == "S" and not subject_first(g, k) for k in g.kids[t]):
        return []
    s = g.parent[g.parent[t]]
    if g.label[s] != "S" or not s or g.at[s] == 0:
        return []
    who = g.kids[g.parent[s]][g.at[s] - 1]
    return [who] if g.label[who] == "WHNP" else []


def subject_first(g: Phrases, s: int) -> bool:
    names = g.names[s]
    return "NP" in names and "VP" in names[names.index("NP") :]


@far("dobj", "VP", "TO")
def told_to(g: Phrases, t: int) -> list[int]:
    """ "tells a dog to sit": dog."""
    if "S" not in g.names[t]:
        return []
    out = []
    for s in g.kids[t]:
        if g.label[s] == "S":
            for at, k in enumerate(g.kids[s]):
                if g.label[k] in ("NP", "WHNP"):
                    if any(g.label[j] == "VP" and "TO" in g.names[j] for j in g.kids[s][at + 1 :]):
                        out.append(k)
    return out


@far("acl:relcl", "NP NP-TMP WHNP NML", "SBAR")
def relative(g: Phrases, t: int) -> list[int]:
    """The clause after a noun phrase in a noun phrase."""
    above, at = g.parent[t], g.at[t]
    names = g.names[above]
    if not t or g.label[above] not in NPS or "SBAR" not in names[at + 1 :]:
        return []
    if any(is_etc(g, k) for k in g.kids[above][at + 1 :]):
        return []
    out = []
    if NOMINAL.isdisjoint(names[:at]):
        for place in range(at + 1, len(names)):
            if names[place] in CC:
                break
            if names[place] == "SBAR" and is_relative(g, g.kids[above][place]):
                out.append(g.kids[above][place])
    if g.label[t] in ("NP", "NML") and g.label[above] in NP and labels("NP NML").isdisjoint(names[:at]):
        out += [k for k in g.kids[above][at + 1 :] if g.label[k] == "SBAR" and says_where(g, k)]
    return out


def is_relative(g: Phrases, sbar: int) -> bool:
    k = only(g, sbar)
    if k >= 0 and g.label[k] == "S" and not to_clause(g, k):
        return True
    return any(g.label[j] in ("WHPP", "WHNP") for j in chain(g, sbar, SBAR_))


def says_where(g: Phrases, sbar: int) -> bool:
    for k in g.kids[sbar]:
        if g.label[k] == "WHADVP":
            if any(g.label[j] == "WRB" and g.low[j].startswith(("where", "why", "when")) for j in g.kids[k]):
                return True
    return False


@far("nmod:tmod", "SBAR", "WHADVP")
def time_when(g: Phrases, t: int) -> list[int]:
    """ "the day when he came": day."""
    above, at = g.parent[t], g.at[t]
    names = g.names[above]
    if g.label[above] != "NP" or "NP" not in names[:at] or "CC" in names[:at]:
        return []
    if not any(g.label[k] == "WHADVP" and any(g.word[j] == "when" for j in g.kids[k]) for k in g.kids[t]):
        return []
    for s in g.kids[t]:
        if g.label[s] == "S":
            for a, b in zip(g.kids[s], g.kids[s][1:], strict=False):
                if g.label[a] == "NP" and g.label[b] == "VP":
                    after_verb = [*g.names[b][1:], ""]
                    if not any(
                        g.mask[k] & BE and g.label[k] in VB and after_verb[n] != "VP" for n, k in enumerate(g.kids[b])
                    ):
                        return [above]
    return []


@far("neg", "VP", "SQ")
def not_before(g: Phrases, t: int) -> list[int]:
    above = g.parent[t]
    if g.label[above] != "SQ":
        return []
    return [k for k in g.kids[above][: g.at[t]] if g.label[k] == "RB" and g.mask[k] & NOT]


@far("parataxis", "VP", "PRN")
def aside_of(g: Phrases, t: int) -> list[int]:
    above = g.parent[t]
    if "PRN" not in g.names[above]:
        return []
    return [
        k
        for k in g.kids[above]
        if g.label[k] == "PRN" and (has(g, k, labels("S SINV SBAR")) or ("VP" in g.names[k] and has(g, k, NP)))
    ]


@far("nmod:npmod", "NP NP-TMP ADVP QP", "ADVP")
def at_best(g: Phrases, t: int) -> list[int]:
    """ "at most" and the like, by way of adverb phrases."""
    if "ADVP" not in g.names[t]:
        return []
    return [
        k
        for k in chain(g, t, labels("ADVP WHADVP"))
        if g.label[k] == "ADVP"
        and "NP" in g.names[k]
        and any(g.label[j] == "IN" and "at" in g.low[j] for j in g.kids[k])
    ]
