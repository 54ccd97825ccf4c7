"""The rules of the Stanford PTBTokenizer 3.4.1 (Manning, Grow, Grenager, Finkel, Bauer), re-stated for our scanner.

Facts only: which characters, which word lists, in which order, and what becomes of a match. The order decides between
matches of equal length. Case is ignored outside brackets and respected inside them, so `[M]iss` is the state and the
title but not the verb at a sentence's end. Odd ranges are the tool's own: they are kept because scores depend on them.
"""

from __future__ import annotations

from itertools import product

from fabula.text.ptb.scanner import Rule, unit_set

# ── characters ──────────────────────────────────────────────────────────────────────────────────────────────────────

# Letters of Unicode 6, 16-bit part: what the tool was generated with, whatever Python knows today.
LETTERS = """
    41-5a 61-7a aa b5 ba c0-d6 d8-f6 f8-2c1 2c6-2d1 2e0-2e4 2ec 2ee 370-374 376-377 37a-37d 386 388-38a 38c
    38e-3a1 3a3-3f5 3f7-481 48a-527 531-556 559 561-587 5d0-5ea 5f0-5f2 620-64a 66e-66f 671-6d3 6d5 6e5-6e6
    6ee-6ef 6fa-6fc 6ff 710 712-72f 74d-7a5 7b1 7ca-7ea 7f4-7f5 7fa 800-815 81a 824 828 840-858 8a0 8a2-8ac
    904-939 93d 950 958-961 971-977 979-97f 985-98c 98f-990 993-9a8 9aa-9b0 9b2 9b6-9b9 9bd 9ce 9dc-9dd 9df-9e1
    9f0-9f1 a05-a0a a0f-a10 a13-a28 a2a-a30 a32-a33 a35-a36 a38-a39 a59-a5c a5e a72-a74 a85-a8d a8f-a91 a93-aa8
    aaa-ab0 ab2-ab3 ab5-ab9 abd ad0 ae0-ae1 b05-b0c b0f-b10 b13-b28 b2a-b30 b32-b33 b35-b39 b3d b5c-b5d b5f-b61
    b71 b83 b85-b8a b8e-b90 b92-b95 b99-b9a b9c b9e-b9f ba3-ba4 ba8-baa bae-bb9 bd0 c05-c0c c0e-c10 c12-c28
    c2a-c33 c35-c39 c3d c58-c59 c60-c61 c85-c8c c8e-c90 c92-ca8 caa-cb3 cb5-cb9 cbd cde ce0-ce1 cf1-cf2 d05-d0c
    d0e-d10 d12-d3a d3d d4e d60-d61 d7a-d7f d85-d96 d9a-db1 db3-dbb dbd dc0-dc6 e01-e30 e32-e33 e40-e46 e81-e82
    e84 e87-e88 e8a e8d e94-e97 e99-e9f ea1-ea3 ea5 ea7 eaa-eab ead-eb0 eb2-eb3 ebd ec0-ec4 ec6 edc-edf f00
    f40-f47 f49-f6c f88-f8c 1000-102a 103f 1050-1055 105a-105d 1061 1065-1066 106e-1070 1075-1081 108e 10a0-10c5
    10c7 10cd 10d0-10fa 10fc-1248 124a-124d 1250-1256 1258 125a-125d 1260-1288 128a-128d 1290-12b0 12b2-12b5
    12b8-12be 12c0 12c2-12c5 12c8-12d6 12d8-1310 1312-1315 1318-135a 1380-138f 13a0-13f4 1401-166c 166f-167f
    1681-169a 16a0-16ea 1700-170c 170e-1711 1720-1731 1740-1751 1760-176c 176e-1770 1780-17b3 17d7 17dc 1820-1877
    1880-18a8 18aa 18b0-18f5 1900-191c 1950-196d 1970-1974 1980-19ab 19c1-19c7 1a00-1a16 1a20-1a54 1aa7 1b05-1b33
    1b45-1b4b 1b83-1ba0 1bae-1baf 1bba-1be5 1c00-1c23 1c4d-1c4f 1c5a-1c7d 1ce9-1cec 1cee-1cf1 1cf5-1cf6 1d00-1dbf
    1e00-1f15 1f18-1f1d 1f20-1f45 1f48-1f4d 1f50-1f57 1f59 1f5b 1f5d 1f5f-1f7d 1f80-1fb4 1fb6-1fbc 1fbe 1fc2-1fc4
    1fc6-1fcc 1fd0-1fd3 1fd6-1fdb 1fe0-1fec 1ff2-1ff4 1ff6-1ffc 2071 207f 2090-209c 2102 2107 210a-2113 2115
    2119-211d 2124 2126 2128 212a-212d 212f-2139 213c-213f 2145-2149 214e 2183-2184 2c00-2c2e 2c30-2c5e 2c60-2ce4
    2ceb-2cee 2cf2-2cf3 2d00-2d25 2d27 2d2d 2d30-2d67 2d6f 2d80-2d96 2da0-2da6 2da8-2dae 2db0-2db6 2db8-2dbe
    2dc0-2dc6 2dc8-2dce 2dd0-2dd6 2dd8-2dde 2e2f 3005-3006 3031-3035 303b-303c 3041-3096 309d-309f 30a1-30fa
    30fc-30ff 3105-312d 3131-318e 31a0-31ba 31f0-31ff 3400-4db5 4e00-9fcc a000-a48c a4d0-a4fd a500-a60c a610-a61f
    a62a-a62b a640-a66e a67f-a697 a6a0-a6e5 a717-a71f a722-a788 a78b-a78e a790-a793 a7a0-a7aa a7f8-a801 a803-a805
    a807-a80a a80c-a822 a840-a873 a882-a8b3 a8f2-a8f7 a8fb a90a-a925 a930-a946 a960-a97c a984-a9b2 a9cf aa00-aa28
    aa40-aa42 aa44-aa4b aa60-aa76 aa7a aa80-aaaf aab1 aab5-aab6 aab9-aabd aac0 aac2 aadb-aadd aae0-aaea aaf2-aaf4
    ab01-ab06 ab09-ab0e ab11-ab16 ab20-ab26 ab28-ab2e abc0-abe2 ac00-d7a3 d7b0-d7c6 d7cb-d7fb f900-fa6d fa70-fad9
    fb00-fb06 fb13-fb17 fb1d fb1f-fb28 fb2a-fb36 fb38-fb3c fb3e fb40-fb41 fb43-fb44 fb46-fbb1 fbd3-fd3d fd50-fd8f
    fd92-fdc7 fdf0-fdfb fe70-fe74 fe76-fefc ff21-ff3a ff41-ff5a ff66-ffbe ffc2-ffc7 ffca-ffcf ffd2-ffd7 ffda-ffdc
"""

