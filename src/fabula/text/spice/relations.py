"""The rules that name a dependency, each a line: relation : labels of the phrase : labels of the child : condition.

The conditions are written as patterns.py says. Where several rules hold for one child, the first relation by name wins,
or its subtype. A line that begins with a blank goes on with the one before; what follows `#` is an example.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

from fabula.text.spice.labels import find_labels

# conditions that have a name
NAMED: Mapping[str, str] = {
    "to": "/VP/TO",  # to sleep
    "passive": "/verb:passive & /VP/past",
    "participle": "/participle.first | /ADVP.first>participle",
    "etc": "=FW:etc | =(ADVP NP)/FW:etc.first",
    "has_etc": "/FW:etc | /(ADVP NP)/FW:etc.first",
    "ends_in_etc": "/FW:etc.last | /(ADVP NP).last/FW:etc.first",
    "that": "/(IN DT):that.first & /S/{S}VP",  # that he sleeps
    "bare": "!/(IN WHADVP).first & !/(ADVP RB).first>(IN WHADVP) & /S/VP",  # he sleeps
    "asked": "/(WHADVP WHNP)[!<<(_ but RB* ADVP*)]/WRB[!:how] & !/S@to",  # when he sleeps
    "adverbial": "/MWE | /IN[!:that] | /SINV.only/(verb MD).first"  # because he sleeps, now that he sleeps
    """ | /IN"that" & /(RB IN)"so now" | /ADVP.first[>IN"that" & /RB"now"]""",
    "marked": '/(IN MWE).first[!:that & !>NN"order"]',
    "after_phrase": "<comma<(np VP) | <comma<(PP ADVP)<<np",  # he runs, shouting
    "adjectival": "/ADJP[/adjective & !<<(np S)]",
    "owner": '/POS | /VBZ"\'s"',
    "possessive": '%>POS | %>VBZ"\'s"',
    "in_brackets": "/open.first & /close.last",
    "bare_preposition": "/PP/IN.only",
    "stranded": "/{VP}PP/(IN TO).last",  # which he works for
    "complex": "/SBAR | @stranded | /S@to",
    "takes_object": "!/(NP TO) & !/S@to & !/PP/(IN TO).only & !/verb:be>>VP/past",
    "object": ">NP.time | >NP-TMP | !>NP & !.time",  # no time and not the first of two, or the one before a time
    "after_colon": "<<colon<<NP<<_.core",
    "second_object": "!/DT.only & !/PRP:self.only & !/noun:time & !/noun'lot'",
    "no_object": "!/SBAR & !/verb:be[!>VP] & !/{VP}NP & !/{VP}verb:be>VP/past",
    "reduced": "<<NP~CC & !/(WHPP WHNP WHADVP) & !/S.only[!@to]",  # the ball he throws
    "at": "/ADVP & /{ADVP WHADVP}ADVP/IN'*at*' & /{ADVP WHADVP}ADVP/NP",
    "adjective_clause": "=S/ADJP.only/JJ",
    "relative": "/S.only[!@to] | /{SBAR}(WHPP WHNP)",
}

ARGUMENTS = """
nsubj : S : NP WHNP : c>>VP & (c.time & c=NP & !c>>NP | !c.time & !c/EX & (!t^VP | c>>VP[!/TO]))    # he sleeps
nsubj : S : NP : c>(NP ADJP) & t^VP    # finds it good
nsubj : SQ PRN : NP : !c/EX & (c>>VP | t=SQ & (c<verb:be | c<verb & !t<<(NP WHNP) | c<RB<verb))    # does he sleep
nsubj : SQ : NP : c<<NP/EX    # is there a man
nsubj : SBARQ : WHNP : t/SQ/VP[!<<NP] | t/SQ/verb[!:be & !<<NP & !>>VP] | c>>verb:be>>ADJP~NP    # who sleeps
 | c.first & t/SQ[/verb:be & (/PP | /NP/EX)]
