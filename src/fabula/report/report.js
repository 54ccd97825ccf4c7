"use strict";
/* The report's script: unpacks the embedded data, then draws what is looked at. Plain JavaScript, nothing loaded.
   Strings of users reach the page as text nodes and attribute values only; nothing here writes HTML.

   A row of stories: [id, numbers per system, seconds, events per set, per system [events, pairs per set] or null,
                      with scene graphs: per system and set a list beside the pairs]
   A row of items:   [id, numbers per system, candidate per system, references, with scene graphs: per system]
   An event: [start, end, caption]; malformed ones come last and have text for times.
   A pair:   [reference, prediction, IoU, caption score or null, and maybe: words, words, METEOR's matches]        */

const SVG = "http://www.w3.org/2000/svg";
const ROW = 38; // px, one line of the table: report.css says the same
const PRINTED = 200; // rows of the table on paper
const BAR = 38, SLIM = 9, GAP = 4, LINKS = 52, BETWEEN = 18, AXIS = 28, CROWD = 6; // px, and lanes that make a crowd
const STEPS = [1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 1200, 1800, 3600]; // s between ticks
const MODULES = ["same word", "same stem", "synonym", "paraphrase"];
const KINDS = {
  missed: "missed: a reference event without a partner",
  extra: "unmatched: a predicted event without a partner",
  low: "mislocated: a pair that overlaps by less than ",
  malformed: "malformed: no stretch of time, matches nothing",
};

// --- small helpers ---------------------------------------------------------------------------------------------------

function make(node, attributes, children) {
  for (const [key, value] of Object.entries(attributes)) {
    if (typeof value === "function") node.addEventListener(key, value);
    else if (value !== null && value !== undefined && value !== false) node.setAttribute(key, value);
  }
  node.append(...children.flat(Infinity).filter((child) => child !== null && child !== undefined));
  return node;
}
const el = (tag, attributes = {}, ...children) => make(document.createElement(tag), attributes, children);
const svg = (tag, attributes = {}, ...children) => make(document.createElementNS(SVG, tag), attributes, children);

const clock = (s) => `${Math.floor(s / 60)}:${String(Math.floor(s % 60)).padStart(2, "0")}`;
const when = (event) => `${event[0]}–${event[1]} s`;
const shown = (value, scale = 1) => (value === null || value === undefined ? "–" : (value * scale).toFixed(2));
const signed = (value, scale) => (value === null ? "–" : (value > 0 ? "+" : "") + (value * scale).toFixed(2));
const noun = () => (data.kind === "stories" ? "video" : "item"); // what a row is
const count = (n, one) => `${n.toLocaleString("en")} ${one}${n === 1 ? "" : "s"}`;
const titled = (m) => (data.metrics[m][1] === "value" ? data.metrics[m][0] : data.metrics[m].slice(0, 2).join(" "));
/** A long name without its middle: names of one family differ at the end. */
function brief(name, most = 16) {
  return name.length <= most ? name : `${name.slice(0, most / 2 - 1)}…${name.slice(-most / 2)}`;
}
const isMalformed = (event) => typeof event[0] === "string";
const overlap = (a, b) => {
  const shared = Math.min(a[1], b[1]) - Math.max(a[0], b[0]);
  return shared > 0 ? shared / (a[1] - a[0] + b[1] - b[0] - shared) : 0;
};

async function unpacked() {
  const text = atob(document.getElementById("data").textContent);
  const bytes = new Uint8Array(text.length);
  for (let i = 0; i < text.length; i++) bytes[i] = text.charCodeAt(i);
  const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip"));
  return new Response(stream).json();
}

// --- what is known of a row ------------------------------------------------------------------------------------------

let data; // what was embedded
let rows; // all of them, each with its place in `data`
let chosen = 0; // the metric of the histogram and of the comparison
let two = false; // are two systems compared?

/** Which events of a system have no partner, or a bad one: counted over all reference sets. */
function errorsOf(row, s) {
  const found = { missed: 0, extra: 0, low: 0, malformed: 0 };
  const [told, paired] = row[4][s] ?? [[], row[3].map(() => [])];
  const partnered = new Set();
  row[3].forEach((events, k) => {
    if (!events) return;
    found.missed += events.filter((e) => !isMalformed(e)).length - paired[k].length;
    for (const pair of paired[k]) {
      partnered.add(pair[1]);
      found.low += pair[2] < data.low;
    }
  });
  found.malformed = told.filter(isMalformed).length;
  found.extra = told.length - found.malformed - partnered.size;
  return found;
}

function haystack(row) {
  if (row.hay === undefined) {
    const words = data.kind === "items" ? [...row[2], ...row[3]]
      : toldIn(row).flatMap(([, events]) => events.map((e) => e[2]));
    row.hay = [row[0], ...words.filter(Boolean)].join("\n").toLowerCase();
  }
  return row.hay;
}

/** Who tells what in a row of stories: [name, events], reference sets before systems. */
function toldIn(row) {
  const systems = row[4].map((system, s) => [data.systems[s], system ? system[0] : []]);
  return [...row[3].map((events, k) => [data.sets[k], events ?? []]), ...systems];
}