# What counts as a letter inside a word besides: accents, vowel signs, the soft hyphen.
LETTERS_ADDED = """
    ad 237-24f 2c2-2c5 2d2-2df 2e5-37d 384-385 3cf 3f6 3fc-3ff 483-487 4cf 4f6-4ff 510-525 55a-55f 591-5bd 5bf
    5c1-5c2 5c4-5c5 5c7 615-61a 63b-63f 64b-65e 670 6d6-6ef 6fa-6ff 70f 711 730-77f 7a6-7b1 7ca-7f5 7fa 900-903
    93c 93e-94e 951-955 962-963 981-983 9bc-9c4 9c7-9c8 9cb-9cd 9d7 9e2-9e3 a01-a03 a3c a3e-a4f a81-a83 abc-acf
    b82 bbe-bc2 bc6-bc8 bca-bcd c01-c03 c3e-c56 d3e-d44 d46-d48 e30-e3a e47-e4e eb1-ebc ec8-ecd
"""

# Symbols that stand alone.
SYMBOLS = """
    25 26 2b 5c 5e 7c 7e a6-a9 ac ae-ba d7 f7 387 5be 5c0 5c3 5c6 5f3-5f4 600-603 606-60a 60c 614 61b 61e 66a 66d
    703-70d 7f6-7f8 964-965 e4f 1fbd 2016-2017 2020-2023 2030-2038 203b 203e-2042 2044 207a-207f 208a-208e
    2100-214f 2190-2bff 3012 30fb ff01-ff0f ff1a-ff20 ff3b-ff40 ff5b-ff65
"""

# Each starts ten digits.
ZEROS = """
    30 660 6f0 7c0 966 9e6 a66 ae6 b66 be6 c66 ce6 d66 e50 ed0 f20 1040 1090 17e0 1810 1946 19d0 1a80 1a90 1b50 1bb0
    1c40 1c50 a620 a8d0 a900 a9d0 aa50 abf0 ff10
"""

BLANKS = "\t \u00a0\u2000\u2001\u2002\u2003\u2004\u2005\u2006\u2007\u2008\u2009\u200a\u3000"
LINE_ENDS = "\n\u000b\u000c\r\u0085\u2028\u2029"


