"""fabula score --task identity with captions: every shape of file, both rules, iSPICE and FITB together."""

import json

import numpy as np
import pytest

import fabula
from fabula import demo
from fabula.core.errors import InputError, SpecError
from fabula.metrics import metric
from fabula.text import ispice
from fabula.text.identity import normalise_as_published
from tests.cli.conftest import fabula as command  # noqa: F401

TRUTH = {
    "a": ["P1 is kicking a red ball.", "P2 is watching P1."],
    "b": ["P1 was holding a lamp.", "A dog barks at P1."],
    "c": ["P3 is reading a letter to P4."],
}
SAID = {
    "a": ["P5 is kicking a red ball.", "P5 is watching a dog."],
    "b": ["P2 was holding a lamp.", "A dog barks at P2."],
}


def lines(path, told, **more):
    entries = [{"id": k, "captions": v, **{name: m[k] for name, m in more.items() if k in m}} for k, v in told.items()]
    path.write_text("".join(json.dumps(e) + "\n" for e in entries))
    return path


@pytest.fixture
def files(tmp_path):
    return lines(tmp_path / "preds.jsonl", SAID), lines(tmp_path / "refs.jsonl", TRUTH)


def values(result):
    return {name: score.value for name, score in result.scores.items()}


def test_captions_give_ispice_and_its_company(files):
    result = fabula.score(*files, task="identity")
    assert list(result.scores) == ["iSPICE", "SPICE", "METEOR", "CIDEr"]
    expected = [ispice.score(" ".join(SAID.get(k, [])), " ".join(TRUTH[k])).value for k in TRUTH]
    assert expected[1] == 1 and expected[2] == 0 and 0 < expected[0] < 1
    assert result["iSPICE"].value == pytest.approx(np.mean(expected))
    rows = result.rows["iSPICE"]
    assert rows.unit == "set" and rows.keys == ("a", "b", "c") and rows["value"].tolist() == pytest.approx(expected)
    assert result.rows["METEOR"]["value"][1] == 1.0  # other numbers, the same people
    assert result.counts == {
        "sets": 3, "missing": 1, "unparsed": 0, "unknown": 0, "references": 3, "predictions": 2
    }  # fmt: skip
    assert "1 captionsets have no prediction" in result.warnings[0]
    for score in result.scores.values():
        assert "sets:3|missing:1|renamed:word" in score.signature
    assert [i.id for i in result.items] == ["a", "b", "c"]


def test_a_file_of_sets_that_nobody_needs_is_said_not_to_be_read(files, tmp_path):
    result = fabula.score(*files, task="identity", metrics="METEOR", sets=tmp_path / "sets.csv")
    assert any("--sets is not read" in line and "sets.csv" in line for line in result.warnings)


def test_stories_pairs_tables_and_lists_are_captionsets_too(files, tmp_path):
    wanted = values(fabula.score(*files, task="identity"))

    def stories(told):
        times = [[k, k + 1] for k in range(2)]
        return {v: {"duration": 2, "timestamps": times[: len(c)], "sentences": c} for v, c in told.items()}

    def table(told):
        return "".join(f"{k}{n}\t0.0\t{c}\n" for k, captions in told.items() for n, c in enumerate(captions))

    for name, told in {"p": SAID, "r": TRUTH}.items():
        (tmp_path / f"{name}.json").write_text(json.dumps(stories(told)))
        (tmp_path / f"{name}.tsv").write_text(table(told))
        (tmp_path / f"{name}_list.json").write_text(json.dumps([{"id": k, "captions": v} for k, v in told.items()]))
    (tmp_path / "sets.tsv").write_text("a0\ta1\nb0\tb1\nc0\n")
    pairs = [{"id": k, "cand": " ".join(SAID.get(k, [])), "refs": [" ".join(v)]} for k, v in TRUTH.items()]
    (tmp_path / "pairs.jsonl").write_text("".join(json.dumps(p) + "\n" for p in pairs))
    tables = fabula.score(tmp_path / "p.tsv", tmp_path / "r.tsv", sets=tmp_path / "sets.tsv", task="identity")
    found = {
        "stories": fabula.score(tmp_path / "p.json", tmp_path / "r.json", task="identity"),
        "lists": fabula.score(tmp_path / "p_list.json", tmp_path / "r_list.json", task="identity"),
        "mixed": fabula.score(files[0], tmp_path / "r.json", task="identity"),
        "pairs": fabula.score(tmp_path / "pairs.jsonl", task="identity"),
        "tables": tables,
    }
    for name, result in found.items():
        assert values(result) == pytest.approx(wanted), name
    assert tables.rows["iSPICE"].keys == ("a0", "b0", "c0")


