"""Kendall's τ-c with people's judgements equals what the official tools give."""

import importlib.util
from pathlib import Path

import pytest

pytest.importorskip("scipy", reason="scipy computes Kendall's tau: pip install 'fabula[hungarian]'")

# ×100, from the official Java and Python tools on the same pairs
OFFICIAL = {"BLEU_4": 30.776, "ROUGE_L": 32.314, "METEOR": 41.822, "CIDEr": 43.891}


def test_kendall_tau_of_the_official_tools(shared_data):
    path = Path(__file__).parents[1] / "reproduce" / "flickr8k.py"
    spec = importlib.util.spec_from_file_location("flickr8k", path)
    script = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(script)
    found = script.taus(shared_data / "flickr8k_human", tuple(OFFICIAL))
    assert {name: round(100 * tau, 3) for name, tau in found.items()} == OFFICIAL
