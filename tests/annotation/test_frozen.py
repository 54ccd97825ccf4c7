"""What answers are read as, which wrong captions rules make, what plans count and a whole run writes: letter by letter.

Expected texts lie in tests/annotation/frozen; `python -m tests.annotation.test_frozen` writes them anew. One that
changes is to be looked at: captions of a released benchmark are made of them.
"""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Callable
from dataclasses import asdict, replace
from functools import cache
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

from fabula.annotation import (
    benchmark,
    candidates,
    compare,
    distinct,
    disturb,
    fake,
    page,
    parsers,
    printed,
    shards,
    stats,
)
from fabula.annotation import export as module
from fabula.annotation.benchmark import (
    AbOptions,
    ExportOptions,
    PlanOptions,
    Ran,
    RunOptions,
    StatsOptions,
    StoreOptions,
)
from fabula.annotation.keyframes import even_times, key_times
from fabula.annotation.moments import Moment, read_moments
from fabula.annotation.plan import Plan, StepPlan, keep_evenly, plan, plan_step
from fabula.annotation.prompts import VARIABLES, load_prompts
from fabula.annotation.recipe import Recipe, RecipeOptions
from fabula.annotation.steps import choose
from fabula.core.errors import InputError, SpecError
from fabula.llm import EndpointOptions
from fabula.llm.prices import Prices
from fabula.llm.prompts import Prompt
from tests.annotation.toys import make_moments, write_moments
from tests.stored import as_text, read_stored, write_stored

FOLDER = Path(__file__).parent / "frozen"

FRAMES = [
    "Background: a kitchen,\nObjects Attributes: a red cup\n\nDesc: A man drinks.",
    '{"Background": "a kitchen", "Objects Attributes": "a red cup", "Desc": "A man drinks."}',
    "Sure! **Background:** a kitchen. **Object\u2019s attributes:** cups **Description:** He drinks.",
    "<think>Background: no</think>Background: yes\nbackground: again",
    "Objects Attributes:\nDesc: only words",
    "nothing of the kind",
    "I'm sorry, I cannot look.",
    " \n ",
    "x" * 200_001,
]
VARIANTS = [
    '{"original": "a", "1": "one", "2": "two"}',
    'Here: {"1": "one", "b": "x", "caption 2": "two", "more": {"caption": "three", "text": "four"}} done',
    '```json\n{"1": "one",\n "2": "two"}\n``` bye',
    '{"original": "a" "1": "one "quoted" words" "2": "two, and three',
    '{"1": "one two three four five',
    '{"1": "one two',
    '{"captions": ["one", "two", [["deep"]]], "original": {"1": "x"}}',
    "{“1”: “one”, “2”: “two”}",
    "1. one\n2. two",
    "1. one",
    '{"1": 3}',
    "",
]
LISTS = [
    "1. one\n2. two\n3. three",
    'Here they are:\n\n1) "one"\n2) **two**\n\n3) three\n\nHope that helps.',
    "1. one 2. two 3. three",
    "Of 2. and 3. we say 1. one 2. two",
    "- one\n- two\n* three",
    "List:\none\ntwo\nthree:",
    '["one", "two", 3]',
    '{"a": "one", "b": "two"}',
    "1. pays 3.50 for 2 cups\n2. at 10.30",
    "10. ten\n11. eleven",
    '"1. one"\n"2. two"',
    "1.\n2. two",
    "<think>hm</think>",
    "Unfortunately not",
    "one",
    ":",
]
REPLIES = [
    "1. left\n2. right\n\nDescription: It moves.",
    "1. (A) left 2. Answer: right. It moves on.",
    "Intro\n1. left\n3. late\nAnd so it goes.",
    "It only moves.",
    "1. left\n2. right",
    "1. left\n1. again\n2. right\n\n**Overall description:** *It moves.*",
    "7. seven\n8. eight",
    "",
]
MARKS = ["1. 80\n2. 100\n3. 101", "1: 7.5, 2) 30 3 - 0", "2. 50\n2. 60\n4. 10", "none", "1. 5.5.5", "1.80 2.90"]
CAPTIONS = [
    "A person opens a door and then sits down.",
    "The man in a red shirt is walking from left to right slowly.",
    "Two boys are playing with three balls on the left side of the table.",
    "A woman has left the room.",
    "She wakes up and puts on an apron, then takes off her shoes before leaving.",
    "An old dog runs quickly up the stairs.",
    "He stood up, picked up the boxes and turned off the light.",
    "a person is holding the sandwich from the plate to the plate",
    "One man throws a ball then another man catches it quickly.",
    "someone tidied the kitchen with her left hand",
    "Nothing here.",
]
PROMPTS = {
    "static_frame": {"query": "a man opens a door"},
    "static_fuse": {"original_description": "a man opens a door.", "keyframe_number": 2, "attribute_content": "x"},
    "dynamic_questions": {"original_description": "a man opens a door"},
    "dynamic_answers": {"duration": "5", "frame_number": 3, "description": "a man", "questions": "1. What?"},
    "dynamic_fuse": dict.fromkeys(VARIABLES["dynamic_fuse"], "a man opens a door"),
    "rewrite": {"original": "a man opens a door"},
    "disturb_static": {"original": "a man opens a door"},
    "disturb_dynamic": {"original": "a man opens a door"},
    "judge": {"frame_number": 3, "caption_number": 2, "captions": "1. a man\n2. a dog"},
}


def recipe_of(**options) -> Recipe:
    return Recipe.of(EndpointOptions(model="m"), RecipeOptions(**options))


def write_plan(**options) -> str:
    endpoint = EndpointOptions(model="m", price=("1/2",), **options)
    found = [plan(make_moments(12), Recipe.of(endpoint, RecipeOptions(**more)), endpoint) for more in PLANS]
    return as_text([one.to_dict() for one in found])


