"""Rules of story metrics one by one: a number by hand that changes when the rule is ignored."""

import math

import numpy as np
import pytest

from fabula import text
from fabula.data.stories import Corpus
from fabula.metrics import metric
from fabula.metrics.stories import Stories
from fabula.metrics.stories._families.overlap_pairs import letters
from fabula.text import bleu, cider, meteor
from tests.metrics import oracles
from tests.toys import Share, corpus, fold, one, rows, share, story  # noqa: F401  (a fixture)

# ── captions where segments overlap ─────────────────────────────────────────────────────────────────────────────────

REF = corpus({"v": [(0, 10, "a b c d"), (20, 30, "e f g h")]})
PRED = corpus({"v": [(0, 10, "a b c x"), (20, 30, "e f y h"), (50, 60, "a b c d")]})  # the third overlaps nothing


@pytest.mark.parametrize("n", [1, 2, 3, 4])
def test_localised_bleu_sums_a_videos_pairs_and_pays_for_the_lost(n):
    # 1-grams 3 + 3 of 8, 2-grams 2 + 1 of 6, 3-grams 1 + 0 of 4, 4-grams 0 of 2; one of three predictions is lost
    p = [6 / 8, 3 / 6, 1 / 4, 0]
    expected = math.prod(p[:n]) ** (1 / n) * 2 / 3
    assert fold(f"DVC_BLEU_{n}(tok=none)@0.5", REF, PRED)["value"] == pytest.approx(expected, abs=1e-3)
    whole = [bleu.stats("a b c d", ["a b c d"]), bleu.stats("e f g h", ["e f g h"])]
    assert fold(f"DVC_BLEU_{n}(tok=none)@0.5", REF, REF)["value"] == pytest.approx(bleu.corpus(whole)[n - 1])


def test_localised_meteor_of_items_or_of_sums():
    one_, two = meteor.segments(["a b c x", "e f y h"], [["a b c d"], ["e f g h"]])
    assert fold("DVC_METEOR(tok=none)@0.5", REF, PRED)["value"] == pytest.approx((one_.score + two.score) / 3)
    summed = meteor.aggregate([one_, two])
    assert fold("DVC_METEOR(tok=none,agg=corpus)@0.5", REF, PRED)["value"] == pytest.approx(summed * 2 / 3)
    abc = meteor.aggregate([one_, two, *meteor.segments(["a b c d"], [["abc123!@#"]])])
    assert fold("DVC_METEOR(tok=none,agg=corpus,garbage=abc)@0.5", REF, PRED)["value"] == pytest.approx(abc)
    assert abs(summed - (one_.score + two.score) / 2) > 1e-3
    nothing = corpus({"v": [(50, 60, "a")]})
    assert fold("DVC_METEOR(tok=none,agg=corpus)@0.5", REF, nothing)["value"] == 0


def test_localised_cider_by_its_documents():
    pairs = [("a b c x", ["a b c d"]), ("e f y h", ["e f g h"])]
    own = cider.scores(pairs, cider.Idf.from_references([r for _, r in pairs]))
    assert fold("DVC_CIDEr(tok=none,idf=video)@0.5", REF, PRED)["value"] == pytest.approx(sum(own) / 3)
    more = Corpus({**REF, **corpus({"w": [(0, 10, "a b"), (20, 30, "a q")]})})
    events = [["a b c d"], ["e f g h"], ["a b"], ["a q"]]
    wide = cider.scores(pairs, cider.Idf.from_references(events))
    assert rows("DVC_CIDEr(tok=none)@0.5", more, PRED).by_key("value")["v"] == pytest.approx(sum(wide) / 3)
    assert sum(wide) != pytest.approx(sum(own))
    # with letters for the lost one, the video has a third document
    third = [*pairs, ("a b c d", [letters(2)])]
    lettered = cider.scores(third, cider.Idf.from_references([r for _, r in third]))
    asked = "DVC_CIDEr(tok=none,idf=video,garbage=random)@0.5"
    assert fold(asked, REF, PRED)["value"] == pytest.approx(sum(lettered) / 3)


def test_cider_in_parts_counts_the_whole_corpus_first():
    made = metric("DVC_CIDEr(tok=none)@0.5")
    other = corpus({"w": [(0, 10, "a b c d"), (20, 30, "a q")]})
    parts = [made.count_statistics([c]) for c in (REF, other)]
    assert parts[0]["N"] == parts[1]["N"] == 2
    whole = made.count_statistics([Corpus({**REF, **other})])
    assert made.merge_statistics(parts) == whole and whole["N"] == 4
    table = made.table(Stories([REF], PRED, whole))
    together = rows(made, Corpus({**REF, **other}), PRED)
    assert table.by_key("value")["v"] == pytest.approx(together.by_key("value")["v"])
    assert metric("DVC_CIDEr(idf=video)").count_statistics([REF]) is None
    assert not metric("DVC_CIDEr(idf=video)").needs_statistics and made.needs_statistics