/** A column: its head, its width, what sorts it, what it shows. The chosen metric stands first. */
function columns() {
  const stories = data.kind === "stories";
  const width = innerWidth < 640 ? 130 : 210;
  const out = [{ key: "id", head: stories ? "Video" : "Item", width, value: (r) => String(r[0]), words: true }];
  const metric = (m, s, head, about) => {
    const [name, , scale] = data.metrics[m];
    const value = (r) => r[1][s][m];
    const width = two && m === chosen ? 142 : 100;
    out.push({ key: `${name}/${s}`, head, about: about ?? titled(m), width, value, scale });
  };
  const delta = (r) => {
    const [a, b] = r[1].map((values) => values[chosen]);
    return a === null || b === null ? null : b - a;
  };
  if (data.metrics.length) {
    const name = data.metrics[chosen][0];
    if (two) {
      data.systems.forEach((system, s) => metric(chosen, s, brief(system), `${name} of ${system}`));
      const about = `${name} of ${data.systems[1]} minus that of ${data.systems[0]}`;
      const scale = data.metrics[chosen][2];
      out.push({ key: "delta", head: "Difference", about, width: 126, value: delta, scale, delta: true });
    } else metric(chosen, 0, name);
  }
  if (stories) {
    const kinds = { missed: "Missed", extra: "Unmatched", low: "Mislocated", malformed: "Malformed" };
    for (const [kind, head] of Object.entries(kinds)) {
      const about = KINDS[kind] + (kind === "low" ? data.low : "");
      out.push({ key: kind, head, about, width: 118, value: (r) => r.errors[kind], kind });
    }
    const referred = (r) => r[3].reduce((n, events) => n + (events ? events.length : 0), 0);
    const predicted = (r) => (r[4][0] ? r[4][0][0].length : null);
    out.push({ key: "refs", head: "Reference", about: "reference events", width: 98, value: referred });
    out.push({ key: "preds", head: "Predicted", about: "predicted events", width: 98, value: predicted });
    out.push({ key: "length", head: "Length", width: 80, value: (r) => r.extent, text: clock });
  } else {
    out.push({ key: "cand", head: brief(data.systems[0], 40), width: 380, value: (r) => r[2][0] ?? "", words: true });
    out.push({ key: "refs", head: "References", width: 100, value: (r) => r[3].length });
  }
  data.metrics.forEach((m, k) => k === chosen || metric(k, 0, m[0], two ? `${m[0]} of ${data.systems[0]}` : undefined));
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
    if (a === null || b === null) return (a === null) - (b === null) || r.place - q.place; // unknown comes last
    return (column.words ? collator.compare(a, b) : a - b) * side || r.place - q.place;
  });
  table.view = keyed.map(([, r]) => r);
  table.at = Math.max(0, table.view.indexOf(current.row));
  table.box.scrollTop = 0;
  const some = table.view.length === rows.length ? "" : `${table.view.length.toLocaleString("en")} of `;
  const by = column.kind ? column.head.toLowerCase() : column.about ?? column.head;
  const order = `by ${by}${table.down ? ", highest first" : ""}`;
  table.status.textContent = [some + count(rows.length, noun()), order, table.bin ? binName(table.bin) : null]
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
        c.kind ? el("i", { class: `dot ${c.kind}` }) : null, el("span", {}, c.head)));
  })));
  table.cols.replaceChildren(...table.columns.map((c) => el("col", { width: c.width })));
  table.el.style.minWidth = `${table.columns.reduce((sum, c) => sum + c.width, 0)}px`;
  table.el.setAttribute("aria-rowcount", table.view.length + 1);
}

function drawRows() {
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
      return el("th", { scope: "row" }, el("a", link, value || "(no id)"));
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
  const stories = data.kind === "stories";
  table.status = el("p", { class: "meta", role: "status", id: "status" });
  [table.cols, table.head, table.body] = [el("colgroup"), el("thead"), el("tbody")];
  table.el = el("table", { class: "rows", "aria-describedby": "status" }, table.cols, table.head, table.body);
  let queued = false;
  const scroll = () => {
    if (!queued) requestAnimationFrame(() => { queued = false; drawRows(); });
    queued = true;
  };
  const region = { class: "box", role: "region", "aria-label": stories ? "Videos" : "Items", tabindex: 0 };
  table.box = el("div", { ...region, scroll, keydown: walk }, table.el);
  current.el = el("article", { id: "open", "aria-label": stories ? "The chosen video" : "The chosen item" });
  const choices = data.metrics.map((_, m) => el("option", { value: m, selected: m === chosen ? "" : null }, titled(m)));
  const placeholder = stories ? "ids and captions" : "ids, candidates, references";
  app.append(
    el("div", { class: "bar tools" },
      el("label", {}, "Search ", el("input", { type: "search", placeholder, input: search })),
      choices.length ? el("label", {}, "Metric ", el("select", { change: pick }, choices)) : null),
    figure, table.status, table.box, current.el);
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
  const first = table.view.find((row) => data.kind === "items" || row[4].some(Boolean)) ?? table.view[0];
  if (first) show(first, false); // the worst that has a prediction
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
  rows.forEach((row, place) => {
    row.place = place;
    if (data.kind !== "stories") return;
    row.errors = errorsOf(row, 0);
    row[5]?.forEach((sets, s) => sets?.forEach((list, k) => list.forEach((graphs, i) => {
      row[4][s][1][k][i].graphs = graphs;
    })));
    const events = toldIn(row).flatMap(([, list]) => list);
    row.extent = events.reduce((far, e) => (isMalformed(e) ? far : Math.max(far, e[1])), row[2]) || 1;
  });
  build(app);
  app.dataset.ready = "yes";
}

start();
