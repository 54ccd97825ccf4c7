"use strict";
/* A story in full: its clip, the timeline with its pairs, the alignment of words, events as a table. */

PAGES.stories = {
  noun: "video",
  head: "Video",
  placeholder: "ids and captions",
  words: (row) => toldIn(row).flatMap(([, events]) => events.map((e) => e[2])),
  said: (row) => row[4].some(Boolean),
  /** Something was matched and something was not: the drawing has a point. */
  telling: (row) => row[4].some((told) => told && told[1].some((pairs) => pairs.length)),
  about: (row) => clock(row.extent),
  prepare(row) {
    row.errors = errorsOf(row, 0);
    row[5]?.forEach((sets, s) => sets?.forEach((list, k) => list.forEach((graphs, i) => {
      row[4][s][1][k][i].graphs = graphs;
    })));
    const events = toldIn(row).flatMap(([, list]) => list);
    row.extent = events.reduce((far, e) => (isMalformed(e) ? far : Math.max(far, e[1])), row[2]) || 1;
  },
  columns() {
    const kinds = { missed: "Missed", extra: "Unmatched", low: "Mislocated", malformed: "Malformed" };
    const counted = Object.entries(kinds).map(([kind, head]) => {
      const about = KINDS[kind] + (kind === "low" ? data.low : "");
      return { key: kind, head, about, value: (r) => r.errors[kind], kind };
    });
    const referred = (r) => r[3].reduce((n, events) => n + (events ? events.length : 0), 0);
    const predicted = (r) => (r[4][0] ? r[4][0][0].length : null);
    return [...counted, { key: "refs", head: "Reference", about: "reference events", value: referred },
      { key: "preds", head: "Predicted", about: "predicted events", value: predicted },
      { key: "length", head: "Length", value: (r) => r.extent, text: clock }];
  },
  open: storyOf,
};

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

/** Who tells what in a row of stories: [name, events], reference sets before systems. */
function toldIn(row) {
  const systems = row[4].map((system, s) => [data.systems[s], system ? system[0] : []]);
  return [...row[3].map((events, k) => [data.sets[k], events ?? []]), ...systems];
}

/** Strips from top to bottom, and the pairs between neighbours. One system stands between two reference sets; two
    systems stand around the reference set that was chosen. */
function scene(row) {
  const strips = [], links = [];
  const paired = (s, k) => (row[4][s] ? row[4][s][1][k] : []);
  const add = (name, role, told) => {
    const events = (told ?? []).filter((e) => !isMalformed(e));
    strips.push({ name, role, events, kinds: new Map(), links: new Map() });
    return strips.length - 1;
  };
  const join = (ref, pred, pairs) => {
    for (const pair of pairs) {
      const link = { ref: [ref, pair[0]], pred: [pred, pair[1]], pair, low: pair[2] < data.low };
      links.push(link);
      for (const [strip, i] of [link.ref, link.pred]) {
        strips[strip].links.set(i, [...(strips[strip].links.get(i) ?? []), link]);
      }
    }
  };
  const sets = row[3].map((events, k) => k).filter((k) => row[3][k]);
  const system = (s) => add(data.systems[s], "prediction", row[4][s] && row[4][s][0]);
  const reference = (k, role = "reference") => add(data.sets[k], role, row[3][k]);
  if (two) {
    const k = sets.includes(current.set) ? current.set : sets[0];
    const [a, ref, b] = [system(0), reference(k), system(1)];
    join(ref, a, paired(0, k));
    join(ref, b, paired(1, k));
    sets.filter((other) => other !== k).forEach((other) => reference(other, "other"));
  } else {
    const ref = reference(sets[0]), pred = system(0);
    join(ref, pred, paired(0, sets[0]));
    if (sets.length > 1) join(reference(sets[1]), pred, paired(0, sets[1]));
    sets.slice(2).forEach((other) => reference(other, "other"));
  }
  for (const strip of strips) {
    strip.events.forEach((_, i) => {
      const mine = strip.links.get(i);
      if (strip.role === "other") return;
      if (!mine) strip.kinds.set(i, strip.role === "reference" ? "missed" : "extra");
      else if (mine.every((link) => link.low)) strip.kinds.set(i, "low");
    });
  }
  return { strips, links };
}

