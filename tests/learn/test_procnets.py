"""ProcNets: anchors, cells and losses by hand, the whole by what it must be able to learn."""

from __future__ import annotations

import math
from dataclasses import replace

import pytest

torch = pytest.importorskip("torch", reason="training needs fabula[learn]")

from fabula.core.errors import SpecError  # noqa: E402
from fabula.learn.data import Batch, Steps  # noqa: E402
from fabula.learn.models.procnets import Config, Model, Proposals, iou  # noqa: E402
from fabula.media.stores.features import Features  # noqa: E402

TINY = Config.tiny(feature_dim=6, frames=40, hidden=8, anchor_low=3, anchor_high=17, anchor_step=2, pool_anchors=4,
                   samples=20)  # fmt: skip


def batch_of(spans: list[list[tuple[float, float]]], T: int = 40, C: int = 6) -> Batch:
    B, K = len(spans), max(map(len, spans))
    at, mask = torch.zeros(B, K, 2), torch.zeros(B, K, dtype=torch.bool)
    for b, one in enumerate(spans):
        at[b, : len(one)], mask[b, : len(one)] = torch.tensor(one), True
    tokens = torch.zeros(B, K, 2, dtype=torch.long)
    frames = torch.ones(B, T, dtype=torch.bool)
    videos = [f"video {b}" for b in range(B)]
    return Batch(videos, torch.randn(B, T, C), frames, torch.full((B,), 80.0), at, mask, tokens, tokens.bool())


def test_iou_by_hand():
    a, b = torch.tensor([[0.0, 4.0]]), torch.tensor([[2.0, 6.0], [4.0, 8.0], [0.0, 4.0]])
    assert iou(a, b)[0].tolist() == pytest.approx([2 / 6, 0, 1])


def test_the_published_size():
    config = Config()
    assert list(config.anchors) == list(range(3, 124, 8)) and len(config.anchors) == 16 and config.cells == 200
    model = Model(config)
    assert model.lstm.input_size == 600 and model.lstm.hidden_size == 200 and model.next_cell.out_features == 201
    assert model.join.in_features == 1536 and model.cell_code.num_embeddings == 201


def test_anchors_without_offsets():
    """Convolutions at 0: every score ½, every proposal its anchor around frame t = 1, 2, …"""
    model = Model(TINY)
    for conv in model.convs:
        conv.weight.data.zero_()
        conv.bias.data.zero_()
    p = model.propose(torch.randn(1, 40, 6))
    assert p.logits.shape == (1, 8, 40) and p.bounds.shape == (1, 8, 40, 2)
    assert p.bounds[0, 1, 9].tolist() == [10 - 2.5, 10 + 2.5]  # anchor of 5 at the 10th frame
    assert p.pooled.shape == (1, 2 * 8) and (p.pooled == 0.5).all()
    assert p.valid[0].sum() == 38 and p.valid[-1].sum() == 40 - 16


def test_an_anchor_longer_than_the_video_stands_there_and_fits_nowhere():
    model = Model(replace(TINY, frames=12, anchor_high=17, pool_frames=4))
    p = model.propose(torch.randn(1, 12, 6))
    assert p.logits.shape == (1, 8, 12) and p.valid.sum(1).tolist() == [10, 8, 6, 4, 2, 0, 0, 0]
    assert (p.logits[0, 5:] == 0).all() and p.bounds[0, 7, 0].tolist() == [1 - 8.5, 1 + 8.5]
    assert (p.logits[0, 4, 5:7] != 0).all()  # of 11 frames: there are two places for it


def test_offsets_move_a_tenth():
    model = Model(TINY)
    for conv in model.convs:
        conv.weight.data.zero_()
        conv.bias.data.copy_(torch.tensor([0.0, 50.0, -50.0]))  # tanh = 1, −1
    low, high = model.propose(torch.randn(1, 40, 6)).bounds[0, 1, 9].tolist()
    assert high - low == pytest.approx(5 * math.exp(0.1)) and (high + low) / 2 == pytest.approx(10 - 0.5)


