"use strict";
/* Scene graphs side by side: objects as cards with their attributes, relations as labels with a line from the subject
   and an arrow to the object. Drawn when they are looked at; the same tuples stand below in words.

   A graph: [score, candidate's tuples, reference's tuples]; a tuple: [mark, word, …] (report/_graphs.py)           */

const CARD = 172, LINE = 21, REACH = 78, LABEL = 158, TALL = 26, APART = 10; // px
const MARKS = ["alone", "matched", "uncounted"];
const VERDICTS = {
  reference: ["not matched: only in the reference", "matched", "not counted: names no id"],
  prediction: ["not matched: only in the prediction", "matched", "not counted: names no id"],
};
const KINDSOF = [null, "object", "attribute", "relation"];

/** Objects with their attributes, and relations between them; what both sides name comes first, in one order. */
function graphOf(tuples, shared) {
  const objects = new Map(), relations = [];
  const object = (name) => {
    if (!objects.has(name)) objects.set(name, { name, mark: 2, attributes: [], ends: [] });
    return objects.get(name);
  };
  for (const [mark, ...words] of tuples) {
    if (words.length === 1) object(words[0]).mark = mark;
    if (words.length === 2) object(words[0]).attributes.push({ name: words[1], mark });
    if (words.length === 3) relations.push({ mark, from: object(words[0]), name: words[1], to: object(words[2]) });
  }
  const busy = (o) => relations.filter((r) => r.from === o || r.to === o).length;
  const place = (o) => (shared.includes(o.name) ? shared.indexOf(o.name) : shared.length + 1 / (1 + busy(o)));
  return { objects: [...objects.values()].sort((a, b) => place(a) - place(b)), relations };
}

/** Cards in a column, labels in the next, as near to the middle of their ends as there is room. */
function arrangeGraph({ objects, relations }) {
  let y = 1;
  for (const o of objects) {
    o.y = y;
    o.height = TALL + 4 + LINE * o.attributes.length;
    y += o.height + APART;
  }
  const middle = (o) => o.y + o.height / 2;
  relations.sort((a, b) => middle(a.from) + middle(a.to) - middle(b.from) - middle(b.to));
  let free = 1;
  for (const r of relations) {
    r.y = Math.max(free, (middle(r.from) + middle(r.to) - TALL) / 2);
    free = r.y + TALL + APART;
    r.from.ends.push(r);
    r.to.ends.push(r);
  }
  const over = Math.max(0, free - Math.max(y, relations.length * (TALL + APART)));
  for (let k = 0; over && k < relations.length; k++) relations[k].y -= (over * (k + 1)) / relations.length;
  return Math.max(y, ...relations.map((r) => r.y + TALL + APART));
}

function sceneGraph(tuples, role, name, shared) {
  const graph = graphOf(tuples, shared), height = arrangeGraph(graph);
  const verdict = (mark) => VERDICTS[role][mark];
  const parts = [], stops = [];
  const light = (some) => {
    root.classList.toggle("focus", Boolean(some));
    for (const node of root.querySelectorAll(".lit")) node.classList.remove("lit");
    for (const node of some ?? []) node.classList.add("lit");
  };
  const stop = (thing, label, near, ...children) => {
    const seen = () => light([thing.el, ...near()]);
    thing.el = svg("g", { class: `stop ${MARKS[thing.mark]}`, role: "img", "aria-label": label,
      tabindex: stops.length ? -1 : 0, focus: seen, mouseenter: seen, mouseleave: () => light() },
    svg("title", {}, label), children);
    stops.push(thing.el);
    return thing.el;
  };
  const port = (o, r) => { // each line has its own place at the card
    const k = o.ends.indexOf(r);
    o.ends[k] = null;
    return o.y + ((k + 1) * o.height) / (o.ends.length + 1);
  };
  const curve = (a, b) => `M${CARD} ${a}C${CARD + REACH / 2} ${a} ${CARD + REACH / 2} ${b} ${CARD + REACH} ${b}`;
  for (const r of graph.relations) {
    const [from, to] = [port(r.from, r), port(r.to, r)];
    const [start, end] = from < to ? [9, TALL - 9] : [TALL - 9, 9]; // the higher card at the higher place
    r.lines = svg("g", { class: `edge ${MARKS[r.mark]}` },
      svg("path", { d: curve(from, r.y + start) }), svg("circle", { cx: CARD + 1, cy: from, r: 3 }),
      svg("path", { d: curve(to, r.y + end) }),
      svg("polygon", { points: `${CARD},${to} ${CARD + 9},${to - 4.5} ${CARD + 9},${to + 4.5}` }));
    parts.push(r.lines);
  }
  const tick = (mark, x, y) => (mark === 1 ? svg("text", { class: "tick", x, y }, "✓") : null);
  for (const o of graph.objects) {
    const told = o.attributes.map((a) => `${a.name} (${verdict(a.mark)})`).join(", ");
    const label = `object ${o.name}: ${verdict(o.mark)}${told ? `; attributes: ${told}` : ""}`;
    const near = () => graph.relations.filter((r) => r.from === o || r.to === o).flatMap((r) => [r.lines, r.el]);
    parts.push(stop(o, label, near,
      svg("rect", { x: 1, y: o.y, width: CARD - 2, height: o.height, rx: 6 }),
      svg("text", { class: "object", x: 11, y: o.y + 19 }, brief(o.name, 20)), tick(o.mark, CARD - 13, o.y + 19),
      o.attributes.map((a, k) => {
        const y = o.y + TALL + LINE * k;
        return svg("g", { class: `attribute ${MARKS[a.mark]}` },
          svg("rect", { x: 9, y, width: CARD - 18, height: LINE - 4, rx: 8 }),
          svg("text", { x: 18, y: y + 12.5 }, brief(a.name, 20)), tick(a.mark, CARD - 21, y + 12.5));
      })));
  }
  for (const r of graph.relations) {
    const label = `relation ${r.from.name}, ${r.name}, ${r.to.name}: ${verdict(r.mark)}`;
    const x = CARD + REACH;
    parts.push(stop(r, label, () => [r.lines, r.from.el, r.to.el],
      svg("rect", { x, y: r.y, width: LABEL - 2, height: TALL, rx: TALL / 2 }),
      svg("text", { x: x + 13, y: r.y + 17.5 }, brief(r.name, 18)), tick(r.mark, x + LABEL - 19, r.y + 17.5)));
  }
  const move = (e) => {
    const step = { ArrowRight: 1, ArrowDown: 1, ArrowLeft: -1, ArrowUp: -1 }[e.key];
    const at = stops.indexOf(document.activeElement);
    if (!step || at < 0) return;
    e.preventDefault();
    const next = stops[(at + step + stops.length) % stops.length];
    stops[at].setAttribute("tabindex", -1);
    next.setAttribute("tabindex", 0);
    next.focus();
  };
  const about = `Scene graph of ${name}: ${count(graph.objects.length, "object")}, `
    + `${count(graph.objects.reduce((n, o) => n + o.attributes.length, 0), "attribute")}, `
    + `${count(graph.relations.length, "relation")}`;
  const width = graph.relations.length ? CARD + REACH + LABEL : CARD;
  const root = svg("svg", { class: `scene ${role}`, role: "group", "aria-label": about, width, height, keydown: move,
    focusout: () => light() }, parts);
  const box = tuples.length ? el("div", { class: "wide" }, root) : el("p", { class: "meta" }, "no tuples");
  return el("figure", {}, el("figcaption", {}, el("b", {}, name), name === role ? null : ` ${role}`), box);
}