def digit_set() -> int:
    return sum(0x3FF << int(zero, 16) for zero in ZEROS.split())


def capital_set() -> int:
    """Upper-case units of Unicode 6: Cherokee had no case yet; Roman numerals and circled letters count."""
    upper = "".join(f" {unit:x}" for unit in range(0xFFFF) if chr(unit).isupper())
    return unit_set(upper) & (unit_set(LETTERS) & ~unit_set("13a0-13ff") | unit_set("2160-216f 24b6-24cf"))


def bracket(chars: str) -> str:
    """The bracket expression of exactly these characters."""
    return "[" + "".join(f"\\u{ord(c):04x}" for c in chars) + "]"


def other_than(chars: str) -> str:
    """The bracket expression of all other characters."""
    return bracket(chars).replace("[", "[^", 1)


def bracket_of(ranges: str) -> str:
    """The bracket expression of hexadecimal ranges."""
    ends = (item.partition("-") for item in ranges.split())
    return "[" + "".join(rf"\u{low:0>4}-\u{high or low:0>4}" for low, _, high in ends) + "]"


# ── word lists ──────────────────────────────────────────────────────────────────────────────────────────────────────


def any_of(words: str) -> str:
    return "(" + "|".join(words.split()) + ")"


def capitalise_words(words: str) -> str:
    """The words with their first letter as written and the rest in any case."""
    return "(" + "|".join(f"[{word[0]}]{word[1:]}" for word in words.split()) + ")"


# Keep their dot; at the end of a sentence a second dot is made.
CLOSING = any_of(r"""
    jan feb mar apr jun jul aug sep sept oct nov dec  mon tue tues wed thu thurs fri
    ala ariz calif colo conn ct dak fla ga ind kan kans ky md mich minn mo mont neb nev okla penn tenn va vt wis wisc
    wyo  inc co cos corp pp?t[ye]s? ltd plc rt bancorp bhd assn univ intl sys
    tel est ext sq  jr sr bros (ed|ph)\.d blvd rd esq  etc al seq bldg
""")
CLOSING_STATES = capitalise_words("Az Ark Del Ill La Mass Miss Ore Pa Tex Wash")

# Keep their dot; a capital after it does not end the sentence.
OPENING = any_of(r"""
    mr mrs ms [M]iss drs? profs? sens? reps? attys? lt col gen messrs govs? adm rev maj sgt cpl pvt capt ste? ave pres
    lieut hon brig co?mdr pfc spc supts? det mt ft adj adv asst assoc ens insp mlle mme msgr sfc
    vs alex wm jos cie a\.k\.a cf treas ph  invt elec natl m[ft]g dept
""")

# Keep their dot before a number only.
NUMBERED = any_of("ca figs? prop nos? art bldg pp op")

# An acronym's dot also ends the sentence when one of these follows.
SENTENCE_STARTS = capitalise_words(r"""
    About According Additionally After An A As At But Earlier He Her Here However If In It Last Many More Mr\. Ms\. Now
    Once One Other Our She Since So Some Such That The Their Then There These They This We When While What Yet You
""")

# Words that keep an apostrophe: any kind of it; the typewriter's; a kind that only looks like one.
WITH_ANY_APOSTROPHE = r"""
    'cause 'em 'n '[2-9]0s 'till? 'n' [dDjJlL]' dunkin' ol' somethin'
"""
WITH_PLAIN_APOSTROPHE = r"""
    'twas c'mon cont'd\.? e'er ev'ry li'l nat'l nor'easter s'mores
"""
WITH_ODD_APOSTROPHE = r"""
    o'o [A-HJ-XZn]'{letter}{2}{letter}* {letter}+[aeiouyAEIOUY]'[A-Zaeiou]{letter}*
"""

# Single tokens of the treebank; here & is also &amp; and ' any apostrophe.
OF_THE_TREEBANK = r"""
    \-(l|r)(c|r|s)b\- anti\- c'est c\.d\.s cap'n pro\- s&ls s&p\-500
"""

FILE_TYPES = any_of("""
    bat bmp c class cgi cpp dll doc docx exe gif gz h htm html jar java jpeg jpg mov mp3 pdf php pl png ppt ps py sql
    tar txt wav x xml zip
""")

# ── vocabulary ──────────────────────────────────────────────────────────────────────────────────────────────────────

