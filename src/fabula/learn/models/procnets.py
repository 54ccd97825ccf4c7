"""Full definition of ProcNets (Zhou, Xu and Corso, AAAI 2018), all of it in this single file.

A video of 500 frames is cut into steps in three moves: frames learn their context, anchors of 16 lengths propose
segments, and an LSTM reads the proposals off one after the other until it says stop.

    context   x_t = ReLU(W [f_t; →LSTM(f)_t; ←LSTM(f)_t])                                            [B, T, D]
    proposals per anchor a = 3, 11, …, 123: a valid convolution of length a over x, 3 outputs at the anchor's centre
              score = σ(y_0),  len = a · exp(.1 tanh y_1),  centre = t + a · .1 tanh y_2              [B, A, T]
    pooling   max score in cells of 8 anchors × 5 frames, with the boundaries of the arg max          [B, 2·100]
    sequence  LSTM on [pooled scores; embedding of the cell before; mean frame of its segment] → 200 cells or stop

Losses, equal weights:
    proposal  −log score on ≤ 100 positives (IoU ≥ .8), −log(1 − score) on the rest of 200 (IoU < .2 with every step)
    boundary  smooth L1 of start and end, in frames, mean over all positives
    sequence  −log p of the cells nearest to the steps, in order, then stop; mean over them

Follows the original (github.com/LuoweiZhou/ProcNets-YouCook2, Lua). The PyTorch port of the PSS paper differs: it drops
the factor .1 (`offset_scale=1.0` does the same), trains without the stop step and clips segments to the pooled width;
the last two are taken as errors. Positives are counted among the predicted segments that lie inside the video, as in
the original. Decided otherwise than the original:

- A batch may hold several videos, and videos come resized to `frames` frames, so that a frame is 1/frames of the video;
  the original samples every ⌈F/500⌉-th frame, which leaves the last frames of the grid empty.
- The backward LSTM's output is turned back, so that frame t sees what comes after it. The original reverses the input
  and not the output: at frame t it joins the state after reading frames T … T + 1 − t.
- The original trains on ten copies of each video shifted in time, without a limit of epochs; here on the video itself,
  for the 30 epochs of the PSS port.
- Samples are drawn from all positives and negatives alike, and the boundary loss is the mean over all positives. The
  original visits anchors in random order and stops at 100 + 100, so that its samples come from few anchors, and its
  boundary loss from those found till then.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import torch
import torch.nn.functional as F  # noqa: N812
from torch import Tensor, nn

from fabula.core.errors import SpecError
from fabula.data.stories import Event, Segment, Story
from fabula.learn.data import Batch
from fabula.learn.models._layers import SmallConfig


@dataclass(frozen=True)
class Config(SmallConfig):
    """ProcNets for YouCook2 as published; `Config.tiny()` runs on a laptop."""

    feature_dim: int = 512  # C: ResNet-34
    frames: int = 500  # T: features are resized to this
    hidden: int = 512  # D: width of the context-aware features and of each LSTM direction
    anchor_low: int = 3  # the shortest anchor, in frames, odd
    anchor_high: int = 123  # the longest
    anchor_step: int = 8  # between anchors, even
    offset_scale: float = 0.1  # how far tanh may move an anchor's length and centre (1.0: the PSS port)
    pool_anchors: int = 8  # a pooled cell spans so many anchors …
    pool_frames: int = 5  # … and so many frames
    dropout: float = 0.5  # on the sequence LSTM's output
    max_steps: int = 16  # the sequence ends here if it does not stop
    samples: int = 200  # proposals in the score loss, at most half of them positive
    positive: float = 0.8  # IoU from which a proposal is positive
    negative: float = 0.2  # IoU below which it is negative
    feature_noise: float = 0.001  # standard deviation of the noise on features in training
    beam: int = 1  # width of the search; 1: greedy

    @property
    def anchors(self) -> range:
        return range(self.anchor_low, self.anchor_high + 1, self.anchor_step)

    @property
    def cells(self) -> int:
        return len(self.anchors) // self.pool_anchors * (self.frames // self.pool_frames)

    small: ClassVar = {
        "frames": 200,
        "hidden": 64,
        "anchor_low": 5,
        "anchor_high": 67,
        "anchor_step": 2,
        "dropout": 0.0,
    }  # of `tiny`, for a laptop


def iou(a: Tensor, b: Tensor) -> Tensor:
    """Intersection over hull, 0 where they do not meet: ProcNets' own IoU. [..., N, 2], [..., M, 2] → [..., N, M]"""
    a, b = a[..., :, None, :], b[..., None, :, :]
    inter = (torch.minimum(a[..., 1], b[..., 1]) - torch.maximum(a[..., 0], b[..., 0])).clamp(min=0)
    hull = torch.maximum(a[..., 1], b[..., 1]) - torch.minimum(a[..., 0], b[..., 0])
    return torch.where(inter > 0, inter / hull.clamp(min=1e-8), torch.zeros_like(inter))