function storyOf(row) {
  const drawing = scene(row), clip = clipOf(row[0]);
  const card = el("div", { class: "card", "aria-live": "polite" }, el("p", { class: "meta hint" },
    "Point at an event or a line, or walk through the events with Tab and the arrow keys: captions, overlap and "
    + `matched words appear here.${clip ? " A click or Enter plays the clip from there." : ""}`));
  const parts = [];
  if (two && data.sets.length > 1) {
    const pick = (e) => {
      current.set = Number(e.target.value);
      drawOpen();
      current.el.querySelector("select").focus();
    };
    const sets = data.sets.map((name, k) => el("option",
      { value: k, selected: k === current.set ? "" : null, disabled: row[3][k] ? null : "" }, name));
    parts.push(el("label", { class: "pick" }, "Reference set ", el("select", { change: pick }, sets)));
  }
  row[4].forEach((system, s) => system || parts.push(el("p", { class: "fault" },
    two ? `${data.systems[s]} has no prediction for this video.` : "This video has no prediction.")));
  const drawn = timeline(row, drawing, card, clip);
  parts.push(...(clip ? [el("div", { class: "watch" }, clip.el, card), drawn, legend(drawing), clip.status]
    : [drawn, legend(drawing), card]));
  const bad = toldIn(row).flatMap(([name, events]) => events.filter(isMalformed)
    .map((e) => el("li", {}, `${name}: [${e[0]}, ${e[1]}] ${e[2]}`)));
  if (bad.length) {
    const words = [el("i", { class: "dot malformed" }), "No stretch of time, matches nothing:"];
    parts.push(el("p", { class: "fault" }, words), el("ul", { class: "bad" }, bad));
  }
  parts.push(...wordTables(drawing), ...pairGraphs(drawing));
  return parts;
}

function legend({ strips, links }) {
  const kinds = new Set(strips.flatMap((strip) => [...strip.kinds.values()]));
  if (links.some((link) => link.low)) kinds.add("low");
  const line = (name, words) => el("li", {}, el("i", { class: name }), words);
  return el("ul", { class: "legend" }, line("reference", "reference event"), line("prediction", "predicted event"),
    strips.some((s) => s.role === "other") ? line("other", "a further reference set") : null,
    ["missed", "extra"].filter((k) => kinds.has(k)).map((k) => line(k, KINDS[k])),
    kinds.has("low") ? line("low", KINDS.low + data.low) : null,
    links.length ? line("pair", `pairs: ${data.pairs}`) : null);
}

// --- the timeline ----------------------------------------------------------------------------------------------------

