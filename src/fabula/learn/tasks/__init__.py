"""One task per file: what is learnt from, what is predicted, how that is scored. `fabula train NAME` is all it takes.

A file `NAME.py` here, or an entry point of the group `fabula.tasks`, offers a class `Task` on top of `base.Task`:

    class Task(base.Task):
        name, about, usage            its name; one line; example command lines for --help
        models                        names of the models it trains (learn/models), the first is the default
        Train, Shape, Predict         options: what it reads; model settings that have flags; what it predicts from
        presets                       settings of papers by name: --preset

        read(options, notes) → source               annotations, features …: whatever the methods below need
        config(config, source, start) → config      what the data say about the model: widths, vocabulary
        data(source, config) → Data                 len, [i], collate(examples) → Batch (learn/batch.py); its `notes`,
                                                    where it has some, are told
        held(source, config) → Data | None          what is validated on; None: nothing is
        score(answers, source, config) → scores     of all answers about `held`, in its order; higher is better
        best_by(config) → names                     which scores choose checkpoints; "A+B" is a sum
        told(source) → dict                         what config.json and checkpoints say of the data
        ask(model, options, notes) → Data           what is to be predicted; `model.about` is what `told` told
        spread(path, data, options, notes, watch)   the result where parts are asked in a folder (--work), or None
        tell(answers, data) → result                answers as what the library call returns, …
        captions(result, data)                      captions that the model wrote; empty ones and loops are warned of
        write(result, path), count(result)          … the file that the command line writes, and what it says of it
        show(result, options)                       further files that the options ask for, such as a page

        Analyse, analyse(model, options, notes)     options and figures of `fabula analyse NAME`, where a task has some
        Simulate, simulate(options, folder, …)      options and files of `fabula simulate NAME`, where it has a world

    answer(model, data, share, batch_size, watch)   has a default: `model.predict` batch by batch. A task whose units
                                                    share work (a corpus encoded once for all queries) has its own.

Order of a training (learn/run.py): read → config → Model(config) → data → loop (learn/train.py), which validates with
held, answer, score. Of a prediction: the checkpoint's model → ask → answer → tell → write.

**No file here imports torch on top**: help texts are made of the options, and they must stay light. Data sets, which
need torch, live in files of their own (learn/data.py) and are imported by the methods.
"""

from __future__ import annotations

from fabula.core.registry import Room

__all__ = ["room"]


def check_task(thing: object) -> str | None:
    """What is wrong with a task of another package."""
    from fabula.core.plugins import check_class
    from fabula.learn.tasks.base import Task

    return check_class(thing, Task, "task")


room = Room(__name__, "Task", "task", group="fabula.tasks", check=check_task)