PLANS = [
    {},
    {"blind": True},
    {"rewrites": True, "keyframes": 3, "video_frames": 4},
    {"scorer": "none", "max_tokens": 50},
]


@cache
def whole_run() -> dict[str, str]:
    """A dry run from moments to benchmark: every file that it writes, and what is printed of it."""
    folder = Path(tempfile.mkdtemp())
    try:
        write_moments(folder / "moments.jsonl", 12)
        endpoint = EndpointOptions(model="m", price=("1/2",))
        options = RunOptions(store=folder / "store.sqlite")
        ran = benchmark.run(
            folder / "moments.jsonl",
            options=options,
            endpoint=endpoint,
            recipe=RecipeOptions(blind=True, rewrites=True),
        )
        told = {"ran.json": as_text(asdict(ran))}
        out = ExportOptions(
            store=options.store, out=folder / "out", layouts=("label-studio", "potato"), licence="CC | <BY>"
        )
        benchmark.export(out)
        for path in sorted((folder / "out").rglob("*")):
            if path.is_file() and path.name != "provenance.jsonl":
                told[path.relative_to(folder / "out").as_posix().replace("/", "-")] = path.read_text("utf-8").rstrip(
                    "\n"
                )
        told["provenance.jsonl"] = (folder / "out" / "provenance.jsonl").read_text("utf-8").splitlines()[0]
        status = benchmark.status(StoreOptions(store=options.store))
        for step in status["steps"].values():
            step["seconds"] = 0.5 * step["calls"]
        told["status"] = "\n".join(printed.status_lines(status))
        found = benchmark.stats([folder / "out" / "train.jsonl"], options=StatsOptions(embedder="hashing", eps=0.2))
        told["stats"] = "\n".join(printed.stats_lines(found))
        told["stats.json"] = as_text(found)
        told["page"] = page.make_page(found).partition("</style>")[2]
        other = AbOptions(model_b="n", sample=4)
        both = benchmark.ab(
            None, ab_options=other, options=options, endpoint=endpoint, recipe=RecipeOptions(blind=True)
        )
        told["ab"] = "\n".join(printed.comparison_lines(both))
        told["ab.json"] = as_text({name: value for name, value in both.items() if name != "recipes"})
        return told
    finally:
        shutil.rmtree(folder)


RUN = (
    *(
        "ran.json",
        "train.jsonl",
        "README.md",
        "duplicates.json",
        "left_out.jsonl",
        "fabula-benchmark.json",
        "potato-data.jsonl",
    ),
    *("potato-config.yaml", "label_studio-tasks.json", "label_studio-config.xml", "provenance.jsonl"),
    *("status", "stats", "stats.json", "page", "ab", "ab.json"),
)
TEXTS: dict[str, Callable[[], str]] = {
    "frames": lambda: as_text([asdict(parsers.parse_frame(text, "the query")) for text in FRAMES]),
    "variants": lambda: as_text([asdict(parsers.parse_variants(text)) for text in VARIANTS]),
    "lists": lambda: as_text([asdict(parsers.parse_list(text, 3)) for text in LISTS]),
    "replies": lambda: as_text([asdict(parsers.parse_replies(text, 2)) for text in REPLIES]),
    "marks": lambda: as_text([[marks, asdict(audit)] for marks, audit in (parsers.parse_marks(t, 3) for t in MARKS)]),
    "every": lambda: "\n".join(" | ".join(asdict(d).values()) for caption in CAPTIONS for d in disturb.every(caption)),
    "disturbed": lambda: "\n".join(
        f"{kind} {seed}: {d.text}"
        for caption in CAPTIONS
        for kind in ("static", "dynamic")
        for seed in (0, 1)
        for d in disturb.disturb(caption, kind, 4, seed)
    ),
    "words": lambda: "\n".join(
        f"{word}: {', '.join('/'.join(one) for one in ways)}" for word, ways in disturb.table().items()
    ),
    "phrases": lambda: "\n".join(f"{a}: {b}" for a, b in disturb.phrases().items()),
    "fake": lambda: "\n\n".join(
        fake.reply({"model": "m", "messages": [{"content": load_prompts()[name].fill(**values)}], "seed": seed})
        for name, values in PROMPTS.items()
        for seed in (0, 1)
    ),
    "plans": lambda: write_plan(concurrency=4),
    "plans-with-rates": lambda: write_plan(concurrency=4, rpm=30, tpm=1e5),
    "plans-by-tokens": lambda: write_plan(concurrency=4, rpm=1e6, tpm=1e4),
    "plan-lines": lambda: "\n".join(
        line
        for price in ((), ("1/2",))
        for line in printed.plan_lines(
            plan(make_moments(1200), recipe_of(), EndpointOptions(model="m", price=price)).to_dict()
        )
    ),
    "recipes": lambda: as_text(
        [
            recipe_of(**more).to_dict() | {"hash": recipe_of(**more).hash, "steps": recipe_of(**more).steps}
            for more in PLANS
        ]
    ),
    **{f"run-{name}": (lambda name=name: whole_run()[name]) for name in RUN},
}


@pytest.mark.parametrize("name", TEXTS)
def test_it_is_as_it_was(name):
    assert TEXTS[name]() + "\n" == read_stored(FOLDER, name)


def test_nothing_is_left_over():
    assert {path.stem for path in FOLDER.iterdir()} == set(TEXTS) and set(whole_run()) == set(RUN)


# printed lines of what a dry run does not have


