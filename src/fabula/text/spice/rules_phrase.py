"""Rules for the parts of phrases: modifiers, determiners, numbers, compounds, case markers (see rules.py)."""

# ruff: noqa: SIM102  (conditions one by one; a loop is faster than any() of a generator)
from __future__ import annotations

from fabula.text.spice.heads import (
    BE,
    CC,
    EITHER,
    ETC,
    JJS,
    NN,
    NO,
    NOMINAL,
    NOT,
    NP,
    NPS,
    PP,
    RBS,
    SELF,
    TOTAL,
    VB,
    Phrases,
    below,
    plain_head,
)
from fabula.text.spice.reshape import labels
from fabula.text.spice.rules import (
    NP_,
    PP_,
    after,
    always,
    chain,
    ends_in_etc,
    ends_possessive,
    first,
    following,
    has,
    has_etc,
    inner,
    is_time,
    only,
    previous,
    rule,
)

# modifiers

MODIFIED = labels("NP NP-TMP WHNP ADJP WHADJP ADVP WHADVP NX NML VP NAC SQ FRAG PRN X RRC")


@rule("nmod", MODIFIED, PP)
def nmod(g: Phrases, t: int, c: int) -> bool:
    return (has(g, c, NOMINAL) or inner(g, c, PP_, NOMINAL)) and not ends_in_etc(g, t)


@rule("nmod", MODIFIED, "S")
def nmod_clause(g: Phrases, t: int, c: int) -> bool:
    return len(g.names[c]) == 1 and g.names[c][0] in PP


@rule("nmod", PP, PP)
def nmod_preposition(g: Phrases, t: int, c: int) -> bool:
    return previous(g, t, c) not in ("IN", "VBG", "VBN", "TO")


@rule("nmod", "S SINV", "PP PP-TMP")
def nmod_fronted(g: Phrases, t: int, c: int) -> bool:
    return not has(g, c, labels("SBAR S")) and has(g, t, labels("VP S"))


@rule("nmod", "SBAR SBARQ", PP)
def nmod_relative(g: Phrases, t: int, c: int) -> bool:
    return has(g, t, labels("S SQ"))


@rule("nmod", NP, "UCP PRN")
def nmod_aside(g: Phrases, t: int, c: int) -> bool:
    return g.head[c] >= 0 and g.label[g.head[c]] in PP


def bare_preposition(g: Phrases, node: int) -> bool:
    """A PP that is nothing but its preposition."""
    return any(g.label[k] == "PP" and g.names[k] == ("IN",) for k in g.kids[node])


@rule("nmod", "SBARQ", "WHNP")
def nmod_question(g: Phrases, t: int, c: int) -> bool:
    names, kids = g.names[t], g.kids[t]
    for at in range(g.at[c] + 1, len(names)):
        k = kids[at]
        if names[at] == "VP" and bare_preposition(g, k):
            return True
        if names[at] == "SQ" and any(g.label[j] == "VP" and bare_preposition(g, j) for j in g.kids[k]):
            return True
        if names[at] in VB and g.mask[k] & BE:
            for adj in range(at + 1, len(names)):
                if names[adj] == "ADJP" and "NP" in names[at + 1 : adj] and bare_preposition(g, kids[adj]):
                    return True
    return False


@rule("prep", "VP ADJP", "PP")
def prep(g: Phrases, t: int, c: int) -> bool:
    return len(g.names[c]) == 1 and g.names[c][0] in ("IN", "TO")


always("nmod:tmod", "VP ADJP RRC", "NP-TMP")
always("nmod:tmod", "NP", "NP-TMP")


@rule("nmod:tmod", "VP ADJP RRC", "NP")
def tmod(g: Phrases, t: int, c: int) -> bool:
    if not is_time(g, c):
        return False
    at = g.at[c] + 1
    k = g.kids[t][at] if at < len(g.kids[t]) else -1
    return not (k >= 0 and g.label[k] in JJS and g.word[k] == "old")


@rule("nmod:tmod", "VP ADJP RRC", "VP")
def tmod_phrase(g: Phrases, t: int, c: int) -> bool:
    if "NP-TMP" not in g.names[c] or g.label[plain_head(g, c)] != "NP-TMP":
        return False
    return not any(
        name.startswith(",") or "CC" in name or name.endswith("CONJP")
        for at, name in enumerate(g.names[t])
        if at != g.at[c]
    )