def test_blanks_and_captions_together(tmp_path):
    """FITB: a has P1 P2 P1, given x y x: right; b has P1 P1, given x z: wrong; c has P3 P4 and no answer."""
    blanks = {"a": [["x"], ["y", "x"]], "b": ["x", "z"]}
    preds, refs = lines(tmp_path / "p.jsonl", SAID, blanks=blanks), lines(tmp_path / "r.jsonl", TRUTH)
    result = fabula.score(preds, refs, task="identity")
    assert list(result.scores) == ["FITB", "iSPICE", "SPICE", "METEOR", "CIDEr"]
    assert result["FITB"].values["instance"] == pytest.approx((1 + 0 + 0) / 3)
    assert result["FITB"].values["same"] == pytest.approx(1 / 2)
    assert list(result.rows["FITB"].keys) == ["a", "b", "c"]
    assert result.counts["captionsets"] == 3 and result.counts["captionsets_missing"] == 1
    assert "blanks:7" in result["FITB"].signature and "renamed" not in result["FITB"].signature
    alone = fabula.score(preds, refs, task="identity", metrics="FITB")
    assert alone["FITB"].values == result["FITB"].values


def test_the_references_words_with_people_filled_in_are_an_answer(tmp_path):
    filled = {k: [c.replace("P2", "P9") for c in v] for k, v in TRUTH.items()}
    refs = lines(tmp_path / "r.jsonl", TRUTH)
    result = fabula.score(lines(tmp_path / "p.jsonl", filled), refs, task="identity")
    assert result["FITB"].value == 1 and result["iSPICE"].value == pytest.approx(1)
    filled["a"][1] = "P1 is watching P1."
    result = fabula.score(lines(tmp_path / "p.jsonl", filled), refs, task="identity")
    assert result["FITB"].values["instance"] == pytest.approx((1 / 3 + 1 + 1) / 3) and result["iSPICE"].value < 1


def test_people_as_tags_and_by_name(tmp_path):
    tags = {"a": ["[7_PERSON3] is kicking a ball.", "[7_PERSON1] is watching [7_PERSON3]."]}
    names = {"a": ["Ann is kicking a ball.", "Bob is watching Ann."]}
    preds, refs = lines(tmp_path / "p.jsonl", tags), lines(tmp_path / "r.jsonl", names)
    result = fabula.score(preds, refs, task="identity", people="Ann|Bob|\\[7_PERSON\\d\\]", metrics="iSPICE,METEOR")
    assert result["iSPICE"].value == 1 and result["METEOR"].value == 1
    assert "people:Ann%7CBob%7C" in result["iSPICE"].signature
    unsaid = fabula.score(preds, refs, task="identity", metrics="iSPICE")
    assert unsaid["iSPICE"].value == 0 and "1 reference captionsets name nobody" in unsaid.warnings[0]


def test_spice_without_sentences_is_remarked_on(files):
    kept, lost = (fabula.score(*files, task="identity", metrics=m) for m in ("SPICE(tok=none)", "SPICE"))
    assert not any("full stops" in w for w in kept.warnings) and any("full stops" in w for w in lost.warnings)
    own = fabula.score(*files, task="identity")["SPICE"]
    assert own.value == kept["SPICE"].value
    assert own.signature == kept["SPICE"].signature != lost["SPICE"].signature


def test_any_number_of_people(tmp_path):
    crowd = {"a": [f"P{k} is holding a lamp." for k in range(1, 14)]}
    preds, refs = lines(tmp_path / "p.jsonl", crowd), lines(tmp_path / "r.jsonl", crowd)
    result = fabula.score(preds, refs, task="identity", metrics="iSPICE,iSPICE(ids=any)")
    tables = [result.rows[name] for name in ("iSPICE", "iSPICE(ids=any)")]
    assert [t["value"].tolist() for t in tables] == [[1], [1]]
    assert any("more than 11 people" in w for w in result.warnings)


# The protocol ---------------------------------------------------------------------------------------------------------


def captionsets():
    """Stories of the demo, and what a system might have made of them: people mixed up, captions left out."""
    told = {v: story.captions for v, story in fabula.read(demo.CAPTIONSETS)[0].items()}
    said = {v: [c.replace("P1", "P4").replace("P3", "P2") for c in captions[:-1]] for v, captions in told.items()}
    return told, said


