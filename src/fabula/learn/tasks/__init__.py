"""One task per file: what a model is trained on, what it predicts, how that is scored. `fabula train NAME` runs it.

A file `NAME.py` here, or an entry point of the group `fabula.tasks`, offers a class `Task` on top of `base.Task`:

    class Task(base.Task):
        name, about, usage            its name; one line; example command lines for --help
        models                        names of the models it trains (learn/models), the first is the default
        Train, Shape, Predict         options: what it reads; model settings that have flags; what it predicts from
        presets                       settings of papers by name: --preset

        read(options, notes) → source               annotations, features …: whatever the methods below need
        config(config, source, start) → config      what the data say about the model: widths, vocabulary
        training_data(source, config) → Data        len, [i], collate(examples) → Batch (learn/batch.py); its `notes`,
                                                    if it has any, are printed as warnings
        validation_data(source, config)             the validation set; None: no validation
        score(answers, source, config) → scores     of all answers to `validation_data`, in its order; higher is better
        best_by(config) → names                     which scores choose checkpoints; "A+B" is a sum
        metadata(source) → dict                     facts about the data for config.json and the checkpoints
        prediction_data(model, metadata, options,   the data to predict on; `metadata` is what the method `metadata`
                        notes, watch) → Data        returned when the model was trained
        predict_in_parts(path, data, options, …)    the result, if a folder of parts is named (--work); else None
        postprocess(answers, data) → result         answers as `fabula.predict` returns them
        refine(result, options, notes, watch)       the result, changed by a further model that the options name
        captions(result, data)                      captions that the model wrote; empty ones and loops get a warning
        write(result, path), count(result)          the file that the command line writes, and its summary line
        check_output(path)                          refuse early a file that `write` cannot write
        write_page(result, options)                 further files that the options ask for, such as a page

        Analyse, analyse(model, options, notes, watch)  options and figures of `fabula analyse NAME`
        Simulate, simulate(options, folder, …)      options and files of `fabula simulate NAME`

    answer(model, data, share, batch_size, watch)   has a default: `model.predict` batch by batch. A task whose units
                                                    share work (a corpus encoded once for all queries) has its own.

Order of a training (learn/run.py): read → config → Model(config) → training_data → loop (learn/train.py), which
validates with validation_data, answer, score. Of a prediction: the checkpoint's model → prediction_data → answer →
postprocess → write.

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