BREAKS = ' "<>|\t\n\f\r'  # never part of an address
RANGE_BY_ACCIDENT = "".join(
    map(chr, range(ord(","), ord("_") + 1))
)  # the tool says ,-_ and so bars capitals and digits


def vocabulary() -> dict[str, str | int]:
    """Names the rules use; each may use those before it."""
    return {
        "any": unit_set("0-ffff"),
        "letter": unit_set(LETTERS),
        "digit": digit_set(),
        "capital": capital_set(),
        "symbol": unit_set(SYMBOLS),
        "blank": bracket(BLANKS),
        "gap": bracket(BLANKS + LINE_ENDS) + "|\r\n",
        "alnum": "{letter}|{digit}",
        # words
        "apo": r"['\u0092\u2019]",
        "apos": "{apo}|&apos;",
        "tick": r"{apo}|[`\u0091\u2018\u201b]",
        "ticks": "{tick}|&apos;",
        "vowel": "[aeiouAEIOU]",
        "wordletter": bracket_of(LETTERS + LETTERS_ADDED) + "|&{vowel}(acute|grave|uml);",
        "wordpart": "{wordletter}({wordletter}|{digit})*",
        "word": "{wordpart}([.!?]{wordpart})*",
        "file": rf"(({{wordletter}}|{{digit}})+\.)+{FILE_TYPES}",
        "stem": r"[A-Za-z\u00ad]*[A-MO-Za-mo-z]\u00ad*",  # what n't may follow: does not end in n
        "not": "n{ticks}t",
        "aux": "{apos}([msdMSD]|re|ve|ll)",
        # numbers
        "number": r"[+\-]?({digit}*([,.:\u00ad\u066b\u066c]{digit}+)+|{digit}+)",
        # markup
        "name": r"[A-Za-z][A-Za-z0-9.:_\-]*",
        "attribute": "{name}( *= *('[^']*'|\"[^\"]*\"))?",
        "opened": r"{name}( +{attribute})* *\/?",
        "declared": r"[!?][A-Za-z\-][^>\r\n]*",
        "tag": r"<({declared}|{opened}|\/{name}) *>",
        # addresses
        "url": other_than(BREAKS + "(){}") + "+",
        "urlend": other_than(BREAKS + "(){}.,!?-"),
        "page": r"\/" + other_than(BREAKS + "()") + "+{urlend}",
        "host": other_than(BREAKS + "(){}.,!?") + r"+\.",
        "barehost": other_than(BREAKS + "(){}.!?$'`" + RANGE_BY_ACCIDENT) + r"+\.",
        "mailbox": "[A-Za-z0-9]" + other_than(BREAKS + "(){}\u00a0") + "*",
        "mailhost": other_than(BREAKS + "(){}.\u00a0") + "+",
        # telephones
        "plus": r"\+{0,2}",
        "hardblank": r"[ \u00a0]",
        "between": r"{hardblank}|\-",
        "area": "[0-9]{2,4}",
        "local": "[0-9]{3,4}({between})?[0-9]{3,5}",
        # abbreviations
        "initials": r"[A-Za-z](\.[A-Za-z])+|(canada|sino|korean|eu|japan|non)\-u\.s|u\.s\.\-(u\.k|u\.s\.s\.r)",
        "acronym": "[A-Za-z]|{initials}",
        "closing": rf"({CLOSING}|{CLOSING_STATES})\.",
        "opening": rf"{OPENING}|{{acronym}}",
        "sentence": "{gap}+(" + SENTENCE_STARTS + "|{tag}){gap}",
        # things with hyphens
        "run": r"[A-Za-z0-9]+(\-[A-Za-z]+){0,2}",
        "elided": "([dDoOlL]{ticks}{alnum})?{alnum}+",
        "thing": r"{elided}([\-_\u058a\u2010\u2011]{elided})*",
        "hyphened": r"[A-Za-z0-9][A-Za-z0-9.,\u00ad]*(\-([A-Za-z0-9\u00ad]+|({initials})\.))+",
        "joined": "[A-Z]+(([+&]|&amp;)[A-Z]+)+",
        # punctuation
        "comma": r"[,;:\u3001]",
        "eye": r"[<=>\^x~]",
        "cheek": "{eye}|'",
        "side": r"{cheek}|\-",
    }


# ── what becomes of a match ─────────────────────────────────────────────────────────────────────────────────────────

