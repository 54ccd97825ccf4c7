"""PDVC: each piece against a loop or a number on paper, the whole by what it must be able to learn."""

from __future__ import annotations

import math
from dataclasses import replace

import pytest

torch = pytest.importorskip("torch", reason="training needs fabula[learn]")

from fabula.core.errors import SpecError  # noqa: E402
from fabula.learn.data import Batch, Steps, Vocabulary  # noqa: E402
from fabula.learn.features import Features  # noqa: E402
from fabula.learn.models import pdvc  # noqa: E402
from fabula.learn.models.pdvc import (  # noqa: E402
    Config,
    Deformable,
    Layer,
    Memory,
    Model,
    giou,
    logit,
    sines,
    to_box,
    to_span,
)

WORDS = ("stir", "pour", "cut", "the", "<unk>")
TINY = Config.tiny(feature_dim=6, frames=24, hidden=16, heads=2, norm_groups=4, feedforward=16, queries=7, rnn=8,
                   word_dim=8, vocabulary=WORDS, max_words=6)  # fmt: skip


def batch_of(spans: list[list[tuple[float, float]]], T: int = 24, C: int = 6, W: int = 4) -> Batch:
    """Videos with these spans, random features and captions."""
    B, K = len(spans), max(map(len, spans))
    at, mask = torch.zeros(B, K, 2), torch.zeros(B, K, dtype=torch.bool)
    tokens = torch.zeros(B, K, W, dtype=torch.long)
    for b, one in enumerate(spans):
        at[b, : len(one)], mask[b, : len(one)] = torch.tensor(one), True
        tokens[b, : len(one), 1:-1] = torch.randint(1, 5, (len(one), W - 2))
    everywhere = torch.ones(B, T, dtype=torch.bool)
    token_mask = mask[..., None].expand(-1, -1, W)
    videos = [f"video {b}" for b in range(B)]
    return Batch(videos, torch.randn(B, T, C), everywhere, torch.full((B,), 60.0), at, mask, tokens, token_mask)


# -- pieces -----------------------------------------------------------------------------------------------------------


def test_giou_of_the_papers_toy():
    """Notebook of the PSS code: 3 steps, 6 proposals."""
    steps = torch.tensor([[5.0, 10], [11, 19], [28, 32]])
    proposals = torch.tensor([[3.0, 7], [4, 14], [15, 33], [24, 30], [25, 33], [37, 45]])
    expected = [
        [0.2857, 0.5, -0.1786, -0.56, -0.5357, -0.675],
        [-0.25, 0.2, 0.1818, -0.2632, -0.2727, -0.5294],
        [-0.7241, -0.5, 0.2222, 0.25, 0.5, -0.2941],
    ]
    torch.testing.assert_close(giou(steps, proposals), torch.tensor(expected), atol=1e-4, rtol=0)


def test_boxes():
    span = torch.tensor([0.25, 0.75])
    assert to_box(span).tolist() == [0.5, 0.5] and torch.equal(to_span(to_box(span)), span)
    assert logit(torch.tensor([0.5, 0.9])).tolist() == pytest.approx([0, math.log(9)], abs=1e-6)
    assert torch.isfinite(logit(torch.tensor([0.0, 1.0]))).all()


def test_sines_by_hand():
    x = sines(torch.tensor([0.25]), 4)[0]  # wavelengths 1, 1, 100, 100
    expected = [math.sin(math.pi / 2), math.cos(math.pi / 2), math.sin(math.pi / 200), math.cos(math.pi / 200)]
    assert x.tolist() == pytest.approx(expected, abs=1e-6)