def test_micap_is_what_its_code_computes(tmp_path):
    """Batches of 16 through the original's CIDEr and ROUGE-L, METEOR's mean, iSPICE without the empty ones."""
    from pycocoevalcap.cider.cider import Cider
    from pycocoevalcap.rouge.rouge import Rouge

    told, said = captionsets()
    said["set_station"] = ["A porter in a red cap waits."]  # nobody with an id: left out of iSPICE's mean
    preds, refs = lines(tmp_path / "p.jsonl", said), lines(tmp_path / "r.jsonl", told)
    result = fabula.score(preds, refs, protocol="micap")
    assert list(result.scores) == ["METEOR", "ROUGE_L", "CIDEr", "SPICE", "iSPICE"] and len(told) == 100
    hyps, golds = ([normalise_as_published(" ".join(side[v])) for v in told] for side in (said, told))
    cider, rouge = [], []
    for k in range(0, 100, 16):
        gts = {i: [g] for i, g in enumerate(golds[k : k + 16])}
        res = {i: [h] for i, h in enumerate(hyps[k : k + 16])}
        cider += Cider().compute_score(gts, res)[1].tolist()
        rouge += Rouge().compute_score(gts, res)[1].tolist()
    assert result["CIDEr"].value == pytest.approx(np.mean(cider), abs=1e-12)
    assert result["ROUGE_L"].value == pytest.approx(np.mean(rouge), abs=1e-12)
    meteor = fabula.reward("METEOR(tok=none)")(hyps, golds)
    assert result["METEOR"].value == pytest.approx(meteor.mean())
    found = [ispice.score(h, g, boundary="blank") for h, g in zip(hyps, golds, strict=True)]
    assert found[0].empty and sum(s.empty for s in found) >= 1
    assert result["iSPICE"].value == pytest.approx(ispice.mean(found, skip_empty=True))
    for name, choices in {
        "CIDEr": ("tok=none", "idf=batch:16"), "METEOR": ("tok=none", "agg=mean"), "SPICE": ("tok=none",),
        "iSPICE": ("boundary=blank", "skip_empty=yes", "ids=11"),
    }.items():  # fmt: skip
        assert all(c in result[name].signature for c in (*choices, "renamed:blank"))


def test_the_default_and_micap_part_where_they_say(tmp_path):
    """A glued id and a candidate without ids: the default sees the one and counts the other."""
    told = {"a": ["P2 waves, P2 is kicking a ball."], "b": ["P1 is kicking a ball."]}
    said = {"a": ["P1 waves, P1 is kicking a ball."], "b": ["A man is kicking a ball."]}
    preds, refs = lines(tmp_path / "p.jsonl", said), lines(tmp_path / "r.jsonl", told)
    honest = fabula.score(preds, refs, task="identity", metrics="iSPICE")
    published_ = fabula.score(preds, refs, protocol="micap", metrics="iSPICE")
    assert honest.rows["iSPICE"]["value"].tolist() == [1, 0] and honest["iSPICE"].value == 1 / 2
    assert published_["iSPICE"].value == published_.rows["iSPICE"]["value"][0]
    assert metric(published_["iSPICE"].signature) == metric("iSPICE(boundary=blank,skip_empty=yes)")


def test_micap_scores_blanks_as_lsmdc_does(tmp_path):
    (tmp_path / "refs.csv").write_text("a\t[X]\nb\t[Y],[X]\n")
    (tmp_path / "preds.csv").write_text("a\t[1]\nb\t[2, 1]\n")
    (tmp_path / "sets.csv").write_text("a\tb\n")
    files = tmp_path / "preds.csv", tmp_path / "refs.csv"
    micap, lsmdc = (fabula.score(*files, sets=tmp_path / "sets.csv", protocol=p) for p in ("micap", "lsmdc-fillin"))
    assert list(micap.scores) == ["FITB"] and micap["FITB"].values == lsmdc["FITB"].values
    assert micap["FITB"].values["same"] == 0