def test_letters_for_the_lost_count_the_pairs_before_them():
    assert [letters(n)[4:] for n in (0, 1, 25, 26, 27, 26**2)] == [
        "aaaaaa",
        "baaaaa",
        "zaaaaa",
        "abaaaa",
        "bbaaaa",
        "aabaaa",
    ]
    made = metric("DVC_ROUGE_L(tok=none,garbage=random,order=file)")
    tokens = made.prepare(Stories([REF], PRED))
    lost_first = story((50, 60, "a b c d"), (0, 10, "a b c x"), (70, 80, "e f y h"))
    pairs, lost = oracles.caption_pairs(made, REF["v"], lost_first, 0.5, tokens)
    assert pairs == [("a b c d", letters(0)), ("a b c x", "a b c d"), ("e f y h", letters(2))] and lost == 0


def test_nobody_with_an_id_does_not_count_for_ispice():
    told = corpus({"v": [(0, 10, "A dog barks."), (20, 30, "P1 is riding a horse.")]})
    assert fold("DVC_iSPICE@0.5", told, told)["value"] == 1  # one pair counts
    quiet = corpus({"v": [(0, 10, "A dog barks.")]})
    assert fold("DVC_iSPICE@0.5", quiet, quiet)["value"] == 0
    lost = corpus(
        {"v": [*[(e.segment.start, e.segment.end, e.caption) for e in told["v"].events], (50, 60, "P1 runs.")]}
    )
    assert fold("DVC_iSPICE@0.5", told, lost)["value"] == 1 / 2  # what overlaps nothing counts as 0


def test_tokens_of_localised_metrics():
    told, said = corpus({"v": [(0, 10, "A caf dog.")]}), corpus({"v": [(0, 10, "a café dog")]})
    assert fold("DVC_ROUGE_L(nonascii=blank)@0.5", told, said)["value"] == 1
    assert fold("DVC_ROUGE_L@0.5", told, said)["value"] == pytest.approx(2 / 3)
    assert fold("DVC_ROUGE_L(tok=none)@0.5", told, corpus({"v": [(0, 10, "A caf dog")]}))["value"] == pytest.approx(
        2 / 3
    )


def test_swapped_ends_and_eps_where_captions_are_compared():
    back = corpus({"v": [(10, 0, "a b c d")]})
    assert fold("DVC_ROUGE_L(tok=none,segments=swap)@0.5", REF, back)["value"] == 1
    assert fold("DVC_ROUGE_L(tok=none,segments=raw)@0.5", REF, back)["value"] == 0
    half = corpus({"v": [(0, 5, "a b c d")]})  # IoU 5/10; with ε it falls short
    assert fold("DVC_ROUGE_L(tok=none)@0.5", REF, half)["value"] == 1
    assert fold("DVC_ROUGE_L(tok=none,eps=1e-8)@0.5", REF, half)["value"] == 0
    assert one("PRF(segments=swap)", story((0, 10)), story((10, 0)))["f1"] == 1
    assert one("mIoU(segments=swap)", story((10, 0)), story((0, 10)))["value"] == 1


# ── precision and recall ────────────────────────────────────────────────────────────────────────────────────────────


def test_best_by_each_level_on_its_own():
    """The better recall at .3 is the second set's, at .7 the first's; the row's counts are the first set's."""
    pred = corpus({"v": [(0, 10), (20, 24)]})
    sets = [corpus({"v": [(0, 10), (40, 50), (60, 70)]}), corpus({"v": [(0, 5), (20, 30)]})]
    # set 1: P 1/2, R 1/3 at both · set 2: IoUs 1/2 and .4: P 1, R 1 at .3, nothing at .7
    row = next(rows("PRF(refs=best,best_by=each)@0.3/0.7", sets, pred).dicts())
    assert (row["precision@0.3"], row["recall@0.3"]) == (1, 1)
    assert (row["precision@0.7"], row["recall@0.7"]) == (1 / 2, pytest.approx(1 / 3))
    assert (row["precision"], row["recall"]) == (3 / 4, pytest.approx(2 / 3))
    assert row["f1"] == pytest.approx(2 * (3 / 4) * (2 / 3) / (3 / 4 + 2 / 3))
    assert (row["n_ref"], row["n_pred"]) == (3, 2)
    by_f1 = next(rows("PRF(refs=best)@0.3/0.7", sets, pred).dicts())
    assert (by_f1["precision"], by_f1["recall"], by_f1["n_ref"]) == (1 / 2, 1 / 2, 2)  # F .5 over .4


