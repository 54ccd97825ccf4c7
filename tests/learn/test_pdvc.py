"""PDVC: each piece against a loop or a number on paper, the whole by what it must be able to learn."""

from __future__ import annotations

import math
from dataclasses import replace

import pytest

torch = pytest.importorskip("torch", reason="training needs fabula[learn]")

from fabula.core.errors import SpecError  # noqa: E402
from fabula.learn.data import Batch, Steps, Vocabulary  # noqa: E402
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
from fabula.media.stores.features import Features  # noqa: E402

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
    token_mask = mask[..., None].repeat(1, 1, W)
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


def memory_of(x: torch.Tensor, lengths: list[int], padding: torch.Tensor | None = None) -> Memory:
    sizes = torch.tensor(lengths)
    padding = torch.zeros(x.shape[:2], dtype=torch.bool) if padding is None else padding
    return Memory(x, padding, sizes, sizes.cumsum(0) - sizes, torch.ones(len(x), len(lengths)))


@pytest.mark.parametrize("outside", ["border", "zero"])
@pytest.mark.parametrize("boxes", [False, True], ids=["points", "boxes"])
@pytest.mark.parametrize("way", ["matrix", "one by one"])
def test_deformable_attention_is_the_loop(boxes, outside, way, monkeypatch):
    """Every head, level and point by itself: interpolate between frame centres, border or zeros beyond the ends."""
    torch.manual_seed(0)
    B, Q, H, L, P, D, lengths = 2, 5, 2, 3, 4, 8, [7, 4, 2]
    layer = Deformable(Config(hidden=D, levels=L, points=P, outside=outside), H, D)
    layer.reset()
    for p in layer.parameters():
        p.data.copy_(torch.randn_like(p) * 0.7)
    query, memory = torch.randn(B, Q, D), torch.randn(B, sum(lengths), D)
    reference = torch.rand(B, Q, L, 2 if boxes else 1) * 1.4 - 0.2  # some outside
    padding = torch.zeros(B, sum(lengths), dtype=torch.bool)
    padding[1, 5:7] = True
    value = layer.value(memory).masked_fill(padding[..., None], 0).detach()
    delta = layer.offset(query).view(B, Q, H, L, P).detach()
    weight = layer.weight(query).view(B, Q, H, L * P).softmax(-1).view(B, Q, H, L, P).detach()
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
                        at = float(x) * T - 0.5
                        if outside == "border":
                            at = min(max(at, 0.0), T - 1.0)
                        i = math.floor(at)
                        for frame, share in ((i, 1 - at + i), (i + 1, at - i)):
                            if 0 <= frame < T:
                                expected[b, q, head] += weight[b, q, h, l, p] * share * value[b, first + frame, head]
    if way == "one by one":
        monkeypatch.setattr(pdvc, "LARGEST_MATRIX", 0)
    got = layer(query, reference, memory_of(memory, lengths, padding))
    torch.testing.assert_close(got, layer.out(expected))
    with torch.no_grad():
        torch.testing.assert_close(layer(query, reference, memory_of(memory, lengths, padding)), got)


def test_deformable_attention_begins_uniform_and_spread():
    layer = Deformable(Config(hidden=8, levels=2, points=3), 4, 8)
    layer.reset()
    # cos(2πh/4) = 1, 0, −1, 0 divided by max(|cos|, |sin|) = 1; times the point's number
    bias = layer.offset.bias.view(4, 2, 3)
    assert bias[0].tolist() == [[1, 2, 3]] * 2
    assert bias[2, 0].tolist() == pytest.approx([-1, -2, -3])
    assert bias[1].abs().max() < 1e-6 and not layer.weight.weight.any() and not layer.weight.bias.any()


def test_the_captioner_begins_on_both_sides_of_the_event():
    """Its one head would look to the right alone: the mean of the offsets is taken off, as in the published code."""
    clip = Model(replace(TINY, captioner="standard", points=4)).captioner.clip
    assert clip.offset.bias.view(TINY.levels, 4).tolist() == [[-1.5, -0.5, 0.5, 1.5]] * TINY.levels
    assert clip.outside == "border"  # also where the transformer reads zeros, as in the published code
    assert Model(replace(TINY, captioner="standard", outside="zero")).captioner.clip.outside == "border"


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


@pytest.mark.parametrize("matcher", ["hungarian", "ordered", "soft", "marginal"])
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


