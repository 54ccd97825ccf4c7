"""fabula score for fill-in-the-blanks, from files."""

import json
from itertools import cycle

import pytest

import fabula
from fabula.core.errors import InputError, SpecError
from fabula.core.notes import Notes
from fabula.documents.fields import Source
from fabula.documents.files import write_text
from fabula.evaluate.baselines.identity import all_different, same_id
from fabula.io.identity import fillin
from tests.cli.conftest import fabula as command  # noqa: F401

REFS = "a\t[X]\nb\t_\nc\t[X],[Y]\nd\t[Z]\ne\t[Z]\n"
SETS = "a\tb\tc\nd\te\n"
GOOD = "a\t[1]\nb\t[9]\nc\t[1],[2]\nd\t[1]\ne\t[1]\n"


@pytest.fixture
def score(tmp_path):
    def run(predictions, refs=REFS, sets=SETS, **options):
        for name, text in {"preds.csv": predictions, "refs.csv": refs, "sets.csv": sets}.items():
            (tmp_path / name).write_text(text)
        options = {"task": "identity", **options} if "protocol" not in options else options
        return fabula.score(tmp_path / "preds.csv", tmp_path / "refs.csv", sets=tmp_path / "sets.csv", **options)

    return run


@pytest.mark.parametrize("options", [{}, {"protocol": "lsmdc-fillin"}])
def test_a_perfect_answer(score, options):
    result = score(GOOD, **options)
    assert result["FITB"].values == {"instance": 1, "same": 1, "different": 1, "class": 1}
    assert result.warnings == ()
    assert result.counts == {
        "sets": 2, "skipped": 0, "clips": 5, "missing": 0,
        "unparsed": 0, "unknown": 0, "references": 5, "predictions": 5,
    }  # fmt: skip
    assert list(result.rows["FITB"].keys) == ["a", "d"] and result.rows["FITB"].unit == "set"
    assert "sets:2|skipped:0|blanks:5" in result["FITB"].signature


@pytest.mark.parametrize("options", [{}, {"protocol": "lsmdc-fillin"}])
def test_clips_in_another_order_are_met_by_name_and_noted(score, options):
    lines = GOOD.splitlines()
    result = score("\n".join([*lines[3:], "", *lines[:3], ""]), **options)
    assert result["FITB"].values["class"] == 1
    assert "5 predicted clips stand in another order" in result.warnings[0]


def test_unfilled_blanks_cost_their_pairs_and_are_named(score):
    """Set a b c: X X Y with 1 – –: no pair left of 3. Set d e is right."""
    result = score("a\t[1]\nb\t_\nc\t_\nd\t[1]\ne\t[1]\nz\t[1]\n")
    assert result["FITB"].values["instance"] == 1 / 2
    assert any("'c'" in w and "fewer predicted ids than blanks" in w for w in result.warnings)
    assert result.counts["unknown"] == 1 and any("'z'" in w for w in result.warnings)
    result = score("a\t[1]\nd\t[1]\ne\t[1]\n")
    assert result["FITB"].values["instance"] == 1 / 2 and result.counts["missing"] == 2


def test_strict_and_the_protocol_refuse_them_by_name(score):
    short = "a\t[1]\nb\t_\nc\t[1]\nd\t[1]\ne\t[1]\n"
    with pytest.raises(InputError, match=r"preds\.csv: clip 'c': 1 ids for 2 blanks; --strict"):
        score(short, strict=True)
    with pytest.raises(InputError, match=r"preds\.csv: clip 'c': 2 ids for the 3 blanks of its set"):
        score(short, protocol="lsmdc-fillin")
    with pytest.raises(InputError, match=r"preds\.csv: clip 'e': no prediction"):
        score("a\t1\nc\t1,2\nd\t[1]\n", protocol="lsmdc-fillin")


def test_one_bracket_is_remarked_on_where_it_matters(score):
    listed = "a\t[1]\nb\t_\nc\t[1, 2]\nd\t[1]\ne\t[1]\n"
    assert score(listed)["FITB"].values["class"] == 1 and score(listed).warnings == ()
    published = score(listed, protocol="lsmdc-fillin")
    assert published["FITB"].values["same"] == 1 / 2 and "'c'" in published.warnings[0]


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"sets": "a\tb\tq\n"}, "sets.csv: clip 'q': the references do not have this clip"),
        ({"refs": REFS + "a\t_\n"}, "refs.csv: clip 'a': line 6: this clip stands twice"),
        ({"predictions": "q\t[1]\n"}, "no predicted clip is among the references"),
        ({"refs": "a\t[X]\nb\t_\nc\t_\nd\t[Z]\ne\t_\n"}, "no set has two blanks"),
    ],
)
def test_files_that_do_not_fit_are_named(score, changes, said):
    with pytest.raises(InputError) as caught:
        score(**{"predictions": GOOD, **changes})
    assert said in str(caught.value)