function timeline(row, { strips, links }, card, clip) {
  const x = (s) => `${((100 * s) / row.extent).toFixed(3)}%`;
  const middle = (event) => (event[0] + event[1]) / 2;
  let y = 0;
  strips.forEach((strip, n) => {
    const lane = lanes(strip.events);
    strip.size = lane.some((l) => l >= CROWD) ? SLIM : BAR;
    strip.y = y;
    strip.tops = lane.map((l) => y + l * (strip.size + GAP));
    strip.bottom = Math.max(y + BAR, ...strip.tops.map((top) => top + strip.size));
    const joined = links.some((l) => Math.min(l.ref[0], l.pred[0]) === n);
    y = strip.bottom + (joined ? LINKS : BETWEEN);
  });
  const parts = [], drawnBars = new Map();
  const light = (some) => {
    root.classList.toggle("focus", Boolean(some));
    for (const node of root.querySelectorAll(".lit")) node.classList.remove("lit");
    for (const node of some ?? []) node.classList.add("lit");
  };
  const barOf = (place) => drawnBars.get(place.join());
  const allOf = (link) => [link.el, barOf(link.ref), barOf(link.pred)];
  const look = (nodes, content) => () => { light(nodes()); card.replaceChildren(...content().flat()); };
  const watched = (seen) => ({ mouseenter: seen, click: seen, mouseleave: () => light() });
  for (const link of links) {
    const [upper, lower] = link.ref[0] < link.pred[0] ? [link.ref, link.pred] : [link.pred, link.ref];
    const [a, b] = [strips[upper[0]], strips[lower[0]]];
    const from = middle(a.events[upper[1]]), to = middle(b.events[lower[1]]);
    const ends = { x1: x(from), x2: x(to), y1: a.tops[upper[1]] + a.size + 2, y2: b.tops[lower[1]] - 2 };
    const at = { x: x((from + to) / 2), y: a.bottom + LINKS / 2 + 4 };
    const seen = look(() => allOf(link), () => pairCard(link, strips));
    link.el = svg("g", { class: `link${link.low ? " low" : ""}`, ...watched(seen) },
      svg("title", {}, `IoU ${shown(link.pair[2])}`), svg("line", { class: "hit", ...ends }), svg("line", ends),
      svg("text", { class: "iou", ...at }, shown(link.pair[2])));
    parts.push(link.el);
  }
  let first = true;
  strips.forEach((strip, n) => {
    const name = brief(strip.name, narrow() ? 10 : 16);
    parts.push(svg("text", { class: "name", x: -14, y: strip.y + 16 }, name, svg("title", {}, strip.name)),
      svg("text", { class: "role", x: -14, y: strip.y + 30 }, strip.role === "other" ? "reference" : strip.role));
    strip.events.forEach((event, i) => {
      const kind = strip.kinds.get(i), mine = strip.links.get(i) ?? [];
      const told = mine.map((l) => `paired, IoU ${shown(l.pair[2])}`).join(", ");
      const verdict = [told, kind && KINDS[kind].split(":")[0]].filter(Boolean).join(", ");
      const about = `${strip.name}, ${when(event)}: ${event[2] ?? ""}. ${verdict}`;
      const seen = look(() => [barOf([n, i]), ...mine.flatMap(allOf)],
        () => (mine.length ? mine.map((l) => pairCard(l, strips)) : loneCard(n, i, strips)));
      const bar = svg("svg", {
        class: `event ${strip.role} ${kind ?? ""}`, role: clip ? "button" : "img", "aria-label": about,
        tabindex: first ? 0 : -1,
        x: x(event[0]), y: strip.tops[i], width: x(Math.max(event[1] - event[0], row.extent / 400)), height: strip.size,
        focus: seen, ...watched(seen), ...(clip ? clip.pressed(event[0], seen) : {}),
      }, svg("rect", { width: "100%", height: "100%", rx: 5 }));
      if (strip.size === BAR && event[2]) {
        const words = el("p", { "aria-hidden": "true" }, event[2].slice(0, 120));
        bar.append(svg("foreignObject", { width: "100%", height: BAR }, words));
      }
      first = false;
      drawnBars.set([n, i].join(), bar);
      parts.push(bar);
    });
  });
  parts.push(...timeAxis(row.extent, y));
  if (clip) parts.push(clip.head(row.extent, y));
  const many = strips.map((s) => `${count(s.events.length, "event")} of ${s.name}`);
  many.push(count(links.length, "matched pair"));
  const about = { role: "group", "aria-label": `Timeline of ${row[0]}: ${many.join(", ")}` };
  const size = { width: "100%", height: y + AXIS };
  const keydown = (e) => walkStops(e, root), focusout = () => light();
  const root = svg("svg", { class: "timeline", ...about, ...size, keydown, focusout }, parts);
  if (clip) clip.seekOn(root, row.extent);
  return root;
}

const tag = (kind) => el("span", { class: `tag ${kind}` }, KINDS[kind].split(":")[0]);

