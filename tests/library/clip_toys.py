"""A very small CLIP with weights from a seed, as OpenCLIP names them, and a tokenizer of a few words in CLIP's form."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np

WIDTH, LAYERS, PATCH, SIDE, DIM, CONTEXT = 128, 2, 16, 2, 24, 12
WORDS = ["a", "dog", "red", "car", "on", "the", "grass", "blue"]
VOCABULARY = len(WORDS) + 3  # unknown words, begin, end
TEXTS = ["a red dog", "the blue car on the grass", "a"]


def weights() -> dict[str, Any]:
    """By name, in one fixed order."""
    rng = np.random.default_rng(7)

    def some(*shape: int, scale: float = 0.05) -> Any:
        return (rng.standard_normal(shape) * scale).astype(np.float32)

    made: dict[str, Any] = {
        "visual.class_embedding": some(WIDTH),
        "visual.positional_embedding": some(SIDE * SIDE + 1, WIDTH),
        "visual.proj": some(WIDTH, DIM, scale=0.2),
        "visual.conv1.weight": some(WIDTH, 3, PATCH, PATCH),
        "token_embedding.weight": some(VOCABULARY, WIDTH, scale=0.5),
        "positional_embedding": some(CONTEXT, WIDTH),
        "text_projection": some(WIDTH, DIM, scale=0.2),
    }
    for name in ("visual.ln_pre", "visual.ln_post", "ln_final"):
        made[f"{name}.weight"], made[f"{name}.bias"] = 1 + some(WIDTH), some(WIDTH)
    for tower in ("visual.", ""):
        for i in range(LAYERS):
            at = f"{tower}transformer.resblocks.{i}"
            for norm in ("ln_1", "ln_2"):
                made[f"{at}.{norm}.weight"], made[f"{at}.{norm}.bias"] = 1 + some(WIDTH), some(WIDTH)
            made[f"{at}.attn.in_proj_weight"] = some(3 * WIDTH, WIDTH, scale=0.2)
            made[f"{at}.attn.in_proj_bias"] = some(3 * WIDTH)
            made[f"{at}.attn.out_proj.weight"], made[f"{at}.attn.out_proj.bias"] = some(WIDTH, WIDTH), some(WIDTH)
            made[f"{at}.mlp.c_fc.weight"], made[f"{at}.mlp.c_fc.bias"] = some(4 * WIDTH, WIDTH), some(4 * WIDTH)
            made[f"{at}.mlp.c_proj.weight"], made[f"{at}.mlp.c_proj.bias"] = some(WIDTH, 4 * WIDTH), some(WIDTH)
    return made


def pictures() -> Any:
    return np.random.default_rng(8).integers(0, 256, (2, SIDE * PATCH, SIDE * PATCH, 3), dtype=np.uint8)


def write_tokenizer(folder: Path) -> Path:
    """Words as they are; the end has the highest number, as in CLIP."""
    ids = {word: i for i, word in enumerate([*WORDS, "<unk>", "<|startoftext|>", "<|endoftext|>"])}
    document = {
        "version": "1.0",
        "truncation": None,
        "padding": None,
        "added_tokens": [],
        "normalizer": {"type": "Lowercase"},
        "pre_tokenizer": {"type": "Whitespace"},
        "post_processor": None,
        "decoder": None,
        "model": {"type": "WordLevel", "vocab": ids, "unk_token": "<unk>"},
    }
    path = folder / "tokenizer.json"
    path.write_text(json.dumps(document))
    return path


def write_checkpoint(folder: Path) -> Path:
    from safetensors.numpy import save_file

    write_tokenizer(folder)
    path = folder / "clip.safetensors"
    save_file(weights(), path)
    return path
