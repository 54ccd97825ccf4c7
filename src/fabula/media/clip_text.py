"""CLIP's text encoder (Radford et al., ICML 2021) from a checkpoint of OpenCLIP, and CLIP's tokens by tokenizer.json.

    x₀ = E[tokens] + positions → L × { x += MSA(LN(x)), each token sees those before it;  x += MLP(LN(x)) }
    y = LN(x at the end-of-text token)·P                                                                    [N, C]

Width, layers, context and vocabulary are read off the weights; open_clip is not needed. The end-of-text token has the
highest number of all, which is how the original finds it.
"""

from __future__ import annotations

import functools
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from fabula.core.errors import InputError, import_extra
from fabula.media._clip import Shape, encoder_base
from fabula.media._torch import import_torch, load_state, move
from fabula.media.base import Vectors

if TYPE_CHECKING:
    from torch import Tensor


CONTEXT = 77
NEEDED = ("token_embedding.weight", "positional_embedding", "ln_final.weight", "ln_final.bias", "text_projection")


def embed_texts(texts: Sequence[str], path: Path, act: str, device: str, threads: int) -> Vectors:
    """[N, C] as the encoder gives them; the tokenizer lies beside the weights."""
    torch = import_torch()
    network = load_text(path, act, device)
    ids = tokens(texts, path.with_name("tokenizer.json"), network.context)
    before = torch.get_num_threads()
    torch.set_num_threads(threads)
    try:
        with torch.inference_mode():
            vectors: Vectors = network(torch.from_numpy(ids).to(device)).float().cpu().numpy()
    finally:
        torch.set_num_threads(before)
    return vectors


def tokens(texts: Sequence[str], path: Path, context: int = CONTEXT) -> NDArray[np.int64]:
    """[N, context]: begin, words, end, zeros. What is too long is cut, and ends all the same."""
    tokenizer = read_tokenizer(path)
    begin, end = (tokenizer.token_to_id(mark) for mark in ("<|startoftext|>", "<|endoftext|>"))
    if begin is None or end is None:
        raise InputError("no tokenizer of CLIP", file=path, hint="it has <|startoftext|> and <|endoftext|>")
    ids = np.zeros((len(texts), context), np.int64)
    for row, text in zip(ids, tokenizer.encode_batch(list(texts), add_special_tokens=False), strict=True):
        words = [i for i in text.ids if i not in (begin, end)][: context - 2]
        row[: len(words) + 2] = [begin, *words, end]
    return ids


@functools.lru_cache(maxsize=2)
def read_tokenizer(path: Path) -> Any:
    Tokenizer = import_extra("tokenizers", "the text encoder of CLIP", "neural").Tokenizer
    if not path.is_file():
        raise InputError("no such file", file=path, hint="the tokenizer.json of the model lies beside its weights")
    try:
        tokenizer = Tokenizer.from_file(str(path))
    except Exception as error:  # it raises nothing more special
        raise InputError(f"cannot be read ({str(error)[:80]})", file=path, hint="copy it again") from None
    tokenizer.no_padding()
    tokenizer.no_truncation()
    return tokenizer


@functools.lru_cache(maxsize=1)
def load_text(path: Path, act: str, device: str) -> Any:
    state = {name.removeprefix("module."): value for name, value in load_state(path).items()}
    inner = {n.removeprefix("text."): v.float() for n, v in state.items() if not n.startswith("visual.")}
    lacking = [name for name in NEEDED if name not in inner]
    if lacking:
        raise InputError(
            f"no text encoder of CLIP: {lacking[0]} is not there", file=path, hint="OpenCLIP's checkpoints"
        )
    try:
        return move(build_text(inner, act), device)
    except (KeyError, RuntimeError, ValueError) as error:
        reason = " ".join(str(error).split())[:120]
        raise InputError(f"weights that do not fit together ({reason})", file=path, hint="get them again") from None


def build_text(w: dict[str, Tensor], act: str) -> Any:
    """The encoder with these weights."""
    import torch

    T, D = w["positional_embedding"].shape
    vocabulary = len(w["token_embedding.weight"])
    network: Any = encoder_base(w, Shape(D, max(1, D // 64), act, causal=True))

    class Encoder(network):  # type: ignore[misc]
        context = T
        dim = w["text_projection"].shape[1]

        def forward(self, ids: Tensor) -> Tensor:
            if int(ids.max()) >= vocabulary:
                raise InputError(
                    f"a token {int(ids.max())} of a vocabulary of {vocabulary}", hint="the tokenizer is another's"
                )
            x = self.blocks(self.p("token_embedding.weight")[ids] + self.p("positional_embedding"))  # [N, T, D]
            last = x[torch.arange(len(x), device=x.device), ids.argmax(1)]
            y: Tensor = self.norm(last, "ln_final") @ self.p("text_projection")  # [N, C]
            return y

    return Encoder()