def test_f1_of_levels_and_of_means_from_totals():
    """Resampling reads totals: the same number as the fold."""
    ref = corpus({"v": [(0, 10), (20, 30)], "w": [(0, 10)]})
    pred = corpus({"v": [(0, 6)], "w": [(0, 10), (50, 60)]})
    # .5: v P 1 R 1/2, w P 1/2 R 1 → means 3/4, 3/4 · .7: v 0, w P 1/2 R 1 → 1/4, 1/2
    levels = (3 / 4 + 2 * (1 / 4) * (1 / 2) / (1 / 4 + 1 / 2)) / 2
    means = 2 * (1 / 2) * (5 / 8) / (1 / 2 + 5 / 8)
    for rule, expected in (("levels", levels), ("means", means)):
        made = metric(f"PRF(f1={rule})@0.5/0.7")
        table = rows(made, ref, pred)
        assert made.fold(table)["f1"] == pytest.approx(expected)
        assert made.of_sums(made.sums(table).sum(axis=0, keepdims=True)) == pytest.approx([expected])
    assert fold("PRF(f1=levels)@0.5/0.7", ref, pred)["precision"] == 1 / 2


def test_top_one_prediction_of_a_start():
    ref, pred = story((0, 10)), story((50, 60), (4, 5))
    assert one("StartPRF", ref, pred)["precision"] == 1 / 2
    assert one("StartPRF(top=1)", ref, pred)["precision"] == 0
    assert one("StartPRF@1/5", ref, pred)["recall"] == 1 / 2
    assert one("StartPRF", ref, story())["precision"] == one("PRF", ref, story())["f1"] == 0


# ── SODA ────────────────────────────────────────────────────────────────────────────────────────────────────────────


def test_soda_by_hand(share):  # noqa: F811
    """IoU 1 and .5; captions 1/2 and 1 of the prediction's words, 1 and 1/2 the other way round."""
    ref = story((0, 10, "a"), (20, 30, "c d"))
    pred = story((0, 10, "a b"), (20, 25, "c"))
    told = "(text=share,tok=none)"
    c = one(f"SODA_c{told}", ref, pred)
    assert (c["S"], c["precision"], c["recall"]) == (1 * 0.5 + 0.5 * 1, 1 / 2, 1 / 2)
    assert one(f"SODA_b{told}", ref, pred)["S"] == 0.5 + 1
    assert one("SODA_d", ref, pred)["S"] == 1 + 0.5
    a = one("SODA_a(text=share,tok=none)@0.5/0.7", ref, pred)
    assert (a["S@0.5"], a["S@0.7"], a["S"]) == (1.5, 0.5, 1.0)  # an overlap of τ itself is enough
    turned = one("SODA_c(text=share,tok=none,roles=gold-as-hypothesis)", ref, pred)
    assert turned["S"] == 1 * 1 + 0.5 * 0.5
    assert one("SODA_d", ref, story())["precision"] == 0


class OnlyWanted(Share):
    """Scores what it is asked for, and nothing else."""

    def pairs_many(self, blocks, wanted=None):
        cells = np.concatenate([self.pairs(*block).ravel() for block in blocks])
        ends = np.cumsum([len(c) * len(r) for c, r in blocks])[:-1]
        parts = np.split(cells if wanted is None else np.where(wanted, cells, 0.0), ends)
        return [part.reshape(len(c), len(r)) for part, (c, r) in zip(parts, blocks, strict=True)]


@pytest.mark.parametrize("roles", ["prediction-as-hypothesis", "gold-as-hypothesis"])
def test_soda_asks_for_every_caption_that_it_needs(roles, monkeypatch):
    """Overlaps of 1, of a half and of nothing, in two videos of different size."""
    ref = corpus({"v": [(0, 10, "a"), (20, 30, "b c")], "w": [(0, 10, "d")]})
    pred = corpus({"v": [(0, 10, "a x"), (20, 25, "b"), (50, 60, "a")], "w": [(0, 10, "d"), (0, 9, "d y")]})
    found = []
    for scorer in (Share(), OnlyWanted()):
        monkeypatch.setattr(text.room, "get", lambda name, scorer=scorer: scorer)
        found.append([fold(f"SODA_{v}(text=share,tok=none,roles={roles})", ref, pred) for v in "abc"])
    assert found[0] == found[1] and all(f["f1"] > 0 for f in found[0])


def test_soda_a_chooses_its_reference_set_for_each_level(share):  # noqa: F811
    pred = corpus({"v": [(0, 10, "a"), (20, 30, "b")]})
    sets = [corpus({"v": [(0, 10, "a"), (60, 70, "b")]}), corpus({"v": [(0, 6, "a"), (20, 26, "b")]})]
    # at .5 the second set has both, at .7 the first has one
    row = next(rows("SODA_a(text=share,tok=none,refs=best)@0.5/0.7", sets, pred).dicts())
    assert (row["S@0.5"], row["f1@0.5"], row["S@0.7"], row["f1@0.7"]) == (2, 1, 1, 1 / 2)
    assert (row["S"], row["f1"]) == (1.5, 3 / 4)


