"""Which child of a phrase is its head: the first step from a phrase-structure tree to dependencies (see depend.py).

A table says which labels are preferred (HEADS), after Collins (1999) with the changes of the Stanford converter
(Schuster and Manning, LREC 2016); auxiliaries and "be" give way to what they go with.
"""

# ruff: noqa: SIM102, SIM905  (word lists read better as text, conditions one by one)
from __future__ import annotations

from itertools import pairwise
from typing import TypeVar

from fabula.text.spice.labels import find_labels
from fabula.text.spice.reshape import Tree

# --- words ----------------------------------------------------------------------------------------------------------

OBJECT_TO = (
    "advise advises advised advising allow allows allowed allowing ask asks asked asking beg begs begged begging "
    "convice convinces convinced convincing demand demands demanded demanding desire desires desired desiring "
    "expect expects expected expecting encourage encourages encouraged encouraging force forces forced forcing "
    "implore implores implored imploring lobby lobbies lobbied lobbying order orders ordered ordering persuade "
    "persuades persuaded persuading pressure pressures pressured pressuring prompt prompts prompted prompting "
    "require requires required requiring tell tells told telling urge urges urged urging"
)
TIMES = " ".join(
    f"{word} {word}s" for word in "monday tuesday wednesday thursday friday saturday sunday year month week day".split()
)
TIMES += (
    " morning mornings evening evenings night nights january jan. february feb. march mar. april apr. may june july "
    "august aug. september sept. october oct. november nov. december dec. today yesterday tomorrow spring summer fall "
    "autumn winter"
)
CLASSES = {
    "be": "be being been am are r is ai was were 'm m 're 's s `s art ar wase",
    "get": "get getting gets got gotten",
    "auxiliary": "will wo shall sha may might should would can could ca must 'll ll -ll cold has have had having 've "
    "ve v of hav hvae as get gets getting got gotten do does did 'd d du to 2 na a ot ta the too",
    "time": TIMES,
    "seem": "seem seems seemed seeming resemble resembles resembled resembling become becomes became becoming remain "
    "remains remained remaining",
    "have": "have had has having 've ve v 'd d hvae hav as",
    "self": "myself yourself himself herself itself ourselves yourselves themselves",
    "tell_to": OBJECT_TO,
    "ask": "ask asks asked asking know knows knew knowing specify specifies specified specifying tell tells told "
    "telling understand understands understood understanding wonder wonders wondered wondering",
    "tell": "tell tells told telling",
    "not": "not n't nt never",
    "no": "no",
    "that": "that whether",
    "either": "either neither both",
    "etc": "etc ect",
    "how": "how",
    "only": "only just merely",
    "total": "all both each",
}
BITS = {name: 1 << k for k, name in enumerate(CLASSES)}
BITS["passive"] = BITS["be"] | BITS["get"]
BE, GET, AUXILIARY, PASSIVE = (BITS[name] for name in ("be", "get", "auxiliary", "passive"))
WORDS: dict[str, int] = {}
for _name, _words in CLASSES.items():
    for _word in _words.split():
        WORDS[_word] = WORDS.get(_word, 0) | BITS[_name]

CONTROL = frozenset(
    "acquiesce submit bow defer accede succumb yield capitulate despise disdain dislike regret like love enjoy "
    "fear hate pledge proceed begin start commence recommence resume undertake ally collaborate collude conspire "
    "discriminate legislate partner protest rebel retaliate scheme sin befriend continue broadcast cable e-mail "
    "fax modem netmail phone radio relay satellite semaphore sign signal telecast telegraph telephone telex wire "
    "wireless ache crave fall hanker hope hunger itch long lust pine pray thirst wish yearn dangle babble bark "
    "bawl bellow bleat blubber boom bray burble bluster cackle call carol chant chatter chirp chortle chuckle "
    "cluck coo croak croon crow cry drawl drone gabble gasp gibber groan growl grumble grunt hiss holler hoot "
    "howl jabber keen lilt lisp mewl moan mumble murmur mutter nasal natter pant prattle purr quaver rage rant "
    "rasp roar rumble scream screech shout shriek sibilate simper sigh sing smatter smile snap snarl snivel "
    "snuffle splutter squall squawk squeak squeal stammer stemmer stutter thunder tisk trill trumpet twang "
    "twitter vociferate wail warble wheeze whimper whine whisper whistle witter whoop yammer yap yell yelp yodel "
    "blare gurgle hum neglect fail forego forgo flub overleap manage omit seem appear prove try attempt intend "
    "expect mean plan propose think aim dream imagine yen".split()
)