# Bad input ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "text",
    [
        "",
        "   ",
        "P1",
        "Run",
        "walking " * 2000,
        "A red ball on the grass",
        "мама мыла раму",
        "他在跑步 P1",
        "P1 " * 300,
    ],
    ids=["empty", "blanks", "an id", "a word", "2,000 words", "no verb", "Russian", "Chinese", "ids"],
)
def test_odd_captions_have_a_number(tmp_path, text):
    said = {"a": [text, text], "b": SAID["b"]}
    preds, refs = lines(tmp_path / "p.jsonl", said), lines(tmp_path / "r.jsonl", TRUTH)
    for options in ({"task": "identity"}, {"protocol": "micap"}):
        result = fabula.score(preds, refs, **options)
        assert all(score.value >= 0 and np.isfinite(score.value) for score in result.scores.values())
        assert 0 <= result.rows["iSPICE"]["value"][0] < 1
    odd = fabula.score(refs, preds, task="identity", metrics="iSPICE,SPICE")  # and as a reference
    assert all(np.isfinite(s.value) for s in odd.scores.values())


def test_no_prediction_at_all_scores_nothing(tmp_path):
    result = fabula.score(lines(tmp_path / "p.jsonl", {}), lines(tmp_path / "r.jsonl", TRUTH), task="identity")
    assert values(result) == pytest.approx(dict.fromkeys(result.scores, 0.0), abs=1e-6)
    assert result.counts["missing"] == 3


@pytest.mark.parametrize(
    ("preds", "said"),
    [
        ('{"id": "a"}\n', "the first line is an object with 'id': no known format"),
        ('{"id": "a", "captions": ["x"]}\n{"id": "a", "captions": ["y"]}\n', "line 2: this captionset stands twice"),
        ('{"id": "a", "captions": ["x"]}\n{"id": "b"}\n', "captionset 'b': line 2: neither captions nor blanks"),
        ('{"id": "a", "captions": 3}\n', "captionset 'a': line 1 captions: expected a list, saw the number 3"),
        ('{"id": "a", "captions": [3]}\n', r"captions\[0\]: expected text"),
        ('{"id": "a", "blanks": "P1"}\n', "line 1 blanks: expected a list"),
        ('{"id": "a", "blanks": [["P1", 2]]}\n', r"blanks\[0\]: expected text"),
        ('{"id": "q", "captions": ["x"]}\n', "no predicted captionset is among the references; .*'q'.*'a'"),
    ],
)
def test_what_is_wrong_with_a_file_is_said(tmp_path, preds, said):
    (tmp_path / "p.jsonl").write_text(preds)
    with pytest.raises(InputError, match=said):
        fabula.score(tmp_path / "p.jsonl", lines(tmp_path / "r.jsonl", TRUTH), task="identity")


def test_ids_without_captions(tmp_path):
    (tmp_path / "p.jsonl").write_text('{"id": "a", "blanks": [["P1"], ["P2", "P1"]]}\n')
    refs = lines(tmp_path / "r.jsonl", TRUTH)
    result = fabula.score(tmp_path / "p.jsonl", refs, task="identity")
    assert list(result.scores) == ["FITB"] and not result.items
    with pytest.raises(InputError, match="iSPICE reads captions of both sides, and there are none"):
        fabula.score(tmp_path / "p.jsonl", refs, task="identity", metrics="FITB,iSPICE")
    with pytest.raises(InputError, match="no set has captions on both sides; there is nothing to compare"):
        fabula.score(lines(tmp_path / "q.jsonl", SAID), tmp_path / "p.jsonl", task="identity")
    with pytest.raises(InputError, match="FITB reads blanks that are filled in"):
        fabula.score(lines(tmp_path / "q.jsonl", SAID), refs, task="identity", metrics="FITB")


def test_the_command_line(command, tmp_path):  # noqa: F811
    lines(tmp_path / "p.jsonl", SAID), lines(tmp_path / "r.jsonl", TRUTH)
    names = ("score", "p.jsonl", "--refs", "r.jsonl", "--task", "identity")
    ran = command(*names, "--json", "-", "--rows", "rows.jsonl", "--html", "page.html")
    assert ran.code == 0 and set(json.loads(ran.out)["scores"]) == {"iSPICE", "SPICE", "METEOR", "CIDEr"}
    rows = [json.loads(line) for line in (tmp_path / "rows.jsonl").read_text().splitlines()]
    assert [row["set"] for row in rows] == ["a", "b", "c"] and rows[1]["iSPICE"] == 1
    assert "<script>" in (tmp_path / "page.html").read_text()
    assert command(*names, "--people", "[").code == 2
    compared = command("compare", "p.jsonl", "r.jsonl", *names[2:], "--metrics", "iSPICE", "--resamples", "50")
    assert compared.code == 0 and "iSPICE" in compared.out


def test_a_pattern_of_people_must_be_one(files):
    with pytest.raises(SpecError, match="no regular expression"):
        fabula.score(*files, task="identity", people="(")
