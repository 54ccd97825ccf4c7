"""BERT tuned to tell the gender of a blank, before it describes blanks (Park et al., ECCV 2020).

    p(g_k) = softmax(W dropout(h_MASK_k) + b),  g ∈ {M, F, G};  loss = mean −log p(g_k) over the blanks of a batch

The tuning program is not published; the paper says that BERT is tuned for genders and no more. Ours: all weights but
nothing new above them than W and b, AdamW with a rate that falls linearly to 0, gradients of length 1 at most, dropout
.1. The folder that is written is an encoder like the one that was read (`fabula features blanks --model FOLDER`); W and
b are beside it in gender.safetensors.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import torch
import torch.nn.functional as F  # noqa: N812
from safetensors.numpy import load_file, save_file
from torch import Tensor, nn

from fabula.core import atomic
from fabula.core.errors import InputError
from fabula.core.notes import Notes, Progress, silent
from fabula.documents.files import check_absent, check_path, load_json, name_write_failures
from fabula.io.identity.captionsets import SetText
from fabula.learn.identity.blank_features import BlankReader, Paragraph, captions_of, read_all
from fabula.learn.identity.split_sets import has_split, read_sets_of
from fabula.learn.identity.wordpiece import WHO
from fabula.learn.loop.processes import find_device
from fabula.learn.options import TuneOptions
from fabula.media.published import GENDERS
from fabula.text.neural.encoder import Shape

DROPOUT = 0.1
DECAY = 0.01
LENGTH = 1.0  # of gradients, at most


class Bert(nn.Module):
    """The encoder of text/neural with weights that can be trained, and a classifier of its vectors."""

    def __init__(self, shape: Shape, weights: Mapping[str, np.ndarray], classes: int) -> None:
        super().__init__()
        self.shape, self.names = shape, tuple(weights)
        self.weights = nn.ParameterList(nn.Parameter(torch.from_numpy(np.array(w))) for w in weights.values())
        self.at = {name: i for i, name in enumerate(self.names)}
        self.classify = nn.Linear(shape.width, classes)
        nn.init.normal_(self.classify.weight, std=0.02)
        nn.init.zeros_(self.classify.bias)
        self.drop = nn.Dropout(DROPOUT)

    def w(self, name: str) -> Tensor:
        weight: Tensor = self.weights[self.at[name]]
        return weight

    def linear(self, x: Tensor, name: str) -> Tensor:
        return F.linear(x, self.w(f"{name}.weight"), self.w(f"{name}.bias"))

    def norm(self, x: Tensor, name: str) -> Tensor:
        return F.layer_norm(x, x.shape[-1:], self.w(f"{name}.weight"), self.w(f"{name}.bias"), self.shape.eps)

    def encode(self, tokens: Tensor, real: Tensor) -> Tensor:
        """[B, T] → [B, T, C], after the last layer."""
        (B, T), H = tokens.shape, self.shape.heads
        first = self.shape.offset
        x = self.w("embeddings.word_embeddings.weight")[tokens]
        x = x + self.w("embeddings.position_embeddings.weight")[first : first + T]
        x = self.drop(self.norm(x + self.w("embeddings.token_type_embeddings.weight")[0], "embeddings.LayerNorm"))
        for k in range(self.shape.layers):
            at = f"encoder.layer.{k}"
            q, key, v = (
                self.linear(x, f"{at}.attention.self.{name}").view(B, T, H, -1).transpose(1, 2)
                for name in ("query", "key", "value")
            )
            dropout = DROPOUT if self.training else 0.0
            y = F.scaled_dot_product_attention(q, key, v, real[:, None, None], dropout)
            y = self.linear(y.transpose(1, 2).reshape(B, T, -1), f"{at}.attention.output.dense")
            x = self.norm(x + self.drop(y), f"{at}.attention.output.LayerNorm")
            y = self.linear(F.gelu(self.linear(x, f"{at}.intermediate.dense")), f"{at}.output.dense")
            x = self.norm(x + self.drop(y), f"{at}.output.LayerNorm")
        return x

    def forward(self, tokens: Tensor, real: Tensor, rows: Tensor, columns: Tensor) -> Tensor:
        """Logits of the genders of blanks, which are tokens (row, column). [blanks, 3]"""
        logits: Tensor = self.classify(self.drop(self.encode(tokens, real)[rows, columns]))
        return logits


@dataclass(frozen=True, slots=True)
class Example:
    """A captionset and the genders of its blanks."""

    paragraph: Paragraph
    genders: tuple[int, ...]


def read_examples(
    sets: Mapping[str, SetText], reader: BlankReader, letters: Mapping[str, object], file: Path, notes: Notes
) -> list[Example]:
    """The captionsets with blanks; a blank without a letter is an error."""
    examples = []
    for name, one in sets.items():
        captions = captions_of(name, sets)
        clips = one.clips or ()
        if len(clips) != len(captions):
            raise InputError(f"{len(clips)} clips for {len(captions)} captions", video=name, noun="captionset",
                             hint="genders are of clips: name them")  # fmt: skip
        genders: list[int] = []
        for clip, caption in zip(clips, captions, strict=True):
            blanks, own = sum(1 for _ in WHO.finditer(caption)), letters.get(clip, [])
            if not blanks:
                continue
            if not (isinstance(own, list) and len(own) == blanks and set(own) <= GENDERS.keys()):
                problem = f"genders are {str(own)[:60]} for {blanks} blanks"
                raise InputError(problem, file=file, video=clip, noun="clip", hint="a letter a blank: M, F, G")
            genders += [GENDERS[letter] for letter in own]
        if genders:
            examples.append(Example(reader.paragraph(captions, name), tuple(genders)))
        else:
            notes.add("{n} captionsets have no blank and teach nothing", name)
    return examples


def make_batch(examples: Sequence[Example], device: torch.device) -> tuple[tuple[Tensor, ...], Tensor]:
    """What the model takes, and the genders."""
    B, T = len(examples), max(len(one.paragraph.tokens) for one in examples)
    tokens, real = torch.zeros(B, T, dtype=torch.long), torch.zeros(B, T, dtype=torch.bool)
    for i, one in enumerate(examples):
        n = len(one.paragraph.tokens)
        tokens[i, :n], real[i, :n] = torch.tensor(one.paragraph.tokens), True
    rows = torch.tensor([i for i, one in enumerate(examples) for _ in one.paragraph.blanks])
    columns = torch.tensor([at for one in examples for at in one.paragraph.blanks])
    genders = torch.tensor([g for one in examples for g in one.genders])
    return tuple(x.to(device) for x in (tokens, real, rows, columns)), genders.to(device)


def tune(
    paths: Sequence[Path], options: TuneOptions, notes: Notes, say: Callable[[str], None], progress: Progress = silent
) -> float:
    """Tune the encoder and write its folder; returns the share of blanks that it tells right in the last epoch."""
    out = check_path(options.out)
    check_absent(out, options.overwrite)
    letters = load_json(options.genders)
    if not isinstance(letters, dict):
        raise InputError("not an object", file=options.genders, hint='it is {"clip": ["M", "F"], …}')
    reader = BlankReader(options.model)
    examples = read_examples(read_all(paths, options, notes), reader, letters, options.genders, notes)
    held = [
        one
        for path in paths
        if path.is_dir() and "val" not in options.split and has_split(path, "val")
        for one in read_examples(read_sets_of(path, "val", notes), reader, letters, options.genders, notes)
    ]
    if not examples:
        raise InputError("no captionset has a blank", hint="there is nothing to tune on")
    device = find_device(options.device)
    torch.manual_seed(options.seed)
    chance = np.random.default_rng(options.seed)
    model = Bert(reader.encoder.shape, reader.encoder.weights, len(GENDERS)).to(device)
    optimizer = torch.optim.AdamW(model.parameters(), lr=options.lr, weight_decay=DECAY)
    steps, done = options.epochs * -(-len(examples) // options.batch), 0
    share = 0.0
    for epoch in range(options.epochs):
        model.train()
        right = blanks = 0
        loss_sum = 0.0
        for batch in cut_batches([examples[i] for i in chance.permutation(len(examples))], options.batch):
            inputs, genders = make_batch(batch, device)
            for group in optimizer.param_groups:
                group["lr"] = options.lr * (1 - done / steps)
            logits = model(*inputs)
            loss = F.cross_entropy(logits, genders)
            optimizer.zero_grad()
            torch.autograd.backward(loss)
            nn.utils.clip_grad_norm_(model.parameters(), LENGTH)
            optimizer.step()
            loss_sum += float(loss.detach()) * len(genders)
            right += int((logits.argmax(1) == genders).sum())
            blanks += len(genders)
            done += 1
            progress("tuning", done, steps)
        share = right / blanks
        seen = f", {100 * measure(model, held, options.batch, device):.2f} % of val" if held else ""
        say(f"epoch {epoch + 1}: loss {loss_sum / blanks:.4f}, {100 * share:.2f} % of {blanks:,} genders right{seen}")
    write_encoder(model.cpu().eval(), reader.encoder.folder, out)
    return share


@torch.inference_mode()
def measure(model: Bert, examples: Sequence[Example], size: int, device: torch.device) -> float:
    """The share of blanks whose gender is told right."""
    model.eval()
    right = blanks = 0
    for batch in cut_batches(examples, size):
        inputs, genders = make_batch(batch, device)
        right += int((model(*inputs).argmax(1) == genders).sum())
        blanks += len(genders)
    return right / blanks


def cut_batches(examples: Sequence[Example], size: int) -> Iterator[Sequence[Example]]:
    return (examples[k : k + size] for k in range(0, len(examples), size))


def write_encoder(model: Bert, source: Path, out: Path) -> None:
    """A folder like the source, with tuned weights; whole or not at all."""
    weights = load_file(source / "model.safetensors")
    for name, parameter in zip(model.names, model.weights, strict=True):
        own = name if name in weights else f"{model.shape.family}.{name}"
        weights[own] = parameter.detach().numpy().astype(weights[own].dtype)
    head = {f"classify.{name}": parameter.detach().numpy() for name, parameter in model.classify.named_parameters()}
    target = Path(os.path.realpath(out))
    with name_write_failures(out):
        target.parent.mkdir(parents=True, exist_ok=True)
        with atomic.beside(target) as folder:
            staged = folder / "encoder"
            staged.mkdir()
            for name in ("config.json", "tokenizer.json"):
                shutil.copyfile(source / name, staged / name)
            save_file(weights, staged / "model.safetensors")
            save_file(head, staged / "gender.safetensors")
            atomic.take_folder_place(staged, target)