@rule("nmod:tmod", "PP", NP)
def tmod_preposition(g: Phrases, t: int, c: int) -> bool:
    names, at = g.names[t], g.at[c]
    if at < 2 or names[at - 1] not in NP or labels("IN TO VBG FW").isdisjoint(names[: at - 1]):
        return False
    return g.label[c] == "NP-TMP" or is_time(g, c)


@rule("nmod:tmod", "S", NP)
def tmod_fronted(g: Phrases, t: int, c: int) -> bool:
    rest = g.names[t][g.at[c] + 1 :]
    if g.label[c] == "NP-TMP":
        return "VP" in rest and "NP" in g.names[t]
    return is_time(g, c) and "NP" in rest and "VP" in rest[rest.index("NP") :]


@rule("nmod:tmod", "SBARQ", "WHNP")
def tmod_question(g: Phrases, t: int, c: int) -> bool:
    return is_time(g, c) and inner(g, t, labels("SQ"), NP)


COUNTED = labels("NP NP-TMP WHNP NX WHNX NML")


@rule("nummod", COUNTED, "CD QP")
def nummod(g: Phrases, t: int, c: int) -> bool:
    return previous(g, t, c) != "CC"


def only_number(g: Phrases, c: int) -> bool:
    k = only(g, c)
    return k >= 0 and g.label[k] == "QP" and "$" not in g.names[k]


@rule("nummod", COUNTED, "ADJP")
def nummod_phrase(g: Phrases, t: int, c: int) -> bool:
    return only_number(g, c)


@rule("nummod", "QP", "QP")
def nummod_money(g: Phrases, t: int, c: int) -> bool:
    return "$" in g.names[t]


@rule("amod", "NP NP-TMP NX NML NAC WHNP INTJ", "ADJP WHADJP JJ JJR JJS JJP VBN VBG VBD IN")
def amod(g: Phrases, t: int, c: int) -> bool:
    if previous(g, t, c) == "CC":
        return False
    return not any(g.label[k] == "QP" and "$" not in g.names[k] for k in g.kids[c])


@rule("amod", "ADJP", "JJ NNP")
def amod_adjective(g: Phrases, t: int, c: int) -> bool:
    names = g.names[t]
    return CC.isdisjoint(names) and names.count("JJ") + names.count("NNP") > 1


@rule("amod", NPS, "NP")
def amod_age(g: Phrases, t: int, c: int) -> bool:
    names = g.names[t]
    return (
        g.names[c] == ("CD",)
        and previous(g, t, c) == ","
        and any(name.startswith(("NP", "WHNP")) for name in names[: g.at[c]])
        and CC.isdisjoint(names)
    )


COMPOUNDED = labels("NP NP-TMP WHNP NX WHNX NAC WHNAC NML")


@rule("compound", COMPOUNDED, "NP NML NN NNS NNP NNPS FW AFX")
def compound(g: Phrases, t: int, c: int) -> bool:
    names, at = g.names[t], g.at[c]
    if at + 1 == len(names):
        return False
    found = False
    if not (at and names[at - 1] == ","):
        for name in names[at + 1 :]:
            if name == "POS":
                break
            if name in ("NN", "NNS", "NNP", "NNPS", "FW", "CD"):
                found = True
                break
    if not found and names[at + 1] in ("JJ", "JJR", "JJS") and g.label[c] != "AFX":
        found = g.label[g.head[t]] in NN and not ends_possessive(g, t)
    return found and not (g.kids[c] and ends_possessive(g, c))


@rule("compound", "QP ADJP", "CD #")
def compound_number(g: Phrases, t: int, c: int) -> bool:
    return previous(g, t, c) != "CC"


@rule("compound", "ADJP ADVP", "FW IN")
def compound_foreign(g: Phrases, t: int, c: int) -> bool:
    if following(g, t, c) != "FW":
        return False
    return g.word[c] in ("in", "In") if g.label[c] == "IN" else g.low[c] != "etc"


APPOSED = NPS | labels("FRAG")