function pairCard(link, strips) {
  const [ref, pred] = [strips[link.ref[0]], strips[link.pred[0]]];
  const [gold, guess] = [ref.events[link.ref[1]], pred.events[link.pred[1]]];
  const words = wordsOf(link.pair, gold[2] ?? "", guess[2] ?? "");
  const [, , iou, score] = link.pair;
  const fact = (name, value) => el("span", {}, `${name} `, el("b", {}, value));
  const facts = [fact("IoU", shown(iou))];
  if (score !== null) {
    facts.push(fact(data.text, shown(score, 100)), fact(`IoU × ${data.text}`, shown(iou * score, 100)));
  }
  if (link.low) facts.push(tag("low"));
  const side = (strip, event, line) => el("p", {}, el("small", {}, `${strip.name} · ${when(event)}`), line);
  const parts = [el("p", { class: "facts" }, facts), side(ref, gold, words.ref), side(pred, guess, words.hyp)];
  if (gold[2] && guess[2]) {
    parts.push(el("p", { class: "meta key" }, `${words.how}: `, words.matched ? words.key : "no word in common"));
  }
  return parts;
}

function loneCard(n, i, strips) {
  const strip = strips[n], event = strip.events[i], kind = strip.kinds.get(i);
  const facing = strip.role === "prediction" ? "reference" : "prediction";
  const rivals = strips.filter((s) => s.role === facing).flatMap((s) => s.events.map((e) => [overlap(event, e), s, e]));
  const [iou, whose, nearest] = rivals.reduce((best, r) => (r[0] > best[0] ? r : best), [0]);
  const said = el("p", {}, el("small", {}, `${strip.name} · ${when(event)}`), event[2] ?? "");
  if (!kind) return [said];
  const about = iou ? `It overlaps most with ${whose.name}, ${when(nearest)}, IoU ${shown(iou)}: ${nearest[2] ?? ""}`
    : `No ${facing === "reference" ? "reference" : "predicted"} event overlaps it.`;
  return [el("p", { class: "facts" }, tag(kind)), said, el("p", { class: "meta" }, about)];
}

/** Every event of both sides once, in time: what the drawing shows, in words. */
function wordTables({ strips, links }) {
  const out = [];
  strips.forEach((pred, p) => pred.role === "prediction" && strips.forEach((ref, r) => {
    if (ref.role !== "reference") return;
    const mine = links.filter((l) => l.ref[0] === r && l.pred[0] === p);
    const cell = (event) => el("td", {}, el("small", {}, when(event)), ` ${event[2] ?? ""}`);
    const none = (n) => Array.from({ length: n }, () => el("td"));
    const between = data.text ? 2 : 1; // columns
    const lines = mine.map((l) => {
      const [gold, guess] = [ref.events[l.ref[1]], pred.events[l.pred[1]]];
      const numbers = [el("td", {}, shown(l.pair[2])), data.text ? el("td", {}, shown(l.pair[3], 100)) : null];
      return [gold[0], el("tr", {}, cell(gold), numbers, cell(guess), el("td", {}, l.low ? tag("low") : "paired"))];
    });
    ref.events.forEach((event, i) => mine.some((l) => l.ref[1] === i)
      || lines.push([event[0], el("tr", {}, cell(event), none(between + 1), el("td", {}, tag("missed")))]));
    pred.events.forEach((event, i) => mine.some((l) => l.pred[1] === i)
      || lines.push([event[0], el("tr", {}, none(between + 1), cell(event), el("td", {}, tag("extra")))]));
    const heads = [ref.name, "IoU", data.text, pred.name, "Verdict"].filter((head) => head !== null);
    const words = `Events in words: ${ref.name} and ${pred.name}`;
    out.push(el("details", { open: out.length ? null : "" }, el("summary", {}, words),
      el("div", { class: "wide" }, el("table", { class: "pairs" },
        el("thead", {}, el("tr", {}, heads.map((head) => el("th", { scope: "col" }, head)))),
        el("tbody", {}, lines.sort((a, b) => a[0] - b[0]).map(([, line]) => line))))));
  }));
  return out;
}