def test_lines_of_a_run_with_failures():
    step = {"calls": 2, "tokens_in": 3000.0, "tokens_out": 40.0, "cost": 0.5, "seconds": 3.0, "uncounted": 0}
    found = {
        **{
            "moments": 1000,
            "recipe": None,
            "recipes": ["aa", "bb"],
            "states": {},
            "steps": {"judge": step},
            "uncounted": 1200,
        },
        **{"failures": {"busy": {"tries": 1000, "cost": 0.25}}, "cost": 0.75, "batches": 1000},
        "failed": [{"id": 7, "kind": "video", "message": "gone"}],
    }
    assert list(printed.status_lines(found)) == [
        "moments\t1,000",
        "recipes\taa, bb\t(--recipe says how far each is)",
        "",
        "step\tcalls\ttokens in\ttokens out\tcost\tseconds each",
        "judge\t2\t3,000\t40\t0.5000\t1.50",
        "tries failed: busy\t1,000\t\t\t0.2500",
        "",
        "cost\t0.7500 (and 1,200 tries and answers whose tokens nobody counted)",
        "batches\t1,000 sent and not fetched",
        "",
        "failed\t7\tvideo\tgone",
    ]
    nothing = {
        "moments": 0,
        "recipe": "aa",
        "recipes": ["aa", "bb"],
        "states": {"done": 1200},
        "steps": {},
        "uncounted": 0,
    }
    nothing |= {"failures": {}, "cost": 0.0, "batches": 0, "failed": []}
    assert list(printed.status_lines(nothing)) == ["moments\t0\t1,200 done (recipe aa)", "cost\t0.0000"]
    some = list(printed.status_lines(nothing | {"failures": {"busy": {"tries": 1, "cost": 0.0}}}))
    assert some[1:] == ["tries failed: busy\t1\t\t\t0.0000", "", "cost\t0.0000"]


def test_lines_of_a_plan_that_looked():
    step = {"calls": 1000, "tokens_in": 2000, "tokens_out": 3000, "cost": 0.5}
    found = {"steps": {"judge": step}, "total": step, "least": step, "most": step, "priced": True, "probed": 7}
    found |= {"keyframes": 2.5, "moments": 1000, "seconds": 1234.5, "answered": 1000}
    lines = list(printed.plan_lines(found))
    assert lines[1] == "judge\t1,000\t2,000\t3,000\t0.5000" and [line.split("\t")[0] for line in lines[2:5]] == [
        "total",
        "least",
        "most",
    ]
    assert lines[5:] == [
        "1,000 moments, 2.50 keyframes each (counted on 7), about 1,234 s",
        "1,000 calls are answered in the store already",
    ]


def test_lines_of_a_comparison_without_scores():
    side = {"done": 3, "score": None, "words": 4.0, "candidates": 5.0, "dropped": 0.5}
    difference = {"score": None, "interval": None, "b higher": 0, "equal": 0, "a higher": 0}
    found = {"a": side, "b": side | {"score": 50.0}, "b − a": difference}
    assert list(printed.comparison_lines(found))[1:] == ["a\t3\t-\t4.00\t5.00\t0.50", "b\t3\t50.00\t4.00\t5.00\t0.50"]
    found["b − a"] = difference | {"score": 1.5, "b higher": 2, "equal": 1}
    assert list(printed.comparison_lines(found))[3] == "b − a\t+1.50\tb higher 2, equal 1, a higher 0"
    found["b − a"]["interval"] = [-0.5, 3.0]
    assert list(printed.comparison_lines(found))[3].startswith("b − a\t+1.50 (-0.50 to +3.00)")


def test_new_words_are_listed():
    words = {"per caption": 1.5, "most": [[f"w{k}", 9] for k in range(13)]}
    found = {
        "files": {},
        "new words": {"static": words, "dynamic": words, "captions": 1000},
        "title": "T",
        "histogram": {},
    }
    lines = list(printed.stats_lines(found))
    assert lines[-2] == "new static words\t1.50 a caption\t" + ", ".join(f"w{k}" for k in range(12)) and lines[-3] == ""
    drawn = page.make_page(found)
    assert "Counted on 1,000 captions." in drawn and "<h3>dynamic: 1.50 new words a caption</h3>" in drawn
    assert (
        drawn.count("<li>w12 9</li>") == 2 and "t-SNE" not in drawn and page.number(None) == "–" == page.number(None, 1)
    )
    picture = {"points": 2000, "clusters": 1000, "labels": [0], "coarse": [[0, 0]], "fine": []}
    drawn = page.make_page(found | {"picture": picture, "histogram": {"a": [], "b": [(0.0, 1)]}})
    assert "2,000 captions of 1,000 coarse clusters" in drawn and drawn.count("<figure>") == 2
    assert (page.number(1234.5), page.number(1234), page.number(0.5, 3)) == ("1,234.50", "1,234", "0.500")


# words and candidates


@pytest.mark.parametrize(
    ("verb", "forms"),
    [
        ("open", ("open", "opens", "opening", "opened", "opened")),
        ("close", ("close", "closes", "closing", "closed", "closed")),
        ("push", ("push", "pushes", "pushing", "pushed", "pushed")),
        ("fix", ("fix", "fixes", "fixing", "fixed", "fixed")),
        ("sit", ("sit", "sits", "sitting", "sat", "sat")),
    ],
)
def test_forms_of_verbs(verb, forms):
    assert disturb.inflect(verb) == forms


def test_up_that_belongs_to_a_verb():
    """`wakes up` is one verb; other words after it, and other directions after other verbs, are changed."""
    changed = lambda caption: {(d.was, d.now) for d in disturb.every(caption) if d.rule != "verb"}  # noqa: E731
    assert changed("She wakes up.") == set() == changed("He is cleaning Up.")
    assert changed("She walks up the hill.") == {("up", "down")} == changed("He runs UP the hill.")
    assert changed("She wakes slowly.") == {("slowly", "quickly")}
    assert changed("He is cleaning down the wall.") == {("down", "up")}