/** The tuples of both sides as lists: what the drawing shows, in words. */
function tupleWords(sides) {
  const line = ([mark, ...words], role) => el("tr", { class: MARKS[mark] }, el("td", {}, KINDSOF[words.length]),
    el("td", {}, words.join(" – ")), el("td", {}, VERDICTS[role][mark]));
  const tables = sides.map(([tuples, role, name]) => el("div", { class: "wide" }, el("table", { class: "tuples" },
    el("caption", {}, `${count(tuples.length, "tuple")} of ${name}`),
    el("thead", {}, el("tr", {}, ["Kind", "Tuple", "Verdict"].map((head) => el("th", { scope: "col" }, head)))),
    el("tbody", {}, tuples.map((t) => line(t, role))))));
  return el("details", {}, el("summary", {}, "Tuples in words"), el("div", { class: "scenes" }, tables));
}

/** A fold that draws its graphs when it is first opened. `names`: of the reference and of the prediction. */
function graphFold(metric, graph, names, about, open) {
  const [value, said, gold] = graph;
  const counted = (tuples, ...marks) => tuples.filter((t) => marks.includes(t[0])).length;
  const matched = (tuples) => `${counted(tuples, 1)} of ${counted(tuples, 0, 1)}`;
  const inside = el("div", { class: "inside" });
  const draw = () => {
    if (inside.childElementCount) return;
    const objects = (tuples) => tuples.filter((t) => t.length === 2).map((t) => t[1]);
    const shared = objects(gold).filter((name) => objects(said).includes(name));
    const sides = [[gold, "reference", names[0]], [said, "prediction", names[1]]];
    const some = (mark, list = [...gold, ...said]) => list.some((t) => t[0] === mark);
    const key = (name, words) => el("li", {}, el("i", { class: name }), words);
    inside.append(el("div", { class: "scenes" }, sides.map((side) => sceneGraph(...side, shared))),
      el("ul", { class: "legend" }, some(1) ? key("matched", "✓ matched") : null,
        some(0, gold) ? key("missed", VERDICTS.reference[0]) : null,
        some(0, said) ? key("extra", VERDICTS.prediction[0]) : null,
        some(2) ? key("uncounted", VERDICTS.reference[2]) : null), tupleWords(sides));
  };
  if (open) draw();
  const words = `${about}${metric} ${shown(value, 100)}: matched ${matched(gold)} tuples of the reference, `
    + `${matched(said)} of the prediction`;
  return el("details", { class: "graphs", open: open ? "" : null, toggle: draw }, el("summary", {}, words), inside);
}

/** Of an item: a fold per metric for each system. */
function itemGraphs(row, s) {
  if (!data.graphs.length || row[2][s] === null) return [];
  const graphs = row[4][s];
  if (!graphs) return [el("p", { class: "meta" }, "Scene graphs are drawn for the first rows only, worst first.")];
  const names = ["reference", data.systems[s]];
  return graphs.map((graph, m) => graphFold(data.graphs[m], graph, names, "Scene graphs, ", !m));
}

/** Of a story: a fold per pair and metric. */
function pairGraphs({ strips, links }) {
  const drawn = links.filter((link) => link.pair.graphs);
  if (!data.graphs.length || !links.length) return [];
  const folds = drawn.flatMap((link) => {
    const [ref, pred] = [strips[link.ref[0]], strips[link.pred[0]]];
    const about = `${when(ref.events[link.ref[1]])} and ${when(pred.events[link.pred[1]])}, `;
    return link.pair.graphs.map((graph, m) => graphFold(data.graphs[m], graph, [ref.name, pred.name], about, false));
  });
  const rest = links.length - drawn.length;
  const note = `${count(rest, "pair")} without a drawing: only the first are drawn, worst videos first.`;
  return [el("h4", {}, "Scene graphs of the pairs"), ...folds, ...(rest ? [el("p", { class: "meta" }, note)] : [])];
}
