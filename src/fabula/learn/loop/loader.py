"""Batches: which examples they have, and whether this process or workers read them.

The order is a function of seed and epoch; the random numbers of an item are one of seed, epoch and item. So the curve
does not depend on who reads, and a resumed run needs only the position.
"""

from __future__ import annotations

import hashlib
import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch.utils.data import DataLoader, Dataset, Sampler

from fabula.core.errors import FabulaError, SpecError
from fabula.learn.batch import Data
from fabula.learn.options import Settings, Share
from fabula.media.stores.kinds import summarize


def batches(n: int, settings: Settings, epoch: int, rank: int = 0, world: int = 1) -> list[list[int]]:
    """The examples of each batch of this epoch on this process: one permutation, dealt out; the end wraps around."""
    generator = torch.Generator().manual_seed(settings.seed * 1_000_003 + epoch)
    order: list[int] = torch.randperm(n, generator=generator).tolist()
    each = settings.batch_size * world
    if len(order) % each and world > 1:  # every process makes the same number of steps
        order = (order * (each // len(order) + 2))[: math.ceil(n / each) * each]
    dealt = [order[i : i + each] for i in range(0, len(order), each)]
    return [step[rank * settings.batch_size : (rank + 1) * settings.batch_size] for step in dealt]


def seed_of(seed: int, epoch: int, item: int) -> int:
    """63 bits that no other (seed, epoch, item) has."""
    digest = hashlib.blake2b(f"{seed} {epoch} {item}".encode(), digest_size=8).digest()
    return int.from_bytes(digest, "little") >> 1


class Seeded(Dataset[Any]):
    """Items by (epoch, item), each with its own random generator; the process's generator does not change."""

    def __init__(self, data: Data, seed: int) -> None:
        self.data, self.seed = data, seed

    def __getitem__(self, place: tuple[int, int]) -> Any:
        epoch, item = place
        try:
            with torch.random.fork_rng(devices=[]):
                torch.default_generator.manual_seed(seed_of(self.seed, epoch, item))  # the CPU's alone
                return self.data[item]
        except FabulaError as error:  # from a worker it would come as a text of many lines
            return Failure(error)

    def collate(self, examples: Sequence[Any]) -> Any:
        failure = next((e for e in examples if isinstance(e, Failure)), None)
        return self.data.collate(examples) if failure is None else failure


@dataclass(frozen=True)
class Failure:
    """What was wrong with an item."""

    error: FabulaError


class Places(Sampler[list[tuple[int, int]]]):
    """The batches of an epoch from a position on; persistent workers get the epoch with each index."""

    def __init__(self, n: int, settings: Settings, share: Share) -> None:
        self.n, self.settings, self.share = n, settings, share
        self.epoch = self.first = 0

    def __iter__(self) -> Iterator[list[tuple[int, int]]]:
        dealt = batches(self.n, self.settings, self.epoch, self.share.rank, self.share.world)
        return ([(self.epoch, i) for i in chosen] for chosen in dealt[self.first :])

    def __len__(self) -> int:
        return math.ceil(self.n / (self.settings.batch_size * self.share.world))


class Loader:
    """Batches of a data set, epoch by epoch."""

    def __init__(self, data: Data, settings: Settings, share: Share, pin: bool = False) -> None:
        self.places = Places(len(data), settings, share)
        workers, seeded = settings.workers, Seeded(data, settings.seed)
        self.loader: DataLoader[Any] = DataLoader(
            seeded,
            batch_sampler=self.places,
            collate_fn=seeded.collate,
            num_workers=workers,
            persistent_workers=workers > 0,
            pin_memory=pin,
            generator=torch.Generator(),  # the workers' seeds are drawn from it, not from the process's own
        )

    def __len__(self) -> int:
        """Batches of an epoch."""
        return len(self.places)

    def epoch(self, epoch: int, first: int = 0) -> Iterator[Any]:
        """The batches of this epoch, from `first` on."""
        self.places.epoch, self.places.first = epoch, first
        try:
            for batch in self.loader:
                if isinstance(batch, Failure):
                    raise batch.error
                yield batch
        except RuntimeError as error:
            if "DataLoader worker" not in str(error):
                raise
            raise SpecError(f"a worker ended ({summarize(error)}); memory may have run out: fewer --workers") from None