@rule("appos", APPOSED, "NP")
def appos(g: Phrases, t: int, c: int) -> bool:
    names, at = g.names[t], g.at[c]
    nouns = any(name.startswith(("NP", "WHNP")) for name in names[:at])
    if not nouns:
        return False
    joined = not CC.isdisjoint(names)
    inside = g.names[c]
    if inside != ("CD",):
        if names[at - 1] == "," and not joined and not has_etc(g, t):
            return True
        if g.label[t] != "FRAG" and inside[0] == "-LRB-" and inside[-1] == "-RRB-" and not joined:
            return True
    if g.label[t] != "FRAG" and inside == ("NNP",) and names[at - 1].startswith(("NP", "WHNP")):
        return "POS" not in g.names[g.kids[t][at - 1]] and not joined and not has_etc(g, t)
    return False


@rule("appos", APPOSED, "PRN")
def appos_bracket(g: Phrases, t: int, c: int) -> bool:
    names = g.names[c]
    for at, k in enumerate(g.kids[c]):
        if names[at] == "NP" and "-LRB-" in names[:at] and names[at + 1 : at + 2] == ("-RRB-",):
            if any(name.startswith(("NN", "CD")) for name in g.names[k]):
                return True
    if g.label[t] == "FRAG" or names[0] != "-LRB-" or names[-1] != "-RRB-":
        return False
    if any(below(g, c, tag) for tag in ("POS", "WP$", "PRP$", ",", "$", "#", "CC", "RB", "CD")):
        return False
    return any(g.label[k] in ("NNP", "NN") and short(g.word[k]) for k in chain(g, c, NP_))


def short(text: str) -> bool:
    """It begins like an abbreviation: two capitals, perhaps with dots."""
    return len(text) > 1 and text[0].isupper() and text[1:].removeprefix(".")[:1].isupper()


@rule("appos", NP, "NNP")
def appos_name(g: Phrases, t: int, c: int) -> bool:
    names, at = g.names[t], g.at[c]
    return at > 1 and names[at - 1] == "," and names[at - 2] == "NNP" and CC.isdisjoint(names) and not has_etc(g, t)


@rule("appos", "FRAG NP", "SQ S")
def appos_colon(g: Phrases, t: int, c: int) -> bool:
    names, at = g.names[t], g.at[c]
    if at < 2 or ":" not in names[at - 1] or names[at - 2] != "NP":
        return False
    return g.names[g.kids[t][at - 2]] in (("NN",), ("NNS",))


ADVERBIAL = labels("VP ADJP JJP WHADJP S SQ SBAR SBARQ SINV XS RRC NP NP-TMP WHNP")


@rule("advmod", ADVERBIAL, RBS)
def advmod(g: Phrases, t: int, c: int) -> bool:
    if g.mask[c] & NOT or (g.kids[c] and any(g.label[k] == "FW" and g.mask[k] & ETC for k in g.kids[c])):
        return False
    return not (g.kids[c] and "ADVP" in g.names[c] and at_phrase(g, c))


def at_phrase(g: Phrases, c: int) -> bool:
    """It has "at" in an adverb phrase, and a noun phrase in an adverb phrase."""
    inside = [k for k in chain(g, c, labels("ADVP WHADVP")) if g.label[k] == "ADVP"]
    at = any(any(g.label[j] == "IN" and "at" in g.low[j] for j in g.kids[k]) for k in inside)
    return at and any("NP" in g.names[k] for k in inside)


always("advmod", "QP", "IN RB RBR RBS PDT DT JJ JJR JJS XS")


@rule("advmod", "QP", "MWE")
def advmod_more_than(g: Phrases, t: int, c: int) -> bool:
    words = {(g.label[k] in ("JJR", "RBR", "IN")) and g.low[k] for k in g.kids[c]}
    return not words.isdisjoint(("more", "less")) and "than" in words


@rule("advmod", "ADVP WHADVP", RBS | labels("JJ"))
def advmod_adverb(g: Phrases, t: int, c: int) -> bool:
    if g.mask[c] & (NOT | NO) or any(g.label[k] == "FW" and g.mask[k] & ETC for k in g.kids[c]):
        return False
    a, b = sorted((g.at[c], g.at[g.head[t]]))
    return not any(name.startswith("CC") or name.endswith("CONJP") for name in g.names[t][a + 1 : b])


@rule("advmod", "SBAR", "WHNP")
def advmod_how(g: Phrases, t: int, c: int) -> bool:
    return "WRB" in g.names[c]


@rule("advmod", "SBARQ", "WHADVP")
def advmod_question(g: Phrases, t: int, c: int) -> bool:
    return g.at[c] == 0


