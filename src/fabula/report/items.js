"use strict";
/* A caption or a captionset in full: words in common and words missed, who is who in the blanks, scene graphs. */

const PEOPLE = 7; // colours of people: report.css has as many

PAGES.items = {
  noun: "item",
  head: "Item",
  placeholder: "ids, candidates, references",
  words: (row) => [...row[2], ...row[3], ...(row[5] ?? []).flat().filter(Boolean).flatMap((b) => [b[1], b[2]])],
  said: (row) => row[2].some((text) => text !== null)
    || Boolean(row[5]?.some((b) => b?.some(([, , said]) => said !== null))),
  telling: () => true,
  about: () => null,
  columns() {
    const out = [];
    if (data.captioned) {
      out.push({ key: "cand", head: data.systems[0], width: 380, value: (r) => r[2][0] ?? "", words: true });
      out.push({ key: "refs", head: "References", value: (r) => r[3].length });
    }
    if (data.blanks) {
      const wrong = (r) => (r[5]?.[0] ? r[5][0].filter((b) => b[3] < b[4]).length : null);
      out.push({ key: "wrong", head: "Blanks in doubt", about: "blanks that are wrong in at least one of their pairs",
        value: wrong, kind: "extra" });
      out.push({ key: "blanks", head: "Blanks", value: (r) => (r[5]?.[0] ? r[5][0].length : null) });
    }
    return out;
  },
  open: itemOf,
};