# --- labels ---------------------------------------------------------------------------------------------------------

VB, NN, CC, PUNCT = map(find_labels, ["verb", "noun", "cc", "punctuation"])
V = VB | {"VP"}
VERBAL = VB | {"TO", "MD"}
BARE = find_labels("NNP NN NNPS NNS NP JJ ADJP S")


class Phrases:
    """The reshaped tree as the conditions see it; `names` are the labels of a node's children."""

    __slots__ = (
        "at",
        "existential",
        "head",
        "high",
        "kids",
        "label",
        "low",
        "mask",
        "names",
        "order",
        "parent",
        "word",
    )

    def __init__(self, t: Tree) -> None:
        self.label, self.kids, self.word, self.low, self.parent = t.label, t.kids, t.word, t.low, t.parent
        n = len(t.label)
        self.mask = mask = [0] * n
        get, low = WORDS.get, t.low
        for k in t.tags:
            mask[k] = get(low[k], 0)
        self.existential = "EX" in t.label
        self.at = at = [0] * n
        self.names: list[tuple[str, ...]] = [()] * n
        self.order = order = t.phrases()
        label, kids, names = t.label, t.kids, self.names
        for node in order:
            own = kids[node]
            if len(own) == 1:
                names[node] = (label[own[0]],)
            else:
                names[node] = tuple([label[k] for k in own])
                for place, k in enumerate(own):
                    at[k] = place
        self.head = head = [-1] * n
        self.high = high = list(range(n))
        for node in order:
            own = kids[node]
            head[node] = h = own[0] if len(own) == 1 else find_head(self, node, node != 0)
            high[h] = high[node]


# --- heads ----------------------------------------------------------------------------------------------------------

NOMINAL_HEADS = (
    "> NN NNP NNPS NNS NX NML JJR WP | ( NP PRP | > $ ADJP FW CD JJ QP | > JJS DT WDT NML PRN RB RBR ADVP | ( POS"
)
VERBAL_HEADS = "( TO VBD VBN MD VBZ VB VBG VBP VP AUX AUXG ADJP JJP NN NNS JJ NP NNP"
WH_HEADS = "( WHPP WHADJP WP$ WDT"
ADJECTIVES = "> JJP JJR JJS DT RB RBR CD IN VBD | ( ADVP NP"
PREPOSITIONAL_HEADS = "( NP S SBAR SBARQ ADVP PP VP ADJP FRAG UCP PRN | )"
# "(" takes the leftmost of the first label that is there, ")" the rightmost, ">" the rightmost of any
HEADS = {
    "NP": NOMINAL_HEADS,
    "NX": NOMINAL_HEADS,
    "NML": NOMINAL_HEADS,
    "WHNP": "> NN NNP NNPS NNS NX NML JJR WP | ( WHNP NP | > $ ADJP PRN FW | ) CD | > JJ JJS RB QP | " + WH_HEADS,
    "WHADJP": "( ADJP JJ JJR WP | ) RB | )",
    "WHADVP": "> WRB WHADVP RB JJ",
    "QP": ") $ NNS NN CD JJ PDT DT IN RB NCD QP JJR JJS",
    "S": "( VP S FRAG SBAR ADJP UCP TO | ) NP",
    "SBAR": "( S SQ SINV SBAR FRAG VP WHNP WHPP WHADVP WHADJP IN DT",
    "SBARQ": "( SQ S SINV SBARQ FRAG SBAR",
    "SQ": "( VP SQ ADJP VB VBZ VBD VBP MD AUX AUXG",
    "SINV": "( VBZ VBD VBP VB MD VBN VP S SINV ADJP JJP NP",
    "UCP": "(",
    "CONJP": ") JJ RB | ( CC IN | ) VB",
    "FRAG": "( IN | ) RB | ( NP | ( ADJP ADVP FRAG S SBAR VP",
    "PRN": "( VP SQ S SINV SBAR NP ADJP PP ADVP INTJ WHNP NAC VBP JJ NN NNP",
    "XS": ") IN",
    "PP": PREPOSITIONAL_HEADS,
    "WHPP": PREPOSITIONAL_HEADS,
    "MWE": "(",
    "PCONJP": "(",
    "ADJP": "( $ | > NNS NN NNP JJ QP VBN VBG | ( ADJP | " + ADJECTIVES,
    "JJP": "( NNS NN $ QP JJ VBN VBG ADJP JJP JJR NP JJS DT FW RBR RBS SBAR RB",
    "INTJ": "> NNS NN NNP | (",
    "ADVP": "> RB RBR RBS JJ JJR JJS | > RP DT NN CD NP VBN NNP CC FW NNS ADJP NML | (",
    "LST": ") LS :",
    "NAC": "( NN NNS NML NNP NNPS NP NAC EX $ CD QP PRP VBG JJ JJS JJR ADJP JJP FW",
    "PRT": ") RP",
    "RRC": "( RRC | ) VP ADJP JJP NP PP ADVP",
    "VP": VERBAL_HEADS,
    "X": ") S VP ADJP JJP NP SBAR PP X",
    "ROOT": "( S SQ SINV SBAR FRAG",
}
STEPS = {
    label: [(step.split()[0], tuple(step.split()[1:])) for step in text.split("|")] for label, text in HEADS.items()
}
SPECIAL = find_labels("VP SQ SINV SBARQ CONJP")
HEAD_OF: dict[tuple[str, tuple[str, ...]], int] = {}  # what was found before


