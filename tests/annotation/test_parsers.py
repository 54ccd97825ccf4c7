"""Every answer format of VERIFIED's listings, as models really write them."""

import json
import time

import pytest

from fabula.annotation.candidates import find_fault, screen
from fabula.annotation.parsers import LONGEST, parse_frame, parse_list, parse_marks, parse_replies, parse_variants

LISTS = {
    "lines": "1. A man runs.\n2. A dog barks.\n3. It rains.",
    "inline": "1. A man runs. 2. A dog barks. 3. It rains.",
    "brackets": "1) A man runs.\n2) A dog barks.\n3) It rains.",
    "quoted": "1. \"A man runs.\"\n2. “A dog barks.”\n3. 'It rains.'",
    "bold": "**1.** A man runs.\n**2.** A dog barks.\n**3.** It rains.",
    "spaced": "Sure, here they are:\n\n1. A man runs.\n\n2. A dog barks.\n\n3. It rains.\n\nI hope that this helps!",
    "wrapped": "1. A man\n   runs.\n2. A dog\nbarks.\n3. It rains.",
    "bullets": "- A man runs.\n- A dog barks.\n- It rains.",
    "bare lines": "Here you are:\nA man runs.\nA dog barks.\nIt rains.",
    "json": '["A man runs.", "A dog barks.", "It rains."]',
    "fenced": '```json\n["A man runs.", "A dog barks.", "It rains."]\n```',
    "thought": "<think>1. no 2. no</think>1. A man runs.\n2. A dog barks.\n3. It rains.",
    "crlf": "1. A man runs.\r\n2. A dog barks.\r\n3. It rains.",
}


@pytest.mark.parametrize("name", LISTS)
def test_lists(name):
    assert parse_list(LISTS[name], 3).texts == ("A man runs.", "A dog barks.", "It rains.")


def test_a_list_with_a_number_missing_and_one_with_numbers_inside():
    found = parse_list("1. A man runs.\n3. It rains.", 3)
    assert found.texts == ("A man runs.", "It rains.") and found.audit.repaired == ["2 of 3"]
    assert parse_list("1. Two men walk 2.5 m. 2. A bus of line 3. stops.").texts == (
        "Two men walk 2.5 m.",
        "A bus of line",
        "stops.",
    )  # what is truly unclear is cut
    assert parse_list("1. In 2010, 3 men run.\n2. They stop.").texts == ("In 2010, 3 men run.", "They stop.")


@pytest.mark.parametrize(
    ("text", "why"),
    [("", "the answer is empty"), (" \n ", "the answer is empty"), ("I'm sorry, I cannot help.", "the model refuses")],
)
def test_nothing_to_read(text, why):
    for found in (parse_list(text), parse_variants(text)):
        assert found.texts == () and found.audit.refused[0][1] == why
    assert parse_frame(text, "q").description == "q"
    assert parse_replies(text, 3).replies == ("", "", "")


def test_an_answer_without_end_is_not_read():
    found = parse_list("1. so " + "so " * LONGEST)
    assert not found.texts and "characters" in found.audit.refused[0][1]


