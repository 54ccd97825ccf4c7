"""What every metric of the room owes its user. A new file is tested by existing: nothing is listed here by hand."""

import dataclasses
import importlib
import typing

import numpy as np
import pytest

import fabula
from fabula.core.rows import Rows
from fabula.core.spec import choices, hints
from fabula.data.stories import Corpus, Item
from fabula.metrics import Metric, default, metric, room
from fabula.metrics.captions import Items
from fabula.metrics.stories import StoryMetric
from tests.toys import corpus, rows

SEED = 7
WORDS = ("a dog runs", "she chops the onion", "the crowd claps", "he sings")
OWN_SCALE = {"CIDEr", "DVC_CIDEr", "Para_CIDEr"}  # all others lie in [0, 1]
PLAIN = {"text": "exact", "tok": "none"}  # captions compared without tables or tokenisers

ALL = {cls.name: cls for cls in room.all()}
every = pytest.mark.parametrize("cls", ALL.values(), ids=ALL.keys())
OF_CAPTIONS = {name: cls for name, cls in ALL.items() if cls.reads == "captions"}
every_caption = pytest.mark.parametrize("cls", OF_CAPTIONS.values(), ids=OF_CAPTIONS.keys())
CHECKED = {"SODA_m"}  # needs checklists and a judge: test_soda_m.py
OF_STORIES = {name: cls for name, cls in ALL.items() if cls.reads == "stories" and name not in CHECKED}
OF_MOMENTS = {name: cls for name, cls in ALL.items() if cls.reads == "moments"}  # test_moment_contract.py
OF_QUESTIONS = {name for name, cls in ALL.items() if cls.reads == "questions"}  # questions/
ELSEWHERE = {"DenseCap_mAP", "DenseCap_AP", "FITB"} | OF_QUESTIONS  # images, clips: test_densecap.py, test_fitb.py
# in no table by itself: few references have grades, or several windows
ASKED_FOR = {"KnownItem", "NDCG", "OneToMany", "AllWindows", "Seconds", "Pointing", "RTLoc"}
GRAPHS = {"SPICE", "iSPICE"}  # several references make one graph, larger than any caption's; without ids there is none
every_story = pytest.mark.parametrize("cls", OF_STORIES.values(), ids=OF_STORIES.keys())


def plain(cls: type[Metric], **params: object) -> Metric:
    fields = {f.name for f in dataclasses.fields(cls)}
    return cls(**{k: v for k, v in PLAIN.items() if k in fields} | params)


def variants(cls: type[Metric]) -> list[Metric]:
    """The metric with each of its fields set to something else, except how captions are compared."""
    made = [plain(cls)]
    for field in dataclasses.fields(cls):
        if field.name in PLAIN or field.name == "spice":  # spice=java needs Java and an extra
            continue
        hint = hints(cls)[field.name]
        kinds = typing.get_args(hint) or (hint,)
        if choices(hint):
            others = choices(hint)
        elif typing.get_origin(hint) is tuple:
            others = ((2,), (1, 7)) if field.name == "k" else ((0.5,), (0.1 + 0.2, 0.9))
        elif bool in kinds:
            others = (True, False)
        elif int in kinds:
            others = (15,)
        elif float in kinds:
            others = (1e-8, 0.1 + 0.2)
        else:
            others = ()  # free text: its own tests know what it may say
        made += [plain(cls, **{field.name: other}) for other in others]
    return made


def stories(rng: np.random.Generator, videos: int, longest: int) -> Corpus:
    """Random stories, not in order."""
    told = {}
    for v in range(videos):
        n = int(rng.integers(1, longest + 1))
        starts = rng.integers(0, 50, n)
        told[f"v{v}"] = [(int(s), int(s + rng.integers(5, 20)), str(rng.choice(WORDS))) for s in starts]
    return corpus(told)


RNG = np.random.default_rng(SEED)
SETS = [stories(RNG, 9, 5), stories(RNG, 7, 4)]
PRED = stories(RNG, 8, 6)
CASES = {"one set": SETS[:1], "two sets": SETS}


def test_the_room_is_not_empty():
    assert len(ALL) >= 8
    assert len({name.lower() for name in ALL}) == len(ALL)


# What it says of itself ---------------------------------------------------------------------------------------------


@every
def test_prints_itself_and_is_parsed_back(cls):
    for m in [cls(), *variants(cls)]:
        assert metric(str(m)) == m
        assert metric(m.full()) == m
        assert hash(metric(str(m))) == hash(m)
        assert m.name == cls.name == str(m).partition("(")[0].partition("@")[0]