K = TypeVar("K")
T = TypeVar("T")


def remember(table: dict[K, T], key: K, value: T, most: int = 100_000) -> None:
    """Tables of what was found do not grow without end."""
    if len(table) < most:
        table[key] = value


def base(label: str) -> str:
    return label if label.startswith("-") else label.partition("-")[0]


def table_head(label: str, names: tuple[str, ...]) -> int:
    """Which child is the head by its label alone."""
    kids = tuple(base(name) for name in names)
    steps = STEPS.get(base(label), [("(", ())])
    found = next((at for way, wanted in steps if (at := locate(kids, way, wanted)) >= 0), -1)
    if found < 0:
        rest = range(len(kids)) if steps[-1][0] == "(" else range(len(kids) - 1, -1, -1)
        found = next((first_joined(kids, k) for k in rest if kids[k] not in PUNCT), rest[0])
    remember(HEAD_OF, (label, names), found)
    return found


def locate(kids: tuple[str, ...], way: str, wanted: tuple[str, ...]) -> int:
    n = len(kids)
    if way == ">":
        for at in range(n - 1, -1, -1):
            if kids[at] in wanted:
                return first_joined(kids, at)
        return -1
    for label in wanted:
        if label in kids:
            return first_joined(kids, kids.index(label) if way == "(" else n - 1 - kids[::-1].index(label))
    return -1


def first_joined(kids: tuple[str, ...], at: int) -> int:
    """ "a, b and c": a is the head."""
    if at < 2 or kids[at - 1] not in CC:
        return at
    skip = PUNCT if kids[at] == "UH" else PUNCT | {"UH", "INTJ"}
    new = at - 2
    while new >= 0 and kids[new] in skip:
        new -= 1
    while new >= 2:
        comma, k = False, new - 1
        while k >= 0 and kids[k] in skip:
            comma = comma or kids[k] in (",", ":")
            k -= 1
        if k < 0 or not comma:
            break
        new = k
    return new if new >= 0 else at


def find_head(g: Phrases, node: int, context: bool = True) -> int:
    """The child that is the head; `context`: what stands around the node counts, as it does but in a few conditions."""
    label, kids, names = g.label[node], g.kids[node], g.names[node]
    if len(kids) == 1:
        return kids[0]
    if label in SPECIAL:
        if label == "SBARQ":
            found = question_head(g, node)
        elif label == "CONJP":
            found = conjunction_head(g, node)
        else:
            found = verb_head(g, node, context)
        if found >= 0:
            return found
    found = HEAD_OF.get((label, names), -1)
    return kids[found if found >= 0 else table_head(label, names)]


COPULAR_HEADS = ("VP", "ADJP", "NP", "UCP", "PP", "WHADJP", "WHNP")