def test_cells_hold_the_boundaries_of_their_best_proposal():
    torch.manual_seed(0)
    p = Model(TINY).propose(torch.randn(2, 40, 6))
    score = p.logits.sigmoid()
    for b in range(2):
        for column in range(8):
            for row in range(2):
                block = score[b, row * 4 : row * 4 + 4, column * 5 : column * 5 + 5]
                a, t = divmod(int(block.argmax()), 5)
                n = column * 2 + row  # by time, then by anchor
                assert p.pooled[b, n] == block.max()
                assert torch.equal(p.cells[b, n], p.bounds[b, row * 4 + a, column * 5 + t])


def test_mean_frame():
    model, x = Model(TINY), torch.arange(40.0)[None, :, None].expand(1, 40, 6)
    for bounds, mean in [((1.0, 40.0), 19.5), ((3.7, 5.2), 3.0), ((-4.0, 2.0), 0.5), ((39.5, 99.0), 38.5)]:
        assert model.mean_frame(x, torch.tensor([bounds]))[0, 0].item() == pytest.approx(mean)


def test_proposal_losses_by_hand():
    """One anchor hits its step, one lies far away: −log σ(s) and −log(1 − σ(s)), mean over the samples."""
    model = Model(TINY)
    far = [5.0, 8.0]
    bounds = torch.tensor([[[[10.0, 20.0], [11.0, 21.0], far, [-3.0, 7.0]]]])  # the last leaves the video
    logits = torch.tensor([[[1.0, 2.0, -1.0, 5.0]]])
    p = Proposals(logits, bounds, torch.ones(1, 4, dtype=torch.bool), torch.zeros(1, 1), torch.zeros(1, 1, 2))
    steps, mask = torch.tensor([[[10.0, 20.0]]]), torch.ones(1, 1, dtype=torch.bool)
    p.logits = torch.nn.functional.pad(logits, (0, 36), value=0.0)
    p.bounds = torch.nn.functional.pad(bounds, (0, 0, 0, 36), value=-1.0)  # nothing else lies inside
    proposal, boundary = model.proposal_losses(p, steps, mask)
    s = [math.log(1 + math.exp(-x)) for x in (1.0, 2.0)] + [math.log(1 + math.exp(-1.0))]
    assert proposal.item() == pytest.approx(sum(s) / 3)  # IoU 1, 9/11 ≥ .8, 0
    assert boundary.item() == pytest.approx((0 + 0.5 + 0.5) / 2)  # smooth L1 of 1 and 1 is ½ each, two positives


def test_so_many_proposals_are_drawn_and_no_more():
    """Four samples: the only hit, and three of nine misses, which are all alike."""
    model = Model(replace(TINY, samples=4))
    bounds = torch.tensor([[[[10.0, 20.0], *[[5.0, 8.0]] * 9]]])
    logits = torch.tensor([[[3.0, *[-1.0] * 9]]])
    pad = torch.nn.functional.pad
    p = Proposals(pad(logits, (0, 30)), pad(bounds, (0, 0, 0, 30), value=-1.0), torch.ones(1, 40, dtype=torch.bool),
                  torch.zeros(1, 1), torch.zeros(1, 1, 2))  # fmt: skip
    proposal, _ = model.proposal_losses(p, torch.tensor([[[10.0, 20.0]]]), torch.ones(1, 1, dtype=torch.bool))
    hit, miss = math.log(1 + math.exp(-3.0)), math.log(1 + math.exp(-1.0))
    assert proposal.item() == pytest.approx((hit + 3 * miss) / 4)


def test_sequence_learns_the_stop():
    """The stop is a step of the sequence, and padding is none."""
    torch.manual_seed(0)
    model = Model(replace(TINY, dropout=0.0))
    batch = batch_of([[(0.1, 0.3), (0.5, 0.8)], [(0.2, 0.4)]])
    p = model.propose(batch.features)
    steps = batch.spans * 40 + 1
    loss = model.sequence_loss(batch.features, p, steps, batch.span_mask)
    by_hand = []
    for b, n in enumerate([2, 1]):
        one = Proposals(*(x if x is p.valid else x[b : b + 1] for x in vars(p).values()))
        near = [int(((one.cells[0] - steps[b, k]) ** 2).sum(-1).argmin()) for k in range(n)]
        before, state, nll = torch.tensor([16]), None, 0.0
        for cell in [*near, 16]:
            logp, state = model.step(batch.features[b : b + 1], one, before, state)
            nll, before = nll - logp[0, cell], torch.tensor([cell])
        by_hand.append(nll / (n + 1))
    torch.testing.assert_close(loss, torch.stack(by_hand).mean())