@pytest.mark.parametrize("matcher", ["ordered", "soft", "marginal"])
def test_ordered_pairs_are_in_order(matcher):
    torch.manual_seed(1)
    model = Model(replace(TINY, matcher=matcher, missing="no"))
    boxes = torch.rand(1, 7, 2) * 0.5 + 0.1
    layer = hand_layer([3.0] * 7, [tuple(b) for b in boxes[0].tolist()], 20)
    targets = torch.tensor([[[0.9, 0.1], [0.2, 0.2], [0.5, 0.3], [0.0, 0.0]]])
    mask = torch.tensor([[True, True, True, False]])
    [(_, q, t)], soft = model.match_layers([layer], targets, mask)
    order = targets[0, t, 0].argsort()
    assert len(t) >= 2 and (layer.boxes[0, q[order], 0].diff() >= 0).all()
    assert bool(soft.any()) == (matcher != "ordered")


def test_sorting_columns_apart_is_the_published_bug():
    """Long early query, short late query: sorted apart, the lengths change places and so do the costs."""
    targets, mask = torch.tensor([[[0.3, 0.4], [0.8, 0.1]]]), torch.ones(1, 2, dtype=torch.bool)
    layer = hand_layer([1.0, 1.0], [(0.3, 0.4), (0.8, 0.1)], 20)
    right = Model(replace(TINY, matcher="soft")).match_layers([layer], targets, mask)[1]
    wrong = Model(replace(TINY, matcher="soft", compat_independent_sort=True)).match_layers([layer], targets, mask)[1]
    assert right.item() < wrong.item() - 1


@pytest.mark.parametrize("soft_class", [False, True])
def test_whom_the_soft_loss_moves(soft_class):
    """The boxes always; the class logits only the published way."""
    layer = hand_layer([1.0, 1.0], [(0.3, 0.4), (0.8, 0.1)], 20)
    layer.logits.requires_grad_()
    layer.boxes.requires_grad_()
    targets, mask = torch.tensor([[[0.3, 0.3], [0.7, 0.1]]]), torch.ones(1, 2, dtype=torch.bool)
    soft = Model(replace(TINY, matcher="soft", soft_class=soft_class)).match_layers([layer], targets, mask)[1]
    soft.sum().backward()
    assert layer.boxes.grad.abs().sum() > 0 and (layer.logits.grad is not None) == soft_class


@pytest.mark.parametrize("matcher", ["ordered", "soft"])
def test_where_nothing_matches_the_first_queries_serve(matcher):
    """All costs positive (nothing looks like an event yet): step i takes the i-th query by centre."""
    layer = hand_layer([-9.0] * 4, [(0.9, 0.01), (0.7, 0.01), (0.8, 0.01), (0.6, 0.01)], 20)
    targets, mask = torch.tensor([[[0.1, 0.1], [0.3, 0.1]]]), torch.ones(1, 2, dtype=torch.bool)
    [(_, q, t)], _ = Model(replace(TINY, matcher=matcher, queries=4)).match_layers([layer], targets, mask)
    assert q.tolist() == [3, 1] and t.tolist() == [0, 1]


@pytest.mark.parametrize("matcher", ["hungarian", "ordered", "soft", "marginal"])
def test_layers_are_matched_together_as_alone(matcher):
    torch.manual_seed(2)
    model = Model(replace(TINY, matcher=matcher, missing="cheapest"))
    none = torch.zeros(2, 7, 1)
    layers = [Layer(none, none, torch.randn(2, 7), torch.rand(2, 7, 2), torch.zeros(2, 3)) for _ in range(3)]
    targets, mask = torch.rand(2, 4, 2), torch.tensor([[True] * 4, [True, True, False, False]])
    together, soft = model.match_layers(layers, targets, mask)
    for i, layer in enumerate(layers):
        [alone], value = model.match_layers([layer], targets, mask)
        assert all(torch.equal(a, b) for a, b in zip(together[i], alone, strict=True))
        torch.testing.assert_close(soft[i : i + 1], value)