def test_plurals():
    assert [disturb.plural(n) for n in ("shelf", "cup", "box", "dress", "bench", "dish")] == [
        *("shelves", "cups", "boxes", "dresses", "benches", "dishes")
    ]


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("...", "it has no words"),
        (" ".join(["a man opens"] * 27), "it has more than 80 words"),
        ("a man opens a door after 3 seconds", "it tells a time"),
        ("a man opens a door at 0:12", "it tells a time"),
        ("a man opens a door in frame 3", "it tells a time"),
        ("a man opens a door", "it is a copy of the input"),
        ("A man, opens the door!", "it changes nothing"),
        ("a tall man opens a door", "it repeats another"),
        ("ein Hund bellt", "it is in another language, or about something else"),
        ("мужчина открывает дверь", "it is in another language, or about something else"),
        ("a man opens a red door", None),
        ("man doors", None),
    ],
)
def test_faults_of_a_candidate(text, why):
    assert candidates.find_fault(text, "a man opens a door", {"tall man opens door"}) == why


def test_a_caption_of_eighty_words_is_short_enough():
    eighty = " ".join(["the man"] * 40)
    assert candidates.find_fault(eighty, "a man opens a door") is None
    assert candidates.find_fault(eighty + " runs", "a man opens a door") == "it has more than 80 words"
    assert candidates.find_fault("a man waits 5 seconds more", "a man waits 5 seconds") is None  # as the input does
    assert candidates.find_fault("ein Kater", "Hund rennt") is None  # the input is not English


def test_letters_and_stems():
    assert candidates.is_latin("ab\u0433") and not candidates.is_latin("a\u0433\u0433") and candidates.is_latin("")
    assert (
        candidates.is_latin("a\u0433")
        and candidates.stems("The running man") == {"runn"}
        and candidates.stems("the man") == {"the", "man"}
    )
    assert candidates.normalise("The Man, a dog & an_apple!") == "man dog apple"


def test_candidates_are_screened_in_order():
    found = [
        ("a tall man opens a door", "static"),
        ("A tall man opens the door.", "dynamic"),
        ("", "static"),
        ("the man shuts a door", "dynamic"),
    ]
    accepted, dropped = candidates.screen(found, "a man opens a door", ["A man shuts the door"])
    assert accepted == [candidates.Candidate("a tall man opens a door", "static")] and accepted[0].score is None
    assert [(d.branch, d.why) for d in dropped] == [
        *[("dynamic", "it repeats another"), ("static", "it has no words"), ("dynamic", "it repeats another")]
    ]


def test_the_highest_score_is_chosen_the_first_of_equals():
    of = lambda text, score: candidates.Candidate(text, "static", score)  # noqa: E731
    assert choose([of("a", 1), of("b", 3), of("c", 3), of("d", None)]).text == "b"
    assert choose([of("a", None), of("b", None)]).text == "a" and choose([]) is None
    assert choose([of("a", None), of("b", -5)]).text == "b"


# frames


def test_times_of_frames():
    spans = [(0.0, 2.0), (2.0, 6.0), (6.0, 7.0)]
    assert key_times(spans, 1.0, 6.5, 8) == [1.5, 4.0, 6.25] and key_times(spans, 2.0, 6.0, 8) == [4.0]
    assert key_times([(float(k), k + 1.0) for k in range(10)], 0.0, 10.0, 3) == [1.5, 5.5, 8.5]
    assert key_times(spans, 0.0, 7.0, 3) == [1.0, 4.0, 6.5]
    assert even_times(2.0, 6.0, 4) == [2.5, 3.5, 4.5, 5.5] and even_times(0.0, 3.0, 1) == [1.5]


# plans


def test_moments_that_are_looked_at_are_spread_evenly():
    sample: list[Moment] = []
    for n, moment in enumerate(make_moments(40), 1):
        keep_evenly(sample, moment, n, 3)
    assert [m.id for m in sample] == [0, 8, 16, 24, 32]
    keep_evenly(sample, make_moments(1)[0], 41, 0)
    assert len(sample) == 5


def test_a_probe_counts_keyframes(monkeypatch):
    class Sampler:
        def sample(self, moment, keys, even):
            if moment.id == 1:
                raise InputError("no video")
            return {"keys": [(0.0, b"")] * (1 + moment.id), "even": []}

    found = plan(make_moments(4), recipe_of(), EndpointOptions(), None, Sampler(), 3)
    assert (found.probed, found.frames, found.moments) == (2, 2.0, 4) and found.steps["static_frame"].calls == 8
    blind = plan(make_moments(4), recipe_of(blind=True), EndpointOptions(), None, Sampler(), 3)
    assert (blind.probed, blind.frames) == (0, 1.0)
    assert Plan().total == StepPlan(0, 0, 0, 0.0) and not Plan().priced


def test_the_tokens_of_a_step():
    recipe = recipe_of(video_frames=3)
    blank = plan_step("rewrite", recipe, Prices.parse([]), (1, 0, 2.0)).tokens_in
    assert plan_step("rewrite", recipe, Prices.parse(["1/2"]), (10, 70, 2.0)) == StepPlan(
        10, 10 * blank + 70, 600, pytest.approx((10 * blank + 70 + 1200) / 1e6)
    )
    assert plan_step("judge", recipe, Prices.parse([]), (0, 0, 2.0)) == StepPlan(0, 0, 0, 0.0)


# options


