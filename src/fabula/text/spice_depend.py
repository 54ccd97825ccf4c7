"""A phrase-structure tree → basic dependencies (Universal Dependencies 1, as CoreNLP 3.6 makes them for SPICE).

    (S (NP (DT a) (NN man)) (VP (VBZ rides) (NP (NN horse))))  →  rides →nsubj man, man →det a, rides →dobj horse

Every phrase has a child that is its head: a table says which labels are preferred (HEADS), and auxiliaries and "be"
give way to what they go with. Every other child then depends on that head. By which relation is looked up by the labels of
the phrase and of the child (RULES), most often under a condition on what stands around or below. Where several hold, the
first by name wins, or its subtype; where none does, it is `dep`. A few relations reach further than to a child (FAR).

The words of a relation's conditions are bits: `mask[k] & BE`. Lists of numbers and strings throughout; what depends
on labels alone is remembered between sentences.
"""

# ruff: noqa: SIM905  (word lists read better as text)
from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import TypeVar

from fabula.text.spice_graph import table_size
from fabula.text.spice_lemma import lemma
from fabula.text.spice_reshape import Tree, labels, reshape

# --- words ----------------------------------------------------------------------------------------------------------

BE, GET, AUXILIARY, TIME, SEEM, HAVE, SELF, TELL_TO, ASK, TELL, NOT, NO, THAT, EITHER, ETC, HOW, ONLY, MARK, TOTAL = (
    1 << k for k in range(19)
)
PASSIVE = BE | GET
OBJECT_TO = (
    "advise advises advised advising allow allows allowed allowing ask asks asked asking beg begs begged begging convice "
    "convinces convinced convincing demand demands demanded demanding desire desires desired desiring expect expects "
    "expected expecting encourage encourages encouraged encouraging force forces forced forcing implore implores implored "
    "imploring lobby lobbies lobbied lobbying order orders ordered ordering persuade persuades persuaded persuading "
    "pressure pressures pressured pressuring prompt prompts prompted prompting require requires required requiring tell "
    "tells told telling urge urges urged urging"
)
TIMES = " ".join(
    f"{word} {word}s" for word in "monday tuesday wednesday thursday friday saturday sunday year month week day".split()
)
TIMES += (
    " morning mornings evening evenings night nights january jan. february feb. march mar. april apr. may june july "
    "august aug. september sept. october oct. november nov. december dec. today yesterday tomorrow spring summer fall "
    "autumn winter"
)
WORDS: dict[str, int] = {}
for _bit, _words in (
    (BE, "be being been am are r is ai was were 'm m 're 's s `s art ar wase"),
    (GET, "get getting gets got gotten"),
    (
        AUXILIARY,
        "will wo shall sha may might should would can could ca must 'll ll -ll cold has have had having 've ve v of hav "
        "hvae as get gets getting got gotten do does did 'd d du to 2 na a ot ta the too",
    ),
    (TIME, TIMES),
    (
        SEEM,
        "seem seems seemed seeming resemble resembles resembled resembling become becomes became becoming remain remains "
        "remained remaining",
    ),
    (HAVE, "have had has having 've ve v 'd d hvae hav as"),
    (SELF, "myself yourself himself herself itself ourselves yourselves themselves"),
    (TELL_TO, OBJECT_TO),
    (
        ASK,
        "ask asks asked asking know knows knew knowing specify specifies specified specifying tell tells told telling "
        "understand understands understood understanding wonder wonders wondered wondering",
    ),
    (TELL, "tell tells told telling"),
    (NOT, "not n't nt never"),
    (NO, "no"),
    (THAT, "that whether"),
    (EITHER, "either neither both"),
    (ETC, "etc ect"),
    (HOW, "how"),
    (ONLY, "only just merely"),
    (TOTAL, "all both each"),
):
    for _word in _words.split():
        WORDS[_word] = WORDS.get(_word, 0) | _bit

