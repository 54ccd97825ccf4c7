/* What the report's scripts share besides elements.js: numbers as text, what a row is. Plain JavaScript.
   Strings of users reach the page as text nodes and attribute values only; nothing here writes HTML.

   PAGES has one entry a kind of row (stories.js, items.js, queries.js, images.js): its nouns, what is searched and
   counted in it, and how it looks in full. report.js draws the table and the histogram of any kind.

   A row of stories: [id, numbers per system, seconds, events per set, per system [events, pairs per set] or null,
                      with scene graphs: per system and set a list beside the pairs]
   A row of items:   [id, numbers per system, candidate per system, references, scene graphs per system or null,
                      with blanks: per system [clip, who it is, who was said, right pairs, pairs] each, or null]
   A row of queries: [id, numbers per system, sentence, video, seconds, windows, per system a list of answers per list,
                      marks of clips or null, per system saliency or null, type or null, per system words or null]
                      an answer: [start, end, IoU, score, which window, video where it is another]
   A row of images:  [id, numbers per system, [width, height] or null, references, per system detections or null]
                      a reference: [box, captions]; a detection: [box, caption, score, reference, IoU, first, METEOR]
   An event: [start, end, caption]; malformed ones come last and have text for times.
   A pair:   [reference, prediction, IoU, caption score or null, and maybe: words, words, METEOR's matches]        */

const PAGES = {};
const narrow = () => innerWidth < 640; // px
const ROW = 38; // px, one line of the table: report.css says the same
const PRINTED = 200; // rows of the table on paper
const BAR = 38, SLIM = 9, GAP = 4, LINKS = 52, BETWEEN = 18, AXIS = 28, CROWD = 6; // px, and lanes that make a crowd
const MODULES = ["same word", "same stem", "synonym", "paraphrase"];
const KINDS = {
  missed: "missed: a reference event without a partner",
  extra: "unmatched: a predicted event without a partner",
  low: "mislocated: a pair that overlaps by less than ",
  malformed: "malformed: no stretch of time, matches nothing",
};

// --- small helpers ---------------------------------------------------------------------------------------------------

const clock = (s) => `${Math.floor(s / 60)}:${String(Math.floor(s % 60)).padStart(2, "0")}`;
const when = (event) => `${event[0]}–${event[1]} s`;
const shown = (value, scale = 1) => (value === null || value === undefined ? "–" : (value * scale).toFixed(2));
const signed = (value, scale) => (value === null ? "–" : (value > 0 ? "+" : "") + (value * scale).toFixed(2));
const noun = () => PAGES[data.kind].noun; // what a row is
const plural = (one) => (one.endsWith("y") ? `${one.slice(0, -1)}ies` : `${one}s`);
const count = (n, one) => `${n.toLocaleString("en")} ${n === 1 ? one : plural(one)}`;
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

let data; // what was embedded
let rows; // all of them, each with its place in `data`
let chosen = 0; // the metric of the histogram and of the comparison
let two = false; // are two systems compared?

// --- words -----------------------------------------------------------------------------------------------------------

/** Both sentences with their matched words marked: by METEOR where the pair has its alignment, else equal words. */
function wordsOf(pair, gold, guess) {
  const aligned = pair && pair.length > 4;
  const cut = (text) => text.split(/([\p{L}\p{N}]+(?:['’]\p{L}+)*)/u); // every second piece is a word
  const [ref, hyp] = aligned ? [pair[4], pair[5]] : [cut(gold), cut(guess)];
  const marks = [new Map(), new Map()];
  if (aligned) {
    for (const [i, j, more, less, module] of pair[6]) {
      const about = `${MODULES[module]}: ${ref.slice(i, i + more).join(" ")} = ${hyp.slice(j, j + less).join(" ")}`;
      for (let k = i; k < i + more; k++) marks[0].set(k, [module, about]);
      for (let k = j; k < j + less; k++) marks[1].set(k, [module, about]);
    }
  } else {
    ref.forEach((word, i) => {
      const same = (other, k) => k % 2 && !marks[1].has(k) && other.toLowerCase() === word.toLowerCase();
      const j = i % 2 ? hyp.findIndex(same) : -1;
      if (j < 0) return;
      marks[0].set(i, [0, MODULES[0]]);
      marks[1].set(j, [0, MODULES[0]]);
    });
  }
  const line = (list, mark) => list.map((word, k) => [aligned && k ? " " : "",
    mark.has(k) ? el("mark", { class: `m${mark.get(k)[0]}`, title: mark.get(k)[1] }, word) : word]);
  const used = aligned ? [...new Set(pair[6].map((m) => m[4]))].sort() : [0];
  return {
    ref: line(ref, marks[0]),
    hyp: line(hyp, marks[1]),
    matched: marks[0].size + marks[1].size,
    how: aligned ? "METEOR’s alignment" : "equal words",
    key: used.map((m) => el("span", {}, el("mark", { class: `m${m}` }, MODULES[m]))),
  };
}

/** Ticks below a timeline, at most ten, fewer on a narrow page. */
function timeAxis(extent, y) {
  const x = (t) => `${((100 * t) / extent).toFixed(3)}%`;
  const most = narrow() ? 5 : 10;
  const step = STEPS.find((s) => extent / s <= most) ?? Math.floor(extent / most) + 1;
  const parts = [svg("line", { class: "axis", x1: 0, x2: "100%", y1: y, y2: y })];
  for (let t = 0; t <= extent; t += step) {
    parts.push(svg("line", { class: "axis", x1: x(t), x2: x(t), y1: y, y2: y + 5 }),
      svg("text", { class: "tick", x: x(t), y: y + 19 }, clock(t)));
  }
  return parts;
}

/** Arrow keys walk through what can be looked at in a drawing; Tab reaches one of them. */
function walkStops(event, root) {
  const step = { ArrowRight: 1, ArrowDown: 1, ArrowLeft: -1, ArrowUp: -1 }[event.key];
  const stops = [...root.querySelectorAll("[tabindex]")].filter((node) => !node.classList.contains("hidden"));
  const at = stops.indexOf(document.activeElement);
  if (!step || at < 0) return;
  event.preventDefault();
  const next = stops[(at + step + stops.length) % stops.length];
  stops[at].setAttribute("tabindex", -1);
  next.setAttribute("tabindex", 0);
  next.focus();
}

/** The first lane that is free when an event starts; events that overlap lie below each other. */
function lanes(events) {
  const free = [];
  return events.map(([start, end]) => {
    let lane = free.findIndex((until) => until <= start);
    if (lane < 0) lane = free.length;
    free[lane] = end;
    return lane;
  });
}