nsubj : SBARQ : SQ : c/verb:be & !c/VP
nsubj : SBARQ : NP : t/verb:be & t/WHNP/WP    # what is this
nsubj : SINV : NP WHNP : c.first & !c>>np | c<inverted | c<(RB ADVP)<inverted | c=NP & c<<NP & c>>VP/verb:be
nsubj : SBAR : WHNP : t/S[!/SBAR & /VP[!<<NP]] | !t/S & t/VP[!<<NP]    # who sleeps
nsubjpass : S SQ : NP WHNP : !c/EX & t/VP@passive    # he is seen
csubj : S : SBAR S : !c>comma & c>>VP[!<<NP]    # swimming takes strength
csubjpass : S : SBAR S : !c>comma & c>>VP[!<<NP & (@passive | /{VP}VP@passive)]
expl : S SQ SINV : NP : c/EX | c/NP/{NP}EX    # there
dobj : VP : NP WHNP : !t/verb:be & !t/verb:seem & c@object & !c@after_colon    # rides a horse
dobj : SQ : NP WHNP : t/verb[!:be & !<<verb & !>>verb] & !t/VP & t<<WHNP & c@object
dobj : SBARQ : WHNP : !c/WRB & !c.time & t/{SQ SINV S VP}VP[<<NP & @takes_object]    # what does he eat
 | c>>verb:be>>NP>>ADJP[!/PP[!/NP]]