def test_marks_are_read_off_the_table(share):  # noqa: F811
    """Where nothing overlaps, the published code still takes the first pair."""
    ref, pred = story((0, 10, "a")), story((50, 60, "a"))
    assert one("SODA_b(text=share,tok=none)", ref, pred)["S"] == 0
    assert one("SODA_b(text=share,tok=none,backtrack=marked)", ref, pred)["S"] == 1


def test_matches_name_places_and_fill_what_costs_nothing(share):  # noqa: F811
    """The second pair overlaps and shares no word: it adds nothing to S and is still a pair."""
    ref = story((0, 10, "a"), (20, 30, "b"), (40, 50, "c"))
    pred = story((0, 10, "a"), (21, 29, "x"), (40, 50, "c"))
    made = metric("SODA_c(text=share,tok=none)")
    ctx = made.prepare(Stories([Corpus({"v": ref})], Corpus({"v": pred})))
    (found,) = made.matches([(ref, pred)], ctx)
    assert [tuple(m) for m in found] == [(0, 0, 1, 1), (1, 1, 8 / 10, 0), (2, 2, 1, 1)]
    (places,) = metric("SODA_d").matches([(ref, pred)], None)
    assert [(m.g, m.p, m.text) for m in places] == [(0, 0, None), (1, 1, None), (2, 2, None)]
    both = made.matches([(ref, pred), (pred, ref)], ctx)
    assert [[(m.g, m.p) for m in f] for f in both] == [[(0, 0), (1, 1), (2, 2)]] * 2


# ── paragraphs ──────────────────────────────────────────────────────────────────────────────────────────────────────


def test_paragraphs_in_time_or_in_file_order():
    ref = corpus({"v": [(0, 5, "a b"), (10, 15, "c d")]})
    pred = corpus({"v": [(10, 15, "c d"), (0, 5, "a b")]})
    assert fold("Para_ROUGE_L", ref, pred)["value"] == 1
    assert fold("Para_ROUGE_L(order=file)", ref, pred)["value"] == pytest.approx(1 / 2)  # c d a b: two in order


def test_paragraphs_against_every_annotator():
    sets = [corpus({"v": [(0, 5, "a b")], "w": [(0, 5, "x")]}), corpus({"v": [(0, 5, "c d")]})]
    pred = corpus({"v": [(0, 5, "c d")], "w": [(0, 5, "x")]})
    table = rows("Para_ROUGE_L", sets, pred)
    assert table.by_key("value") == {"v": 1, "w": 1} and table.refset.tolist() == [0, 0]


def test_paragraph_metrics_are_those_of_their_texts():
    ref = corpus({"v": [(0, 5, "A man plays the guitar."), (6, 9, "He sings!")], "w": [(0, 5, "A dog runs home")]})
    pred = corpus({"v": [(0, 5, "a man plays a guitar"), (6, 9, "she sings")], "w": [(0, 5, "a dog runs home")]})
    texts = [("a man plays a guitar she sings", "a man plays the guitar he sings"), ("a dog runs home",) * 2]
    segments = [meteor.segments([c], [[r]])[0] for c, r in texts]
    assert fold("Para_METEOR", ref, pred)["value"] == pytest.approx(meteor.aggregate(segments))
    stats = [bleu.stats(c, [r]) for c, r in texts]
    assert fold("Para_BLEU_4", ref, pred)["value"] == pytest.approx(bleu.corpus(stats)[3])
    idf = cider.Idf.from_references([[r] for _, r in texts])
    expected = np.mean(cider.scores([(c, [r]) for c, r in texts], idf))
    assert fold("Para_CIDEr", ref, pred)["value"] == pytest.approx(expected)


def test_a_person_who_does_nothing_does_not_count_for_ispice():
    told = corpus({"v": [(0, 10, "P1."), (20, 30, "P1 is riding a horse.")]})
    said = corpus({"v": [(0, 10, "P1."), (20, 30, "P1 is riding a cow.")]})
    assert fold("DVC_iSPICE@0.5", told, told)["value"] == 1  # the first pair has nothing to compare
    assert fold("DVC_iSPICE@0.5", told, said)["value"] == 0


def test_a_paragraph_is_letters_in_lower_case():
    told = story((5, 6, "It's 2 Dogs!"), (0, 1, "A cat"))
    assert metric("Para_METEOR").text(told) == "a cat it s dogs"
    assert metric("Para_METEOR(order=file)").text(told) == "it s dogs a cat"