def test_losses_fall_and_every_weight_learns():
    torch.manual_seed(0)
    model = Model(replace(TINY, dropout=0.0))
    batch = batch_of([[(0.1, 0.3), (0.4, 0.6)], [(0.5, 0.85)]])
    optimizer = torch.optim.Adam(model.parameters(), 5e-3)
    seen = []
    for _ in range(25):
        losses = model.loss(batch)
        assert set(losses) == {"loss", "proposal", "boundary", "sequence"}
        optimizer.zero_grad()
        losses["loss"].backward()
        optimizer.step()
        seen.append({n: v.item() for n, v in losses.items()})
        assert all(map(math.isfinite, seen[-1].values()))
    assert all(seen[-1][n] < seen[0][n] for n in ("loss", "proposal", "sequence"))
    assert [n for n, p in model.named_parameters() if p.grad is None] == []


@pytest.mark.parametrize("beam", [1, 3])
def test_predictions_stop(beam):
    torch.manual_seed(0)
    model = Model(replace(TINY, beam=beam, max_steps=4)).eval()
    batch = batch_of([[(0.1, 0.3)], [(0.5, 0.8)]])
    told = model.predict(batch)
    assert all(len(s) <= 4 for s in told)
    assert all(0 <= e.segment.start <= e.segment.end <= 80 for s in told for e in s.events)
    model.next_cell.bias.data[-1] = 50.0
    assert [len(s) for s in model.predict(batch)] == [0, 0]
    model.next_cell.bias.data[-1] = -50.0
    assert [len(s) for s in model.predict(batch)] == [4, 4]


def test_a_wider_beam_is_no_worse():
    torch.manual_seed(3)
    model = Model(TINY).eval()
    x = torch.randn(1, 40, 6)
    p = model.propose(x)

    def likelihood(cells: list[int]) -> float:
        total, before, state = 0.0, torch.tensor([16]), None
        for cell in [*cells, *([16] if len(cells) < model.config.max_steps else [])]:
            logp, state = model.step(x, p, before, state)
            total, before = total + logp[0, cell].item(), torch.tensor([cell])
        return total

    with torch.no_grad():
        greedy = model.search(x, p)
        model.config = replace(TINY, beam=5)
        assert likelihood(model.search(x, p)) >= likelihood(greedy) - 1e-5


def test_settings_that_cannot_be():
    with pytest.raises(SpecError, match="do not fill cells"):
        Model(replace(TINY, pool_frames=7))
    with pytest.raises(SpecError, match="odd length"):
        Model(replace(TINY, anchor_low=4, anchor_high=18))
    with pytest.raises(SpecError, match="features of 30 frames; this model takes 40"):
        Model(TINY).propose(torch.randn(1, 30, 6))


@pytest.mark.experiment
def test_memorisation(small):
    """8 videos of its own training set, SODA-D F1 above .95."""
    from fabula.learn.pss import predictions, score_predictions

    torch.manual_seed(0)
    features = Features(small.features)
    config = Config.tiny(feature_dim=features.dim)
    model, data = Model(config), Steps(small.corpus, features, config.frames)
    batch = data.collate([data[i] for i in range(8)])
    optimizer = torch.optim.Adam(model.parameters(), 3e-3)
    for step in range(400):
        for group in optimizer.param_groups:
            group["lr"] = 3e-3 * min(1.0, 2 * (1 - step / 400))
        loss = model.loss(batch)["loss"]
        optimizer.zero_grad()
        loss.backward()
        torch.nn.utils.clip_grad_value_(model.parameters(), 1.0)
        optimizer.step()
    assert score_predictions(predictions(model.eval(), data), small.corpus)["SODA_d"] > 0.95