const cutWords = (text) => text.split(/([\p{L}\p{N}]+(?:['’]\p{L}+)*)/u); // every second piece is a word

function itemOf(row) {
  return [row[6]?.length ? clipsOf(row) : null, data.systems.map((system, s) => el("div", { class: "card" },
    two ? el("h4", {}, system) : null, data.captioned && row[3].length ? captionOf(row, s) : null,
    row[5] ? blanksOf(row[5][s], system) : null, itemGraphs(row, s)))].flat();
}

// --- clips -----------------------------------------------------------------------------------------------------------

const PERSON = /(?<![\w-])([Pp]\d+)(?![\w-])/u;
const peopleOf = (text) => (text ?? "").split(PERSON).filter((_, k) => k % 2);

/** A frame of each clip, or its name; below it the true caption and that of each system, people in colours. */
function clipsOf(row) {
  const clips = row[6], truth = clips.flatMap(([, text]) => peopleOf(text));
  const order = [...new Set(truth)];
  const lines = [["Truth", (clip) => clip[1], (who) => order.indexOf(who)],
    ...data.systems.map((system, s) => [two ? system : "Prediction", (clip) => clip[2][s],
      colours(clips, s, truth, order)])];
  const told = (clip) => lines.map(([head, text, colour]) => [el("dt", {}, head),
    el("dd", {}, coloured(text(clip), colour))]);
  const cards = clips.map((clip, k) => el("li", {}, frameOf(clip[0]),
    el("p", { class: "meta" }, `${k + 1}: ${clip[0]}`), el("dl", {}, told(clip))));
  return el("section", { class: "clips", "aria-label": "Clips" }, el("p", { class: "meta" },
    `${count(clips.length, "clip")}; a colour is a person, and a predicted one has that of whom it meets most often`),
    el("ol", { tabindex: "0", "aria-label": "Clips, truth and prediction" }, cards));
}

/** The colour of each predicted person: whom it stands for where both sides have the same blanks, else its own. */
function colours(clips, s, truth, order) {
  const said = clips.flatMap((clip) => peopleOf(clip[2][s])), own = [...new Set(said)];
  const same = clips.every((clip) => peopleOf(clip[1]).length === peopleOf(clip[2][s]).length);
  return (who) => {
    if (!same) return own.indexOf(who);
    const met = order.map((person) => said.filter((one, k) => one === who && truth[k] === person).length);
    return met.indexOf(Math.max(...met));
  };
}

function coloured(text, colour) {
  if (!text) return el("span", { class: "tag missed" }, "nothing");
  return text.split(PERSON).map((piece, k) => (k % 2
    ? el("span", { class: `person p${Math.max(0, colour(piece)) % PEOPLE}` }, piece) : piece));
}

/** The clip's picture, or its film at its middle; a plain box with its name where the page has neither. */
function frameOf(name) {
  const source = data.media?.[String(name)];
  if (!source) return el("div", { class: "still none" }, name);
  if (/\.(jpe?g|png|webp|gif|bmp|avif|svg)$/iu.test(source)) {
    return el("img", { class: "still", src: source, alt: `Frame of ${name}`, loading: "lazy" });
  }
  const video = el("video", { class: "still", controls: "", muted: "", preload: "metadata", src: source,
    "aria-label": `Clip ${name}` });
  video.addEventListener("loadedmetadata", () => { video.currentTime = video.duration / 2 || 0; }, { once: true });
  return video;
}

/** The candidate with the words marked that some reference has; then the references; then what several of them have. */
function captionOf(row, s) {
  const said = row[2][s], system = data.systems[s];
  const lines = row[3].map((ref) => ({ ...wordsOf(null, ref, said ?? ""), plain: ref }));
  lines.sort((a, b) => b.matched - a.matched);
  const low = (text) => cutWords(text).filter((_, k) => k % 2).map((w) => w.toLowerCase());
  const theirs = row[3].map((ref) => new Set(low(ref)));
  const common = (word) => theirs.some((t) => t.has(word.toLowerCase()));
  const told = said === null ? el("p", { class: "fault" }, "There is no candidate for this item.")
    : el("p", { class: "said" }, cutWords(said).map((piece, k) => (
      k % 2 && common(piece) ? el("mark", { class: "m0" }, piece) : piece)));
  const own = new Set(low(said ?? ""));
  const often = new Map();
  for (const set of theirs) for (const word of set) if (!own.has(word)) often.set(word, (often.get(word) ?? 0) + 1);
  const least = Math.max(2, Math.ceil(theirs.length / 2));
  const missed = [...often].filter(([, n]) => n >= least).sort((a, b) => b[1] - a[1]).map(([word]) => word);
  const about = `${count(row[3].length, "reference")}, the most words in common first; equal words are marked`;
  return [el("p", { class: "meta" }, `candidate of ${system}`), told,
    missed.length ? el("p", { class: "meta missing" }, "in most references, not in the candidate: ",
      missed.map((word, k) => [k ? " " : "", el("span", { class: "tag missed" }, word)])) : null,
    el("p", { class: "meta" }, about), el("ol", {}, lines.map((line) => el("li", { title: line.plain }, line.ref)))];
}

// --- blanks ----------------------------------------------------------------------------------------------------------

/** Who belongs into each blank and who was said, clip by clip; then every two blanks. */
function blanksOf(blanks, system) {
  if (!blanks) return el("p", { class: "meta" }, "This set has fewer than two blanks: there is nothing to compare.");
  const people = [...new Set(blanks.map((b) => b[1]))];
  const votes = new Map(); // whom a given name stands for: the person it meets most often
  for (const [, who, said] of blanks) {
    if (said === null) continue;
    const mine = votes.get(said) ?? votes.set(said, new Map()).get(said);
    mine.set(who, (mine.get(who) ?? 0) + 1);
  }
  const more = (said) => (a, b) => (b[1] > a[1] || (b[1] === a[1] && b[0] === said) ? b : a); // of equals its own name
  const meant = (said) => [...votes.get(said)].reduce(more(said))[0];
  const colour = (who) => `person p${people.indexOf(who) % PEOPLE}`;
  const chip = (name, who) => el("span", { class: colour(who) }, name);
  const lines = blanks.map(([clip, who, said, right, pairs], k) => el("tr", { class: right < pairs ? "wrong" : null },
    el("td", {}, k && blanks[k - 1][0] === clip ? el("span", { class: "meta" }, "″") : clip),
    el("td", {}, chip(who, who)),
    el("td", {}, said === null ? el("span", { class: "tag missed" }, "nobody") : chip(said, meant(said))),
    el("td", {}, `${right} of ${pairs} `, right < pairs ? el("span", { class: "tag extra" }, "in doubt") : null)));
  const many = people.length === 1 ? "one person" : `${people.length} people`;
  const heads = ["Clip", "Who it is", `Who ${system} says`, "Pairs that agree"];
  const table = el("div", { class: "wide" }, el("table", { class: "blanks" },
    el("caption", {}, `${count(blanks.length, "blank")}, ${many}; `
      + "a colour is a person, and a given name has that of whom it meets most often"),
    el("thead", {}, el("tr", {}, heads.map((h) => el("th", { scope: "col" }, h)))), el("tbody", {}, lines)));
  return el("div", { class: "who" }, table, blanks.length <= 40 ? pairGrid(blanks) : null);
}

/** A cell for every two blanks: told apart or together, rightly or not. */
function pairGrid(blanks) {
  const n = blanks.length, size = Math.max(9, Math.min(22, Math.floor(300 / n)));
  const cells = [], found = { right: 0, split: 0, joined: 0, open: 0 };
  for (let y = 1; y < n; y++) {
    for (let x = 0; x < y; x++) {
      const [a, b] = [blanks[x], blanks[y]];
      const same = a[1] === b[1], said = a[2] === null || b[2] === null ? null : a[2] === b[2];
      const kind = said === null ? "open" : said === same ? "right" : same ? "split" : "joined";
      found[kind]++;
      const words = `${a[0]} and ${b[0]}: ${same ? "one person" : "two people"}, `
        + (said === null ? "not said" : `said to be ${said ? "one" : "two"}`);
      const at = { x: x * size, y: (y - 1) * size, width: size - 1.5, height: size - 1.5, rx: 2 };
      cells.push(svg("rect", { class: `cell ${kind} ${same ? "same" : ""}`, ...at }, svg("title", {}, words)));
    }
  }
  const told = [["right", "as it is"], ["split", "one person taken for two"], ["joined", "two people taken for one"],
    ["open", "nobody was said"]].filter(([kind]) => found[kind]);
  const about = `Every two blanks: ${told.map(([kind, words]) => `${found[kind]} ${words}`).join(", ")}`;
  return el("figure", { class: "pairgrid" }, el("figcaption", { class: "meta" }, "Every two blanks"),
    svg("svg", { width: (n - 1) * size, height: (n - 1) * size, role: "img", "aria-label": about }, cells),
    el("ul", { class: "legend" }, told.map(([kind, words]) => el("li", {}, el("i", { class: `cell ${kind}` }),
      `${words}: `, el("b", {}, String(found[kind]))))));
}
