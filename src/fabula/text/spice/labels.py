"""The labels of phrases and words (Penn Treebank), and the sets of them that rules speak of."""

# ruff: noqa: SIM905  (word lists read better as text)
from __future__ import annotations

from fnmatch import fnmatchcase
from functools import cache

LABELS = frozenset(
    """ROOT S SBAR SBARQ SINV SQ ADJP ADVP CONJP FRAG INTJ LST NAC NP NP-TMP NX NML PP PP-TMP PRN PRT QP RRC UCP VP
    WHADJP WHADVP WHNP WHNX WHNAC WHPP WHPP-TMP X JJP MWE PCONJP XS CC CD DT EX FW IN JJ JJR JJS LS MD NN NNS NNP NNPS
    PDT POS PRP PRP$ RB RBR RBS RP SYM TO UH VB VBD VBG VBN VBP VBZ WDT WP WP$ WRB AUX AUXG AFX GW NCD HYPH NFP ADD
    # $ , . : '' `` -LRB- -RRB- *""".split()
)
SETS = {
    "verb": "VB VBD VBG VBN VBP VBZ AUX AUXG",
    "noun": "NN NNS NNP NNPS",
    "adjective": "JJ JJR JJS JJP",
    "adverb": "RB RBR RBS WRB ADVP WHADVP",
    "np": "NP NP-TMP",
    "nps": "np WHNP",
    "nominal": "nps NML",
    "pp": "PP PP-TMP WHPP WHPP-TMP",
    "cc": "CC CONJP",
    "past": "VBN VBD",
    "participle": "VBG VBN",
    "comma": ",",
    "colon": ":",
    "stop": ".",
    "quote": "''",
    "open": "-LRB-",
    "close": "-RRB-",
    "hash": "#",
    "punctuation": ", : . '' `` -LRB- -RRB-",
    "aside": "punctuation PRN",
    "pause": ", :",
    "opening": "`` -LRB- PRN",
    "fronted": "opening PP* ADVP* RB*",
    "lead": "CC* CONJP* `` , INTJ* PP*",
    "clause": "VP S SBAR SBARQ SINV SQ RRC",
    "mark": "IN TO MWE PCONJP VBN JJ",
    "named": "NN* NX* NML*",
    "counted": "NP* NN* CD* RBS*",
    "owner": "WHNP NP NML",
    "sentence": "S SBARQ SQ FRAG",
    "joining": ",* *CC* *CONJP",
    "determined": "NM* NN* NX* NP* CD* JJ* FW* ADJP* QP* RB* PRN* PRP",
    "content": "S* A* N* V* PP* PRP* J* W* R* *SINV",
    "modified": "NP NP-TMP WHNP ADJP WHADJP ADVP WHADVP NX NML VP NAC SQ FRAG PRN X RRC",
    "described": "VP ADJP JJP WHADJP S SQ SBAR SBARQ SINV XS RRC NP NP-TMP WHNP",
    "joined": "ADJP JJP PP QP NP NP-TMP WHNP ADVP UCP NX NML",
    "measured": "ADVP ADJP WHADJP WHADVP PP WHPP",
    "inverted": "VP VBZ VBD VBP VB MD AUX",
}


@cache
def find_labels(text: str) -> frozenset[str]:
    """Labels by name, by the name of a set, by some of their letters; without those after "but"."""
    found: frozenset[str] = frozenset()
    names, _, others = text.partition(" but ")
    for name in names.split():
        if name in SETS:
            found |= find_labels(SETS[name])
        elif "*" in name and len(name) > 1:
            found |= {label for label in LABELS if fnmatchcase(label, name)}
        else:
            found |= LABELS if name == "_" else {name}
    return found - find_labels(others) if others else found