always("advmod", "XS", "JJ")


@rule("advmod", PP, RBS)
def advmod_preposition(g: Phrases, t: int, c: int) -> bool:
    if g.mask[c] & NOT or any(g.label[k] == "FW" and g.mask[k] & ETC for k in g.kids[c]):
        return False
    return g.at[c] < g.at[g.head[t]] or has(g, t, NPS)


@rule("advmod", "CONJP", "RB")
def advmod_conjunction(g: Phrases, t: int, c: int) -> bool:
    return not g.mask[c] & NOT


@rule("neg", "VP NP NP-TMP ADJP SQ S FRAG CONJP PP", "RB")
def neg(g: Phrases, t: int, c: int) -> bool:
    return bool(g.mask[c] & NOT)


@rule("neg", "VP ADJP S SBAR SINV FRAG", "ADVP")
def neg_phrase(g: Phrases, t: int, c: int) -> bool:
    h = g.head[c]
    return bool(g.mask[h] & NOT) and g.label[h] == "RB"


def is_nominal(label: str) -> bool:
    """What a determiner can belong to."""
    return label.startswith(("NM", "NN", "NX", "NP", "CD", "JJ", "FW", "ADJP", "QP", "RB", "PRN")) or (
        label.startswith("PRP") and not label.startswith("PRP$")
    )


@rule("neg", "NP NP-TMP NAC NML NX ADJP ADVP", "DT RB")
def neg_no(g: Phrases, t: int, c: int) -> bool:
    return bool(g.mask[c] & NO) and any(map(is_nominal, g.names[t][g.at[c] + 1 :]))


@rule("neg", "ADVP WHADVP", "RB RBR RBS WRB JJ")
def neg_no_more(g: Phrases, t: int, c: int) -> bool:
    return bool(g.mask[c] & NO) and not has(g, t, CC)


always("mwe", "MWE", "IN TO RB NP NN JJ VB CC VBZ VBD ADVP PP JJS RBS")


@rule("det", "NP NP-TMP NAC NML NX X", "DT")
def det(g: Phrases, t: int, c: int) -> bool:
    if g.mask[c] & (EITHER | NO):
        return False
    rest = g.names[t][g.at[c] + 1 :]
    if not rest or rest[0] == "DT" or "CC" in rest:
        return False
    if is_nominal(rest[0]):
        return True
    for at, name in enumerate(rest):
        if is_nominal(name):
            owners = [k for k in range(at) if rest[k].startswith("PRP$") or "POS" in rest[k]]
            if all("''" in rest[k + 1 : at] for k in owners):
                return True
    return False


NAMED = ("NN", "NX", "NML")


@rule("det", NP, "DT")
def det_other(g: Phrases, t: int, c: int) -> bool:
    names, at = g.names[t], g.at[c]
    rest = names[at + 1 :]
    joined = "CC" in rest
    noun = any(name.startswith(NAMED) for name in rest)
    same = rest[:1] == ("DT",)
    if g.mask[c] & EITHER:
        if not same and not joined and noun:
            if not any(g.label[k] == "NP" and "CC" in g.names[k] for k in g.kids[t][at + 1 :]):
                return True
    elif not g.mask[c] & NO and joined and noun:
        return True
    if g.mask[c] & NO or joined or same:
        return False
    return adjective_without_noun(rest)


def adjective_without_noun(rest: tuple[str, ...]) -> bool:
    for at, name in enumerate(rest):
        if name.startswith("JJ") and not (at + 1 < len(rest) and rest[at + 1].startswith("NN")):
            return True
    return False


@rule("det", NP, "NP DT RB")
def det_all(g: Phrases, t: int, c: int) -> bool:
    """ "we all"."""
    if g.at[c] != len(g.kids[t]) - 1:
        return False
    last = c
    while g.kids[last]:
        last = g.kids[last][-1]
    if not g.mask[last] & TOTAL:
        return False
    node = t
    while g.kids[node]:
        node = g.kids[node][0]
        if g.label[node] == "PRP":
            return True
    return False


@rule("det", "WHNP", "WHNP")
def det_which(g: Phrases, t: int, c: int) -> bool:
    return "WDT" in g.names[c] and after(g, t, c, NP_)