def test_what_must_be_named(score, tmp_path):
    score(GOOD)
    with pytest.raises(SpecError, match="--sets"):
        fabula.score(tmp_path / "preds.csv", tmp_path / "refs.csv", task="identity")
    with pytest.raises(SpecError, match="one reference file"):
        fabula.score(tmp_path / "preds.csv", task="identity", sets=tmp_path / "sets.csv")
    with pytest.raises(SpecError, match="not a metric of the task identity"):
        score(GOOD, metrics="SODA_c")
    with pytest.raises(InputError, match="METEOR reads captions of both sides, and there are none"):
        score(GOOD, metrics="METEOR")


def test_baselines_from_the_command_line(command, tmp_path):  # noqa: F811
    (tmp_path / "refs.csv").write_text(REFS)
    (tmp_path / "sets.csv").write_text(SETS)
    for kind, expected in {"same-id": (2 / 3, 1, 0, 0), "all-different": (1 / 3, 0, 1, 0)}.items():
        assert command("baseline", kind, "--refs", "refs.csv", "-o", "out.csv").code == 0
        arguments = ("--refs", "refs.csv", "--sets", "sets.csv", "--protocol", "lsmdc-fillin", "--json", "-")
        ran = command("score", "out.csv", *arguments)
        found = json.loads(ran.out)["scores"]["FITB"]
        assert [found[f] for f in ("instance", "same", "different", "class")] == pytest.approx(expected)
    assert command("baseline", "same-id", "--refs", "nothing.csv", "-o", "o.csv").code == 2
    assert command("score", "out.csv", *arguments[:-2], "--html", "page.html").code == 0
    assert "FITB" in (tmp_path / "page.html").read_text()
    assert command("score", "out.csv", *arguments[:-2], "--rows", "rows.parquet").code == 0


# The published validation files -------------------------------------------------------------------------------------

TRIVIAL = {
    "character_val_different_ids": (0.5933798415812808, 0.0, 1.0, 0.0),
    "derived_pred_all_same": (0.4066201584187187, 1.0, 0.0, 0.0),
}


def values(result):
    return tuple(result["FITB"].values.values())


@pytest.mark.parametrize("name", TRIVIAL)
def test_lsmdc_validation_digit_for_digit(shared_data, name):
    folder = shared_data / "lsmdc_fillin"
    files = {"refs": folder / "references_val_new.csv", "sets": folder / "valSets.csv"}
    result = fabula.score(folder / f"{name}.csv", protocol="lsmdc-fillin", **files)
    assert values(result) == TRIVIAL[name]
    assert (len(result.rows["FITB"]), result.counts["sets"], result.counts["skipped"]) == (1390, 1486, 96)
    rows = result.rows["FITB"]
    assert (rows["same_pairs"].sum(), rows["different_pairs"].sum()) == (4722, 8695)
    assert ((rows["same_pairs"] > 0).sum(), (rows["different_pairs"] > 0).sum()) == (1234, 1146)


def test_lsmdc_baselines_alternation_and_truth(shared_data, tmp_path):
    """Both published versions of the references have the same blanks, so that MICap's numbers can be compared."""
    folder = shared_data / "lsmdc_fillin"
    for suffix in ("", "_2"):
        files = {"refs": folder / f"references_val_new{suffix}.csv", "sets": folder / f"valSets{suffix}.csv"}
        refs, sets = fillin.read_references(files["refs"], Notes()), fillin.read_grouping(files["sets"], Notes())
        alternating = {}
        for clips in sets:
            ids = cycle(("P1", "P2"))
            alternating |= {clip: tuple(next(ids) for _ in refs[clip]) for clip in clips}
        expected = {
            "same": (same_id(refs), TRIVIAL["derived_pred_all_same"]),
            "different": (all_different(refs), TRIVIAL["character_val_different_ids"]),
            "truth": (refs, (1.0, 1.0, 1.0, 1.0)),
            "alternating": (
                alternating, (0.5144762112388005, 0.3448427496751915, 0.6386764343110671, 0.44786709064060787)
            ),
        }  # fmt: skip
        for name, (labels, numbers) in expected.items():
            write_text(tmp_path / f"{name}.csv", fillin.write_labels(labels, Source(tmp_path)))
            options = {"protocol": "lsmdc-fillin"} if suffix else {"task": "identity"}
            assert values(fabula.score(tmp_path / f"{name}.csv", **files, **options)) == numbers, (name, suffix)
