"""Rewards inside the real trainers, where they are installed: a step of TRL's GRPO, ms-swift's registry and call."""

from __future__ import annotations

import subprocess
import sys
from importlib.metadata import PackageNotFoundError, version

import pytest

TRL = """
import sys, torch
from datasets import Dataset
from tokenizers import Tokenizer, models, pre_tokenizers
from transformers import GPT2Config, GPT2LMHeadModel, PreTrainedTokenizerFast
from trl import GRPOConfig, GRPOTrainer
from fabula.hosts.rewards import RewardFunction

words = ["<pad>", "<eos>", "<unk>", "0", "5", "10", "20", "-", "seconds", ":", "a", "dog", "runs"]
made = Tokenizer(models.WordLevel({w: i for i, w in enumerate(words)}, unk_token="<unk>"))
made.pre_tokenizer = pre_tokenizers.Whitespace()
tokenizer = PreTrainedTokenizerFast(tokenizer_object=made, pad_token="<pad>", eos_token="<eos>", unk_token="<unk>")
torch.manual_seed(0)
model = GPT2LMHeadModel(GPT2Config(vocab_size=len(words), n_positions=64, n_embd=16, n_layer=1, n_head=2,
                                   eos_token_id=1, pad_token_id=0))
row = {"prompt": "a dog", "duration": 20.0, "said": "a dog runs",
       "events": {"timestamps": [[0.0, 10.0]], "sentences": ["a dog runs"]}}
data = Dataset.from_list([row] * 4)
rewards = [RewardFunction("SODA_d", refs="events"), RewardFunction("METEOR", refs="said")]
args = GRPOConfig(output_dir=sys.argv[1], per_device_train_batch_size=4, num_generations=4, max_completion_length=8,
                  max_steps=2, report_to=[], use_cpu=True, logging_steps=1, bf16=False)
trainer = GRPOTrainer(model=model, processing_class=tokenizer, reward_funcs=rewards, args=args, train_dataset=data)
trainer.train()
for reward in rewards:
    assert reward.counts["seen"] == 8 and not reward.counts["no_truth"] and not reward.counts["failed"], reward.counts
logged = [line for line in trainer.state.log_history if "rewards/fabula_SODA_d/mean" in line]
assert len(logged) == 2, trainer.state.log_history
assert any("unread" in key for key in logged[0]), logged[0]
print("trained", rewards[0].counts)
"""

SWIFT = """
import runpy, sys
from swift.rewards import ORM, orms
from fabula import hosts
runpy.run_path(str(hosts.where("ms-swift")))
reward = orms["fabula_soda_d"](args=None)
made = reward(["0 - 10 seconds: a dog", "no"], events=['[[0, 10, "a dog"]]'] * 2, trainer_state=None)
assert made == [1.0, 0.0], made
assert reward.counts["unread"] == 1
assert orms["fabula_iou"](args=None)(["it happens in 5 - 10 seconds"], windows=[[0, 10]]) == [0.5]
print("called")
"""


def run(code: str, *words: str) -> str:
    done = subprocess.run(
        [sys.executable, "-c", code, *words], capture_output=True, text=True, timeout=300, check=False
    )
    assert done.returncode == 0, done.stderr[-3000:]
    return done.stdout


def need(*packages: str) -> None:
    for package in packages:
        try:
            version(package)
        except PackageNotFoundError:
            pytest.skip(f"{package} is not installed")


def test_a_step_of_grpo(tmp_path):
    need("trl", "transformers", "datasets")
    assert "trained" in run(TRL, str(tmp_path))


def test_the_registry_of_ms_swift():
    need("ms-swift")
    assert "called" in run(SWIFT)