@every
def test_its_signature_is_parsed_back(cls):
    m = plain(cls)
    signature = m.signature({"sets": 1, "videos": 3, "fabula": fabula.__version__})
    assert metric(signature) == m
    assert signature.startswith(m.full())
    assert signature.endswith(f"|sets:1|videos:3|fabula:{fabula.__version__}")
    for field in dataclasses.fields(cls):
        assert field.name in cls.late or f"{field.name}=" in signature or (field.name == cls.at and "@" in signature)


@every
def test_is_frozen(cls):
    m = plain(cls)
    for field in dataclasses.fields(cls):
        with pytest.raises(dataclasses.FrozenInstanceError):
            setattr(m, field.name, getattr(m, field.name))


@every
def test_names_its_paper_its_tasks_and_its_numbers(cls):
    assert cls.paper, "whose is it?"
    assert any(year.isdigit() and len(year) == 4 for year in cls.paper.replace(",", " ").split()), cls.paper
    assert cls.tasks or cls.name in ASKED_FOR
    m = cls()
    assert m.primary in m.fields
    assert len(set(m.fields)) == len(m.fields)
    assert cls.at is None or cls.at in {f.name for f in dataclasses.fields(cls)}
    for task in cls.tasks:
        assert any(type(m) is cls for m in default(task)) is cls.shown


@every
def test_the_file_opens_with_what_it_is(cls):
    module = importlib.import_module(cls.__module__)
    first = (module.__doc__ or "").strip().splitlines()[0]
    assert len(first) > 20, f"{cls.__module__} should open with what it is and whose it is"
    assert first[0].isupper() or first[0] in "mi"  # mIoU, iSPICE
    *_, shelf, file = module.__name__.split(".")
    assert shelf == cls.reads, "a metric lies on the shelf of what it reads"
    assert f"{cls.name.lower()}_".startswith(f"{file}_"), "the file's name is the metric's, or the head of its family's"
    assert cls.label in ("", cls.name.removeprefix("DVC_")), "in dense captioning METEOR means DVC_METEOR, and so on"


@every
def test_is_of_a_known_kind(cls):
    known = {*OF_STORIES, *CHECKED, *OF_CAPTIONS, *OF_MOMENTS, *ELSEWHERE}
    assert cls.name in known, "say in this file what is owed by a new kind of metric"


# What it computes ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("sets", CASES.values(), ids=CASES.keys())
@every_story
def test_fold_gives_its_fields(cls, sets):
    for m in variants(cls):
        values = m.fold(rows(m, sets, PRED))
        assert tuple(values) == cls.fields, str(m)
        assert all(type(v) is float for v in values.values()), str(m)
        if cls.name not in OWN_SCALE:
            assert all(0 <= v <= 1 for v in values.values()), (str(m), values)


@every_story
def test_rows_hold_the_fields_and_are_numbers(cls):
    table = rows(plain(cls), SETS, PRED)
    assert set(cls.fields) <= set(table.columns)
    assert all(np.isfinite(column).all() for column in table.columns.values())
    assert set(table.keys) == set(SETS[0]) | set(SETS[1])


# Events apart from each other, each with words of its own (and somebody who acts): nothing is left to be confused.
APART = corpus(
    {
        "v1": [(0, 10, "P1 plays the guitar on stage"), (20, 35, "P2 throws a bottle at the loud crowd")],
        "v2": [(0, 8, "P1 is cutting one onion into small pieces"), (9, 14, "P2 was holding his oil over that pan")],
        "v3": [(5, 30, "P1 kicks two dogs across their green field")],
    }
)


@every_story
def test_a_perfect_prediction_cannot_be_beaten(cls):
    m = plain(cls)
    perfect, other = m.fold(rows(m, APART, APART)), m.fold(rows(m, APART, PRED))
    assert perfect[cls.primary] > other[cls.primary]
    if cls.name not in OWN_SCALE:
        assert perfect == pytest.approx(dict.fromkeys(cls.fields, 1.0))


@pytest.mark.parametrize("nothing", [Corpus({}), corpus({v: [] for v in SETS[0]})], ids=["no video", "no event"])
@every_story
def test_an_empty_prediction_scores_0(cls, nothing):
    m = plain(cls)
    assert m.fold(rows(m, SETS, nothing)) == pytest.approx(dict.fromkeys(cls.fields, 0.0), abs=1e-6)


@every_story
def test_the_order_of_videos_does_not_matter(cls):
    backwards = [Corpus({v: told[v] for v in reversed(list(told))}) for told in (*SETS, PRED)]
    for m in variants(cls):
        if getattr(m, "pairing", "video") == "shifted":
            continue  # reproduces evaluators that lose count of the videos
        there, back = m.fold(rows(m, SETS, PRED)), m.fold(rows(m, backwards[:-1], backwards[-1]))
        assert back == pytest.approx(there, abs=1e-12), str(m)