@pytest.mark.parametrize(
    ("kind", "wrong", "told"),
    [
        (RecipeOptions, {"temperature": -0.1}, "--temperature -0.1; it lies between 0 and 10"),
        (RecipeOptions, {"temperature": 10.5}, "--temperature 10.5"),
        (RecipeOptions, {"scorer": "noise"}, "--scorer 'noise'; it is judge, noise:RUN or none"),
        (RecipeOptions, {"scorer": "noise:"}, "it is judge, noise:RUN or none"),
        (RecipeOptions, {"scorer": "noise:run"}, "say --scorer-features with it"),
        (RecipeOptions, {"scorer_features": ("a",)}, "say --scorer-features with it"),
        (RunOptions, {"budget": -1.0}, "--budget -1; it is 0 or more"),
        (RunOptions, {"budget": 1e12}, "--budget 1e"),
        (RunOptions, {"batch_pause": 0.0}, "--batch-pause 0; it is a positive number of seconds"),
        (RunOptions, {"batch_pause": 1e6}, "--batch-pause 1e"),
        (RunOptions, {"batch_wait": 0.0}, "--batch-wait 0; it is a positive number of hours"),
        (RunOptions, {"batch_wait": 1e6}, "--batch-wait 1e"),
        (RunOptions, {"batch": True, "engine": "ray"}, "leave out --engine ray"),
        (AbOptions, {}, "A and B are the same; say --model-b or --prompts-b"),
        (StatsOptions, {"eps": 1.0}, "--eps 1; it lies between 0 and 1"),
        (StatsOptions, {"eps": -0.1}, "--eps -0.1"),
        (ExportOptions, {"out": "x", "split": ".a"}, "becomes a file's name"),
        (ExportOptions, {"out": "x", "split": "a" * 62}, "becomes a file's name"),
        (ExportOptions, {"out": "x", "split": ""}, "becomes a file's name"),
    ],
)
def test_options_that_cannot_be(kind, wrong, told):
    named = {"store": Path("s")} if kind in (RunOptions, ExportOptions) else {}
    with pytest.raises(SpecError, match=told):
        kind(**named, **wrong)


def test_defaults_and_ends():
    recipe = RecipeOptions(temperature=10.0)
    assert asdict(RecipeOptions()) == {
        **{
            "image_model": None,
            "video_model": None,
            "prompts": None,
            "keyframes": 8,
            "video_frames": 8,
            "scorer": "judge",
        },
        **{
            "scorer_features": (),
            "scorer_text": None,
            "rewrites": False,
            "blind": False,
            "temperature": 0.0,
            "max_tokens": 800,
            "seed": 0,
            "tries": 2,
        },
    }
    assert recipe.evaluator is None and RecipeOptions(scorer="noise:a:b", scorer_features=("x",)).evaluator == Path(
        "a:b"
    )
    run = RunOptions(store="s")
    assert (run.batch_moments, run.batch_pause, run.batch_wait, run.batch, run.forget_batches, run.engine) == (
        *(500, 30.0, 26.0, False, False, "local"),
    )
    assert (run.budget, run.videos, run.address, run.format) == (None, None, None, None)
    assert (
        PlanOptions().probe,
        PlanOptions().store,
        AbOptions(model_b="n").sample,
        AbOptions(model_b="n").sample_seed,
    ) == (0, None, 50, 0)
    assert asdict(StatsOptions()) == {"embedder": None, "eps": 0.01, "picture": False, "words": 0}
    out = ExportOptions(store="s", out="o", split="a" * 61)
    assert (out.name, out.licence, out.layouts, out.embedder, out.overwrite) == (
        "fine-grained moments",
        "unknown",
        (),
        "hashing",
        False,
    )
    assert RunOptions(store="s", budget=0.0).budget == 0 and StatsOptions(eps=0.0).eps == 0
    bounds = {
        f"{kind.__name__}.{o.name}": (o.about.at_least, o.about.at_most)
        for kind in (RecipeOptions, RunOptions, PlanOptions, AbOptions, StatsOptions)
        for o in kind.options()
        if (o.about.at_least, o.about.at_most) != (None, None)
    }
    assert bounds == {
        **{
            "RecipeOptions.keyframes": (1, 64),
            "RecipeOptions.video_frames": (1, 256),
            "RecipeOptions.max_tokens": (1, None),
        },
        **{"RecipeOptions.tries": (1, 20), "RunOptions.batch_moments": (1, 50_000), "PlanOptions.probe": (0, 10_000)},
        **{"AbOptions.sample": (2, None), "StatsOptions.words": (0, None)},
    }


def test_a_run_is_finished_when_all_is_answered():
    assert Ran(1, 0, None, {"done": 3, "empty": 1}).finished and not Ran(1, 0, None, {"done": 3}, left=1).finished
    assert not Ran(1, 1, None, {"done": 3, "failed": 1}).finished


def test_models_and_roles():
    recipe = Recipe.of(EndpointOptions(model="t"), RecipeOptions(image_model="i", video_model="v"))
    assert recipe.models == {"text": "t", "image": "i", "video": "v", "judge": "v"}
    assert recipe_of().models == dict.fromkeys(("text", "image", "video", "judge"), "m")
    assert recipe.parameters(2) == {"temperature": 0.0, "max_tokens": 800, "seed": 2}
    assert recipe.hash == replace(recipe, options=replace(recipe.options, tries=9)).hash and len(recipe.hash) == 12
    assert recipe.hash != replace(recipe, options=replace(recipe.options, seed=9)).hash


# a run's store


def test_what_a_run_needs(tmp_path):
    with pytest.raises(SpecError, match="holds no moments; name a file of them"):
        benchmark.run(None, options=RunOptions(store=tmp_path / "s"), recipe=RecipeOptions(blind=True))
    with pytest.raises(SpecError, match=r"say where the videos are \(--videos DIR\), or --blind to show none"):
        benchmark.run(None, options=RunOptions(store=tmp_path / "s"))
    with pytest.raises(SpecError, match="no layout is called 'x'; there are: huggingface, label-studio, potato"):
        benchmark.export(ExportOptions(store=tmp_path / "s", out=tmp_path / "o", layouts=("x",)))
    with pytest.raises(InputError, match="a budget without prices; say what a million tokens cost: --price IN/OUT"):
        write_moments(tmp_path / "m.jsonl", 1)
        benchmark.run(
            tmp_path / "m.jsonl", options=RunOptions(store=tmp_path / "s", budget=1.0), recipe=RecipeOptions(blind=True)
        )