def test_the_marginal_loss_at_no_temperature_is_the_set_loss_of_the_complete_ordered_pairs():
    """F_0 = Σ_q bg(q) + min over π of Σ [ev − bg + 4 (1 − GIoU)] = 2 · class + 4 · giou of these pairs, times steps."""
    torch.manual_seed(3)
    model = Model(replace(TINY, matcher="marginal", gamma=0.0))
    layer = Layer(torch.zeros(2, 7, 16), torch.zeros(2, 7, 1), torch.randn(2, 7), torch.rand(2, 7, 2) * 0.5 + 0.2,
                  torch.zeros(2, 21))  # fmt: skip
    targets, mask = torch.rand(2, 4, 2) * 0.5 + 0.2, torch.tensor([[True] * 4, [True, True, False, False]])
    [pairs], free = model.match_layers([layer], targets, mask)
    losses = model.set_losses(layer, targets, mask, pairs, torch.tensor(1.0))
    assert [(pairs[0] == b).sum().item() for b in range(2)] == [4, 2]  # complete
    torch.testing.assert_close(free.sum(), 2 * losses["class"] + 4 * losses["giou"])
    for b in range(2):  # in order
        q, t = pairs[1][pairs[0] == b], pairs[2][pairs[0] == b]
        assert (layer.boxes[b, q[targets[b, t, 0].argsort()], 0].diff() >= 0).all()


def test_the_marginal_loss_pulls_as_the_expected_set_loss():
    """∂F/∂logit = (1 − y) ∂bg + y ∂ev with y the chance that a query is taken: bounded, on both sides."""
    torch.manual_seed(4)
    model = Model(replace(TINY, matcher="marginal", gamma=0.5))
    logits, boxes = torch.randn(1, 7, dtype=torch.float64, requires_grad=True), torch.rand(1, 7, 2).double()
    boxes = boxes[:, boxes[0, :, 0].argsort()]
    targets, mask = torch.tensor([[[0.3, 0.2], [0.6, 0.3]]]).double(), torch.ones(1, 2, dtype=torch.bool)
    layer = Layer(torch.zeros(1, 7, 16), torch.zeros(1, 7, 1), logits, boxes, torch.zeros(1, 21))
    free = model.match_layers([layer], targets, mask)[1].sum()
    (got,) = torch.autograd.grad(free, logits)
    energy = model.energy(logits, boxes, targets)[0].detach()
    chance = torch.zeros(7, dtype=torch.float64)
    pairs = [(i, j) for i in range(7) for j in range(i + 1, 7)]
    weight = torch.stack([-(energy[i, 0] + energy[j, 1]) / 0.5 for i, j in pairs]).softmax(0)
    for (i, j), w in zip(pairs, weight, strict=True):
        chance[i] += w
        chance[j] += w
    event, other = (
        torch.autograd.grad(x.sum(), logits)[0][0] for x in (model.focal(logits)[0], model.focal(logits)[1])
    )
    torch.testing.assert_close(got[0], (1 - chance) * other + chance * event)


@pytest.mark.parametrize("kind", [torch.bfloat16, torch.float16])
@pytest.mark.parametrize("captioner", ["standard", "light"])
def test_half_precision_leaves_heads_and_matching_alone(kind, captioner):
    torch.manual_seed(0)
    model = Model(replace(TINY, captioner=captioner, caption_dropout=0.0))
    batch = batch_of([[(0.1, 0.3), (0.4, 0.5)], [(0.2, 0.4)]])
    exact = model.loss(batch)
    with torch.autocast("cpu", dtype=kind):
        losses = model.loss(batch)
        layers = model.decode(batch, model.encode(batch))
    assert {x.dtype for one in layers for x in (one.logits, one.boxes, one.counts, one.reference)} == {torch.float32}
    assert {v.dtype for v in losses.values()} == {torch.float32}
    assert losses["loss"].item() == pytest.approx(exact["loss"].item(), rel=0.05)
    losses["loss"].backward()
    assert all(p.grad is not None and torch.isfinite(p.grad).all() for p in model.parameters())
    with torch.autocast("cpu", dtype=kind):
        assert len(model.eval().predict(batch)) == 2