@rule("det", "WHNP ADVP ADJP", "DT WDT WP")
def det_wh(g: Phrases, t: int, c: int) -> bool:
    if g.mask[c] & NO or not any(n.startswith(("NP", "NN", "CD", "RBS", "JJ")) for n in g.names[t][g.at[c] + 1 :]):
        return False
    return g.label[c] != "DT" or not after(g, t, c, CC)


@rule("det", NP, "WDT WP")
def det_wh_noun(g: Phrases, t: int, c: int) -> bool:
    return any(n.startswith(("NP", "NN", "CD", "RBS")) for n in g.names[t][g.at[c] + 1 :])


@rule("det:predet", "NP NP-TMP WHNP NX NAC NML", "PDT DT")
def predet(g: Phrases, t: int, c: int) -> bool:
    names, at = g.names[t], g.at[c]
    rest = names[at + 1 :]
    if not rest:
        return False
    if rest[0] in ("DT", "WP$", "PRP$") and "CC" not in rest and any(name.startswith(NAMED) for name in rest):
        return True
    if g.label[t] not in NPS:
        return False
    if rest[0] == "DT" and adjective_without_noun(rest):
        above = g.parent[t]
        if t == 0 or "CC" not in g.names[above][g.at[t] + 1 :]:
            return True
    return g.label[c] == "PDT" and names[-1] == "DT"


always("nmod:poss", "NP NP-TMP WHNP ADJP WHADJP INTJ PRN NAC NX NML", "WP$ PRP$")


def is_owner(g: Phrases, k: int) -> bool:
    return "POS" in g.names[k] or any(g.label[j] == "VBZ" and g.word[j] == "'s" for j in g.kids[k])


OWNERS = labels("WHNP NP NML")


def joined_nouns(names: tuple[str, ...]) -> bool:
    return any(name in CC and not OWNERS.isdisjoint(names[at + 1 :]) for at, name in enumerate(names))


@rule("nmod:poss", "NP NP-TMP WHNP NML", OWNERS)
def poss(g: Phrases, t: int, c: int) -> bool:
    if is_owner(g, c) and not joined_nouns(g.names[t]):
        return True
    return joined_nouns(g.names[c]) and any(g.label[k] in OWNERS and is_owner(g, k) for k in g.kids[c])


@rule("nmod:poss", "NP NP-TMP WHNP NML NX WHNX", lambda label: label.startswith(("NN", "NP")))
def poss_flat(g: Phrases, t: int, c: int) -> bool:
    names, at = g.names[t], g.at[c]
    if "POS" not in names[at + 1 :]:
        return False
    for pos in range(at + 1, len(names)):
        if names[pos] == "POS" and "'" in g.word[g.kids[t][pos]]:
            if any(n.startswith("NN") for n in names[pos + 1 :]):
                if not any(n.startswith(("NN", "NP")) for n in names[at + 1 : pos]):
                    return True
    return False


@rule("case", PP, "IN TO MWE PCONJP VBN JJ")
def case(g: Phrases, t: int, c: int) -> bool:
    at = g.at[c] + 1
    name = g.names[t][at] if at < len(g.names[t]) else ""
    if name == "S":
        vp = first(g, g.kids[t][at])
        return g.label[vp] == "VP" and g.names[vp][0] == "NN"
    return name != "SBAR"


always("case", "NP NP-TMP WHNP NML", "POS")
always("case", "ADVP", "IN")


@rule("case", "NP NP-TMP WHNP NML", "VBZ")
def case_s(g: Phrases, t: int, c: int) -> bool:
    return g.word[c] == "'s"


@rule("case", PP, "CC")
def case_but(g: Phrases, t: int, c: int) -> bool:
    return g.at[c] == 0 and g.names[t][1:2] == ("NP",)


@rule("case", PP, "VBG")
def case_verb(g: Phrases, t: int, c: int) -> bool:
    return g.at[c] == 0 and not inner(g, t, PP_, labels("SBAR S"))


always("compound:prt", "VP", "PRT")


@rule("compound:prt", "ADJP", "RP")
def prt_adjective(g: Phrases, t: int, c: int) -> bool:
    return has(g, t, VB)


MEASURED = labels("ADVP ADJP WHADJP WHADVP PP WHPP")


