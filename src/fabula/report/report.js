"use strict";
/* The report: a table and a histogram of its rows, whatever they are, and one row in full. */

function haystack(row) {
  row.hay ??= [row[0], ...PAGES[data.kind].words(row).filter(Boolean)].join("\n").toLowerCase();
  return row.hay;
}

// --- one row in full -------------------------------------------------------------------------------------------------

const current = { row: null, set: 0, steps: [] }; // what is open, against which set, and its two buttons
const address = (row) => `#${noun()}=${encodeURIComponent(safely(String(row[0])))}`;
const safely = (text) => (text.toWellFormed ? text.toWellFormed() : text);

function route() {
  const found = /^#(?:video|item|query|image)=(.*)$/s.exec(location.hash);
  if (!found) return;
  let id;
  try { id = decodeURIComponent(found[1]); } catch { id = found[1]; }
  const row = rows.find((r) => safely(String(r[0])) === id);
  if (row) show(row, true);
  else table.status.textContent = `There is no ${noun()} “${id}” in this report.`;
}

function go(row) {
  if (location.hash === address(row)) show(row, true);
  else location.hash = address(row);
}

/** The row before or after the open one, in the order of the table. */
const beside = (step) => table.view[table.view.indexOf(current.row) + step];

function enableSteps() {
  for (const [button, step] of current.steps) button.disabled = !beside(step);
}

function show(row, asked) {
  current.row = row;
  const place = table.view.indexOf(row);
  if (place >= 0) table.at = place;
  drawRows();
  drawOpen();
  if (!asked) return;
  current.el.querySelector("h3").focus({ preventScroll: true });
  current.el.scrollIntoView({ block: "start" });
}

function drawOpen() {
  const row = current.row;
  const neighbour = (step, words) => {
    const button = el("button", { type: "button", click: () => go(beside(step)) }, words);
    current.steps.push([button, step]);
    return button;
  };
  current.steps = [];
  const back = () => {
    table.box.scrollTop = Math.max(0, table.at * ROW - table.box.clientHeight / 2);
    drawRows();
    table.el.scrollIntoView({ block: "nearest" });
    table.body.querySelector('a[tabindex="0"]')?.focus();
  };
  const numbers = data.metrics.map(([name, , scale], m) => el("li", {}, `${name} `,
    row[1].map((values, s) => [s ? " · " : "", el("b", {}, shown(values[m], scale))])));
  const about = PAGES[data.kind].about(row);
  const length = about ? el("small", {}, ` ${about}`) : null;
  const buttons = [neighbour(-1, "Previous"), neighbour(1, "Next"),
    el("button", { type: "button", click: back }, "Back to the table")];
  current.el.replaceChildren(
    el("div", { class: "bar" }, el("h3", { tabindex: -1 }, String(row[0]), length), el("div", {}, buttons)),
    el("ul", { class: "chips" }, numbers), ...PAGES[data.kind].open(row).flat(Infinity).filter(Boolean));
  enableSteps();
}

// --- columns ---------------------------------------------------------------------------------------------------------