VARIANTS = {
    "plain": '{"original": "o", "1": "a b c d", "2": "e f g h", "3": "i j k l"}',
    "fenced": '```json\n{"original": "o",\n"1": "a b c d",\n"2": "e f g h",\n"3": "i j k l"}\n```\nEnjoy!',
    "without a comma": '{"original": "o",\n\n"1": "a b c d",\n\n"2": "e f g h"\n\n"3": "i j k l"\n}',
    "trailing comma": '{"original": "o", "1": "a b c d", "2": "e f g h", "3": "i j k l",}',
    "smart quotes": "{“original”: “o”, “1”: “a b c d”, “2”: “e f g h”, “3”: “i j k l”}",
    "single quotes": "{'original': 'o', '1': 'a b c d', '2': 'e f g h', '3': 'i j k l'}",
    "numbers as keys": '{original: "o", 1: "a b c d", 2: "e f g h", 3: "i j k l"}',
    "cut": '{"original": "o", "1": "a b c d", "2": "e f g h", "3": "i j k l',
    "text around": 'Here: {"original": "o", "1": "a b c d", "2": "e f g h", "3": "i j k l"} as you asked {x}.',
    "nested": '{"original": "o", "captions": {"1": "a b c d", "2": "e f g h", "3": "i j k l"}}',
    "a list": '{"original": "o", "captions": ["a b c d", "e f g h", "i j k l"]}',
    "objects": '{"captions": [{"caption": "a b c d"}, {"caption": "e f g h"}, {"caption": "i j k l"}]}',
    "named keys": '{"original": "o", "caption 1": "a b c d", "caption 2": "e f g h", "caption 3": "i j k l"}',
    "a numbered list": "1. a b c d\n2. e f g h\n3. i j k l",
    "a line break inside": '{"original": "o", "1": "a b\nc d", "2": "e f g h", "3": "i j k l"}',
}


@pytest.mark.parametrize("name", VARIANTS)
def test_variants(name):
    assert parse_variants(VARIANTS[name]).texts == ("a b c d", "e f g h", "i j k l")


def test_variants_with_quotes_inside_and_none():
    assert parse_variants('{"1": "a sign says "stop" here", "2": "b"}').texts == ('a sign says "stop" here', "b")
    assert parse_variants('{"1": "a \\"quoted\\" word"}').texts == ('a "quoted" word',)
    for text in ("{", "{}", "nothing", '{"original": "o"}', "[" * 100_000, '{"a":' * 5_000):
        assert parse_variants(text).texts in ((), ("nothing",)) or len(parse_variants(text).texts) < 2


def test_model_text_is_never_run():
    evil = "{'1': __import__('os').system('touch /tmp/fabula-was-here'), '2': 'a b c d'}"
    assert parse_variants(evil).texts == ("a b c d",)
    assert parse_list("1. {0.__class__} ${HOME} `id`").texts == ("{0.__class__} ${HOME} `id",)


FRAMES = {
    "as asked": "Background: a kitchen,\nObjects Attributes: a red cup\n\nDesc: A man drinks.",
    "quoted": '"Background: a kitchen,\nObjects Attributes: a red cup"\n"Desc: A man drinks."',
    "other case": "BACKGROUND: a kitchen\nobjects attributes: a red cup\ndesc: A man drinks.",
    "inline": "Background: a kitchen, Objects Attributes: a red cup. Desc: A man drinks.",
    "bold": "**Background:** a kitchen\n**Objects Attributes:** a red cup\n**Desc:** A man drinks.",
    "json": '{"Background": "a kitchen", "Objects Attributes": "a red cup", "Desc": "A man drinks."}',
    "longer name": "Background: a kitchen\nObject Attributes: a red cup\nDescription: A man drinks.",
    "prose before": "Certainly!\nBackground: a kitchen,\nObjects Attributes: a red cup\nDesc: A man\ndrinks.",
}


@pytest.mark.parametrize("name", FRAMES)
def test_frames(name):
    found = parse_frame(FRAMES[name], "query")
    assert found.background == "a kitchen" and found.objects.rstrip(".") == "a red cup"
    assert found.description == "A man drinks."


def test_a_frame_without_description():
    found = parse_frame("Background: a kitchen\nObjects Attributes: cups:\n- red\n- blue", "the query")
    assert found.description == "the query" and found.objects == "cups: - red - blue"
    assert found.audit.repaired == ["no Desc: the query stands for it"]
    assert parse_frame("A kitchen.", "q").audit.refused


