"""Rules for verbs and what joins: auxiliaries, copulas, coordination (see rules.py)."""

# ruff: noqa: SIM102  (conditions one by one; a loop is faster than any() of a generator)
from __future__ import annotations

from fabula.text.spice.heads import (
    BE,
    CC,
    CLAUSES,
    EITHER,
    NP,
    ONLY,
    PASSIVE,
    PAST,
    PUNCT,
    STOP,
    VB,
    Phrases,
    plain_head,
)
from fabula.text.spice.reshape import labels
from fabula.text.spice.rules import (
    ADJP_,
    NP_,
    VBG_,
    VP_,
    WHNP_,
    after,
    always,
    following,
    has,
    has_etc,
    inner,
    is_etc,
    only,
    previous,
    rule,
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