def test_hours_of_a_batch_are_seconds(tmp_path, monkeypatch):
    made = []

    class Work:
        answered = failed = 0
        stopped = None

        def __init__(self, store, recipe, endpoint, sampler, budget, *, scorer, batch, progress):
            made.append(batch)

        def run(self):
            return None

    monkeypatch.setattr(benchmark, "Work", Work)
    write_moments(tmp_path / "m.jsonl", 1)
    for batch in (True, False):
        options = RunOptions(store=tmp_path / "s", batch=batch, batch_wait=0.5, batch_moments=7, batch_pause=3.0)
        benchmark.run(tmp_path / "m.jsonl", options=options, recipe=RecipeOptions(blind=True))
    assert (made[0].moments, made[0].pause, made[0].longest) == (7, 3.0, 1800.0) and made[1] is None


def test_shares_of_limits():
    whole = EndpointOptions(concurrency=8, rpm=60.0, tpm=600.0)
    part = shards.divide(whole, 3)
    assert (part.concurrency, part.rpm, part.tpm) == (2, 20.0, 200.0)
    assert (
        shards.divide(EndpointOptions(concurrency=2), 3).concurrency == 1
        and shards.divide(EndpointOptions(), 3).rpm is None
    )
    shard = shards.Shard(Path("a/s.sqlite"), 7, 0, 1, recipe_of(), whole, None, lambda: None)
    assert shard.path == Path("a/s.sqlite.shards/0007.sqlite") and shard.make_scorer() is None


# two recipes


def test_a_sample_is_drawn_by_chance_and_the_same_for_the_same_seed():
    store = SimpleNamespace(moments=lambda: iter(make_moments(30)))
    assert [m.id for m in compare.draw_sample(store, 5, 3)] == [m.id for m in compare.draw_sample(store, 5, 3)]
    assert len({tuple(m.id for m in compare.draw_sample(store, 5, seed)) for seed in range(8)}) > 4
    assert (
        [m.id for m in compare.draw_sample(store, 30, 3)]
        == list(range(30))
        == [m.id for m in compare.draw_sample(store, 99, 3)]
    )
    counts = np.zeros(30)
    for seed in range(600):
        counts[[m.id for m in compare.draw_sample(store, 5, seed)]] += 1
    assert counts.min() > 65 and counts.max() < 140  # each a hundred times


def test_an_interval_of_means():
    assert compare.interval(np.array([1.0]), 0) is None
    assert compare.interval(np.array([2.0, 2.0]), 0) == [2.0, 2.0]
    low, high = compare.interval(np.arange(20.0), 1)
    assert 6.5 < low < 7.5 and 11.5 < high < 12.5


# captions that are almost equal


def unit(*angles: float) -> np.ndarray:
    return np.array([[np.cos(a), np.sin(a)] for a in np.radians(angles)], dtype=np.float32)


def test_clusters_of_points():
    e = unit(0, 4, 8, 90, 94, 180)
    eps = 1 - np.cos(np.radians(5))
    ones = np.ones(6, dtype=np.int64)
    assert distinct.cluster(e, ones, eps, 2).tolist() == [0, 0, 0, 1, 1, -1]
    assert distinct.cluster(e, ones, eps, 3).tolist() == [0, 0, 0, -1, -1, -1]  # ends belong to the core between
    assert distinct.cluster(e, np.array([1, 1, 1, 1, 1, 2]), eps, 2).tolist() == [0, 0, 0, 1, 1, 2]
    assert distinct.cluster(e, ones, eps, 1).tolist() == [0, 0, 0, 1, 1, 2]


def test_strips_have_every_pair_once(monkeypatch):
    e = unit(0, 1, 2, 3)
    whole = [(i.tolist(), j.tolist()) for i, j in distinct.strips(e, 0.5)]
    assert whole == [([0, 0, 0, 1, 1, 2], [1, 2, 3, 2, 3, 3])]
    monkeypatch.setattr(distinct, "STRIP", 4 * 4 * 2)
    parts = [(i.tolist(), j.tolist()) for i, j in distinct.strips(e, 0.5)]
    assert parts == [([0, 0, 0, 1, 1], [1, 2, 3, 2, 3]), ([2], [3])]


def test_clusters_of_captions():
    angles = {"a": 0, "b": 1, "c": 90, "d": 180}
    embed = lambda texts: unit(*(angles[t] for t in texts)) * 3  # noqa: E731
    found = distinct.find_clusters(["a", "c", "b", "d", "d"], embed)
    assert (found.classes, found.instances, found.captions, found.unique) == (2, 4, 5, 4)
    assert found.labels.tolist() == [0, -1, 0, 1, 1]
    assert distinct.find_clusters([], embed)[:4] == (0, 0, 0, 0)
    told = []
    e = distinct.embed_unit(["d", "a"], embed, told.append)
    assert np.allclose(e, unit(180, 0), atol=1e-6) and told == [2]


def test_points_in_the_plane(monkeypatch):
    made = []

    class TSNE:
        def __init__(self, **how):
            made.append(how)

        def fit_transform(self, e):
            return e[:, :2]

    monkeypatch.setattr(distinct, "import_extra", lambda *names: SimpleNamespace(TSNE=TSNE))
    assert distinct.project(unit(0, 1, 2)).tolist() == [[0.0, 0.0]] * 3 and made == []
    assert distinct.project(unit(*range(7)), 5).shape == (7, 2) and len(distinct.project(unit(*range(100)))) == 100
    how = {"init": "pca", "metric": "cosine"}
    assert made == [{"perplexity": 2.0, "random_state": 5, **how}, {"perplexity": 30.0, "random_state": 0, **how}]
    e = unit(0, 0)
    moved = stats.spread(e)
    assert moved.dtype == np.float32 and 0 < np.abs(moved - e).max() < 1e-3 and not np.array_equal(moved[0], moved[1])


# statistics


