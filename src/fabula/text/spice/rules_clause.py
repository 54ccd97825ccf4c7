"""Rules for clauses within clauses: complements, marks, adverbial and relative clauses (see rules.py)."""

# ruff: noqa: SIM102, SIM110  (conditions one by one; a loop is faster than any() of a generator)
from __future__ import annotations

from fabula.text.spice.heads import (
    ASK,
    BE,
    CC,
    HAVE,
    HOW,
    JJS,
    NOMINAL,
    NP,
    NPS,
    PAST,
    PP,
    SEEM,
    TELL,
    TELL_TO,
    THAT,
    VB,
    Phrases,
    plain_head,
)
from fabula.text.spice.reshape import labels
from fabula.text.spice.rules import (
    IN_,
    NP_,
    S_,
    VBG_,
    VP_,
    WRB_,
    after,
    always,
    before,
    chain,
    ends_in_etc,
    first,
    following,
    has,
    inner,
    only,
    over_to_clause,
    participle_first,
    previous,
    rule,
    to_clause,
    word,
)
from fabula.text.spice.rules_argument import after_colon, is_object


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
        return is_asked(g, c) or (plain_sbar(g, c) >= 0 and is_asked(g, plain_sbar(g, c)))
    return False


def plain_sbar(g: Phrases, c: int) -> int:
    """The head, where it is a clause with a conjunction, too."""
    h = plain_head(g, c)
    return h if h >= 0 and g.label[h] == "SBAR" else -1


def is_asked(g: Phrases, sbar: int) -> bool:
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


def is_adjectival(g: Phrases, c: int) -> bool:
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
    return previous(g, t, c) in VB and is_adjectival(g, c)


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
    if is_adverbial(g, c) or any(g.label[k] == "SBAR" and is_adverbial(g, k) for k in g.kids[c]):
        return True
    if before(g, t, c, labels(":")):
        return False
    if not (
        not word(g, t, VB, ASK)
        or before(g, t, c, labels("SBAR S"))
        or (not word(g, t, VB, TELL) and before(g, t, c, NP_))
    ):
        return False
    return is_asked(g, c) or (plain_sbar(g, c) >= 0 and is_asked(g, plain_sbar(g, c)))


def is_adverbial(g: Phrases, sbar: int) -> bool:
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


def is_marked(g: Phrases, c: int) -> bool:
    """It begins with a conjunction other than "that", and not with "in order"."""
    k = first(g, c)
    if g.label[k] not in ("IN", "MWE") or g.mask[k] & THAT:
        return False
    return not (len(g.kids[c]) > 1 and g.label[g.kids[c][1]] == "NN" and g.word[g.kids[c][1]] == "order")


@rule("advcl", "S SQ SINV", "SBAR")
def advcl_fronted(g: Phrases, t: int, c: int) -> bool:
    names, at = g.names[t], g.at[c]
    following_ = following(g, t, c)
    if is_marked(g, c) and following_ != "VP":
        if all(name.startswith(("CC", "CONJP", "``", ",", "INTJ", "PP")) for name in names[:at]):
            return True
        if following_ == "," and after(g, t, c, NP):
            return True
    if g.label[t] == "SINV":
        return False
    if is_asked(g, c) and not before(g, t, c, labels(":")):
        return True
    k = plain_sbar(g, c)
    if k >= 0 and is_asked(g, k) and not before(g, c, k, labels(":")):
        return True
    return g.label[t] == "S" and after(g, t, c, NP) and after(g, t, c, VP_)


@rule("advcl", "SBARQ", "SBAR")
def advcl_question(g: Phrases, t: int, c: int) -> bool:
    return is_marked(g, c) and following(g, t, c) == "," and after(g, t, c, labels("SQ S SBARQ"))


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
