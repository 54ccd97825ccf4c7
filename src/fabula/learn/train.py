"""The training loop: one flat loop on lightning Fabric that trains any model of learn/models.

    for epoch: for batches of a step: for pass: loss → backward → clip → step;   log;   validate;   checkpoint

A run is a folder:

    config.json        task, model, settings, data: what was asked for
    steps.csv          a line per step: epoch, learning rate, every loss, the gradient's norm before it was clipped
    epochs.csv         a line per epoch: mean losses, validation scores, seconds
    validations.csv    a line per validation, where these are made every so many steps
    last.safetensors   weights, optimiser, random states, place: a run resumes from here
    best.safetensors   the weights with the best validation score; best-<score>.safetensors where several choose

Resuming gives the curve of a run that was never stopped: the order of the examples is a function of seed and epoch,
what an example draws one of seed, epoch and example, the learning rate one of the step, and the random states of all
processes, of the CPU and of the device, are in the checkpoint; lines that were logged after it are dropped. Several
processes: `torchrun --nproc-per-node 2 -m fabula train …`; a run is resumed with as many.

Losses are read every `log_every` steps, all at once, since each read makes a GPU wait; a loss or gradient that is
not finite ends all processes there, with one line, before anything of it is saved.
"""

from __future__ import annotations

import itertools
import logging
import math
import re
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import torch
from torch import Tensor, nn

from fabula.core.errors import FabulaError, InputError, SpecError
from fabula.core.notes import Progress
from fabula.core.registry import close_to
from fabula.documents.fields import JsonObject
from fabula.learn import checkpoint
from fabula.learn.batch import Batch, Data
from fabula.learn.config import configure
from fabula.learn.loop.folder import Place, describe_run, place_of, prepare_folder
from fabula.learn.loop.loader import Loader
from fabula.learn.loop.logs import Tracker, check_trackers, cut, open_trackers, write_line
from fabula.learn.loop.processes import (
    deal_back,
    gather,
    keep_random,
    make_fabric,
    random_states,
    restore_random,
    seed_of_process,
)
from fabula.learn.loop.schedule import describe_rates, lr_at, make_optimizer, set_rate, warn_of_rates
from fabula.learn.options import Callbacks, Run, Scores, Settings, Share, Validation
from fabula.media.stores.kinds import summarize

if TYPE_CHECKING:
    from lightning_fabric import Fabric

T = TypeVar("T")

log = logging.getLogger(__name__)


class TrainingError(FabulaError):
    """Training failed; the message names the step and the units. Every process of a run raises it."""

    told_by_all = True  # so that one of them says it


def train(
    model: nn.Module,
    data: Data,
    settings: Settings,
    run: Run,
    *,
    validation: Validation | None = None,
    about: JsonObject | None = None,  # what else config.json has: task, data, features
    callbacks: Callbacks | None = None,
    stop_after: int | None = None,  # leave after so many steps, checkpoint written (for tests and time limits)
) -> dict[str, float]:
    """Train, and return the last epoch's line of epochs.csv."""
    if settings.threads:
        torch.set_num_threads(settings.threads)
    several = len(passes_of(model)) > 1
    fabric = make_fabric(settings, unused=several or bool(getattr(model, "leaves_unused", False)))
    fabric.launch()
    check_trackers(run)
    prepare_folder(run, model, settings, about or {}, fabric.is_global_zero)
    fabric.barrier()
    torch.manual_seed(seed_of_process(settings.seed, fabric.global_rank))  # of dropout and drawn queries

    loader = Loader(data, settings, Share(fabric.global_rank, fabric.world_size), pin=fabric.device.type == "cuda")
    callbacks = callbacks or Callbacks()
    loop = Loop(fabric, model, loader, settings, run, about or {}, callbacks.watch)
    loop.report_plan(validation, callbacks.warn)
    state = loop.state
    try:
        for epoch in itertools.count(state.epoch):
            if loop.is_done():
                break
            state.epoch, began = epoch, time.monotonic()
            for group in grouped(loop.loader.epoch(epoch, state.batch), settings.accumulate):
                loop.step(group)
                if loop.is_due(settings.log_every):
                    loop.look()
                if loop.is_due(settings.validate_steps) and validation:
                    loop.look()
                    loop.log_validation(loop.validate(validation))
                if loop.is_due(settings.save_every) or loop.is_time():
                    loop.save()
                if stop_after is not None and state.step >= stop_after:
                    loop.save()
                    return state.line
                if loop.is_at_end():
                    break
            loop.look()
            loop.end_epoch(validation, began)
    finally:
        for tracker in loop.trackers:
            tracker.close()
    return state.line