def row(id: int, coarse: str, fine: str, score: float | None = 1.0, branch: str | None = None, **more) -> stats.Row:
    return stats.Row(
        **{
            "id": id,
            "video": f"v{id % 2}",
            "start": 1.0,
            "end": 3.0,
            "duration": 3.0,
            "coarse": coarse,
            "fine": fine,
            "score": score,
            "branch": branch,
        }
        | more
    )


ROWS = [
    row(0, "A dog.", "A brown dog runs.", 1.0, "static"),
    row(1, "a dog", "A dog runs for 5 seconds", 2.0, "dynamic", end=4.0),
    row(2, "A cat.", "a brown dog runs", None, "static", duration=None),
]


def test_a_description_of_rows():
    found = stats.describe(ROWS)
    assert (
        found["captions"] == 3
        and found["videos"] == 2
        and found["span"] == pytest.approx(7 / 3)
        and found["confidence"] == 1.5
    )
    assert found["branches"] == {
        "dynamic": {"captions": 1, "confidence": 2.0},
        "static": {"captions": 2, "confidence": 1.0},
    }
    assert found["beyond the video"] == 1 and found["tells a time"] == 1
    assert found["words"]["coarse"] == 2.0 and found["words"]["fine"] == pytest.approx(14 / 3)
    assert found["exact"] == {
        **{"coarse": {"classes": 0, "instances": 0, "unique": 3}, "fine": {"classes": 0, "instances": 0, "unique": 3}}
    }
    assert found["exact, case and full stop aside"] == {
        **{"coarse": {"classes": 1, "instances": 2, "unique": 2}, "fine": {"classes": 1, "instances": 2, "unique": 2}}
    }


def test_bins():
    assert stats.histogram([0.0, 0.24, 0.25, 0.8]) == [(0.0, 2), (0.25, 1), (0.5, 0), (0.75, 1)]
    assert stats.histogram([-0.1], 0.5) == [(-0.5, 1)] and stats.histogram([]) == []
    assert stats.mean([]) is None and stats.mean([1.0, 2.0]) == 1.5


def test_points_of_a_picture_are_spread_over_all(monkeypatch):
    rows = [row(k, "a dog", f"dog {k}") for k in range(20)]
    embed = lambda texts: unit(*(len(t) for t in texts))  # noqa: E731
    monkeypatch.setattr(stats, "project", lambda e: e.astype(np.float64)[:, :2])
    whole = stats.picture(rows, embed, 0.01)
    assert (whole["clusters"], whole["points"], whole["labels"]) == (1, 20, [0] * 20) and len(whole["fine"]) == 20
    assert stats.picture(rows[:15], embed, 0.01)["points"] == 0
    monkeypatch.setattr(stats, "PLOTTED", 20)
    assert stats.picture(rows, embed, 0.01)["points"] == 20
    monkeypatch.setattr(stats, "PLOTTED", 3)
    chosen = []
    monkeypatch.setattr(
        stats, "embed_unit", lambda texts, embed: chosen.append(list(texts)) or unit(*range(len(texts)))
    )
    assert stats.picture(rows, embed, 0.01)["points"] == 3 and chosen[-1] == ["dog 0", "dog 10", "dog 19"]


def test_an_embedder_is_asked_once_for_a_text():
    asked = []
    embed = stats.remember(lambda texts: asked.append(list(texts)) or unit(*map(len, texts)))
    first = embed(["a", "bb", "a"])
    assert asked == [["a", "bb"]] and np.array_equal(embed(["bb"]), first[1:2]) and len(asked) == 1
    with pytest.raises(SpecError, match="no embedder is called 'x'; there are: "):
        stats.load_embedder("x")


# files


def test_groups_of_almost_equal_captions():
    embed = lambda texts: unit(*({"x": 0, "y": 1, "z": 90}[t] for t in texts))  # noqa: E731
    rows = [row(5, "c", "x"), row(6, "c", "z"), row(7, "c", "y")]
    found = module.find_near(rows, embed, module.Export())
    assert found == {
        **{"embedder": "hashing", "eps": 0.01, "classes": 1, "instances": 2},
        "groups": [[{"desc_id": 5, "fig_desc": "x"}, {"desc_id": 7, "fig_desc": "y"}]],
    }


def test_a_card_tells_its_weaknesses():
    captions = {"captions": 1000, "videos": 2000, "span": 1.234, "words": {"coarse": 1.0, "fine": 2.0}}
    captions |= {
        "branches": {"static": {"captions": 1000, "confidence": None}},
        "beyond the video": 1000,
        "tells a time": 2000,
    }
    recipe = {
        "hash": "h",
        "keyframes": 3,
        "video_frames": 4,
        "scorer": "noise",
        "blind": False,
        "models": {},
        "prompts": {},
    }
    recipe["evaluator"] = {"features": ["a|b"], "weights": "w", "simulated": True}
    near = {"instances": 1000, "classes": 2000, "embedder": "e", "eps": 0.01}
    described = {
        "name": "N",
        "licence": "L",
        "cost": 0.5,
        "calls": {},
        "near duplicates": near,
        "moments": {"done": 1, "failed": 1000},
    }
    described |= {"dropped": {"it repeats another": 1000}, "repaired": {"judge: x": 2000}}
    lines = list(module.card_lines(described, captions, recipe))
    for told in (
        "| captions | 1,000 of 2,000 videos |",
        "| mean span | 1.23 s |",
        "| static | 1,000 |",
        "Scores are the matching logits of a trained evaluator (weights `w`) on features a\\|b.\n",
        "**These features are simulated: the scores say nothing about the videos.**\n",
        "* Moments without a caption: 1,000 failed (`left_out.jsonl`).",
        "* 1,000 moments end after their video, as they did in the coarse annotation.",
        "* 2,000 captions tell a time, as their coarse captions do.",
        "* 1,000 candidates were dropped: it repeats another.",
        "* 2,000 answers were repaired: judge: x.",
    ):
        assert told in lines
    assert not [line for line in lines if "No frame was shown" in line]
    plain = list(
        module.card_lines(
            described | {"moments": {"done": 1}, "dropped": {}, "repaired": {}},
            captions | {"beyond the video": 0, "tells a time": 0},
            {**recipe, "evaluator": None},
        )
    )
    assert plain[-1].startswith("* 1,000 captions in 2,000 groups are almost equal") and not [
        x for x in plain if "logits" in x
    ]