@pytest.mark.parametrize(
    "text",
    [
        "1. Left.\n2. Fast.\n3. Twice.\n\nThe man walks left.",
        "1. Left.\n2. Fast.\n3. Twice.\nThe man walks left.",
        "1. Left. 2. Fast. 3. Twice. The man walks left.",
        "Answers:\n1. (A) Left.\n2. A: Fast.\n3. Answer: Twice.\n\n**Dynamic description:** The man walks left.",
    ],
)
def test_replies(text):
    found = parse_replies(text, 3)
    assert found.replies == ("Left.", "Fast.", "Twice.") and found.description == "The man walks left."


def test_replies_that_are_missing():
    found = parse_replies("1. Left.\n3. Twice.", 3)
    assert found.replies == ("Left.", "", "Twice.") and found.description == ""
    assert found.audit.repaired == ["1 of 3 replies are missing"] and found.audit.refused
    only = parse_replies("The man walks left.", 2)
    assert only.replies == ("", "") and only.description == "The man walks left."
    assert parse_replies("7. x", 0).description == "7. x"


def test_marks():
    assert parse_marks("1. 80\n2: 55.5\n3) 0", 3)[0] == (80, 55.5, 0)
    assert parse_marks("1. 80 2. 101 9. 5", 3)[0] == (80, None, None)
    assert parse_marks("no", 2)[0] == (None, None)


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("The man opens the door.", None),
        ("A second man opens the door.", None),
        ("A man opens the door for 3 seconds.", "it tells a time"),
        ("A man opens the door at 0:12.", "it tells a time"),
        ("A man opens the door for two seconds.", "it tells a time"),
        ("A man opens the door from 3.5 to 7.", "it tells a time"),
        ("In frame 3 a man opens the door.", "it tells a time"),
        ("a man opens a door", "it is a copy of the input"),
        ("A man opens the door.", "it changes nothing"),
        ("...", "it has no words"),
        ("一个男人打开门", "it is in another language, or about something else"),
        ("Un hombre abre la puerta", "it is in another language, or about something else"),
        ("door " * 90, "it has more than 80 words"),
    ],
)
def test_faults_of_candidates(text, why):
    original = "a man opens a door"
    if why == "it changes nothing" or why is None:
        text, original = (text, "a man opens a door") if why else (text, "a woman opens a window")
    assert find_fault(text, original) == why


def test_screening():
    kept, dropped = screen(
        [("A man opens a red door.", "static"), ("a man opens a red door", "dynamic"), ("a man waits", "dynamic")],
        "a man opens a door",
        against=["A man waits."],
    )
    assert [c.text for c in kept] == ["A man opens a red door."]
    assert [d.why for d in dropped] == ["it repeats another"] * 2


def test_audits_are_plain():
    assert json.dumps(parse_list("1. a\n2. b\n\nbye", 3).audit.to_dict())


# ── time ───────────────────────────────────────────────────────────────────────────────────────────────────────────

READERS = (
    lambda text: parse_frame(text, "q"),
    parse_variants,
    lambda text: parse_list(text, 3),
    lambda text: parse_replies(text, 5),
    lambda text: parse_marks(text, 5),
)


@pytest.mark.parametrize(
    "part",
    ["\n", " ", ", \n", "1. ", "1 ", '"', "“", "{", '"1": "', "```", "</think>", "- ", "detailed ", ". "],
)
@pytest.mark.parametrize("before", ["", "x", "1. ", '{"1": "'])
def test_the_longest_answer_is_read_at_once(part, before):
    """100,000 characters in a fraction of a second: time grows with the length, not with its square."""
    text = before + part * (100_000 // len(part)) + "x"
    for read in READERS:
        began = time.process_time()
        read(text)
        assert time.process_time() - began < 1.5


def test_a_refusal_is_on_record_unless_a_list_was_read_instead():
    assert parse_variants("No captions today.").audit.refused == [
        ("No captions today.", "no numbered captions in JSON")
    ]
    read = parse_variants("1. A man runs.\n2. A dog barks.")
    assert len(read.texts) == 2 and not read.audit.refused
