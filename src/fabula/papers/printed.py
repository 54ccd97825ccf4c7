"""Tables of papers as text: Markdown, LaTeX, HTML; and what `list` and `show` print."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from fabula.papers.outcome import Cell, Outcome
from fabula.papers.plan import FIRST_SEED, NAME, OWN, Plan, name_step, needed_sources
from fabula.papers.sources import Inputs, sources
from fabula.papers.table import Column, Row, Table, load, names
from fabula.report.compare import escaped, tex
from fabula.report.html import draw_head, escape_text, hash_source
from fabula.report.table import join_cells
from fabula.studies.report import STYLE
from fabula.studies.report import table as html_table

BANNER = "SIMULATED: tests the command, not the paper's numbers"


def head_of(outcome: Outcome) -> list[str]:
    return [*outcome.table.labels, "", *(column.title for column in outcome.table.columns)]


def body_of(outcome: Outcome) -> Iterator[list[str]]:
    """Three lines for a row: ours, the paper's, the difference; of a row that is not run the paper's alone."""
    for line in outcome.lines:
        section, (first, *others) = line.row.section, line.row.labels
        labels = [f"{section}: {first}" if section else first, *others]
        blank = [""] * len(labels)
        columns = list(zip(outcome.table.columns, line.cells, strict=True))
        ran = line.is_run
        printed = any(cell.paper is not None for cell in line.cells)
        if ran:
            yield [*labels, "here", *(show_here(column, cell) for column, cell in columns)]
        if printed or not ran:
            name = "paper" if printed else "not run"
            yield [*(blank if ran else labels), name, *(show_paper(cell) for _, cell in columns)]
        if ran and printed:
            yield [*blank, "difference", *(show_difference(column, cell) for column, cell in columns)]


def show_here(column: Column, cell: Cell) -> str:
    if cell.mean is None:
        return "–"
    digits = column.digits if cell.paper is None else max(column.digits, cell.paper.digits)
    spread = "" if cell.sd is None else f" ± {cell.sd:.{digits}f}"
    return f"{cell.mean:.{digits}f}{spread}"


def show_paper(cell: Cell) -> str:
    return "–" if cell.paper is None else cell.paper.text


def show_difference(column: Column, cell: Cell) -> str:
    if cell.difference is None or cell.paper is None:
        return "–"
    shown = f"{cell.difference:+.{max(column.digits, cell.paper.digits)}f}"
    return shown if float(shown) else shown[1:]


def notes_of(outcome: Outcome) -> list[str]:
    """What stands below a table: seeds, signatures, rows that are not run, remarks."""
    trained = any(len(cell.values) > 1 for line in outcome.lines for cell in line.cells)
    seeds = [f"mean ± standard deviation over the seeds {', '.join(map(str, outcome.seeds))}"] if trained else []
    signed = [f"{protocol}: {' · '.join(texts)}" for protocol, texts in outcome.signatures.items()]
    absent = [
        f"{'not whole' if line.is_run else 'not run'}: {line.row.name}: {line.problem}"
        for line in outcome.lines
        if line.problem
    ]
    remarks = [f"{line.row.name}: {line.row.note}" for line in outcome.lines if line.row.note]
    return [*seeds, *signed, *absent, *remarks]


def markdown(outcome: Outcome) -> Iterator[str]:
    table = outcome.table
    yield f"### {table.title}"
    yield ""
    yield f"{table.paper}. {table.about}"
    yield ""
    if outcome.is_simulated:
        yield f"**{BANNER}**"
        yield ""
    count = len(table.labels) + 1
    yield f"| {' | '.join(map(escaped, head_of(outcome)))} |"
    yield "|" + "---|" * count + "---:|" * len(table.columns)
    for row in body_of(outcome):
        yield f"| {' | '.join(map(escaped, row))} |"
    yield ""
    for note in notes_of(outcome):
        yield f"- {note}"


def latex(outcome: Outcome) -> Iterator[str]:
    table = outcome.table
    yield f"% {table.title} ({table.paper})"
    if outcome.is_simulated:
        yield f"% {BANNER}"
    for note in notes_of(outcome):
        yield f"% {note}"
    yield r"\begin{tabular}{" + "l" * (len(table.labels) + 1) + "r" * len(table.columns) + "}"
    yield r"\toprule"
    yield " & ".join(map(tex, head_of(outcome))) + r" \\"
    yield r"\midrule"
    for row in body_of(outcome):
        yield " & ".join(tex(cell).replace("±", r"$\pm$").replace("–", "--") for cell in row) + r" \\"
    yield r"\bottomrule"
    if outcome.is_simulated:
        columns = len(table.labels) + 1 + len(table.columns)
        yield rf"\multicolumn{{{columns}}}{{l}}{{{tex(BANNER)}}} \\"
    yield r"\end{tabular}"


def html(outcomes: Sequence[Outcome]) -> Iterator[str]:
    """A page of all tables."""
    title = outcomes[0].table.title if len(outcomes) == 1 else "Tables of papers"
    yield draw_head(title, STYLE, f"style-src '{hash_source(STYLE)}'") + "<body>"
    for outcome in outcomes:
        table = outcome.table
        yield f"<h1>{escape_text(table.title)}</h1><p>{escape_text(f'{table.paper}. {table.about}')}</p>"
        if outcome.is_simulated:
            yield f'<p class="warn">{escape_text(BANNER)}</p>'
        yield html_table(head_of(outcome), list(body_of(outcome)))
        yield "<ul>" + "".join(f"<li>{escape_text(note)}</li>" for note in notes_of(outcome)) + "</ul>"
    yield "</body></html>"


# --- list and show ---------------------------------------------------------------------------------------------------


def list_lines() -> Iterator[str]:
    """Every table, what it is and how many of its rows can be run."""
    yield join_cells(["table", "paper", "title", "rows", "rows with a command"])
    for name in names():
        table = load(name)
        ready = sum(not row.needs for row in table.rows)
        yield join_cells([name, table.paper, table.title, str(len(table.rows)), str(ready)])


def show_lines(table: Table) -> Iterator[str]:
    """The printed numbers, what must be on disk, and each row's command lines."""
    yield f"{table.name}: {table.title} ({table.paper})"
    yield table.about
    yield ""
    yield join_cells([*table.labels, *(column.title for column in table.columns)])
    for row in table.rows:
        labels = [f"{row.section}: {row.labels[0]}" if row.section else row.labels[0], *row.labels[1:]]
        yield join_cells([*labels, *("–" if one is None else one.text for one in row.paper)])
    needed = needed_sources(table)
    if needed:
        yield ""
        yield "On disk:"
        for name in needed:
            yield f"  {sources()[name].need}   {sources()[name].about}"
    for number, row in enumerate(table.rows, 1):
        yield ""
        yield f"{number}. {row.name}"
        if row.note:
            yield f"   {row.note}"
        if row.needs:
            yield f"   not run: needs {row.needs}"
        for part in table.parts_of(row):
            if part:
                yield f"   {part}:"
            yield from (f"   {line}" for line in command_lines(table, row, part, number))


def command_lines(table: Table, row: Row, part: str, number: int) -> Iterator[str]:
    """The command lines of a row as a user types them; what must be on disk stands as a $VARIABLE."""
    plan = Plan(Inputs((), ()), simulate=False)
    files = {name: f"${name.upper().replace('-', '_')}" for name in sources()} | {"seed": str(FIRST_SEED)}
    done: dict[str, str] = {}
    for line in row.steps:
        line = plan.complete(line, table, row, part)
        verb = line.split(maxsplit=1)[0]
        name = name_step(verb, done)
        suffix = next((m[2] or "" for m in NAME.finditer(line) if m[1] == "out"), "")
        output = "-".join(filter(None, (str(number), part, name))) + suffix
        text = fill_names(line, {**files, **done}, output)
        done[name] = output
        if verb in OWN:
            yield f"fabula reproduce run {table.name} --rows {number}   ({text})"
        else:
            yield f"fabula {' '.join(text.split())}"


def fill_names(line: str, values: Mapping[str, str], output: str) -> str:
    return NAME.sub(lambda m: output if m[1] == "out" else values[m[1]] + (m[2] or ""), line)