CONTROL = frozenset(
    "acquiesce submit bow defer accede succumb yield capitulate despise disdain dislike regret like love enjoy fear hate "
    "pledge proceed begin start commence recommence resume undertake ally collaborate collude conspire discriminate "
    "legislate partner protest rebel retaliate scheme sin befriend continue broadcast cable e-mail fax modem netmail "
    "phone radio relay satellite semaphore sign signal telecast telegraph telephone telex wire wireless ache crave fall "
    "hanker hope hunger itch long lust pine pray thirst wish yearn dangle babble bark bawl bellow bleat blubber boom "
    "bray burble bluster cackle call carol chant chatter chirp chortle chuckle cluck coo croak croon crow cry drawl "
    "drone gabble gasp gibber groan growl grumble grunt hiss holler hoot howl jabber keen lilt lisp mewl moan mumble "
    "murmur mutter nasal natter pant prattle purr quaver rage rant rasp roar rumble scream screech shout shriek "
    "sibilate simper sigh sing smatter smile snap snarl snivel snuffle splutter squall squawk squeak squeal stammer "
    "stemmer stutter thunder tisk trill trumpet twang twitter vociferate wail warble wheeze whimper whine whisper "
    "whistle witter whoop yammer yap yell yelp yodel blare gurgle hum neglect fail forego forgo flub overleap manage "
    "omit seem appear prove try attempt intend expect mean plan propose think aim dream imagine yen".split()
)

# --- labels ---------------------------------------------------------------------------------------------------------

VB = labels("VB VBD VBG VBN VBP VBZ AUX AUXG")
V = VB | labels("VP")
VERBAL = VB | labels("TO MD")
NN = labels("NN NNS NNP NNPS")
JJS = labels("JJ JJR JJS JJP")
NP = labels("NP NP-TMP")
NPS = NP | labels("WHNP")
PP = labels("PP PP-TMP WHPP WHPP-TMP")
CC = labels("CC CONJP")
RBS = labels("RB RBR RBS WRB ADVP WHADVP")
TO = labels("TO")
PAST = labels("VBN VBD")
ING = labels("VBG VBN")
NOMINAL = NP | labels("WHNP NML")
PUNCT = labels(", : . '' `` -LRB- -RRB-")
STOP = PUNCT | labels("PRN")
CLAUSES = labels("VP S SBAR SBARQ SINV SQ RRC")
NONE: frozenset[str] = frozenset()


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
                place = 0
                for k in own:
                    at[k] = place
                    place += 1
        self.head = head = [-1] * n
        self.high = high = list(range(n))
        for node in order:
            own = kids[node]
            head[node] = h = own[0] if len(own) == 1 else find_head(self, node, node != 0)
            high[h] = high[node]


Condition = Callable[[Phrases, int, int], bool]  # the tree, a phrase, its child

# --- heads ----------------------------------------------------------------------------------------------------------