NO_SOFT_HYPHEN = (("\u00ad", ""),)
HARD_BLANKS = ((" ", "\u00a0"),)
ROUND = (("(", "-LRB-"), (")", "-RRB-"))
AMPERSAND = tuple(("&" + "".join(letters) + ";", "&") for letters in product("aA", "mM", "pP"))
FRACTIONS = (("¼", "1/4"), ("½", "1/2"), ("¾", "3/4"), ("⅓", "1/3"), ("⅔", "2/3"))
MONEY = (("¢", "cents"), ("£", "#"), ("\u0080", "$"), ("¤", "$"), ("\u20a0", "$"), ("€", "$"))
# U+0091 to U+0094 are Windows quotes that slipped through a decoder.
CURLED = (
    *((c, "`") for c in "\u0091\u2018\u201b\u2039"),
    *((c, "'") for c in "\u0092\u2019\u203a"),
    *((c, "``") for c in "\u0093\u201c\u00ab"),
    *((c, "''") for c in "\u0094\u201d\u00bb"),
)
OPEN_QUOTE = (("&apos;", "`"), ("'", "`"), ('"', "``"), ("&quot;", "``"), *CURLED)
CLOSE_QUOTE = (("&apos;", "'"), ('"', "''"), ("&quot;", "''"), *CURLED)

# ── the rules, in order ─────────────────────────────────────────────────────────────────────────────────────────────


def word_rule(pattern: str, ahead: str = "") -> Rule:
    return Rule(pattern, ahead, edits=NO_SOFT_HYPHEN, empty="-")


def contraction_rules() -> list[Rule]:
    """A word before 's, 're, n't …; one rule for each length of what follows."""
    tails = [apo + ending for apo, ending in product(("{apo}", "&apos;"), ("[msdMSD]", "(re|ve|ll)"))]
    negations = [word_rule("{stem}", "n({tick})t"), word_rule("{stem}", "n&apos;t")]
    return [*(word_rule("{word}", tail) for tail in tails), *negations]