def test_a_folder_that_was_changed_is_not_overwritten(tmp_path):
    out = tmp_path / "out"
    module.check_folder(out, False)
    out.mkdir()
    module.check_folder(out, False)
    (out / "x").write_text("1")
    with pytest.raises(InputError, match="exists and is no benchmark of Fabula; name a new folder"):
        module.check_folder(out, True)
    mark = out / stats.MARK
    module.dump(mark, {"name": "n"})
    module.check_folder(out, True)
    with pytest.raises(InputError, match="holds a benchmark that does not say which files are its own"):
        module.check_folder(out, False)
    module.dump(mark, {"name": "n", "files": module.hash_files(out) | {stats.MARK: module.hash_mark({"name": "n"})}})
    module.check_folder(out, False)
    for name in "abc":
        (out / name).write_text("new")
    with pytest.raises(
        InputError, match="3 files were changed, added or deleted since: 'a', 'b', 'c'; name a new folder"
    ):
        module.check_folder(out, False)
    (out / "x").write_text("2")
    with pytest.raises(InputError, match="4 files were changed, added or deleted since: 'a', 'b', 'c', …"):
        module.check_folder(out, False)


def test_a_changed_benchmark_is_replaced_only_when_told(tmp_path):
    write_moments(tmp_path / "m.jsonl", 2)
    store = tmp_path / "s.sqlite"
    benchmark.run(tmp_path / "m.jsonl", options=RunOptions(store=store), recipe=RecipeOptions(blind=True))
    out = tmp_path / "out"
    with module.Store(store) as opened:
        recipe = opened.find_recipe(None)
        embed = stats.load_embedder("hashing")()
        for _ in range(2):
            module.export(opened, recipe, out, module.Export(), embed)
        (out / "README.md").write_text("mine")
        with pytest.raises(InputError, match=r"1 files were changed, added or deleted since: 'README\.md'"):
            module.export(opened, recipe, out, module.Export(), embed)
        assert (out / "README.md").read_text() == "mine"
        module.export(opened, recipe, out, module.Export(), embed, overwrite=True)
    assert (out / "README.md").read_text().startswith("---\nlicense") and not (out / "potato").exists()


# prompts and moments


def test_variables_of_a_prompt(tmp_path):
    assert Prompt("x", " {{a}} {b} {b}\n").fill(b="{c}") == "{a} {c} {c}"
    for text, told in [
        ("{query} {x}", "line 1: no variable is called {x}; there are {query}; a brace is written twice"),
        ("{query}\n{", "line 2: a brace without its other"),
        (" ", "a prompt of 1 characters; it has 1 to 100,000"),
        ("x" * 100_001, "a prompt of 100,001 characters"),
    ]:
        (tmp_path / "static_frame.txt").write_text(text)
        with pytest.raises(InputError) as error:
            load_prompts(tmp_path)
        assert told in str(error.value)
    (tmp_path / "static_frame.txt").write_text("x" * 100_000)
    assert load_prompts(tmp_path)["static_frame"].text == "x" * 100_000
    assert load_prompts(tmp_path)["judge"] == load_prompts()["judge"]
    (tmp_path / "static_frame.txt").write_bytes(b"ab\xff")
    with pytest.raises(InputError, match="byte 2 is not UTF-8"):
        load_prompts(tmp_path)
    (tmp_path / "static_frame.txt").rename(tmp_path / "static.txt")
    with pytest.raises(SpecError, match="no prompt is called 'static'"):
        load_prompts(tmp_path)
    (tmp_path / "static.txt").unlink()
    with pytest.raises(InputError, match=r"holds no prompt; its files are called static_frame.txt, static_fuse.txt"):
        load_prompts(tmp_path)
    with pytest.raises(InputError, match="no such folder"):
        load_prompts(tmp_path / "none")


LINE = {"desc_id": 1, "video": "v", "time": [1, 2], "cog_desc": " a dog "}


def read(tmp_path: Path, *lines: object) -> list[Moment]:
    import json

    (tmp_path / "m.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    return list(read_moments(tmp_path / "m.jsonl"))


def test_lines_of_moments(tmp_path):
    other = {"id": "b", "video": "w", "time": [0, 1.5], "caption": "so", "duration": 9}
    assert read(tmp_path, LINE, other) == [Moment(1, "v", 1.0, 2.0, "a dog"), Moment("b", "w", 0.0, 1.5, "so", 9.0)]
    assert (
        Moment(1, "v", 1.0, 2.0, "a").key
        == Moment(2, "v", 1.0, 2.0, "a", 3.0).key
        == "805b5bc85ba7bd81f00cc48cb1b6cd85"
    )


@pytest.mark.parametrize(
    ("lines", "told"),
    [
        ([LINE, LINE], "this id stands twice; ids are unique"),
        ([LINE | {"time": [2, 2]}], "from 2 to 2 s"),
        ([LINE | {"time": [-1, 2]}], "from -1 to 2 s"),
        ([LINE | {"cog_desc": " "}], "an empty caption"),
        ([], "the file is empty"),
        ([LINE, [1]], "line 2"),
    ],
)
def test_moments_that_are_none(tmp_path, lines, told):
    with pytest.raises(InputError, match=told):
        read(tmp_path, *lines)


if __name__ == "__main__":
    write_stored(FOLDER, TEXTS)