def verb_head(g: Phrases, node: int, context: bool) -> int:
    """An auxiliary's verb phrase, what "be" says of its subject; −1 if the table decides."""
    label, kids, mask, names = g.label, g.kids[node], g.mask, g.names[node]
    if label[node] == "SINV":
        for at, k in enumerate(kids):  # "such a good idea this was"
            if label[k] == "NP" and any(
                names[i] == "NP" and has_be_phrase(g, kids, i) for i in range(at + 1, len(kids))
            ):
                return k
    auxiliary = copula = modal = False
    for k in kids:
        tag = label[k]
        if tag in VERBAL:
            m = mask[k]
            if tag == "TO" or tag == "MD":
                auxiliary = modal = True
            elif m & AUXILIARY:
                auxiliary = True
            if m & BE:
                copula = True
    if not auxiliary and not copula and not any(mask[k] & GET for k in kids):
        return -1
    inner = None
    if auxiliary or participle_follows(g, node):
        inner = tuple(k for k in kids if not aside(g, k))
        found = locate(tuple(base(label[k]) for k in inner), "(", ("VP", "ADJP") if copula or modal else ("VP",))
        if found >= 0:
            return inner[found]
    if copula and not (context and (is_existential(g, node) or is_question(g, node))):
        inner = inner or tuple(k for k in kids if not aside(g, k))
        way = ")" if label[node] == "SQ" else "("
        found = locate(tuple(base(label[k]) for k in inner), way, COPULAR_HEADS)
        if found >= 0:
            k = inner[found]
            if label[node] == "SQ" and label[k].startswith("NP"):
                if not any(name.startswith("NP") for name in names[: g.at[k]]):
                    return -1
            return k
    return -1


def has_be_phrase(g: Phrases, kids: list[int], at: int) -> bool:
    """A verb phrase with a form of "be" comes after this place."""
    return any(
        g.label[k] == "VP" and any(g.mask[j] & BE and g.label[j] in VB for j in g.kids[k]) for k in kids[at + 1 :]
    )


def aside(g: Phrases, k: int) -> bool:
    """A time, which is never the head."""
    if g.label[k] == "VP":
        names = g.names[k]
        return "NP-TMP" in names and V.isdisjoint(names) and BARE.isdisjoint(names)
    return "-TMP" in g.label[k]


def participle_follows(g: Phrases, node: int) -> bool:
    """ "is riding", "got hit": be or get with a participle in a VP beside it."""
    auxiliary = phrase = False
    for k in g.kids[node]:
        if g.label[k] in VERBAL and g.mask[k] & PASSIVE:
            auxiliary = True
        elif g.label[k] == "VP":
            inside = False
            for j in g.kids[k]:
                if g.kids[j]:
                    inside = any(g.label[i] in ("VBN", "VBG", "VBD") for i in g.kids[j])
                elif g.label[j] in ("VBN", "VBG", "VBD") or (g.label[j] == "CC" and inside):
                    phrase = True
                    break
        if auxiliary and phrase:
            return True
    return False


def is_existential(g: Phrases, node: int) -> bool:
    if not g.existential or not node:
        return False
    above = g.parent[node]
    if g.label[node] == "VP":
        for k in g.kids[above]:
            if g.label[k] == "VP":
                return False
            if below(g, k, "EX"):
                return True
        return False
    return g.label[node] == "SQ" and any(below(g, k, "EX") for k in g.kids[above] if g.label[k] not in VB)


def below(g: Phrases, node: int, tag: str) -> bool:
    return g.label[node] == tag or any(below(g, k, tag) for k in g.kids[node])


def is_question(g: Phrases, node: int) -> bool:
    above = g.parent[node]
    return g.label[node] == "SQ" and g.label[above] == "SBARQ" and any(name.startswith("WH") for name in g.names[above])


def question_head(g: Phrases, node: int) -> int:
    """ "what is wrong": wrong; "who is he": who."""
    kids, names = g.kids[node], g.names[node]
    if "WHNP" not in names:
        return -1
    start = names.index("WHNP")
    for at in range(start + 1, len(kids)):
        if names[at] in VB and g.mask[kids[at]] & BE and "ADJP" in names[at + 1 :]:
            return kids[names.index("ADJP", at + 1)]
    for at in range(start + 1, len(kids)):
        if names[at] in VB and g.mask[kids[at]] & BE and names[at + 1 : at + 2] == ("NP",):
            return kids[start]
    return -1


def conjunction_head(g: Phrases, node: int) -> int:
    """ "and not", "but also", "and yet"."""
    kids = g.kids[node]
    for a, b in pairwise(kids):
        inner = g.kids[b][0] if g.label[b] == "ADVP" and len(g.kids[b]) == 1 else b
        if g.label[a] == "CC" and g.label[inner] == "RB":
            first, second = g.low[a], g.low[inner]
            if second == "not" and first in ("but", "and") and inner == b:
                return b
            if (first == "but" and second in ("also", "rather")) or (first == "and" and second == "yet"):
                return b
    return -1


def plain_head(g: Phrases, node: int) -> int:
    """The head as the conditions see it: without regard to what stands around the phrase."""
    if g.label[node] == "SQ" or (g.existential and g.label[node] == "VP"):
        return find_head(g, node, False)
    return g.head[node]