SPLIT = [  # one word to the eye, two tokens
    Rule("cannot|'twas", cut=3),
    Rule("'tis|gimme|gonna|gotta|lemme|wanna", cut=2),
    Rule("c\\+\\+|[CFcf]#"),
]
MARKUP = [
    Rule("{tag}", edits=HARD_BLANKS),
    Rule(r"&(md|mdash|ndash);|[\u0096\u0097\u2013\u2014\u2015]", whole="--"),
    Rule("&amp;", edits=AMPERSAND),
    Rule("&(ht|tl|ur|lr|qc|ql|qr|odq|cdq|#[0-9]+);"),
]
APOSTROPHES = [
    Rule(
        any_of(WITH_ANY_APOSTROPHE.replace("'", "({apos})"))
        + "|"
        + any_of(WITH_PLAIN_APOSTROPHE)
        + "|"
        + any_of(WITH_ODD_APOSTROPHE.replace("'", "({ticks})"))
    ),
    Rule("y{apos}", "{letter}"),
]
ADDRESSES = [
    Rule(r"https?:\/\/{url}{urlend}"),
    Rule(r"(www\.({host})+[A-Za-z]{2,4}|({barehost})+(com|edu|net|org))({page})?"),
    Rule(r"(<|&lt;)?{mailbox}@({mailhost}\.)*{mailhost}(>|&gt;)?"),
    Rule("@[A-Za-z_][A-Za-z0-9_]*|#({wordletter})+"),
]
NUMBERS = [
    Rule(r"{digit}{1,2}[\-\/]{digit}{1,2}[\-\/]{digit}{2,4}"),
    word_rule("{number}"),
    Rule(r"[\u207a\u207b\u208a\u208b]?([\u2070\u00b9\u00b2\u00b3\u2074-\u2079]+|[\u2080-\u2089]+)"),
    Rule(r"({digit}{1,4}[\- \u00a0])?{digit}{1,4}(\\?\/|\u2044){digit}{1,4}", edits=HARD_BLANKS),
    Rule(r"[\u00bc\u00bd\u00be\u2153-\u215e]", edits=FRACTIONS),
    Rule(any_of(OF_THE_TREEBANK.replace("&", "(&|&amp;)").replace("'", "({apos})")), edits=AMPERSAND),
    Rule(r"{run}(\\?\/{run}){1,2}"),
    Rule(r"[A-Z]*$|#"),
    Rule(r"[\u00a2-\u00a5\u0080\u20a0\u20ac\u060b\u0e3f\u20a4\uffe0\uffe1\uffe5\uffe6]", edits=MONEY),
]
ABBREVIATIONS = [
    Rule(r"[A-Za-z]\.", "{sentence}", cut=1),
    Rule(r"({acronym})\.", "{sentence}", again=1),
    Rule(rf"{NUMBERED}\.", "{digit}"),
    Rule(rf"{NUMBERED}\.", "({gap}){digit}"),
    Rule(r"(pt[eyEY]|co)\.", "{blank}(ltd|lim)"),
    Rule("{closing}", "({gap})({gap}|{capital}|{tag})", again=1),
    Rule("{closing}", "{any}{any}"),
    Rule("{closing}", again=1),
    Rule(r"({opening})\."),
    Rule("{opening}", "{blank}"),
    Rule("{acronym}", "{gap}"),
    Rule("{apos}[0-9][0-9]", "{gap}"),
    Rule("{file}", "{gap}"),
    Rule("{file}", "[.,!?]"),
    word_rule(r"{word}\.", "{comma}"),
]
PHONE = Rule(
    r"\([0-9]{2,3}\){hardblank}?{local}"
    r"|{plus}{area}({between})({area}({between}))?{local}"
    r"|({plus}{area}\.)?{area}\.[0-9]{3,4}\.[0-9]{3,5}",
    edits=HARD_BLANKS + ROUND,
)
BRACKETS_AND_FACES = [
    Rule('"|&quot;', "[A-Za-z0-9$]", edits=OPEN_QUOTE),
    Rule('"|&quot;', edits=CLOSE_QUOTE),
    Rule(r"\u007f", kind="skip"),
    Rule("<|&lt;", whole="<"),
    Rule(">|&gt;", whole=">"),
    Rule(r"[<>]?[:;=]['*o\-]?[()\[\]{@DOPdp\\|]", "[^A-Za-z0-9]", edits=ROUND),
    Rule(
        r"({side})_({side})|\(({side})[._]?({side})\)|\(({cheek})\-({cheek}|`)\)"
        r"|{eye}\.\[\^x=[^<]*<>\]",  # the tool meant a class and wrote this
        edits=ROUND,
    ),
    Rule("\\{", whole="-LCB-"),
    Rule("}", whole="-RCB-"),
    Rule("\\[", whole="-LSB-"),
    Rule("]", whole="-RSB-"),
    Rule("\\(", whole="-LRB-"),
    Rule("\\)", whole="-RRB-"),
]
PUNCTUATION = [
    Rule("\\-{3,4}", whole="--"),
    Rule("\\-+"),
    Rule(r"\.{3,5}|(\.[ \u00a0]){2,4}\.|[\u0085\u2026]", whole="..."),
    Rule(r"@+|#+|_+|\*+|(\\\*){1,3}"),
    Rule("{comma}"),
    Rule("[?!]+"),
    Rule(r"[.\u00a1\u00bf\u037e\u0589\u061f\u06d4\u0700-\u0702\u07fa\u3002]"),
    Rule("="),
    Rule("\\/"),
]
THINGS = [
    word_rule(r"{hyphened}\.", "{comma}"),
    word_rule("{hyphened}"),
    Rule(r"{thing}\.", "{comma}"),
    Rule("{thing}"),
    Rule(r"{joined}\.", "{comma}", edits=AMPERSAND),
    Rule("{joined}", edits=AMPERSAND),
]
REST = [
    Rule("'", r"[A-Za-z][^ \t\n\r\u00a0]", edits=OPEN_QUOTE),
    Rule("{aux}|{not}", edits=CLOSE_QUOTE),
    Rule(
        r"{apos}|''|[`\u2018\u2019\u201a-\u201f\u0091-\u0094\u2039\u203a\u00ab\u00bb]{1,2}",
        edits=CLOSE_QUOTE,
    ),
    Rule("<<|>>"),
    Rule("{symbol}"),
    Rule(r"\u0000|({blank})+|[\u200b\u200e\u200f\ufeff]|&nbsp;", kind="skip"),
    Rule("\r\n|" + bracket(LINE_ENDS), kind="line"),
    Rule("{any}", kind="skip"),  # no rule knows the character: it vanishes
]

RULES: list[Rule] = [
    *SPLIT,
    *MARKUP,
    *contraction_rules(),
    word_rule("{word}"),
    *APOSTROPHES,
    *ADDRESSES,
    Rule("{aux}|{not}", "[^A-Za-z]", edits=CLOSE_QUOTE),
    *NUMBERS,
    *ABBREVIATIONS,
    PHONE,
    *BRACKETS_AND_FACES,
    *PUNCTUATION,
    *THINGS,
    *REST,
]