@rule("nmod:npmod", MEASURED, NP)
def npmod(g: Phrases, t: int, c: int) -> bool:
    h = g.head[t]
    if g.at[h] == g.at[c] + 1 and g.label[h] in ("JJ", "JJR", "IN", "RB", "RBR"):
        return g.word[h] != "notwithstanding" and not has(g, c, labels("NNP NNPS"))
    return False


@rule("nmod:npmod", "ADJP", "NN")
def npmod_noun(g: Phrases, t: int, c: int) -> bool:
    return after(g, t, c, JJS) and not has(g, t, CC)


@rule("nmod:npmod", "ADVP", NP)
def npmod_adverb(g: Phrases, t: int, c: int) -> bool:
    h = g.head[t]
    return g.at[h] < g.at[c] and g.label[h].startswith(("RB", "ADVP"))


@rule("nmod:npmod", NPS, "NP PRP")
def npmod_self(g: Phrases, t: int, c: int) -> bool:
    k = c if g.label[c] == "PRP" else only(g, c)
    if k < 0 or g.label[k] != "PRP" or not g.mask[k] & SELF:
        return False
    names, end = g.names[t], g.at[c]
    for at in range(end):
        if names[at] in ("NP", "NN", "NNS", "NNP", "NNPS", "PRP"):
            if not any(n.startswith(",") or "CC" in n or n.endswith("CONJP") for n in names[at + 1 : end]):
                return True
    return False


@rule("nmod:npmod", NP, NP)
def npmod_percent(g: Phrases, t: int, c: int) -> bool:
    if g.at[c] != 1 or len(g.kids[t]) != 2 or g.names[t][0] not in NP:
        return False
    return head_word(g, g.kids[t][0]) == "%" and head_word(g, c) in ("days", "month", "months")


def head_word(g: Phrases, node: int) -> str:
    while g.kids[node]:
        node = g.head[node]
    return g.word[node]


@rule("parataxis", "VP", "PRN")
def parataxis_aside(g: Phrases, t: int, c: int) -> bool:
    return has(g, c, labels("S SINV SBAR"))


@rule("parataxis", "S FRAG VP", lambda label: label.startswith("S"))
def parataxis_colon(g: Phrases, t: int, c: int) -> bool:
    return previous(g, t, c) == ":" and CC.isdisjoint(g.names[t][1:])


SENTENCES = labels("S SBARQ SQ FRAG")


@rule("parataxis", "S FRAG", SENTENCES)
def parataxis(g: Phrases, t: int, c: int) -> bool:
    names, kids = g.names[t], g.kids[t]
    for at in range(g.at[c]):
        if names[at] in SENTENCES and (CC | {"MWE"}).isdisjoint(names[at + 1 :]):
            if not any(":" in names[k] and ";" in g.word[kids[k]] for k in range(at + 1, len(kids))):
                return True
    return False


@rule("parataxis", "S FRAG VP", NP)
def parataxis_noun(g: Phrases, t: int, c: int) -> bool:
    if previous(g, t, c) != ":" or has(g, t, CC):
        return False
    return any(name.startswith("V") for name in g.names[t][: g.at[c] - 1])


@rule("parataxis", "FRAG NP", "SQ S")
def parataxis_name(g: Phrases, t: int, c: int) -> bool:
    names, at = g.names[t], g.at[c]
    if at < 2 or ":" not in names[at - 1] or names[at - 2] != "NP":
        return False
    return any(below(g, g.kids[t][at - 2], tag) for tag in ("NNP", "NNPS"))


always("discourse", None, "INTJ")


@rule("discourse", None, "PRN")
def discourse(g: Phrases, t: int, c: int) -> bool:
    names = g.names[c]
    return names[0] in (",", "-LRB-") and names[1:2] == ("INTJ",) and (len(names) < 3 or names[2] in (",", "-RRB-"))


always("goeswith", None, "GW")


@rule("list", "FRAG", "NP")
def find_listed(g: Phrases, t: int, c: int) -> bool:
    names, at = g.names[t], g.at[c]
    for k in range(len(names) - 4):
        if (
            names[k] == "NP"
            and "," in names[k + 1]
            and names[k + 2] == "NP"
            and (CC | {"MWE"}).isdisjoint(names[k + 1 :])
        ):
            if at == k + 2 and "," in names[at + 1] and names[at + 2 : at + 3] == ("NP",):
                return True
            if at > k + 3 and "," in names[at - 1]:
                return True
    return False