dobj : SBAR : WHNP : !c/WRB & t/S[/NP]/VP[!@complex]    # which he eats
rel : SBAR : WHNP : !c/WRB & t/S[/NP]/VP@complex    # which he works for
rel : SBARQ : WHNP : !c/WRB & !c.time & t/{SQ SINV}verb:be[!>>VP]
iobj : VP : NP : c>NP[!.time] & !c/*$* & !c.time    # gives the dog a bone
 | !c/(cc comma) & c/NP[!/*$* & !>>colon]>>NP@second_object
"""

CLAUSES = """
ccomp : VP : S : !c<<NP & c/VP[!/(TO VBG VBN).first] | c/VP & c/np & t/verb:have    # watches the team lose
ccomp : VP : SBAR : c@that | c/cc & c/SBAR@that | (!c<<NP | t/verb:tell) & c@bare    # says that he sleeps
 | !c<<NP & c/S/VP & c/WHADVP.first/WRB:how
 | t/verb:ask & !c<<(SBAR S colon) & (!c<<NP | t/verb:tell) & (c@asked | c/SBAR.core@asked)
ccomp : VP : SBARQ :
ccomp : S SINV : S SBARQ : c>(comma stop quote) & !c<(cc colon) & !c<comma<cc & !c<<S[!>>cc]    # "…", he says
 & !c/VP[/(TO VBG VBN) | /VP.first@participle]
ccomp : ADVP : SBAR : c/WHNP | c/IN'as* that*' & c/S/VP[!/TO]
ccomp : ADJP : SBAR : c/S & !c/IN"as"    # sure that he sleeps
ccomp : S : SBAR : c.first & !c>VP & c/IN:that.first
ccomp : np : SBAR : t/(JJ NN NNS) & (!c/S@to | !c<<(NP NN NNP NNS))    # the idea that he sleeps
xcomp : VP : S : !c/VP | !c<NN"order" & (c@to & (!c<<NP | c<<verb:tell_to) | c/NP>(NP ADJP))    # tries to sleep
 | !c/NP & c/VP/VBG & !c@after_phrase & !c<<(colon VBG) | c<verb & c@adjectival
xcomp : ADJP : S : c/VP.first/TO.first    # ready to sleep
xcomp : VP : VP : c/(VB VBG) & c<verb.core | c<<verb:seem & !t<<verb:be
xcomp : VP : SBAR : c/S[@to & !<NN"order"] & !t^VP/VB"be"
xcomp : VP : NP WHNP : t/verb:seem & (c=NP & t<<verb:be | c@object & !c@after_colon)    # becomes a father
 | c=NP & t/verb:be.core & !t^_/NP/EX
xcomp : SINV : NP : c>>NP>>VP.head/verb:be
xcomp : VP : ADJP :
mark : VP : TO : t/VP    # to sleep
mark : SBAR : IN DT MWE : c>>(S FRAG)    # while he sleeps
 | c"that whether" & (t<<verb | t<(NP NN NNS) | t^(ADJP PP) | t^(np UCP SBAR)[/cc]<<verb)
mark : PP PP-TMP : mark : c>(S SBAR)    # by jumping
advcl : VP : SBAR : c@adverbial | c/SBAR@adverbial    # sings while she dances
 | !c<<colon & (!t/verb:ask | c<<(SBAR S) | !t/verb:tell & c<<NP) & (c@asked | c/SBAR.core@asked)
advcl : S SQ SINV : SBAR : c@marked & !c>VP & (!c<<(_ but lead) | c>comma & c>>np)
 | !t=SINV & (c@asked & !c<<colon | c/SBAR.core[@asked & !<<colon] | t=S & c>>np & c>>VP)    # when he sleeps, she …
advcl : SBARQ : SBAR : c@marked & c>comma & c>>(SQ S SBARQ)
advcl : S SINV : S : t=S & c@to & c>comma>>np    # smiling, he sleeps
 | (c/VP@participle | c/VP/VP.first@participle) & (c<comma<np | c<comma<PP & t/np | c>comma>np)
advcl : VP : S : c@after_phrase & c/VP@participle | c/VP/VBG & c<<VBG~colon    # uses a knife to cut bread
 | c<<NP & c@to & !c<<verb:tell_to
advcl : SBARQ : S : t/WHNP & c/VP/TO.first
advcl : ADVP : SBAR : t/ADVP
advcl : ADJP ADVP VP SQ S : pp : !c/nominal & !c<cc[!.first] & !c/cc & !c/(IN TO).only    # wins by jumping
 & c/(_ but *PP* *IN*) & !t@ends_in_etc
advcl : VP ADJP : PP PP-TMP : t/PP[/(SBAR S) & >>cc]
advcl : NP : SBAR : c/IN'than' & c@reduced & c/S/VP[<<np & @no_object & !/{VP}PP/(IN TO MWE).last]
acl:relcl : NP : SBAR : !c/IN'than that whether' & c@reduced & c/S/VP[<<np & @no_object & !/{VP}PP/(IN TO).last]
acl:relcl : nps : RRC : t/(NP WHNP NML DT S).head
acl:relcl : ADVP : SBAR : t/ADVP/RB"*where"
acl : nps NML NX : VP : c/(VBG VBN VBD) & c<<(np NML NX) | c<comma & c@participle    # a woman holding a cup
acl : nps NML NX : pp : !c/nominal & !c<cc[!.first] & c/(_ but *PP* *CC* *CONJP* comma) & !t@ends_in_etc
 & !c/PP/(IN RB MWE PCONJP VBN JJ).first>np
acl : np : S : c@to & c<<(NP NN NNP NNS)    # a place to sleep
acl : np : SBAR : c/S@to & c<<(NP NN NNP NNS)
"""

PHRASES = """
nmod : modified : pp : (c/nominal | c/PP/nominal) & !t@ends_in_etc    # a bird in a tree
nmod : modified : S : c/pp.only
nmod : pp : pp : !c<(IN VBG VBN TO)
nmod : S SINV : PP PP-TMP : !c/(SBAR S) & t/(VP S)    # in a tree, a bird …
nmod : SBAR SBARQ : pp : t/(S SQ)
nmod : np : UCP PRN : c/pp.head
nmod : SBARQ : WHNP : c>>VP@bare_preposition | c>>SQ/VP@bare_preposition | c>>verb:be>>NP>>ADJP@bare_preposition
prep : VP ADJP : PP : c/(IN TO).only
nmod:tmod : VP ADJP RRC NP : NP-TMP :
nmod:tmod : VP ADJP RRC : NP : c.time & !c>adjective"old"    # every day
nmod:tmod : VP ADJP RRC : VP : c/NP-TMP.core & !c<<joining & !c>>joining
nmod:tmod : PP : np : c<np<<(IN TO VBG FW) & (c=NP-TMP | c.time)
nmod:tmod : S : np : c=NP-TMP & c>>VP & t/NP | c=NP & c.time & c>>NP>>VP
nmod:tmod : SBARQ : WHNP : c.time & t/SQ/np
nummod : nps NX WHNX NML : CD QP : !c<CC    # three boats
nummod : nps NX WHNX NML : ADJP : c/QP.only[!/$]
nummod : QP : QP : t/$
amod : nps NX NML NAC INTJ : ADJP WHADJP adjective VBN VBG VBD IN : !c<CC & !c/QP[!/$]    # small boats
amod : ADJP : JJ NNP : !t/cc & (c<<(JJ NNP) | c>>(JJ NNP))
amod : nps : NP : c/CD.only & c<comma & c<<(NP* WHNP*) & !t/cc
compound : nps NX WHNX NAC WHNAC NML : NP NML noun FW AFX : !c@possessive    # kitchen table
 & (!c<comma & c>>(noun FW CD)~POS | !c=AFX & c>(JJ JJR JJS) & t/noun.head & !t@possessive)
compound : QP ADJP : CD # : !c<CC
compound : ADJP ADVP : FW IN : c>FW & (c=IN"in In" | c=FW[!'etc'])
appos : nps FRAG : NP : c<<(NP* WHNP*) & !t/cc & (c<comma & !c/CD.only & !t@has_etc    # anna, our captain
 | !t=FRAG & (c@in_brackets & !c/CD.only | c/NNP.only & c<(NP* WHNP*)[!/POS] & !t@has_etc))
appos : nps FRAG : PRN : c/NP[<<open & >close & /(NN* CD*)]
 | !t=FRAG & c@in_brackets & !c/{_}(POS WP$ PRP$ comma $ hash CC RB CD) & c/{NP}(NNP NN).short
appos : np : NNP : c<comma<NNP & !t/cc & !t@has_etc
appos : FRAG NP : SQ S : c<colon<NP/(NN NNS).only
advmod : described : adverb : !c:not & !c/FW:etc & !c@at    # then
advmod : QP : IN RB RBR RBS PDT DT JJ JJR JJS XS :
advmod : QP : MWE : c/(JJR RBR IN)'more less' & c/(JJR RBR IN)'than'    # more than
advmod : ADVP WHADVP : adverb JJ : !c:not & !c:no & !c/FW:etc & !c>>(CC* *CONJP)>>_.head & !c<<(CC* *CONJP)<<_.head
advmod : SBAR : WHNP : c/WRB
advmod : SBARQ : WHADVP : c.first
advmod : XS : JJ :
advmod : pp : adverb : !c:not & !c/FW:etc & (c>>_.head | t/nps)
advmod : CONJP : RB : !c:not
neg : VP NP NP-TMP ADJP SQ S FRAG CONJP PP : RB : c:not
neg : VP ADJP S SBAR SINV FRAG : ADVP : c/RB:not.head
neg : NP NP-TMP NAC NML NX ADJP ADVP : DT RB : c:no & c>>determined    # no shoes
neg : ADVP WHADVP : RB RBR RBS WRB JJ : c:no & !t/cc
mwe : MWE : IN TO RB NP NN JJ VB CC VBZ VBD ADVP PP JJS RBS :
det : NP NP-TMP NAC NML NX X : DT : !c:either & !c:no & !c>DT & !c>>CC    # the dog
 & (c>>determined~(PRP$* *POS*) | c>>quote>>determined~(PRP$* *POS*))
det : np : DT : c:either & !c>DT & !c>>CC & c>>named & !c>>NP/CC | !c:either & !c:no & c>>CC & c>>named
 | !c:no & !c>>CC & !c>DT & c>>JJ*[!>NN*]
det : np : NP DT RB : c.last & (c:total | c%>_:total) & t%<PRP    # we all
det : WHNP : WHNP : c/WDT & c>>NP
det : WHNP ADVP ADJP : DT WDT WP : !c:no & c>>(counted JJ*) & (!c=DT | !c>>cc)
det : np : WDT WP : c>>counted
det:predet : nps NX NAC NML : PDT DT : c>(DT WP$ PRP$) & !c>>CC & c>>named    # all the players
 | t=nps & (c>DT & c>>JJ*[!>NN*] & !t>>CC | c=PDT & t/DT.last)
nmod:poss : nps ADJP WHADJP INTJ PRN NAC NX NML : WP$ PRP$ :
nmod:poss : nominal : owner : c@owner & !t/cc>>owner | c/cc>>owner & c/owner@owner    # the girl's bike
nmod:poss : nominal NX WHNX : NN* NP* : c>>POS~(NN* NP*)"*'*"[>>NN*]
case : pp : mark : c>S/VP.first/NN.first | !c>(S SBAR)    # in a tree
case : nominal : POS :
case : ADVP : IN :
case : nominal : VBZ : c"'s"
case : pp : CC : c.first & c>NP
case : pp : VBG : c.first & !t/PP/(SBAR S)
compound:prt : VP : PRT :
compound:prt : ADJP : RP : t/verb
nmod:npmod : measured : np : c>(JJ JJR IN RB RBR).head[!"notwithstanding"] & !c/(NNP NNPS)    # ten metres high
nmod:npmod : ADJP : NN : c>>adjective & !t/cc
nmod:npmod : ADVP : np : c<<(RB* ADVP*).head
nmod:npmod : nps : NP PRP : (c=PRP:self | c/PRP:self.only) & c<<(NP noun PRP)~joining    # the king himself
nmod:npmod : np : np : c.last & c<np.first%^_"%" & c%^_"days month months"
parataxis : VP : PRN : c/(S SINV SBAR)
parataxis : S FRAG VP : S* : c<colon & !t/_.first>>cc
parataxis : S FRAG : sentence : c<<sentence[!>>(cc MWE) & !>>colon"*;*"]
parataxis : S FRAG VP : np : c<colon<<V* & !t/cc
parataxis : FRAG NP : SQ S : c<colon<NP/{_}(NNP NNPS)
discourse : _ : INTJ :
discourse : _ : PRN : c/(comma open).first>INTJ[.last | >(comma close)]
goeswith : _ : GW :
list : FRAG : NP : c<comma<NP[!>>(cc MWE)] & c>comma>NP | c<comma<<NP<comma<NP[!>>(cc MWE)]
"""

VERBS = """
aux : VP : verb MD POS : t/VP    # is singing
aux : SQ SINV : verb MD : c>>(VP ADJP)
aux : SINV : VP : c/(verb POS):be & c<<VP/VBG
auxpass : VP : verb POS : c:passive & t/(VP ADJP)[/past | /CC & /(VP ADJP)/past]    # is thrown
auxpass : SQ SINV : verb POS : c:be & c>>VP/past
auxpass : SINV : VP : c<<VP/past & (c/(verb POS):be | c/VP/(verb POS):be)
cop : VP : verb : c:be & (c>>(NP WHNP ADJP* PP* UCP*)[!/past[!>>N*]] | c>>S@adjective_clause)    # is a chef
cop : SQ SINV : verb : c:be & (c>>ADJP[!/past] | c>>NP>>NP | c>>S@adjective_clause)
cop : SBARQ : verb : c:be & t/WHNP/WP
cop : SINV : VP : c/verb:be & c<<NP<<NP.head
conj : clause : _ but aside : !c=SBAR & c<cc<<(_ but fronted MWE)    # stops and runs
 | c<ADVP<cc<<(_ but fronted)
conj : SBAR : SBAR : c<cc<<SBAR
conj : clause but RRC : content : c<aside & t/cc<<(_ but fronted)    # stops, turns, and runs
 & (c<<cc~pause<<_.core | c<<pause[!<<(CC* *CONJP)]<<_.core | c<<pause<<_.core & c/comma>>_.core)
conj : joined : _ but aside : c<cc<<(_ but opening)    # cats and dogs
 | !t=(JJP QP) & c<ADVP<cc<<(_ but opening) | c@etc & !c<ADVP<cc<<(_ but opening)
conj : joined but JJP QP : content : c<aside & (t/cc<<(_ but opening) | t@has_etc)    # eggs, milk and flour
conj : NX NML : S* A* N* V* PP* PRP* J* W* R* : c>comma & (t/_.first>>cc | t/FW:etc)
conj : joined VP S SBAR SBARQ SINV but JJP : _ but aside : c<cc<<CC | c.last & c@etc
conj : PCONJP : IN TO : c<CC    # to and from
conj : joined clause : _ : c<comma"*/*"<_.twin
cc : _ : CC : !c:either
cc : _ : CONJP : !c/RB'not'>(RB JJ):only
punct : _ : punctuation * HYPH NFP :
cc:preconj : NP NP-TMP NX NML S SBAR VP ADJP PP ADVP UCP : PDT CC DT : c:either & (c>>CC | t=(np NX NML) & t/NP/CC)
cc:preconj : NP NP-TMP NX NML S SBAR VP ADJP PP ADVP UCP : CONJP : c/RB'not' & c/(RB JJ):only & c>>cc
"""

# relation : labels of the phrase : a label that the tree must have : the path from the phrase to what depends on it
FAR = """
nsubj : S : EX : [/NP/EX]/{VP}VP/NP    # there is a man: man
nsubj : SBAR : WHNP : [!/WHNP & /S[!/NP>>VP]]^VP^S<WHNP    # who he says came: who
dobj : VP : TO : /S/(NP WHNP)[>>VP/TO]    # tells a dog to sit: dog
acl:relcl : nps NML : SBAR : [^nps & !>>_@etc & !<<nominal]>>SBAR~cc@relative    # the man who sleeps
acl:relcl : NP NML : SBAR : [^np & !>>_@etc & !<<(NP NML)]>>SBAR[/WHADVP/WRB'where* why* when*']
nmod:tmod : SBAR : WHADVP : [<<NP & !<<CC & /WHADVP/_"when" & /S/NP>VP[!/verb:be[!>VP]]]^NP    # the day when: day
neg : VP : SQ : [^SQ]<<RB:not
parataxis : VP : PRN : ^_/PRN[/(S SINV SBAR) | /VP & /np]
nmod:npmod : np ADVP QP : ADVP : [/ADVP]/{ADVP WHADVP}ADVP[/NP & /IN'*at*']    # at most
"""


def read_rules(text: str) -> list[tuple[str, frozenset[str], str, str]]:
    """Relation, labels of the phrase, and the two last columns."""
    rules = []
    for line in re.sub(r"\s{2,}#.*|\n(?= )", "", text).split("\n"):
        if not line:
            continue
        name, phrases, child, condition = f"{line} ".split(" : ")
        rules.append((name, find_labels(phrases), child, condition))
    return rules