@dataclass
class Proposals:
    """A anchors × T frames, and their N = 200 pooled cells. Boundaries are frames, the first is 1."""

    logits: Tensor  # [B, A, T]
    bounds: Tensor  # [B, A, T, 2]
    valid: Tensor  # [A, T] the anchor fits the video here
    pooled: Tensor  # [B, N] scores of the cells, by time, then by anchor
    cells: Tensor  # [B, N, 2] boundaries of the best proposal of each cell


class Model(nn.Module):
    name: ClassVar[str] = "procnets"
    config_class: ClassVar[type[Config]] = Config
    inference: ClassVar[tuple[str, ...]] = ("beam", "max_steps")
    recipe: ClassVar[dict[str, object]] = {
        "epochs": 30, "batch_size": 1, "lr": 4e-5, "weight_decay": 1e-3, "betas": (0.8, 0.999),
        "decay": 1.0, "clip_norm": None, "clip_value": 1.0,
    }  # fmt: skip

    def __init__(self, config: Config) -> None:
        super().__init__()
        c = self.config = config
        A, C, D, N = len(c.anchors), c.feature_dim, c.hidden, c.cells
        if A % c.pool_anchors or c.frames % c.pool_frames:
            raise SpecError(f"{A} anchors × {c.frames} frames do not fill cells of {c.pool_anchors} × {c.pool_frames}")
        if c.anchor_low % 2 == 0 or c.anchor_step % 2:
            raise SpecError("anchors must be of odd length: anchor_low odd, anchor_step even")
        self.context = nn.LSTM(C, D, batch_first=True, bidirectional=True)
        self.join = nn.Linear(C + 2 * D, D)
        self.convs = nn.ModuleList(nn.Conv1d(D, 3, a) for a in c.anchors)
        self.cell_code = nn.Embedding(N + 1, N)  # the last: start
        self.segment_code = nn.Linear(C, N)
        self.lstm = nn.LSTMCell(3 * N, N)
        self.drop, self.next_cell = nn.Dropout(c.dropout), nn.Linear(N, N + 1)  # the last: stop

    # -- forward ------------------------------------------------------------------------------------------------------

    def propose(self, features: Tensor) -> Proposals:
        c = self.config
        B, T, _ = features.shape
        if c.frames != T:
            raise SpecError(f"features of {T} frames; this model takes {c.frames}")
        with torch.autocast(features.device.type, enabled=False):  # CPUs may have no LSTM in half precision
            around, _ = self.context(features)
        x = F.relu(self.join(torch.cat([features, around], -1))).transpose(1, 2)  # [B, D, T]
        out, fits = [], []
        for a, conv in zip(c.anchors, self.convs, strict=True):
            side = (a - 1) // 2
            if a <= T:
                out.append(F.pad(conv(x), (side, side)))  # 0 where the anchor does not fit
            else:
                out.append(x.new_zeros(B, 3, T))
            t = torch.arange(T, device=x.device)
            fits.append((t >= side) & (t < T - side))
        y = torch.stack(out, 1)  # [B, A, 3, T]
        length = torch.tensor(list(c.anchors), device=x.device, dtype=x.dtype)[:, None]  # [A, 1]
        len_ = length * torch.exp(c.offset_scale * torch.tanh(y[:, :, 1]))
        centre = torch.arange(1, T + 1, device=x.device) + length * c.offset_scale * torch.tanh(y[:, :, 2])
        logits, bounds = y[:, :, 0], torch.stack([centre - len_ / 2, centre + len_ / 2], -1)
        pooled, best = F.max_pool2d(logits.sigmoid(), (c.pool_anchors, c.pool_frames), return_indices=True)
        best = best.transpose(1, 2).flatten(1)  # [B, N], by time, then by anchor
        cells = bounds.flatten(1, 2).gather(1, best[..., None].expand(-1, -1, 2))
        return Proposals(logits, bounds, torch.stack(fits), pooled.transpose(1, 2).flatten(1), cells.detach())

    def mean_frame(self, features: Tensor, bounds: Tensor) -> Tensor:
        """The mean feature between two boundaries, cut to the video. [B, T, C], [B, 2] → [B, C]"""
        T = features.shape[1]
        low = bounds[:, 0].clamp(1, T).floor()
        high = torch.maximum(bounds[:, 1].clamp(1, T).floor(), low)
        t = torch.arange(1, T + 1, device=features.device)
        inside = ((t >= low[:, None]) & (t <= high[:, None])).to(features.dtype)  # [B, T]
        return (inside[..., None] * features).sum(1) / inside.sum(1, keepdim=True)

    def step(
        self, features: Tensor, p: Proposals, before: Tensor, state: tuple[Tensor, Tensor] | None
    ) -> tuple[Tensor, tuple[Tensor, Tensor]]:
        """One step of the sequence. before [B]: the cell chosen last, N for the start → log-probabilities [B, N + 1]"""
        N, T = self.config.cells, features.shape[1]
        whole = p.cells.new_tensor([1.0, T]).expand(len(before), 2)
        chosen = p.cells.gather(1, before.clamp(max=N - 1)[:, None, None].expand(-1, 1, 2))[:, 0]
        context = self.mean_frame(features, torch.where((before == N)[:, None], whole, chosen))
        x = torch.cat([p.pooled, self.cell_code(before), self.segment_code(context)], -1)
        h, cell = self.lstm(x, state)
        return self.next_cell(self.drop(h)).log_softmax(-1), (h, cell)

    # -- training -----------------------------------------------------------------------------------------------------

    def loss(self, batch: Batch) -> dict[str, Tensor]:
        features = batch.features
        if self.training and self.config.feature_noise:
            features = features + self.config.feature_noise * torch.randn_like(features)
        p = self.propose(features)
        steps = batch.spans * features.shape[1] + 1  # frames, the first is 1
        proposal, boundary = self.proposal_losses(p, steps, batch.span_mask)
        sequence = self.sequence_loss(features, p, steps, batch.span_mask)
        return {
            "loss": proposal + boundary + sequence,
            "proposal": proposal,
            "boundary": boundary,
            "sequence": sequence,
        }

    def proposal_losses(self, p: Proposals, steps: Tensor, mask: Tensor) -> tuple[Tensor, Tensor]:
        c = self.config
        T = p.logits.shape[-1]
        proposal, boundary = p.logits.new_zeros(()), p.logits.new_zeros(())
        for b in range(len(steps)):
            bounds, logits, true = p.bounds[b].flatten(0, 1), p.logits[b].flatten(), steps[b, mask[b]]
            with torch.no_grad():
                overlap = iou(bounds, true)  # [A·T, K]
                inside = (bounds[:, 0] > 0) & (
                    bounds[:, 1] <= T
                )  # all anchors, also where they do not fit: as published
                best, which = overlap.max(1)
                positive = (inside & (best >= c.positive)).nonzero()[:, 0]
                negative = (inside & (best < c.negative)).nonzero()[:, 0]
                drawn = positive[torch.randperm(len(positive), device=positive.device)[: c.samples // 2]]
                rest = negative[torch.randperm(len(negative), device=negative.device)[: c.samples - len(drawn)]]
            hits = F.binary_cross_entropy_with_logits(logits[drawn], torch.ones_like(logits[drawn]), reduction="sum")
            misses = F.binary_cross_entropy_with_logits(logits[rest], torch.zeros_like(logits[rest]), reduction="sum")
            proposal = proposal + (hits + misses) / max(len(drawn) + len(rest), 1)
            if len(positive):
                off = F.smooth_l1_loss(bounds[positive], true[which[positive]], reduction="sum")
                boundary = boundary + off / len(positive)
        return proposal / len(steps), boundary / len(steps)

    def sequence_loss(self, features: Tensor, p: Proposals, steps: Tensor, mask: Tensor) -> Tensor:
        """Teacher forcing along the cells nearest to the steps, in order, then stop."""
        N, K = self.config.cells, steps.shape[1]
        distance = ((p.cells[:, None] - steps[:, :, None]) ** 2).sum(-1)  # [B, K, N]
        nearest = distance.argmin(-1).masked_fill(~mask, N)  # [B, K]
        target = torch.cat([nearest, nearest.new_full((len(steps), 1), N)], 1)  # [B, K + 1]
        counted = torch.cat([mask.new_ones(len(steps), 1), mask], 1)  # the stop stands after the last step
        before, state, losses = target.new_full((len(steps),), N), None, []
        for t in range(K + 1):
            logp, state = self.step(features, p, before, state)
            losses.append(-logp.gather(1, target[:, t : t + 1])[:, 0])
            before = target[:, t]
        counted_losses = torch.stack(losses, 1) * counted  # [B, K + 1]
        return (counted_losses.sum(1) / counted.sum(1)).mean()

    # -- inference ----------------------------------------------------------------------------------------------------

    @torch.no_grad()
    def predict(self, batch: Batch) -> list[Story]:
        """The likeliest sequence of cells, greedily or by beam, until stop; each cell is its best proposal."""
        T = batch.features.shape[1]
        p = self.propose(batch.features)
        stories = []
        for b, video in enumerate(batch.videos):
            one = Proposals(*(x if x is p.valid else x[b : b + 1] for x in vars(p).values()))
            scale = float(batch.duration[b]) / T
            events = []
            for cell in self.search(batch.features[b : b + 1], one):
                start, end = ((one.cells[0, cell] - 1) * scale).clamp(0, float(batch.duration[b])).tolist()
                events.append(Event(Segment(start, end), None, float(one.pooled[0, cell])))
            stories.append(Story(video, tuple(events), float(batch.duration[b])).by_start())
        return stories

    def search(self, features: Tensor, p: Proposals) -> list[int]:
        """Beam search over cells; a beam of 1 is greedy. Finished sequences compete by their whole log-probability."""
        N = self.config.cells
        beams: list[tuple[float, list[int], tuple[Tensor, Tensor] | None]] = [(0.0, [], None)]
        done: list[tuple[float, list[int]]] = []
        for _ in range(self.config.max_steps + 1):
            grown: list[tuple[float, list[int], tuple[Tensor, Tensor] | None]] = []
            for score, cells, state in beams:
                before = torch.tensor([cells[-1] if cells else N], device=features.device)
                logp, after = self.step(features, p, before, state)
                best = logp[0].topk(self.config.beam)
                for value, cell in zip(best.values.tolist(), best.indices.tolist(), strict=True):
                    if cell == N:
                        done.append((score + value, cells))
                    elif len(cells) == self.config.max_steps:
                        done.append((score, cells))
                    else:
                        grown.append((score + value, [*cells, cell], after))
            beams = sorted(grown, key=lambda beam: -beam[0])[: self.config.beam]
            if not beams or (done and max(d[0] for d in done) >= beams[0][0]):
                break
        return max(done, key=lambda d: d[0])[1]