@every_story
def test_shards_fold_to_the_whole(cls):
    for m in variants(cls):
        whole = rows(m, SETS, PRED)
        shards = [whole.take(range(start, len(whole), 3)) for start in range(3)]
        joined = Rows.of(row for shard in shards for row in shard.dicts())
        assert m.fold(joined) == pytest.approx(m.fold(whole), abs=1e-12), str(m)


@every_story
def test_the_same_set_twice_is_the_set(cls):
    best = [plain(cls, refs="best")] if issubclass(cls, StoryMetric) else []
    for m in (plain(cls), *best):
        assert m.fold(rows(m, [SETS[0], SETS[0]], PRED)) == pytest.approx(m.fold(rows(m, SETS[0], PRED)))


@every_story
def test_both_kernels_give_the_same_number(cls, kernels):
    m = plain(cls)
    with fabula._kernels.using("python"):
        expected = m.fold(rows(m, SETS, PRED))
    assert m.fold(rows(m, SETS, PRED)) == expected


@every_story
def test_inputs_are_left_alone(cls):
    before = [dict(ref.items()) for ref in (*SETS, PRED)]
    rows(plain(cls), SETS, PRED)
    assert before == [dict(ref.items()) for ref in (*SETS, PRED)]


@every_story
def test_score_prints_it(cls):
    result = fabula.score(PRED, SETS, metrics=[str(plain(cls))])
    (score,) = result.scores.values()
    assert score.name == (cls.label or cls.name)
    assert score.value == score.values[cls.primary]
    assert metric(score.signature) == plain(cls)
    assert "sets:2" in score.signature.split("|")


# Metrics of single captions -----------------------------------------------------------------------------------------

REFERENCES = (
    ("a man plays a guitar on the stage", "someone is playing the guitar"),
    ("the crowd claps and cheers loudly",),
    ("she chops the onion into small pieces", "an onion is cut with a knife"),
    ("a dog runs across the green field",),
)
PERFECT = [Item(n, references[0], references) for n, references in enumerate(REFERENCES)]
SO_SO = [Item(n, f"a man {i.candidate.split()[-1]} today", i.references) for n, i in enumerate(PERFECT)]


def of_items(m: Metric, items: list[Item]) -> Rows:
    return m.table(Items(items))


@every_caption
def test_captions_fold_to_its_fields(cls):
    for m in variants(cls):
        table = of_items(m, SO_SO)
        assert table.unit == "id"
        assert table.keys == (0, 1, 2, 3)
        values = m.fold(table)
        assert tuple(values) == cls.fields, str(m)
        if cls.name not in OWN_SCALE:
            nothing_left = m.param("skip_empty") == "yes"  # nobody is named here: the mean of nothing, as published
            assert all(0 <= v <= 1 or (nothing_left and v != v) for v in values.values()), (str(m), values)


@every_caption
def test_a_perfect_caption_cannot_be_beaten(cls):
    m = plain(cls)
    perfect, other = m.fold(of_items(m, PERFECT))[cls.primary], m.fold(of_items(m, SO_SO))[cls.primary]
    assert perfect >= other >= 0
    if cls.name not in GRAPHS:
        assert perfect > other
    if cls.name not in OWN_SCALE | GRAPHS:
        assert perfect == pytest.approx(1)


@every_caption
def test_missing_and_empty_captions(cls):
    nothing = [dataclasses.replace(i, candidate=None) for i in PERFECT]
    empty = [dataclasses.replace(i, candidate="") for i in PERFECT]
    m = plain(cls)
    zeros = dict.fromkeys(cls.fields, 0)
    assert m.fold(of_items(m, nothing)) == m.fold(of_items(m, empty)) == pytest.approx(zeros, abs=1e-6)
    half = [*PERFECT[:2], *nothing[2:]]
    assert len(of_items(m, half)) == 4
    assert len(of_items(plain(cls, missing="drop"), half)) == 2


@every_caption
def test_the_order_of_items_does_not_matter(cls):
    for m in variants(cls):
        there, back = m.fold(of_items(m, SO_SO)), m.fold(of_items(m, SO_SO[::-1]))
        assert back == pytest.approx(there, abs=1e-12, nan_ok=True), str(m)


@every_caption
def test_shards_of_items_fold_to_the_whole(cls):
    m = plain(cls)
    whole = of_items(m, SO_SO)
    shards = [whole.take([0, 2]), whole.take([1]), whole.take([3])]
    joined = Rows.of((row for shard in shards for row in shard.dicts()), unit="id")
    assert m.fold(joined) == pytest.approx(m.fold(whole), abs=1e-12)
