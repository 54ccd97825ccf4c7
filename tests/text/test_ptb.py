"""The tokens of Stanford's PTBTokenizer 3.4.1: examples to check by eye, the tool's own lines, two engines."""

from __future__ import annotations

import gzip
import json
import random
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fabula import _kernels
from fabula.core import cachefile
from fabula.core.errors import FabulaError, InputError
from fabula.text import ptb

ENGINES = [
    "python",
    pytest.param("native", marks=pytest.mark.skipif(not _kernels.NATIVE, reason="no compiled kernels")),
]


@pytest.fixture(params=ENGINES)
def kernels(request: pytest.FixtureRequest) -> Iterator[str]:
    with _kernels.using(request.param):
        yield request.param


def shared(name: str) -> Path:
    """A file of the data directory beside the project; the test is skipped where there is none."""
    path = Path(__file__).parents[3] / "shared" / "data" / name
    if not path.exists():
        pytest.skip(f"no {path.parent} beside the project: the official tool's outputs are not part of it")
    return path


# text → the tokenizer's line
EXAMPLES = {
    "plain": {
        "A man is walking.": "a man is walking .",
        "Hello, world; ok: yes": "hello , world ; ok : yes",
        "The end.The start": "the end.the start",
        "  two   blanks\tand a tab ": "two blanks and a tab",
        "": "",
        "   ": "",
    },
    "contractions": {
        "The man's dogs' toys": "the man 's dogs ' toys",
        "I don't, can't, won't": "i do n't , ca n't , wo n't",
        "it’s we’ll I'm he'd they've": "it 's we 'll i 'm he 'd they 've",
        "it&apos;s DON'T": "it 's do n't",
        "y'all o'clock O'Neil 'em 'til": "y' all o'clock o'neil 'em 'til",
        "rock 'n' roll in the '60s": "rock 'n' roll in the '60s",
    },
    "assimilations": {
        "cannot gonna gotta lemme gimme wanna": "can not gon na got ta lem me gim me wan na",
        "'Twas 'tis": "'t was 't is",
        "cannot-do cannots": "cannot-do cannots",
    },
    "brackets": {
        "(a) [b] {c}": "-lrb- a -rrb- -lsb- b -rsb- -lcb- c -rcb-",
        "<person_1> hugs </b> <3": "<person_1> hugs </b> < 3",
        '<a href="x y">': '<a\u00a0href="x\u00a0y">',
    },
    "quotes": {
        '"Stop" he said': "`` stop '' he said",
        "“Stop” ‘now’ «so»": "`` stop '' ` now ' `` so ''",
        "'hello there'": "` hello there '",
        '"$5" " x': "`` $ 5 '' '' x",
    },
    "money and fractions": {
        "$5 US$5 £5 €5 5¢": "$ 5 us$ 5 # 5 $ 5 5 cents",
        "½ cup, 1/2 cup, 1 1/2 cups": "1/2 cup , 1/2 cup , 1\u00a01/2 cups",
        "1,000 at 5:30 is 3.14 -5 .5": "1,000 at 5:30 is 3.14 -5 .5",
        "12/25/2014 24/7 and/or": "12/25/2014 24/7 and/or",
        "call (555) 123-4567": "call -lrb-555-rrb-\u00a0123-4567",
    },
    "abbreviations": {
        "Mr. Smith vs. Dr. No": "mr. smith vs. dr. no",
        "in the U.S. The end": "in the u.s. . the end",
        "in the U.S. army": "in the u.s. army",
        "Acme Inc. Big": "acme inc. . big",
        "Acme Inc. and co": "acme inc. and co",
        "fruit etc.": "fruit etc. .",
        "no. 5 and no. Five": "no. 5 and no . five",
        "plan B. The dog": "plan b . the dog",
        "plan B. a dog": "plan b. a dog",
        "Miss. or miss. Go": "miss. or miss . go",
    },
    "addresses": {
        "see http://a.b/c?d=e#f. now": "see http://a.b/c?d=e#f . now",
        "www.foo.com/xy, foo.org": "www.foo.com/xy , foo.org",
        "me@x.com @you #tag #1": "me@x.com @you #tag # 1",
        "open 1.jpg now": "open 1.jpg now",
    },
    "faces": {
        "hi :) there": "hi :-rrb- there",
        "hi :)": "hi :-rrb-",
        "hi ^_^ (^_^)": "hi ^_^ -lrb-^_^-rrb-",
    },
    "dots and dashes": {
        "wait... what": "wait ... what",
        "wait . . . what…": "wait ... what ...",
        "so.. what......": "so . . what ... .",
        "a - b -- c --- d ---- e ----- f": "a - b -- c -- d -- e ----- f",
        "a – b — c": "a -- b -- c",
        "what?! no!! ok?": "what ?! no !! ok ?",
        "well-known t-shirt person_1 x_": "well-known t-shirt person_1 x _",
        "C++ c# AT&T R&amp;B &amp;": "c++ c# at&t r&b &",
    },
    "unicode": {
        "CAFÉ Ünï 日本 naïve": "café ünï 日本 naïve",
        "a😀b 🇫🇷 ok": "a b ok",
        "http://x.y/😀z": "http://x.y/😀z",
        "co\u00adoperate \u00ad": "cooperate -",
        "a\u200bb\ufeffc\u3000d": "a b c d",
        "İstanbul ΟΔΟΣ": "i̇stanbul οδος",
        "'tıs canno\u0301t": "'t ıs canno\u0301t",
    },
}
CASES = [
    pytest.param(text, line, id=f"{kind}: {text!r}") for kind, table in EXAMPLES.items() for text, line in table.items()
]