@pytest.mark.parametrize("captioner", ["standard", "light"])
def test_caption_loss_is_the_mean_of_means(captioner):
    """Captions of different lengths in a row, against each of them alone, word by word, through torch's own LSTM."""
    torch.manual_seed(0)
    model = Model(replace(TINY, captioner=captioner, caption_dropout=0.0))
    batch = batch_of([[(0.1, 0.3), (0.5, 0.6)], [(0.2, 0.4)]], W=6)
    batch.token_mask[0, 1, 4:], batch.tokens[0, 1, 3:] = False, 0  # two words where the others have four
    memory = model.encode(batch)
    layers = model.decode(batch, memory)
    pairs = [(torch.tensor([0, 0, 1]), torch.tensor([4, 2, 6]), torch.tensor([1, 0, 0])),
             (torch.tensor([1]), torch.tensor([3]), torch.tensor([0]))]  # fmt: skip
    expected = []
    for layer, chosen in zip(layers, pairs, strict=True):
        each = []
        for b, q, t in zip(*(x.tolist() for x in chosen), strict=True):
            words = batch.tokens[b, t][batch.token_mask[b, t]]
            logp = spell_out(model, memory, layer, b, q, words)
            each.append(-sum(logp[i, w] for i, w in enumerate(words[1:])) / (len(words) - 1))
        expected.append(torch.stack(each).mean())
    got = model.caption_losses(layers, batch, memory, pairs)
    torch.testing.assert_close(torch.stack(got), torch.stack(expected))
    empty = (torch.zeros(0, dtype=torch.long),) * 3
    assert [x.item() for x in model.caption_losses(layers, batch, memory, [empty, empty])] == [0, 0]
    first, none = model.caption_losses(layers, batch, memory, [pairs[0], empty])
    torch.testing.assert_close(first, expected[0])
    assert none.item() == 0


def spell_out(model: Model, memory: Memory, layer: Layer, b: int, q: int, words: torch.Tensor) -> torch.Tensor:
    """log p of every next word, as the equations of `Captioner` stand there: one caption, one word at a time."""
    c = model.captioner
    query, state, told = layer.hidden[b, q], None, []
    for word in words[:-1]:
        parts = [c.words(word), query]
        if c.attends:
            h = torch.zeros(c.lstm.hidden_size) if state is None else state[0].flatten()
            V = c.clip.value(memory.x[b])
            delta = c.clip.offset(torch.cat([h, query])).view(c.clip.levels, c.clip.points)
            clip = []
            for level, (T, first) in enumerate(zip(memory.sizes.tolist(), memory.starts.tolist(), strict=True)):
                ref = layer.reference[b, q]
                for d in delta[level]:
                    x = ref[0] + (d / c.clip.points * ref[1] / 2 if len(ref) == 2 else d / T)
                    at = (x * T - 0.5).clamp(0, T - 1)
                    i = min(int(at.detach()), T - 2)
                    clip.append((1 - at + i) * V[first + i] + (at - i) * V[first + i + 1])
            clip = torch.stack(clip)
            a = c.energy(torch.tanh(c.from_clip(clip) + c.from_state(h))).softmax(0)
            parts.insert(1, (a * clip).sum(0))
        y, state = c.lstm(torch.cat(parts)[None, None], state)
        told.append(c.out(y[0, 0]).log_softmax(-1))
    return torch.stack(told)


@pytest.mark.parametrize("captioner", ["standard", "light"])
@torch.no_grad()
def test_greedy_words_are_the_likeliest_of_each_caption_alone(captioner):
    torch.manual_seed(1)
    model = Model(replace(TINY, captioner=captioner)).eval()
    model.captioner.words.weight.data.normal_()
    model.captioner.out.weight.data.normal_()
    batch = batch_of([[(0.1, 0.3)], [(0.5, 0.6)]])
    memory = model.encode(batch)
    layer = model.decode(batch, memory)[-1]
    told, score = model.write_captions(layer, memory)
    assert len({tuple(t) for t in told.flatten(0, 1).tolist()}) > 2
    for b in range(2):
        for q in range(7):
            words, total = [0], 0.0
            while len(words) <= TINY.max_words:
                best = spell_out(model, memory, layer, b, q, torch.tensor([*words, 0]))[-1].max(-1)
                words.append(best.indices.item())
                if not words[-1]:
                    break
                total += best.values.item()
            mine = [w for w in told[b, q].tolist() if w]
            assert mine == [w for w in words if w] and score[b, q].item() == pytest.approx(total, abs=1e-4)


# -- the whole --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("captioner", ["standard", "light", "none"])
@pytest.mark.parametrize("matcher", ["hungarian", "ordered", "soft", "marginal"])
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
    names = names - {"class", "giou"} | {"marginal"} if matcher == "marginal" else names
    assert names | {f"{n}_0" for n in names - {"loss"}} == set(seen[0])
    assert seen[-1]["loss"] < seen[0]["loss"] and seen[-1]["counter"] < seen[0]["counter"]
    assert [n for n, p in model.named_parameters() if p.grad is None] == []
    weights = {"class": 2, "giou": 4, "counter": 0.5, "caption": 2, "soft": 1, "marginal": 1}
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
    tokens, score = model.write_captions(last, memory)
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
@pytest.mark.parametrize("matcher", ["hungarian", "ordered", "soft", "marginal"])
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