@pytest.mark.parametrize("boxes", [False, True], ids=["points", "boxes"])
@torch.no_grad()
def test_deformable_attention_is_the_loop(boxes):
    """Every head, level and point by itself: interpolate between frame centres, border beyond the ends."""
    torch.manual_seed(0)
    B, Q, H, L, P, D, lengths = 2, 5, 2, 3, 4, 8, [7, 4, 2]
    layer = Deformable(D, H, L, P, D)
    layer.reset()
    for p in layer.parameters():
        p.data.copy_(torch.randn_like(p) * 0.7)
    query, memory = torch.randn(B, Q, D), torch.randn(B, sum(lengths), D)
    reference = torch.rand(B, Q, L, 2 if boxes else 1) * 1.4 - 0.2  # some outside
    padding = torch.zeros(B, sum(lengths), dtype=torch.bool)
    padding[1, 5:7] = True
    value = layer.value(memory).masked_fill(padding[..., None], 0)
    delta = layer.offset(query).view(B, Q, H, L, P)
    weight = layer.weight(query).view(B, Q, H, L * P).softmax(-1).view(B, Q, H, L, P)
    expected = torch.zeros(B, Q, D)
    for b in range(B):
        for q in range(Q):
            for h in range(H):
                head = slice(h * D // H, (h + 1) * D // H)
                for l in range(L):  # noqa: E741
                    T, first = lengths[l], sum(lengths[:l])
                    for p in range(P):
                        ref = reference[b, q, l]
                        d = delta[b, q, h, l, p]
                        x = ref[0] + (d / P * ref[1] / 2 if boxes else d / T)
                        at = min(max(float(x) * T - 0.5, 0.0), T - 1.0)
                        i = min(int(at), T - 2)
                        v = (1 - at + i) * value[b, first + i, head] + (at - i) * value[b, first + i + 1, head]
                        expected[b, q, head] += weight[b, q, h, l, p] * v
    torch.testing.assert_close(layer(query, reference, memory, padding, lengths), layer.out(expected))


def test_deformable_attention_begins_uniform_and_spread():
    layer = Deformable(8, 4, 2, 3, 8)
    layer.reset()
    # cos(2πh/4) = 1, 0, −1, 0 divided by max(|cos|, |sin|) = 1; times the point's number
    bias = layer.offset.bias.view(4, 2, 3)
    assert bias[0].tolist() == [[1, 2, 3]] * 2
    assert bias[2, 0].tolist() == pytest.approx([-1, -2, -3])
    assert bias[1].abs().max() < 1e-6 and not layer.weight.weight.any() and not layer.weight.bias.any()


def test_levels_and_masks():
    model = Model(TINY)
    features, mask = torch.randn(2, 24, 6), torch.ones(2, 24, dtype=torch.bool)
    mask[1, 12:] = False
    levels, places, masks = model.pyramid(features, mask, torch.tensor([30.0, 400.0]))
    assert [x.shape[1] for x in levels] == [24, 12, 6] and [p.shape[-1] for p in places] == [16] * 3
    assert [m.sum(1).tolist() for m in masks] == [[24, 12], [12, 6], [6, 3]]


def test_padding_is_not_seen():
    """A frame that is padding may hold anything."""
    torch.manual_seed(0)
    model = Model(replace(TINY, frames=None)).eval()
    batch = batch_of([[(0.1, 0.3)], [(0.5, 0.9)]])
    batch.mask[1, 12:] = False
    before = model.predict(batch)
    batch.features[1, 12:] = 1e3
    assert model.predict(batch) == before


# -- criterion --------------------------------------------------------------------------------------------------------


def hand_layer(logits: list[float], boxes: list[tuple[float, float]], n: int) -> Layer:
    Q = len(logits)
    return Layer(torch.zeros(1, Q, 16), torch.zeros(1, Q, 1), torch.tensor([logits]), torch.tensor([boxes]),
                 torch.zeros(1, n + 1))  # fmt: skip


def test_criterion_by_hand():
    """Three queries, two steps; query 2 is step 0, query 0 is step 1."""
    model = Model(replace(TINY, max_count=3, count_rates=(0.0, 0.5, 0.25, 0.0), weight_l1=1.0))
    layer = hand_layer([0.0, 0.0, 0.0], [(0.5, 0.2), (0.1, 0.1), (0.2, 0.2)], 3)
    targets = to_box(torch.tensor([[[0.1, 0.3], [0.4, 0.8]]]))
    mask, pairs = torch.ones(1, 2, dtype=torch.bool), (torch.tensor([0, 0]), torch.tensor([2, 0]), torch.tensor([0, 1]))
    losses = model.set_losses(layer, targets, mask, pairs, torch.tensor(2.0))
    # p = ½: focal = α_t · ¼ · ln 2, α_t = ¼ for the two events, ¾ for the other query
    assert losses["class"].item() == pytest.approx((0.25 + 0.25 + 0.75) / 4 * math.log(2) / 2)
    # step 0 is met exactly; step 1 [.4, .8] by [.4, .6]: IoU ½ = GIoU
    assert losses["giou"].item() == pytest.approx((0 + 0.5) / 2, abs=1e-4)
    assert losses["l1"].item() == pytest.approx((0.1 + 0.2) / 2, abs=1e-6)
    # counts 0 … 3, true 2, all logits 0: ln 2 · w_k · (1 or 1 − exp(−(k − 2)²/8)), mean of 4
    near = [1 - math.exp(-4 / 8), 1 - math.exp(-1 / 8), 1.0, 1 - math.exp(-1 / 8)]
    expected = sum(w * m for w, m in zip([1, 0.5, 0.75, 1], near, strict=True)) * math.log(2) / 4
    assert losses["counter"].item() == pytest.approx(expected)


def test_cost_by_hand():
    model = Model(TINY)
    cost = model.cost(torch.zeros(1, 1), torch.tensor([[[0.5, 0.2]]]), torch.tensor([[[0.5, 0.2], [0.5, 0.4]]]))
    # class: ¼·¼·ln 2 − ¾·¼·ln 2 = −⅛ ln 2, twice; GIoU 1 and ½, four times
    assert cost[0, 0].tolist() == pytest.approx([-0.25 * math.log(2) - 4, -0.25 * math.log(2) - 2], abs=1e-3)


def test_count_beyond_the_counter_is_its_largest():
    model = Model(replace(TINY, max_count=2, count_rates=()))
    layer = hand_layer([0.0] * 7, [(0.5, 0.5)] * 7, 2)
    layer.counts = torch.tensor([[-20.0, -20.0, 20.0]])
    none = (torch.zeros(0, dtype=torch.long),) * 3
    losses = model.set_losses(layer, torch.rand(1, 5, 2), torch.ones(1, 5, dtype=torch.bool), none, torch.tensor(5.0))
    assert losses["counter"].item() < 1e-6


@pytest.mark.parametrize("matcher", ["hungarian", "ordered", "soft"])
def test_the_order_of_the_targets_is_nothing(matcher):
    torch.manual_seed(0)
    model = Model(replace(TINY, matcher=matcher, dropout=0.0, caption_dropout=0.0, missing="cheapest"))
    batch = batch_of([[(0.1, 0.3), (0.3, 0.5), (0.6, 0.9)], [(0.2, 0.25), (0.7, 0.8)]])
    shuffled = replace(batch)
    for name in ("spans", "span_mask", "tokens", "token_mask"):
        value = getattr(batch, name).clone()
        value[0] = value[0][[2, 0, 1]]
        setattr(shuffled, name, value)
    a, b = model.loss(batch), model.loss(shuffled)
    for name in a:
        torch.testing.assert_close(a[name], b[name], msg=name)


@pytest.mark.parametrize("matcher", ["ordered", "soft"])
def test_ordered_pairs_are_in_order(matcher):
    torch.manual_seed(1)
    model = Model(replace(TINY, matcher=matcher, missing="no"))
    boxes = torch.rand(1, 7, 2) * 0.5 + 0.1
    layer = hand_layer([3.0] * 7, [tuple(b) for b in boxes[0].tolist()], 20)
    targets = torch.tensor([[[0.9, 0.1], [0.2, 0.2], [0.5, 0.3], [0.0, 0.0]]])
    mask = torch.tensor([[True, True, True, False]])
    (_, q, t), soft = model.matched(layer, targets, mask)
    order = targets[0, t, 0].argsort()
    assert len(t) >= 2 and (layer.boxes[0, q[order], 0].diff() >= 0).all()
    assert (soft is None) == (matcher == "ordered")


def test_sorting_columns_apart_is_the_published_bug():
    """Long early query, short late query: sorted apart, the lengths change places and so do the costs."""
    targets, mask = torch.tensor([[[0.3, 0.4], [0.8, 0.1]]]), torch.ones(1, 2, dtype=torch.bool)
    layer = hand_layer([1.0, 1.0], [(0.3, 0.4), (0.8, 0.1)], 20)
    right = Model(replace(TINY, matcher="soft")).matched(layer, targets, mask)[1]
    wrong = Model(replace(TINY, matcher="soft", compat_independent_sort=True)).matched(layer, targets, mask)[1]
    assert right is not None and wrong is not None and right.item() < wrong.item() - 1


@pytest.mark.parametrize("soft_class", [False, True])
def test_whom_the_soft_loss_moves(soft_class):
    """The boxes always; the class logits only the published way."""
    layer = hand_layer([1.0, 1.0], [(0.3, 0.4), (0.8, 0.1)], 20)
    layer.logits.requires_grad_()
    layer.boxes.requires_grad_()
    targets, mask = torch.tensor([[[0.3, 0.3], [0.7, 0.1]]]), torch.ones(1, 2, dtype=torch.bool)
    soft = Model(replace(TINY, matcher="soft", soft_class=soft_class)).matched(layer, targets, mask)[1]
    soft.backward()
    assert layer.boxes.grad.abs().sum() > 0 and (layer.logits.grad is not None) == soft_class


def test_where_nothing_matches_the_first_queries_serve():
    """All costs positive (nothing looks like an event yet): step i takes the i-th query by centre."""
    layer = hand_layer([-9.0] * 4, [(0.9, 0.01), (0.7, 0.01), (0.8, 0.01), (0.6, 0.01)], 20)
    targets, mask = torch.tensor([[[0.1, 0.1], [0.3, 0.1]]]), torch.ones(1, 2, dtype=torch.bool)
    (_, q, t), _ = Model(replace(TINY, matcher="ordered", queries=4)).matched(layer, targets, mask)
    assert q.tolist() == [3, 1] and t.tolist() == [0, 1]


def test_caption_loss_is_the_mean_of_means():
    torch.manual_seed(0)
    model = Model(replace(TINY, caption_dropout=0.0))
    batch = batch_of([[(0.1, 0.3), (0.5, 0.6)], [(0.2, 0.4)]])
    memory = model.encode(batch)
    layer = model.decode(batch, memory)[-1]
    pairs = (torch.tensor([0, 0, 1]), torch.tensor([4, 2, 6]), torch.tensor([1, 0, 0]))
    expected = []
    for b, q, t in zip(*(x.tolist() for x in pairs), strict=True):
        one = Memory(memory.x[b : b + 1], memory.padding[b : b + 1], memory.lengths, memory.ratios[b : b + 1])
        query, reference = layer.hidden[b : b + 1, q : q + 1], layer.reference[b : b + 1, q : q + 1]
        logp = model.captioner(query, pdvc.scaled(reference, one), batch.tokens[b : b + 1, t : t + 1], one)[0, 0]
        words = batch.tokens[b, t, 1:]
        expected.append(-sum(logp[i, w] for i, w in enumerate(words)) / len(words))
    got = model.caption_loss(layer, batch, memory, pairs)
    torch.testing.assert_close(got, torch.stack(expected).mean())
    empty = (torch.zeros(0, dtype=torch.long),) * 3
    assert model.caption_loss(layer, batch, memory, empty).item() == 0


# -- the whole --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("captioner", ["standard", "light", "none"])
@pytest.mark.parametrize("matcher", ["hungarian", "ordered", "soft"])
def test_losses_fall_and_every_weight_learns(matcher, captioner):
    torch.manual_seed(0)
    config = replace(TINY, matcher=matcher, captioner=captioner, caption_dropout=0.0, soft_class=True)
    if matcher == "ordered":  # else the sum grows with every step that finds its query
        config = replace(config, missing="cheapest")
    model = Model(config)
    batch = batch_of([[(0.1, 0.3), (0.4, 0.5), (0.6, 0.9)], [(0.2, 0.4), (0.7, 0.8)]])
    optimizer = torch.optim.Adam(model.parameters(), 3e-3)
    seen = []
    for _ in range(12):
        losses = model.loss(batch)
        assert all(torch.isfinite(v) for v in losses.values())
        optimizer.zero_grad()
        losses["loss"].backward()
        optimizer.step()
        seen.append({n: v.item() for n, v in losses.items()})
    names = {"loss", "class", "giou", "counter"} | ({"caption"} if captioner != "none" else set())
    names |= {"soft"} if matcher == "soft" else set()
    assert names | {f"{n}_0" for n in names - {"loss"}} == set(seen[0])
    assert seen[-1]["loss"] < seen[0]["loss"] and seen[-1]["counter"] < seen[0]["counter"]
    assert [n for n, p in model.named_parameters() if p.grad is None] == []
    weights = {"class": 2, "giou": 4, "counter": 0.5, "caption": 2, "soft": 1}
    total = sum(weights[n.removesuffix("_0")] * v for n, v in seen[0].items() if n != "loss")
    assert seen[0]["loss"] == pytest.approx(total, rel=1e-5)


@pytest.mark.parametrize("captioner", ["standard", "light"])
def test_predictions(captioner):
    torch.manual_seed(0)
    model = Model(replace(TINY, captioner=captioner)).eval()
    model.count_heads[-1].bias.data[3] = 50.0  # the counter says 3
    stories = model.predict(batch_of([[(0.1, 0.3)], [(0.5, 0.6)]]))
    assert [s.id for s in stories] == ["video 0", "video 1"] and all(len(s) == 3 for s in stories)
    for s in stories:
        assert all(0 <= e.segment.start <= e.segment.end <= 60 for e in s.events)
        assert all(set((e.caption or "").rstrip(".").split()) <= set(WORDS) for e in s.events)
        assert [e.segment.start for e in s.events] == sorted(e.segment.start for e in s.events)


def test_at_least_one_and_at_most_all_queries_are_kept():
    model = Model(replace(TINY, max_count=20)).eval()
    for count, kept in [(0, 1), (20, 7)]:
        model.count_heads[-1].bias.data[:] = 0
        model.count_heads[-1].bias.data[count] = 50.0
        assert len(model.predict(batch_of([[(0.1, 0.3)]]))[0]) == kept


def test_greedy_stops_at_the_first_zero():
    torch.manual_seed(0)
    model = Model(TINY).eval()
    batch = batch_of([[(0.1, 0.3)]])
    memory = model.encode(batch)
    last = model.decode(batch, memory)[-1]
    model.captioner.out.bias.data[0] = 50.0
    tokens, score = model.captioner.greedy(last.hidden, pdvc.scaled(last.reference, memory), memory, 6)
    assert tokens.shape == (1, 7, 1) and not tokens.any() and not score.any()


def test_alone_is_as_in_a_batch():
    torch.manual_seed(0)
    model = Model(TINY).eval()
    batch = batch_of([[(0.1, 0.3), (0.5, 0.6)], [(0.2, 0.4)]])
    together = model.predict(batch)
    for b, story in enumerate(together):
        one = Batch([batch.videos[b]], *(getattr(batch, n)[b : b + 1] for n in (
            "features", "mask", "duration", "spans", "span_mask", "tokens", "token_mask")))  # fmt: skip
        alone = model.predict(one)[0]
        assert len(alone) == len(story)
        for x, y in zip(alone.events, story.events, strict=True):
            assert (x.segment.start, x.segment.end) == pytest.approx((y.segment.start, y.segment.end), abs=1e-3)


def test_true_segments_as_proposals():
    torch.manual_seed(0)
    model = Model(replace(TINY, proposals="gt", caption_dropout=0.0))
    batch = batch_of([[(0.1, 0.3), (0.5, 0.6)], [(0.2, 0.4)]])
    losses = model.loss(batch)
    assert set(losses) == {"loss", "caption", "caption_0"}
    losses["loss"].backward()
    assert [n for n, p in model.named_parameters() if p.grad is None] == []
    told = model.eval().predict(batch)
    assert [len(s) for s in told] == [2, 1]
    assert (told[0].events[0].segment.start, told[0].events[0].segment.end) == pytest.approx((6, 18), abs=1e-4)


def test_settings_that_cannot_be():
    with pytest.raises(SpecError, match="needs a vocabulary"):
        Model(replace(TINY, vocabulary=()))
    with pytest.raises(SpecError, match="no matcher is called"):
        Model(replace(TINY, matcher="optimal"))
    with pytest.raises(SpecError, match="trains captions alone"):
        Model(replace(TINY, proposals="gt", captioner="none"))


def test_the_published_size():
    """YouCook2 with TSN features: every width of the published settings."""
    model = Model(Config(feature_dim=3072, vocabulary=(*(f"w{i}" for i in range(1606)), "<unk>")))
    assert model.queries.weight.shape == (100, 1024) and model.captioner.out.out_features == 1608
    assert model.captioner.lstm.input_size == 1536 and len(model.pyramid.convs) == 4
    assert model.decoder[0].cross.offset.out_features == 8 * 4 * 4


@pytest.mark.experiment
@pytest.mark.parametrize("matcher", ["hungarian", "ordered", "soft"])
def test_memorisation(small, matcher):
    """8 videos of its own training set, SODA-D F1 above .95."""
    from fabula.learn.pss import predictions, score_predictions

    torch.manual_seed(0)
    features = Features(small.features)
    vocabulary = Vocabulary.build(c for s in small.corpus.values() for c in s.captions)
    config = Config.tiny(feature_dim=features.dim, vocabulary=vocabulary.words, matcher=matcher)
    model, data = Model(config), Steps(small.corpus, features, config.frames, vocabulary, config.max_words)
    batch = data.collate([data[i] for i in range(8)])
    optimizer = torch.optim.Adam(model.parameters(), 2e-3)
    for step in range(300):
        for group in optimizer.param_groups:
            group["lr"] = 2e-3 * min(1.0, 2 * (1 - step / 300))
        loss = model.loss(batch)["loss"]
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    assert score_predictions(predictions(model.eval(), data), small.corpus)["SODA_d"] > 0.95