def passes_of(model: nn.Module) -> tuple[str, ...]:
    """The losses of one batch in turn; most models have one, without a name."""
    return tuple(getattr(model, "passes", ("",)))


def grouped(batches: Iterable[T], size: int) -> Iterator[list[T]]:
    """The batches of each step."""
    batches = iter(batches)
    while group := list(itertools.islice(batches, size)):
        yield group


# ---------------------------------------------------------------------------------------------------------------------
# Where training stands


@dataclass
class PendingStep:
    """A step whose losses are still on the device."""

    step: int
    rate: float
    units: list[str]
    names: list[str]
    values: Tensor  # [names], on the device


class Loop:
    """A training run: the model and its optimiser, the training state, pending losses."""

    def __init__(
        self,
        fabric: Fabric,
        model: nn.Module,
        loader: Loader,
        settings: Settings,
        run: Run,
        about: JsonObject,
        watch: Progress,
    ) -> None:
        self.fabric, self.model, self.loader, self.watch = fabric, model, loader, watch
        self.settings, self.run, self.about = settings, run, about
        self.first = fabric.is_global_zero
        if not len(loader):
            raise SpecError("there is nothing to train on: the data set is empty")
        self.per_epoch = math.ceil(len(loader) / settings.accumulate)
        self.total = total_steps(settings, self.per_epoch)
        self.pending: list[PendingStep] = []
        self.saved, self.wants_save = time.monotonic(), False

        self.bare = make_optimizer(model, settings)
        self.wrapped, self.optimizer = fabric.setup(model, self.bare)
        self.wrapped.mark_forward_method("loss")
        self.state = Place()
        if run.resume and (run.out / "last.safetensors").exists():
            self.state = self.continue_from(run.out / "last.safetensors")
        if run.resume and self.first:  # also where it was killed before its first checkpoint
            cut(run.out / "steps.csv", "step", self.state.step)
            cut(run.out / "validations.csv", "step", self.state.step)
            cut(run.out / "epochs.csv", "epoch", self.last_logged_epoch())
        self.trackers: list[Tracker] = []
        if self.first:
            self.trackers = open_trackers(run, describe_run(model, settings, about), self.state.step)

    # -- a step -------------------------------------------------------------------------------------------------------

    def report_plan(self, validation: Validation | None, warn: Callable[[str], None]) -> None:
        """Log the learning rates, and warn if there is no validation."""
        if not self.first:
            return
        s = self.settings
        log.info("%d steps · %s", self.total, describe_rates(s, self.per_epoch, self.total))
        paper = Settings(**getattr(self.model, "recipe", {}))
        if warning := warn_of_rates(s, paper, self.per_epoch, self.total):
            warn(warning)
        if validation is None:
            names = ("validate_steps", "patience", "best_by")
            idle = [f"--{n.replace('_', '-')}" for n in names if getattr(s, n) and getattr(s, n) != getattr(paper, n)]
            lost = f"; {', '.join(idle)} {'have' if len(idle) > 1 else 'has'} no effect" if idle else ""
            warn(f"no validation data: no checkpoint is chosen; use last.safetensors{lost}")

    def rate(self) -> float:
        return lr_at(self.settings, self.state.step, self.per_epoch, self.total)

    def step(self, group: Sequence[Any]) -> None:
        """One step of the optimiser for each pass, or one for all of them, on these batches."""
        parts = passes_of(self.model)
        each = self.settings.pass_steps == "each"
        rate = self.rate()
        set_rate(self.optimizer, rate)
        self.wrapped.train()
        if hasattr(self.model, "begin"):
            self.model.begin(self.state.epoch, self.state.step)  # type: ignore[operator]
        group = [self.send(batch) for batch in group]
        named: dict[str, Tensor] = {}
        norm = torch.zeros((), device=self.fabric.device)
        for i, part in enumerate(parts):
            if each or i == 0:
                self.optimizer.zero_grad(set_to_none=True)
            for name, value in self.backward(group, part).items():
                name = f"{part}/{name}" if part and name != "loss" else name
                named[name] = named[name] + value if name in named else value
            if each or i == len(parts) - 1:
                norm = torch.maximum(norm, self.clip()) if i else self.clip()
                self.optimizer.step()
        self.state.step += 1
        self.state.batch += len(group)
        units = [name for batch in group for name in getattr(batch, "names", [])]
        values = torch.stack([v.float() for v in (*named.values(), norm)])
        self.pending.append(PendingStep(self.state.step, rate, units, [*named, "grad_norm"], values))

    def send(self, batch: Any) -> Any:
        if isinstance(batch, Batch):
            return batch.to(self.fabric.device, non_blocking=True)
        return batch.to(self.fabric.device)

    def backward(self, group: Sequence[Any], part: str) -> dict[str, Tensor]:
        """Gradients of the mean loss of some batches; the losses by name, their means.

        Processes meet in the last batch; where parameters may go without a gradient, in every one.
        """
        named: dict[str, Tensor] = {}
        waits = self.fabric.world_size > 1 and not self.may_leave_unused()
        for i, batch in enumerate(group):
            with self.fabric.no_backward_sync(self.wrapped, enabled=waits and i < len(group) - 1):
                with self.fabric.autocast():  # Fabric forgets it for a method other than forward, on one device
                    losses: dict[str, Tensor] = self.wrapped.loss(batch, part) if part else self.wrapped.loss(batch)
                self.fabric.backward(losses["loss"].float() / len(group))
            for name, value in losses.items():
                value = value.detach() / len(group)
                named[name] = named[name] + value if name in named else value
        return named

    def may_leave_unused(self) -> bool:
        return len(passes_of(self.model)) > 1 or bool(getattr(self.model, "leaves_unused", False))

    def clip(self) -> Tensor:
        """Gradients within their bounds; their norm before."""
        s = self.settings
        self.fabric.strategy.precision.unscale_gradients(self.bare)
        every = [p for p in self.model.parameters() if p.grad is not None]
        own = s.optimizer == "bertadam"  # which clips every tensor by itself
        norm = torch.nn.utils.clip_grad_norm_(every, math.inf if s.clip_norm is None or own else s.clip_norm)
        if s.clip_value is not None:
            torch.nn.utils.clip_grad_value_(every, s.clip_value)
        return norm.detach()

    # -- looking ------------------------------------------------------------------------------------------------------

    def is_due(self, every: int | None) -> bool:
        return every is not None and (self.state.step % every == 0 or self.state.step == self.total)

    def is_time(self) -> bool:
        """Whether the first process found, at the last read of the losses, that a checkpoint is due."""
        return self.wants_save

    def is_at_end(self) -> bool:
        return self.state.step >= self.total or self.is_stale()

    def is_done(self) -> bool:
        """At the end, and the last epoch's line is written."""
        return self.is_at_end() and self.state.line.get("step", 0) == self.state.step

    def last_logged_epoch(self) -> int:
        """The last epoch with a final line in epochs.csv; an unfinished epoch is written again."""
        epoch = int(self.state.line.get("epoch", -1))
        return epoch - 1 if epoch == self.state.epoch and not self.is_done() else epoch

    def is_stale(self) -> bool:
        return self.settings.patience is not None and self.state.stale >= self.settings.patience

    def look(self) -> None:
        """The losses of the steps since the last look, in one transfer: checked, summed, logged.

        Several processes have a share of each batch, and the mean of their losses is what they all descend.
        """
        if not self.pending:
            return
        numbers = iter(torch.cat([pending.values for pending in self.pending]).tolist())
        losses = [(pending, dict(zip(pending.names, numbers, strict=False))) for pending in self.pending]
        self.pending = []
        problem = next((message for pending, values in losses if (message := self.find_problem(pending, values))), None)
        every = gather((problem, self.first and self.is_late(), [values for _, values in losses]))
        if any(message for message, _, _ in every):
            raise TrainingError(next(message for message, _, _ in every if message))
        self.wants_save = any(late for _, late, _ in every)
        for i, (pending, _) in enumerate(losses):
            values = mean_values([values[i] for _, _, values in every])
            norm = values.pop("grad_norm")
            self.state.add(values)
            if self.first:
                line = {
                    "step": pending.step,
                    "epoch": self.state.epoch,
                    "lr": pending.rate,
                    **values,
                    "grad_norm": norm,
                }
                write_line(self.run.out / "steps.csv", line)
                self.track({**values, "lr": pending.rate, "grad_norm": norm}, pending.step)
        if self.first:
            head = " · ".join(f"{n} {v:.3f}" for n, v in values.items() if is_main(n, values))
            self.watch(f"{self.where()} · {head}", self.state.step, self.total)

    def find_problem(self, pending: PendingStep, values: Mapping[str, float]) -> str | None:
        """A loss that is not finite, or a gradient (in half precision those are skipped, and the scale is lowered)."""
        listed = ", ".join(f"{n} {v:g}" for n, v in values.items())
        what = "the loss" if not math.isfinite(values["loss"]) else ""
        if not what and self.settings.precision != "16-mixed" and not math.isfinite(values["grad_norm"]):
            what = "the gradient"
        return (
            what and f"{what} is not finite at step {pending.step - 1} on {pending.units} ({listed}); lower --lr"
        ) or None

    def is_late(self) -> bool:
        minutes = self.settings.save_minutes
        return minutes is not None and time.monotonic() - self.saved >= 60 * minutes

    def where(self) -> str:
        epochs = math.ceil(self.total / self.per_epoch)
        return f"epoch {self.state.epoch + 1}/{epochs}"

    def track(self, values: Mapping[str, float], step: int) -> None:
        for tracker in self.trackers:
            tracker.log(values, step)

    # -- validation ---------------------------------------------------------------------------------------------------

    def validate(self, validation: Validation) -> dict[str, float]:
        """Scores, and the checkpoints that they choose. All processes answer, the first scores."""
        self.model.eval()
        with keep_random(self.fabric.device):
            mine = validation.answer(self.model, Share(self.fabric.global_rank, self.fabric.world_size))
            answers = deal_back(gather(mine))
            scores: dict[str, float] = gather(dict(validation.score(answers)) if self.first else {})[0]
        names = self.settings.best_by or validation.best_by or (next(iter(scores)),)
        for i, name in enumerate(names):
            value = sum_of(name, scores)
            better = math.isfinite(value) and (name not in self.state.best or value > self.state.best[name])
            if i == 0:
                self.state.stale = 0 if better else self.state.stale + 1
            if better:
                self.state.best[name] = value
                if self.first:
                    for file in ["best.safetensors"] * (i == 0) + [best_file(name)] * (len(names) > 1):
                        self.write_best(self.run.out / file, scores)
        return {f"val_{n}": v for n, v in scores.items()}

    def write_best(self, path: Path, scores: Scores) -> None:
        weights = {f"model.{n}": t for n, t in self.model.state_dict().items()}
        facts = {"epoch": self.state.epoch, "step": self.state.step, "scores": dict(scores), "about": dict(self.about)}
        checkpoint.write(path, weights, checkpoint.header_of(self.model, **facts))

    def log_validation(self, scores: Mapping[str, float]) -> None:
        """Log a validation inside an epoch."""
        if self.first:
            line = {"step": self.state.step, "epoch": self.state.epoch, **scores}
            write_line(self.run.out / "validations.csv", line)
            self.track(scores, self.state.step)
            log.info("step %d/%d · %s", self.state.step, self.total, shown_scores(scores))

    def end_epoch(self, validation: Validation | None, began: float) -> None:
        """Log, validate and save an epoch. An unfinished epoch continues when the run is resumed."""
        state, s = self.state, self.settings
        whole = state.batch >= len(self.loader)
        line = {"epoch": state.epoch, "step": state.step, "lr": self.rate_before(), **state.means()}
        if validation and s.validate_steps is None and ((state.epoch + 1) % s.validate_every == 0 or self.is_at_end()):
            line |= self.validate(validation)
        if self.first:
            line["seconds"] = round(time.monotonic() - began, 3)
            write_line(self.run.out / "epochs.csv", line)
            self.track({n: v for n, v in line.items() if n.startswith("val_")}, state.step)
            log.info("%s · %s · %.1f s", self.where(), shown_scores(line), line["seconds"])
        state.line = line
        if whole:
            state.sums, state.count = {}, 0
            state.epoch, state.batch = state.epoch + 1, 0
        self.save()
        self.fabric.barrier()

    def rate_before(self) -> float:
        """The learning rate of the last step."""
        return lr_at(self.settings, max(self.state.step - 1, 0), self.per_epoch, self.total)

    # -- checkpoints --------------------------------------------------------------------------------------------------

    def save(self) -> None:
        """last.safetensors, by the first process; the others send it their random states."""
        self.look()
        every = gather(random_states(self.fabric.device))
        self.saved, self.wants_save = time.monotonic(), False
        if not self.first:
            return
        optimizer_state, numbers = checkpoint.optimizer_tensors(self.bare)
        tensors = {f"model.{n}": t for n, t in self.model.state_dict().items()} | optimizer_state
        tensors |= {f"rng.{rank}.{where}": s for rank, states in enumerate(every) for where, s in states.items()}
        header = checkpoint.header_of(
            self.model,
            settings=asdict(self.settings),
            optimizer=numbers,
            place=asdict(self.state),
            about=dict(self.about),
            scaler=self.fabric.strategy.precision.state_dict(),
        )
        checkpoint.write(self.run.out / "last.safetensors", tensors, header)

    def continue_from(self, path: Path) -> Place:
        tensors, header = checkpoint.read(path)
        checkpoint.restore(self.model, tensors, header, path)
        checkpoint.restore_optimizer(self.bare, tensors, header, path)
        states = random_states_of(tensors)
        if len(states) != self.fabric.world_size:
            raise InputError(
                f"the run used {len(states)} processes, now there are {self.fabric.world_size}",
                file=path,
                hint=f"resume it with {len(states)}",
            )
        try:
            mine = states[self.fabric.global_rank]
            if self.fabric.device.type not in mine:
                raise InputError(
                    f"the run used {max(mine, key=len)}, now it uses {self.fabric.device.type}",
                    file=path,
                    hint="resume it on the same kind of device: --device",
                )
            restore_random(mine, self.fabric.device)
            self.fabric.strategy.precision.load_state_dict(header.get("scaler") or {})
        except (KeyError, RuntimeError, TypeError, AttributeError) as error:
            raise InputError(
                f"its random state cannot be used ({summarize(error)})", file=path, hint=checkpoint.AGAIN
            ) from None
        place = place_of(header.get("place"), path)
        self.check_rates(header.get("settings"), place, path)
        return place

    def check_rates(self, saved_settings: Any, place: Place, path: Path) -> None:
        """A run may be made longer only if the learning rates of its past steps stay the same."""
        try:
            before = configure(Settings(), saved_settings)
        except (SpecError, TypeError, AttributeError) as error:
            raise InputError(
                f"its header has no training settings ({summarize(error)})", file=path, hint=checkpoint.AGAIN
            ) from None
        total = total_steps(before, self.per_epoch)
        for step in {*range(0, place.step, max(1, place.step // 200)), max(place.step - 1, 0)}:
            then, now = (
                lr_at(before, step, self.per_epoch, total),
                lr_at(self.settings, step, self.per_epoch, self.total),
            )
            if place.step and not math.isclose(then, now, rel_tol=1e-9):
                raise InputError(
                    f"the learning rate of step {step} was {then:g} and would be {now:g} with so many epochs or steps",
                    file=path,
                    hint="resume with as many as before, or start another run",
                )


def total_steps(settings: Settings, per_epoch: int) -> int:
    return settings.steps if settings.steps is not None else settings.epochs * per_epoch


def random_states_of(tensors: Mapping[str, Tensor]) -> list[dict[str, Tensor]]:
    """rng.<rank>.<device> of a checkpoint, by rank."""
    states: dict[str, dict[str, Tensor]] = {}
    for name, state in tensors.items():
        kind, _, rest = name.partition(".")
        if kind == "rng":
            rank, _, where = rest.partition(".")
            states.setdefault(rank, {})[where or "cpu"] = state
    return [states[rank] for rank in sorted(states, key=lambda r: (len(r), r))]


def mean_values(shares: Sequence[Mapping[str, float]]) -> dict[str, float]:
    """The mean over processes of each loss, over those that have it."""
    names = dict.fromkeys(name for share in shares for name in share)
    return {n: sum(mine := [share[n] for share in shares if n in share]) / len(mine) for n in names}


def is_main(name: str, names: Mapping[str, float]) -> bool:
    """Whether a loss is shown in the bar: not `giou_0` or `fitb/giou` where there is `giou` or `loss`."""
    stem = re.sub(r"_\d+$", "", name)
    return "/" not in name and (stem == name or stem not in names)


def sum_of(name: str, scores: Scores) -> float:
    """A score, or a sum of scores: METEOR+SODA_c."""
    for part in name.split("+"):
        if part not in scores:
            raise SpecError(f"no score is called {part!r} to choose a checkpoint by; {close_to(part, list(scores))}")
    return sum(scores[part] for part in name.split("+"))


def best_file(name: str) -> str:
    return f"best-{re.sub(r'[^A-Za-z0-9@.+_-]', '_', name)}.safetensors"


def shown_scores(line: Mapping[str, float]) -> str:
    return " · ".join(f"{n} {v:.4g}" for n, v in line.items() if n == "loss" or n.startswith("val_"))