const JOINTS = /(?<=[ _,=(-])/; // where a name may go on in the next line
const breakable = (name) => name.split(JOINTS).flatMap((part, k) => (k ? [el("wbr"), part] : [part]));

/** As wide as its head, within bounds: a head may take two lines. */
function fit(head, least, most) {
  const longest = Math.max(...head.split(JOINTS).map((part) => part.length), head.length / 2);
  return Math.round(Math.min(most, Math.max(least, 54 + 8.4 * longest)));
}

/** A column: its head, its width, what sorts it, what it shows. The chosen metric stands first. */
function columns() {
  const page = PAGES[data.kind];
  const longest = rows.reduce((n, r) => Math.max(n, String(r[0]).length), 0);
  const wide = Math.round(Math.min(narrow() ? 140 : 330, Math.max(110, 28 + 8.4 * longest)));
  const out = [{ key: "id", head: page.head, width: wide, value: (r) => String(r[0]), words: true }];
  const metric = (m, s, head, about) => {
    const [name, , scale] = data.metrics[m];
    out.push({ key: `${name}/${s}`, head, about: about ?? titled(m), value: (r) => r[1][s][m], scale });
  };
  const delta = (r) => {
    const [a, b] = r[1].map((values) => values[chosen]);
    return a === null || b === null ? null : b - a;
  };
  if (data.metrics.length) {
    const name = data.metrics[chosen][0];
    if (two) {
      data.systems.forEach((system, s) => metric(chosen, s, system, `${name} of ${system}`));
      const about = `${name} of ${data.systems[1]} minus that of ${data.systems[0]}`;
      const scale = data.metrics[chosen][2];
      out.push({ key: "delta", head: "Difference", about, value: delta, scale, delta: true });
    } else metric(chosen, 0, name);
  }
  out.push(...page.columns());
  data.metrics.forEach((m, k) => k === chosen || metric(k, 0, m[0], two ? `${m[0]} of ${data.systems[0]}` : undefined));
  for (const column of out) column.width ??= fit(column.head, column.kind ? 124 : 86, 200);
  return out;
}

// --- the table: only the rows in view exist --------------------------------------------------------------------------

const table = { sort: null, down: false, needle: "", bin: null, view: [], at: 0, all: false };

function arrange() {
  const words = table.needle.toLowerCase().split(/\s+/).filter(Boolean);
  table.view = rows.filter((r) => words.every((w) => haystack(r).includes(w)) && (!table.bin || inBin(r)));
  const column = table.columns.find((c) => c.key === table.sort) ?? table.columns[1] ?? table.columns[0];
  table.sort = column.key;
  const side = table.down ? -1 : 1;
  const keyed = table.view.map((r) => [column.value(r), r]);
  const collator = new Intl.Collator("en", { numeric: true });
  keyed.sort(([a, r], [b, q]) => {
    if (r.missing !== q.missing) return r.missing - q.missing; // nothing was said: nothing to look at
    if (a === null || b === null) return (a === null) - (b === null) || r.place - q.place; // unknown comes last
    return (column.words ? collator.compare(a, b) : a - b) * side || r.place - q.place;
  });
  table.view = keyed.map(([, r]) => r);
  table.at = Math.max(0, table.view.indexOf(current.row));
  table.box.scrollTop = 0;
  const some = table.view.length === rows.length ? "" : `${table.view.length.toLocaleString("en")} of `;
  const by = column.kind ? column.head.toLowerCase() : column.about ?? column.head;
  const order = `by ${by}${table.down ? ", highest first" : ""}`;
  const missing = table.view.filter((r) => r.missing).length;
  const last = missing ? `${missing.toLocaleString("en")} without a prediction last` : null;
  table.status.textContent = [some + count(rows.length, noun()), order, table.bin ? binName(table.bin) : null, last]
    .filter(Boolean).join(", ");
  drawHead();
  drawRows();
  enableSteps();
}

function drawHead() {
  table.head.replaceChildren(el("tr", { "aria-rowindex": 1 }, table.columns.map((c) => {
    const sorted = c.key === table.sort ? (table.down ? "descending" : "ascending") : "none";
    const press = () => {
      table.down = c.key === table.sort ? !table.down : Boolean(c.kind);
      table.sort = c.key;
      arrange();
      table.head.querySelector(`th[data-key="${CSS.escape(c.key)}"] button`).focus();
    };
    return el("th", { scope: "col", "aria-sort": sorted, "data-key": c.key, class: c.words ? "words" : "" },
      el("button", { type: "button", title: c.about ?? c.head, click: press },
        c.kind ? el("i", { class: `dot ${c.kind}` }) : null, el("span", {}, breakable(c.head))));
  })));
  table.cols.replaceChildren(...table.columns.map((c) => el("col", { width: c.width })));
  table.el.style.minWidth = `${table.columns.reduce((sum, c) => sum + c.width, 0)}px`;
  table.el.setAttribute("aria-rowcount", table.view.length + 1);
}

function drawRows() {
  const beyond = table.box.scrollWidth - table.box.clientWidth - table.box.scrollLeft > 4;
  table.box.parentNode?.classList.toggle("more", beyond); // columns to the right
  const n = table.view.length;
  const first = table.all ? 0 : Math.max(0, Math.floor(table.box.scrollTop / ROW) - 8);
  const last = table.all ? Math.min(n, PRINTED) : Math.min(n, first + Math.ceil(table.box.clientHeight / ROW) + 16);
  const space = (height) => {
    const cell = el("td", { colspan: table.columns.length });
    cell.style.height = `${height}px`;
    return el("tr", { class: "space", "aria-hidden": "true" }, cell);
  };
  const body = [];
  if (first) body.push(space(first * ROW));
  for (let i = first; i < last; i++) body.push(drawRow(table.view[i], i));
  if (last < n && !table.all) body.push(space((n - last) * ROW));
  const wide = { colspan: table.columns.length, class: "none" };
  if (!n) body.push(el("tr", {}, el("td", wide, "Nothing fits the search.")));
  table.body.replaceChildren(...body);
}

function drawRow(row, i) {
  const cells = table.columns.map((c) => {
    const value = c.value(row);
    if (c.key === "id") {
      const link = { href: address(row), tabindex: i === table.at ? 0 : -1, title: value };
      return el("th", { scope: "row", class: row.missing ? "absent" : null }, el("a", link, value || "(no id)"));
    }
    let kind = c.words ? "words" : c.kind && value ? `has ${c.kind}` : null;
    if (c.delta && value) kind = value > 0 ? "better" : "worse";
    const text = c.text ? c.text(value) : c.delta ? signed(value, c.scale) : c.scale ? shown(value, c.scale) : value;
    return el("td", { class: kind, title: c.words ? value : null }, text === null ? "–" : String(text));
  });
  const mine = row === current.row;
  const press = (e) => { if (!e.ctrlKey && !e.metaKey && !e.shiftKey) { e.preventDefault(); go(row); } };
  const about = { "aria-rowindex": i + 2, class: mine ? "open" : null, "aria-current": mine ? "true" : null };
  return el("tr", { ...about, click: press }, cells);
}

/** Arrow keys walk through the rows, also through those that are not drawn yet. */
function walk(event) {
  const page = Math.max(1, Math.floor(table.box.clientHeight / ROW) - 2);
  const step = { ArrowDown: 1, ArrowUp: -1, PageDown: page, PageUp: -page, Home: -Infinity, End: Infinity }[event.key];
  if (!step || !event.target.closest("tbody")) return;
  event.preventDefault();
  table.at = Math.min(table.view.length - 1, Math.max(0, table.at + step));
  const top = table.at * ROW, room = table.box.clientHeight - table.head.offsetHeight - ROW;
  if (top < table.box.scrollTop) table.box.scrollTop = top;
  if (top > table.box.scrollTop + room) table.box.scrollTop = top - room;
  drawRows();
  table.body.querySelector('a[tabindex="0"]')?.focus();
}

// --- the histogram ---------------------------------------------------------------------------------------------------

function bins() {
  const scale = data.metrics[chosen][2];
  const known = (s) => rows.map((r) => r[1][s][chosen]).filter((v) => v !== null);
  const values = data.systems.map((_, s) => known(s).map((v) => v * scale));
  const top = values.flat().reduce((a, b) => Math.max(a, b), 0) || 1;
  const low = values.flat().reduce((a, b) => Math.min(a, b), 0);
  const rough = (top - low) / 20, power = 10 ** Math.floor(Math.log10(rough));
  const step = [1, 2, 2.5, 5, 10].map((k) => k * power).find((k) => k >= rough - 1e-12);
  const start = Math.floor(low / step) * step, n = Math.max(1, Math.ceil((top - start) / step - 1e-9));
  const place = (v) => Math.min(n - 1, Math.max(0, Math.floor((v - start) / step + 1e-9)));
  const heights = values.map((list) => list.reduce((h, v) => (h[place(v)]++, h), Array(n).fill(0)));
  return { start, step, n, place, heights };
}

const short = (x) => String(+x.toFixed(2));
function binName([b, k]) {
  return `${data.metrics[chosen][0]} from ${short(b.start + k * b.step)} to ${short(b.start + (k + 1) * b.step)}`;
}
function inBin(row) {
  const value = row[1][0][chosen], [b, k] = table.bin;
  return value !== null && b.place(value * data.metrics[chosen][2]) === k;
}

function drawHistogram(place) {
  if (!data.metrics.length || rows.length < 2) return;
  const b = bins(), height = 110, most = Math.max(...b.heights.flat(), 1), systems = data.systems.length;
  const bars = [];
  for (let k = 0; k < b.n; k++) {
    const many = b.heights.map((h, s) => count(h[k], noun()) + (two ? ` of ${data.systems[s]}` : ""));
    const label = `${binName([b, k])}: ${many.join(", ")}`;
    const press = () => {
      table.bin = table.bin && table.bin[1] === k ? null : [b, k];
      bars.forEach((bar, i) => bar.setAttribute("aria-pressed", Boolean(table.bin) && i === k));
      arrange();
    };
    const key = (e) => { if (e.key === "Enter" || e.key === " ") { e.preventDefault(); press(); } };
    const left = (100 * k) / b.n, wide = 88 / b.n / systems;
    const about = { role: "button", tabindex: 0, "aria-label": label, "aria-pressed": "false" };
    bars.push(svg("g", { ...about, click: press, keydown: key }, svg("title", {}, label),
      svg("rect", { class: "hit", x: `${left}%`, y: 0, width: `${100 / b.n}%`, height }),
      b.heights.map((h, s) => {
        const tall = h[k] ? Math.max(2, (h[k] / most) * (height - 16)) : 0, x = `${left + 6 / b.n + s * wide}%`;
        return svg("rect", { class: `bin s${s}`, x, y: height - tall, width: `${wide}%`, height: tall });
      })));
  }
  const every = Math.ceil(b.n / 10), ticks = [];
  for (let k = 0; k <= b.n; k += every) {
    ticks.push(svg("text", { class: "tick", x: `${(100 * k) / b.n}%`, y: height + 17 }, short(b.start + k * b.step)));
  }
  const [name] = data.metrics[chosen];
  const told = [el("b", {}, `${name} per ${noun()}`)];
  if (two) {
    const [a, c] = data.systems, sides = { better: 0, same: 0, worse: 0 };
    for (const r of rows) {
      const [x, y] = [r[1][0][chosen], r[1][1][chosen]];
      if (x !== null && y !== null) sides[y > x ? "better" : y < x ? "worse" : "same"]++;
    }
    const [more, same, less] = Object.values(sides).map((n) => n.toLocaleString("en"));
    told.push([a, c].map((name, s) => el("span", { class: "key" }, el("i", { class: `s${s}` }), name)),
      el("span", {}, `${c} is higher on ${more}, equal on ${same}, lower on ${less}`));
  } else told.push(el("span", {}, "choose a bar to see its rows alone"));
  place.replaceChildren(el("figcaption", {}, told),
    svg("svg", { width: "100%", height: height + 26, role: "group", "aria-label": `Histogram of ${name}` },
      svg("line", { class: "axis", x1: 0, x2: "100%", y1: height, y2: height }), bars, ticks));
}

// --- the whole -------------------------------------------------------------------------------------------------------

function build(app) {
  const figure = el("figure", { class: "histogram" });
  const refresh = () => { table.columns = columns(); table.bin = null; drawHistogram(figure); arrange(); };
  let waiting;
  const search = (e) => {
    clearTimeout(waiting);
    waiting = setTimeout(() => { table.needle = e.target.value; arrange(); }, 90);
  };
  const pick = (e) => { chosen = Number(e.target.value); table.sort = null; table.down = false; refresh(); };
  const page = PAGES[data.kind], plurals = plural(page.head);
  table.status = el("p", { class: "meta", role: "status", id: "status" });
  [table.cols, table.head, table.body] = [el("colgroup"), el("thead"), el("tbody")];
  table.el = el("table", { class: "rows", "aria-describedby": "status" }, table.cols, table.head, table.body);
  let queued = false;
  const scroll = () => {
    if (!queued) requestAnimationFrame(() => { queued = false; drawRows(); });
    queued = true;
  };
  const region = { class: "box", role: "region", "aria-label": plurals, tabindex: 0 };
  table.box = el("div", { ...region, scroll, keydown: walk }, table.el);
  current.el = el("article", { id: "open", "aria-label": `The chosen ${page.noun}` });
  const choices = data.metrics.map((_, m) => el("option", { value: m, selected: m === chosen ? "" : null }, titled(m)));
  const placeholder = page.placeholder;
  app.append(
    el("div", { class: "bar tools" },
      el("label", {}, "Search ", el("input", { type: "search", placeholder, input: search })),
      choices.length ? el("label", {}, "Metric ", el("select", { change: pick }, choices)) : null),
    figure, table.status, el("div", { class: "frame" }, table.box), current.el);
  refresh();
  const paper = (printing) => {
    table.all = printing;
    table.note?.remove();
    table.note = el("p", { class: "meta" }, `The first ${PRINTED} rows are printed.`);
    if (printing && table.view.length > PRINTED) table.box.after(table.note);
    drawRows();
  };
  window.addEventListener("beforeprint", () => paper(true));
  window.addEventListener("afterprint", () => paper(false));
  matchMedia("print").addEventListener("change", (e) => paper(e.matches));
  window.addEventListener("resize", drawRows);
  window.addEventListener("hashchange", route);
  const first = table.view.find((row) => !row.missing && page.telling(row)) ?? table.view.find((row) => !row.missing)
    ?? table.view[0];
  if (first) { // the worst that has something to show
    show(first, false);
    table.box.scrollTop = Math.max(0, (table.at - 3) * ROW);
    drawRows();
  }
  route();
}

async function start() {
  const app = document.getElementById("app");
  if (typeof DecompressionStream === "undefined") {
    app.append(el("p", { class: "fault" }, "This browser is too old to unpack the rows of this page (it has no "
      + "DecompressionStream). The scores, counts and warnings above are complete."));
    return;
  }
  data = await unpacked();
  rows = data.rows;
  chosen = data.lead;
  two = data.systems.length > 1;
  const page = PAGES[data.kind];
  rows.forEach((row, place) => {
    row.place = place;
    row.missing = Number(!page.said(row));
    page.prepare?.(row);
  });
  build(app);
  app.dataset.ready = "yes";
}

start();