@pytest.mark.parametrize(("text", "line"), CASES)
def test_examples(kernels: str, text: str, line: str) -> None:
    assert ptb.raw_tokens(text) == (line.split(" ") if line else [])


# ── what the metrics see ────────────────────────────────────────────────────────────────────────────────────────────


def test_every_listed_token_is_dropped_except_brackets(kernels: str) -> None:
    assert ptb.tokenize("a '' ' ` `` . ? ! , : - -- ... ; z") == "a z"
    assert ptb.tokenize("a ( ) { } z") == "a -lrb- -rrb- -lcb- -rcb- z"
    assert len(ptb.DROPPED) == 17


@pytest.mark.parametrize("token", ["!!", "?!", "_", "/", "%", "&", "#", "$", "*", "@", "-----", "+", "="])
def test_other_punctuation_stays(token: str) -> None:
    assert ptb.tokenize(f"a {token} z") == f"a {token} z"


def test_two_dots_are_two_dropped_tokens_and_five_hyphens_are_one_kept() -> None:
    assert ptb.tokenize("so.. b ----- c") == "so b ----- c"


def test_remove_nonascii_leaves_one_blank_for_each_character() -> None:
    assert ptb.tokenize("café’s don’t 1\u00a01/2") == "café 's do n't 1\u00a01/2"
    assert ptb.tokenize("café’s don’t 1\u00a01/2", remove_nonascii=True) == "caf s don t 1\u00a01/2"
    assert ptb.tokenize_all(["naïve"], remove_nonascii=True) == ["na ve"]


def test_each_caption_gets_its_own_answer_in_its_place(kernels: str) -> None:
    assert ptb.tokenize_all(["B.", "a dog.", "", "B.", "A dog."]) == ["b.", "a dog", "", "b.", "a dog"]
    assert ptb.tokenize_all([]) == ptb.tokenize_all([], strict=True) == []


# ── line ends and neighbours ────────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize("end", ["\n", "\r", "\r\n", "\v", "\f", "\u2028", "\u2029"])
def test_a_line_end_inside_a_caption_only_separates(kernels: str, end: str) -> None:
    assert ptb.raw_tokens(f"one{end}two") == ["one", "two"]
    assert ptb.tokenize_all([f"one{end}two{end}", "three"], strict=True) == ["one two", "three"]


def test_u0085_is_an_ellipsis_as_in_the_tool() -> None:
    assert ptb.raw_tokens("one\u0085two") == ["one", "...", "two"]


def test_strict_lets_the_next_caption_decide(kernels: str) -> None:
    captions = ["This is plan B.", "The dog", "This is plan B.", "a dog", "He says no.", "5 men", "He says no."]
    alone = ["this is plan b.", "the dog", "this is plan b.", "a dog", "he says no", "5 men", "he says no"]
    assert ptb.tokenize_all(captions) == alone
    assert ptb.tokenize_all(captions, strict=True) == [
        *("this is plan b", "the dog", "this is plan b.", "a dog", "he says no.", "5 men", "he says no")
    ]


def test_strict_answers_one_for_one_even_if_a_tag_spans_captions(kernels: str) -> None:
    assert ptb.tokenize_all(['see <a b="one', 'two">', "", "three"], strict=True) == [
        'see <a\u00a0b="one',
        'two">',
        "",
        "three",
    ]


# ── robustness ──────────────────────────────────────────────────────────────────────────────────────────────────────