LEFT, RIGHT, ANY_LEFT, ANY_RIGHT = range(4)  # by label in turn, or any of the labels
NOMINAL_HEADS = (
    "> NN NNP NNPS NNS NX NML JJR WP | ( NP PRP | > $ ADJP FW CD JJ QP | > JJS DT WDT NML PRN RB RBR ADVP | ( POS"
)
VERBAL_HEADS = "( TO VBD VBN MD VBZ VB VBG VBP VP AUX AUXG ADJP JJP NN NNS JJ NP NNP"
ADJECTIVES = "> JJP JJR JJS DT RB RBR CD IN VBD | ( ADVP NP"
PREPOSITIONAL_HEADS = "( NP S SBAR SBARQ ADVP PP VP ADJP FRAG UCP PRN | )"
# "(" takes the leftmost of the first label that is there, ")" the rightmost, ">" the rightmost of any
HEADS = {
    "NP": NOMINAL_HEADS,
    "NX": NOMINAL_HEADS,
    "NML": NOMINAL_HEADS,
    "WHNP": "> NN NNP NNPS NNS NX NML JJR WP | ( WHNP NP | > $ ADJP PRN FW | ) CD | > JJ JJS RB QP | ( WHPP WHADJP WP$ WDT",
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
SPECIAL = labels("VP SQ SINV SBARQ CONJP")
HEAD_OF: dict[tuple[str, tuple[str, ...]], int] = {}  # what was found before


K = TypeVar("K")
T = TypeVar("T")


def remember(table: dict[K, T], key: K, value: T) -> None:
    """Tables of what was found do not grow without end."""
    if len(table) < 100_000:
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
    some = None
    if auxiliary or participle_follows(g, node):
        some = tuple(k for k in kids if not aside(g, k))
        found = locate(tuple(base(label[k]) for k in some), "(", ("VP", "ADJP") if copula or modal else ("VP",))
        if found >= 0:
            return some[found]
    if copula and not (context and (is_existential(g, node) or is_question(g, node))):
        some = some or tuple(k for k in kids if not aside(g, k))
        way = ")" if label[node] == "SQ" else "("
        found = locate(tuple(base(label[k]) for k in some), way, COPULAR_HEADS)
        if found >= 0:
            k = some[found]
            if label[node] == "SQ" and label[k].startswith("NP"):
                if not any(name.startswith("NP") for name in names[: g.at[k]]):
                    return -1
            return k
    return -1


def has_be_phrase(g: Phrases, kids: list[int], at: int) -> bool:
    return any(g.label[k] == "VP" and word(g, k, VB, BE) for k in kids[at + 1 :])


def aside(g: Phrases, k: int) -> bool:
    """A time, which is never the head."""
    if g.label[k] == "VP":
        names = g.names[k]
        return "NP-TMP" in names and V.isdisjoint(names) and labels("NNP NN NNPS NNS NP JJ ADJP S").isdisjoint(names)
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
    for a, b in zip(kids, kids[1:], strict=False):
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


# --- what conditions ask --------------------------------------------------------------------------------------------


def has(g: Phrases, node: int, wanted: frozenset[str]) -> bool:
    return not wanted.isdisjoint(g.names[node])


def inner(g: Phrases, node: int, wanted: frozenset[str], below: frozenset[str]) -> bool:
    """A child of these labels that has a child of those."""
    for k in g.kids[node]:
        if g.label[k] in wanted and not below.isdisjoint(g.names[k]):
            return True
    return False


def word(g: Phrases, node: int, tags: frozenset[str], bits: int) -> bool:
    """A child with one of the tags whose word has one of the bits."""
    for k in g.kids[node]:
        if g.mask[k] & bits and g.label[k] in tags:
            return True
    return False


def before(g: Phrases, t: int, c: int, wanted: frozenset[str]) -> bool:
    """A sister of these labels to the left, at any distance."""
    return not wanted.isdisjoint(g.names[t][: g.at[c]])


def after(g: Phrases, t: int, c: int, wanted: frozenset[str]) -> bool:
    return not wanted.isdisjoint(g.names[t][g.at[c] + 1 :])


def previous(g: Phrases, t: int, c: int) -> str:
    at = g.at[c]
    return g.names[t][at - 1] if at else ""


def following(g: Phrases, t: int, c: int) -> str:
    at = g.at[c] + 1
    return g.names[t][at] if at < len(g.names[t]) else ""


def first(g: Phrases, node: int) -> int:
    return g.kids[node][0] if g.kids[node] else -1


def only(g: Phrases, node: int) -> int:
    """The only child, or −1."""
    return g.kids[node][0] if len(g.kids[node]) == 1 else -1


def is_time(g: Phrases, node: int) -> bool:
    """A phrase whose head is a noun of time."""
    h = g.head[node]
    return h >= 0 and bool(g.mask[h] & TIME) and g.label[h] in NN


S_, VP_, NP_, SBAR_, WHNP_, IN_, PP_, ADJP_, ADVP_, QP_ = map(labels, "S VP NP SBAR WHNP IN PP ADJP ADVP QP".split())
EX_, WRB_, VBG_ = map(labels, "EX WRB VBG".split())


def to_clause(g: Phrases, s: int) -> bool:
    """S over a VP with "to"."""
    return inner(g, s, VP_, TO)


def over_to_clause(g: Phrases, sbar: int) -> bool:
    return any(g.label[k] == "S" and to_clause(g, k) for k in g.kids[sbar])


def chain(g: Phrases, node: int, through: frozenset[str]) -> Iterator[int]:
    """Children, and children of children by way of these labels."""
    for k in g.kids[node]:
        yield k
        if g.label[k] in through:
            yield from chain(g, k, through)


def stranded(g: Phrases, vp: int) -> bool:
    """A preposition without a noun at the end of a PP somewhere in the verb phrases: "which he works for"."""
    return any(g.label[k] == "PP" and g.names[k] and g.names[k][-1] in ("IN", "TO") for k in chain(g, vp, VP_))


def is_etc(g: Phrases, k: int) -> bool:
    """ "etc", or a phrase that starts with it."""
    if g.label[k] == "FW":
        return bool(g.mask[k] & ETC)
    return g.label[k] in ("ADVP", "NP") and g.names[k][:1] == ("FW",) and bool(g.mask[g.kids[k][0]] & ETC)


def ends_in_etc(g: Phrases, t: int) -> bool:
    return "FW" in g.label and is_etc(g, g.kids[t][-1])


def has_etc(g: Phrases, t: int) -> bool:
    return "FW" in g.label and any(is_etc(g, k) for k in g.kids[t])


def right_edge(g: Phrases, node: int) -> Iterator[int]:
    while g.kids[node]:
        node = g.kids[node][-1]
        yield node


def ends_possessive(g: Phrases, node: int) -> bool:
    return any(g.label[k] == "POS" or (g.label[k] == "VBZ" and g.word[k] == "'s") for k in right_edge(g, node))


def participle_first(g: Phrases, vp: int) -> bool:
    """It begins with a participle, or with a participle after an adverb."""
    names = g.names[vp]
    return names[:1] != () and (names[0] in ING or (names[1:2] != () and names[1] in ING and names[0] == "ADVP"))


def yes(g: Phrases, t: int, c: int) -> bool:
    return True


# --- relations ------------------------------------------------------------------------------------------------------

RULES: list[tuple[str, frozenset[str] | None, Callable[[str], bool] | frozenset[str], Condition]] = []
Labels = str | frozenset[str]


def rule(name: str, of: Labels | None, child: Labels | Callable[[str], bool]) -> Callable[[Condition], Condition]:
    """The relation to a child of these labels of a phrase of those labels (None: of any)."""

    def register(condition: Condition) -> Condition:
        RULES.append(
            (
                name,
                labels(of) if isinstance(of, str) else of,
                labels(child) if isinstance(child, str) else child,
                condition,
            )
        )
        return condition

    return register


def always(name: str, of: Labels | None, child: Labels | Callable[[str], bool]) -> None:
    rule(name, of, child)(yes)


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

CONTENT = tuple("A N V PP PRP J W R".split())


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
    for last in right_edge(g, c):
        pass
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
def listed(g: Phrases, t: int, c: int) -> bool:
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


# relations to something other than a child: the phrase, where to look

Far = Callable[[Phrases, int], list[int]]
FAR: list[tuple[str, str, frozenset[str], Far]] = []
SEARCHES: dict[frozenset[str], dict[str, list[tuple[str, Far]]]] = {}


def far(name: str, of: str, needs: str) -> Callable[[Far], Far]:
    """From phrases of these labels, in a tree that has the label `needs` somewhere."""

    def register(find: Far) -> Far:
        FAR.append((name, needs, labels(of), find))
        return find

    return register


def searches_for(g: Phrases) -> dict[str, list[tuple[str, Far]]]:
    """By label: what is worth looking for in this tree."""
    have = NEEDED.intersection(g.label)
    found = SEARCHES.get(have)
    if found is None:
        SEARCHES[have] = found = {}
        for name, needs, of, find in FAR:
            if needs in have:
                for label in of:
                    found.setdefault(label, []).append((name, find))
    return found


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


NEEDED = frozenset(needs for _, needs, _, _ in FAR)

# --- from rules to dependencies -------------------------------------------------------------------------------------

SUBTYPES = {
    "aux": ("auxpass", "cop"),
    "nsubj": ("nsubjpass",),
    "csubj": ("csubjpass",),
    "nmod": ("nmod:tmod",),
    "advmod": ("neg",),
}
JOINING = CC | labels(",")  # without one of these among the children, or "etc", there is no conj
Found = tuple[tuple[str, Condition, tuple[tuple[str, Condition], ...]], ...]
BY_LABELS: dict[tuple[str, bool], dict[str, Found]] = {}  # phrase and whether it joins, then child


def rules_for(of: str, joins: bool, child: str) -> Found:
    """(relation, condition, subtypes with theirs), in the order in which they count."""
    some = [
        (name, condition)
        for name, ofs, children, condition in RULES
        if (ofs is None or of in ofs)
        and (child in children if isinstance(children, frozenset) else children(child))
        and (joins or name != "conj")
    ]
    some.sort(key=lambda pair: pair[0])
    return tuple(
        (name, condition, tuple(pair for pair in some if pair[0] in SUBTYPES.get(name, ())))
        for name, condition in some
    )


def relation(g: Phrases, t: int, c: int, rules: Found) -> str:
    for name, condition, subtypes in rules:
        if condition is yes or condition(g, t, c):
            for sub, narrower in subtypes:
                if narrower is yes or narrower(g, t, c):
                    return sub
            return name
    return ""


def stronger(a: str, b: str) -> str:
    """Of two relations that both hold."""
    a, b = sorted((a, b))
    return b if not a or b in SUBTYPES.get(a, ()) else a


def depend(
    label: Sequence[str], parent: Sequence[int], words: Sequence[str], sentence: int = 0
) -> tuple[list[int], list[str]]:
    """Heads (1 … n, 0 for the root) and relations of the words; the tree as in spice_reshape.

    `sentence`: which one of its caption, from 0. It moves the places in the original's hash tables.
    """
    tree = Tree(label, parent, words)
    tags = [tree.label[k] for k in tree.tags]
    reshape(tree)
    g = Phrases(tree)
    governor, name = attach(g)
    place = [0] * len(g.label)
    for at, k in enumerate(tree.tags):
        place[k] = at + 1
    for node in reversed(g.order):
        place[node] = place[g.head[node]]
    heads, names = [0] * len(words), ["dep"] * len(words)
    for node, above in governor.items():
        heads[place[node] - 1] = place[above]
        names[place[node] - 1] = name[node]
    names[place[0] - 1] = "root"
    correct(heads, names, words, tags, 29 * sentence)
    return heads, names


def attach(g: Phrases) -> tuple[dict[int, int], dict[int, str]]:
    """Who governs each phrase that is not the head of another, and how."""
    label, kids, head, high, names_of = g.label, g.kids, g.head, g.high, g.names
    governor: dict[int, int] = {}
    names: dict[int, str] = {}
    crossed = False
    searching = searches_for(g).get
    foreign = "FW" in label
    for t in g.order:
        up = high[t]
        searches = searching(label[t])
        if searches is not None:
            for name, find in searches:
                for node in find(g, t):
                    u = high[node]
                    if u == up or governor.get(u, up) != up or governs(governor, u, up):
                        continue
                    names[u] = stronger(names[u], name) if u in governor else name
                    governor[u] = up
                    crossed = crossed or g.parent[node] == g.parent[t] or g.parent[t] == node or node < t
        own = kids[t]
        if len(own) > 1:
            h = head[t]
            key = label[t], foreign or not JOINING.isdisjoint(names_of[t])
            rules_of = BY_LABELS.get(key)
            if rules_of is None:
                BY_LABELS[key] = rules_of = {}
            for c in own:
                if c == h:
                    continue
                known = governor.get(c)
                if known is not None and known != up:
                    continue
                rules = rules_of.get(label[c])
                if rules is None:
                    rules_of[label[c]] = rules = rules_for(*key, label[c])
                found = relation(g, t, c, rules)
                if found and not (crossed and governs(governor, c, up)):
                    names[c] = found if known is None else stronger(names[c], found)
                    governor[c] = up
    attach_rest(g, governor, names)
    return governor, names


def governs(governor: dict[int, int], node: int, other: int) -> bool:
    while other in governor:
        other = governor[other]
        if other == node:
            return True
    return False


def attach_rest(g: Phrases, governor: dict[int, int], names: dict[int, str]) -> None:
    """What no relation reached depends on the head above it by `dep`."""
    for t in g.order:
        own = g.kids[t]
        if len(own) > 1:
            for c in own:
                if c != g.head[t] and c not in governor:
                    governor[c] = g.high[t]
                    names[c] = "dep"


def correct(heads: list[int], names: list[str], words: Sequence[str], tags: Sequence[str], shift: int) -> None:
    """Question words that belong to a verb further down, stranded prepositions, subjects of passives."""
    if "xcomp" in names and any(tag.startswith("W") for tag in tags):
        move_question_word(heads, names, words, tags, shift)
    if "prep" in names or "rel" in names:
        place_prepositions(heads, names, shift)
    if "auxpass" in names:
        passive = {heads[k] for k, name in enumerate(names) if name == "auxpass"}
        for k, name in enumerate(names):
            if name in ("nsubj", "csubj") and heads[k] in passive:
                names[k] = name + "pass"


def kids_of(heads: list[int], verb: int, shift: int) -> list[int]:
    """The children of a word in the order of the original's hash table, which decides between several."""
    kids = [k for k, head in enumerate(heads) if head == verb]
    size = table_size(len(kids)) - 1
    return sorted(kids, key=lambda k: ((k + 1 + shift) & size, k))


def move_question_word(
    heads: list[int], names: list[str], words: Sequence[str], tags: Sequence[str], shift: int
) -> None:
    """ "what he wants to eat": eat →dobj what."""
    old, was = list(heads), list(names)
    for verb in {heads[k] for k, name in enumerate(names) if name == "xcomp"}:
        kids = kids_of(old, verb, shift)
        inside = next(k for k in kids if was[k] == "xcomp")
        question = next((k for k in kids if was[k] in ("dep", "dobj")), -1)
        if question < 0 or not tags[question].startswith("W"):
            continue
        other = any(was[k] in ("dobj", "iobj") for k in kids)
        if other or lemma(words[verb - 1], tags[verb - 1]).lower() in CONTROL:
            heads[question], names[question] = inside + 1, "dobj"


def place_prepositions(heads: list[int], names: list[str], shift: int) -> None:
    """ "the man he works for": the preposition belongs to what stands before."""
    for verb in sorted({heads[k] for k, name in enumerate(names) if name == "prep"}):
        kids = kids_of(heads, verb, shift)
        for prep in [k for k in kids if names[k] == "prep"]:
            names[prep] = "nmod"
            for k in kids:
                if k < prep and heads[k] == verb and names[k] in ("nmod", "rel"):
                    heads[prep], names[prep], names[k] = k + 1, "case", "nmod"
                    break
    for k, name in enumerate(names):
        if name == "rel":
            names[k] = "dobj"


# --- brackets -------------------------------------------------------------------------------------------------------


def read(text: str) -> tuple[list[str], list[int], list[str]]:
    """Labels, parents and words of a tree in brackets: (ROOT (NP (DT a) (NN man)))."""
    label: list[str] = []
    parent: list[int] = []
    words: list[str] = []
    open_: list[int] = []
    for token in text.replace("(", " ( ").replace(")", " ) ").split():
        if token == "(":
            parent.append(open_[-1] if open_ else 0)
            open_.append(len(label))
            label.append("")
        elif token == ")":
            open_.pop()
        elif label[open_[-1]]:
            words.append(token)
        else:
            label[open_[-1]] = token
    return label, parent, words
