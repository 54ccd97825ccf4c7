"""Rules for relations to something other than a child of the phrase (see rules.py)."""

# ruff: noqa: SIM102  (conditions one by one; a loop is faster than any() of a generator)
from __future__ import annotations

from fabula.text.spice.heads import BE, CC, NOMINAL, NOT, NP, NPS, VB, Phrases
from fabula.text.spice.reshape import labels
from fabula.text.spice.rules import SBAR_, VP_, chain, far, has, is_etc, only, to_clause


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