def test_odd_characters(kernels: str) -> None:
    assert ptb.tokenize("a\x00b\ud800c\udfff😀d\x7fe\x01f") == "a b c d e f"
    assert ptb.raw_tokens("\ufeffwww.a.com") == [
        "\ufeffwww.a.com"
    ]  # the tool keeps it: a mark inside an address is text
    assert ptb.tokenize("http://a.b/\ud83d x") == "http://a.b/\ufffd x"


@pytest.mark.parametrize(
    "unit", ["a,", "a", "<a b='", "A. ", "a@", "x.y/", "(", "😀", "'", "&amp", "http://,", "b.-", "\r"]
)
def test_long_texts_take_linear_time(kernels: str, unit: str) -> None:
    text = unit * ((1_000_000 if kernels == "native" else 60_000) // len(unit))
    assert isinstance(ptb.tokenize(text), str)  # a quadratic scan would not come back


@pytest.mark.parametrize("wrong", [None, 3, b"bytes", ["list"]])
def test_a_caption_that_is_no_string_is_named(wrong: object) -> None:
    with pytest.raises(InputError, match="caption 1 is"):
        ptb.tokenize_all(["fine", wrong])  # type: ignore[list-item]
    with pytest.raises(FabulaError, match="caption 0 is"):
        ptb.raw_tokens(wrong)  # type: ignore[arg-type]


def test_one_string_is_not_a_list_of_captions() -> None:
    with pytest.raises(InputError, match="one string"):
        ptb.tokenize_all("a man")


# ── the two engines, and the official tool ──────────────────────────────────────────────────────────────────────────

SIGNS = "aAIbéΣİ中😀15½.,;:!?'\"`’“”-_/\\*@#$£&%+=<>()[]{}|~^\u00ad\n\r\t \u00a0\u2028\ud800\ufeff\x00"
WORDS = """don't it's cannot U.S. Inc. etc. no. Mr. The and/or :) ^_^ &amp; &apos; http://a.b me@x.y <i> 555-1234 1/2
    ... -- ----"""
PIECES = [*SIGNS, *WORDS.split()]
MIXED = st.lists(st.sampled_from(PIECES) | st.text(max_size=3), max_size=30).map("".join)


@pytest.mark.skipif(not _kernels.NATIVE, reason="no compiled kernels")
@settings(max_examples=120, deadline=None)
@given(st.lists(MIXED, max_size=5), st.booleans())
def test_engines_agree(texts: list[str], strict: bool) -> None:
    with _kernels.using("native"):
        fast = ptb.tokenize_all(texts, strict=strict), [ptb.raw_tokens(text) for text in texts]
    with _kernels.using("python"):
        slow = ptb.tokenize_all(texts, strict=strict), [ptb.raw_tokens(text) for text in texts]
    assert fast == slow
    assert len(fast[0]) == len(texts)


def test_words_of_plain_letters_are_never_split_or_lost(kernels: str) -> None:
    draw = random.Random(7)
    words = ["".join(draw.choices("bcdfghjklpqrtvwz", k=draw.randint(2, 9))) for _ in range(500)]
    assert ptb.tokenize(" ".join(words)) == " ".join(words)


def test_threads_share_an_engine(kernels: str) -> None:
    draw = random.Random(11)
    texts = ["".join(draw.choices(PIECES, k=40)) for _ in range(200)]
    ptb.python_engine.cache_clear()  # states are made while all threads read
    with ThreadPoolExecutor(8) as pool:
        together = list(pool.map(ptb.tokenize, texts * 3))
    assert together == [ptb.tokenize(text) for text in texts] * 3


def test_official_lines(kernels: str) -> None:
    with gzip.open(shared("golden/ptb.jsonl.gz"), "rt", encoding="utf-8") as file:
        rows = [json.loads(line) for line in file]
    assert ptb.tokenize_all([row["text"] for row in rows]) == [row["tok"] for row in rows]
    for row in rows:  # the file was made in one run, so after an abbreviation at the end the next line decided on a dot
        line = " ".join(ptb.raw_tokens(row["text"]))
        assert line.removesuffix(". .") == row["raw"].removesuffix(". .") or line.removesuffix(" .") == row["raw"]


# ── the kept tables ─────────────────────────────────────────────────────────────────────────────────────────────────

SOME = ["A man's dog can't run (fast).", "Plan B.", "café, 1 1/2 cups", "", " ", "a\x1c", "one\ntwo"] * 100


@pytest.fixture
def fresh(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[Path]:
    """A cache folder with nothing in it, and no scanner made yet."""
    if _kernels.NATIVE is None:
        pytest.skip("this install has no compiled kernels")
    monkeypatch.setenv("FABULA_CACHE", str(tmp_path / "cache"))
    ptb.native_engine.cache_clear()
    with _kernels.using("native"):
        yield tmp_path / "cache"
    ptb.native_engine.cache_clear()


def test_tables_are_kept_and_give_the_same_tokens(fresh: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    first = ptb.tokenize_all(SOME)
    (file,) = fresh.iterdir()
    assert file.name.startswith("ptb-") and file.suffix == ".tables"
    ptb.native_engine.cache_clear()
    monkeypatch.setattr(ptb, "automaton", lambda: pytest.fail("made again"))
    assert ptb.tokenize_all(SOME) == first
    with _kernels.using("python"):
        monkeypatch.undo()
        assert ptb.tokenize_all(SOME) == first


@pytest.mark.parametrize("damage", ["cut", "flipped", "empty"])
def test_damaged_tables_are_made_again(fresh: Path, damage: str) -> None:
    first = ptb.tokenize_all(SOME)
    (file,) = fresh.iterdir()
    whole = file.read_bytes()
    flipped = bytes([*whole[:-200], whole[-200] ^ 1, *whole[-199:]])
    file.write_bytes({"cut": whole[:-64], "flipped": flipped, "empty": b""}[damage])
    ptb.native_engine.cache_clear()
    assert ptb.tokenize_all(SOME) == first
    assert file.read_bytes() == whole


@pytest.mark.parametrize("known", [True, False])
@pytest.mark.parametrize(
    ("section", "place", "value"),
    [
        ("next", 0, 10**6),
        ("next", 7, -2),
        ("accepts", 0, 10**6),
        ("classes", 65, 255),
        ("rules", 0, 65),
        ("rules", 1, 34),
    ],
)
def test_forged_tables_are_made_again(
    fresh: Path, monkeypatch: pytest.MonkeyPatch, section: str, place: int, value: int, known: bool
) -> None:
    first = ptb.tokenize_all(SOME)
    found = ptb.locate_tables()
    assert found is not None
    path, seal = found
    whole = path.read_bytes()
    if not known:  # nothing but the structure can tell
        monkeypatch.setattr(ptb, "locate_tables", lambda: (path, seal._replace(digest=None)))
    sections = {name: array.copy() for name, array in (cachefile.load(path, seal) or {}).items()}
    sections[section][place] = value
    cachefile.write(path, seal, sections)
    ptb.native_engine.cache_clear()
    assert ptb.tokenize_all(SOME) == first
    assert path.read_bytes() == whole


def test_sound_tables_of_other_rules_are_not_the_known_ones(fresh: Path) -> None:
    first = ptb.tokenize_all(SOME)
    found = ptb.locate_tables()
    assert found is not None
    sections = {name: array.copy() for name, array in (cachefile.load(*found) or {}).items()}
    sections["accepts"][sections["accepts"] > 0] -= 1  # every token by the rule before its own: no range can tell
    cachefile.write(*found, sections)
    ptb.native_engine.cache_clear()
    assert ptb.tokenize_all(SOME) == first


def test_tables_that_others_may_write_are_neither_read_nor_kept(fresh: Path, caplog: pytest.LogCaptureFixture) -> None:
    fresh.mkdir()
    fresh.chmod(0o777)
    assert ptb.tokenize("A dog.") == "a dog"
    assert not list(fresh.iterdir())
    assert [record.message.startswith("other users may write to") for record in caplog.records] == [True]


def test_a_cache_that_cannot_be_written_costs_nothing_but_time(fresh: Path) -> None:
    fresh.write_text("a file where the folder would be")
    assert ptb.tokenize("A dog.") == "a dog"


def test_other_rules_have_other_tables(fresh: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    ptb.tokenize("A dog.")
    copy = tmp_path / "rules.py"
    copy.write_text("# other rules")
    monkeypatch.setattr(ptb, "SOURCES", (copy, ptb.SOURCES[1]))
    ptb.native_engine.cache_clear()
    ptb.tokenize("A dog.")
    assert len(list(fresh.iterdir())) == 2


@pytest.mark.skipif(not _kernels.NATIVE, reason="no compiled kernels")
def test_the_kernel_refuses_tables_that_are_none() -> None:
    good = ptb.native_engine(_kernels.NATIVE)
    following, accepts = good.tables()
    classes = ptb.automaton().classes
    for bad in (following[:-1], np.full_like(following, len(accepts)), np.full_like(following, -2)):
        with pytest.raises(ValueError, match="not an automaton"):
            _kernels.NATIVE.Scanner(classes, bad, accepts, ptb.pack_rules(ptb.automaton())[0], " ")
