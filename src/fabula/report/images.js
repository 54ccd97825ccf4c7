"use strict";
/* An image in full: reference boxes and detections over it, or on an empty sheet, and both as tables. */

PAGES.images = {
  noun: "image",
  head: "Image",
  placeholder: "ids and captions",
  words: (row) => [...row[3].flatMap((ref) => ref[1]), ...row[4].flatMap((said) => (said ?? []).map((d) => d[1]))],
  said: (row) => row[4].some((said) => said?.length),
  telling: (row) => row[4].some((said) => said?.some((d) => d[5] && d[4] >= data.least)),
  about: (row) => (row[2] ? `${row[2][0]} × ${row[2][1]}` : null),
  prepare(row) { row.verdicts = row[4].map((said) => verdictsOf(row, said ?? [])); },
  columns() {
    const of = (kind) => (r) => r.verdicts[0].counts[kind];
    const column = (key, head, about, kind) => ({ key, head, about, value: of(key), kind });
    return [column("paired", "Paired", `references that a detection overlaps by ${data.low} or more`),
      column("low", "Mislocated", `references overlapped by ${data.least} to ${data.low}`, "low"),
      column("missed", "Missed", `references that no detection overlaps by ${data.least}`, "missed"),
      column("extra", "Unmatched", "detections that come too late for a reference, or overlap none", "extra"),
      { key: "refs", head: "Reference", about: "reference regions, merged", value: (r) => r[3].length },
      { key: "preds", head: "Detected", about: "detections, the surest", value: (r) => r[4][0]?.length ?? null }];
  },
  open: imageOf,
};

/** What became of each detection and each reference of one system. */
function verdictsOf(row, said) {
  const refs = row[3].map(() => ["missed", -1]);
  const found = said.map((d, i) => {
    const kind = d[5] && d[3] !== null && d[4] >= data.least ? (d[4] >= data.low ? "paired" : "low") : "extra";
    if (kind !== "extra") refs[d[3]] = [kind, i];
    return kind;
  });
  const counts = { paired: 0, low: 0, missed: 0, extra: found.filter((k) => k === "extra").length };
  for (const [kind] of refs) counts[kind]++;
  return { refs, found, counts };
}

function imageOf(row) {
  return data.systems.flatMap((system, s) => {
    const said = row[4][s];
    return [two ? el("h4", {}, system) : null,
      said?.length ? null : el("p", { class: "fault" }, two ? `${system} has no detection in this image.`
        : "Nothing was detected in this image."), sheet(row, s)];
  });
}

function sheet(row, s) {
  const said = row[4][s] ?? [], { refs, found } = row.verdicts[s];
  const source = data.media?.[String(row[0])];
  const boxes = [...row[3].map((r) => r[0]), ...said.map((d) => d[0])];
  const reach = (side) => boxes.reduce((far, b) => Math.max(far, b[side]), 1);
  let [width, height] = row[2] ?? [reach(2), reach(3)];
  const stroke = () => Math.max(width, height) / 260;
  const drawn = [];
  const box = (at, kind, words, group) => {
    const node = svg("rect", { class: `region ${kind}`, x: at[0], y: at[1], width: Math.max(0, at[2] - at[0]),
      height: Math.max(0, at[3] - at[1]), role: "img", "aria-label": words, tabindex: drawn.length ? -1 : 0,
      "stroke-width": stroke(), mouseenter: () => light(node.partners), mouseleave: () => light(),
      focus: () => light(node.partners) }, svg("title", {}, words));
    node.group = group;
    drawn.push(node);
    return node;
  };
  const golds = row[3].map(([at, captions], j) => box(at, `reference ${refs[j][0] === "paired" ? "" : refs[j][0]}`,
    `reference ${j + 1}, ${refs[j][0]}: ${captions.join(" / ")}`, refs[j][0] === "missed" ? "missed" : "matched"));
  const guesses = said.map((d, i) => box(d[0], `prediction ${found[i] === "paired" ? "" : found[i]}`,
    `detection ${i + 1}, ${found[i] === "extra" ? "unmatched" : `IoU ${shown(d[4])}`}: ${d[1]}`,
    found[i] === "extra" ? "extra" : "matched"));
  golds.forEach((node, j) => { node.partners = [node, ...(refs[j][1] >= 0 ? [guesses[refs[j][1]]] : [])]; });
  guesses.forEach((node, i) => {
    node.partners = [node, ...(found[i] !== "extra" ? [golds[said[i][3]]] : [])];
  });
  const picture = source ? svg("image", { href: source, width, height, preserveAspectRatio: "none" }) : null;
  const status = el("p", { class: "meta", role: "status" },
    source ? null : "The image was not given: boxes are on an empty sheet.");
  const root = svg("svg", { class: source ? "sheet pictorial" : "sheet", viewBox: `0 0 ${width} ${height}`,
    role: "group",
    "aria-label": `Image ${row[0]}: ${count(row[3].length, "reference")}, ${count(said.length, "detection")}`,
    keydown: (e) => walkStops(e, root) }, svg("rect", { class: "ground", width, height }), picture, golds, guesses);
  root.style.aspectRatio = `${width} / ${height}`;
  const rows = [];
  function light(some) {
    root.classList.toggle("focus", Boolean(some));
    for (const node of [...root.querySelectorAll(".lit"), ...rows.filter((r) => r.classList.contains("lit"))]) {
      node.classList.remove("lit");
    }
    for (const node of some ?? []) { node.classList.add("lit"); node.line?.classList.add("lit"); }
  }
  if (picture && !row[2]) measure(source, (w, h) => { // no size in the files: the image says it
    [width, height] = [w, h];
    root.setAttribute("viewBox", `0 0 ${w} ${h}`);
    root.style.aspectRatio = `${w} / ${h}`;
    for (const node of [picture, root.firstChild]) { node.setAttribute("width", w); node.setAttribute("height", h); }
    for (const node of drawn) node.setAttribute("stroke-width", stroke());
  });
  if (picture) picture.addEventListener("error", () => {
    status.textContent = `The image cannot be shown from ${readable(source)}: it is not there, or the browser does `
      + "not know it.";
    status.classList.add("fault");
  });
  const few = (group) => drawn.filter((node) => node.group === group).length <= CROWDED;
  const groups = [["matched", "pairs", true], ["missed", "missed references", few("missed")],
    ["extra", "unmatched detections", few("extra")]];
  const shows = (group, on) => drawn.forEach((node) => node.group === group && node.classList.toggle("hidden", !on));
  const switches = groups.filter(([group]) => drawn.some((node) => node.group === group)).map(([group, words, on]) => {
    shows(group, on);
    const change = (e) => shows(group, e.target.checked);
    const input = el("input", { type: "checkbox", checked: on ? "" : null, change });
    return el("label", { class: "switch" }, input, el("i", { class: `dot ${group}` }), words);
  });
  const line = (node, cells) => {
    node.line = el("tr", { mouseenter: () => light(node.partners), mouseleave: () => light() }, cells);
    rows.push(node.line);
    return node.line;
  };
  const kindOf = { paired: "paired", low: "mislocated", missed: "missed", extra: "unmatched" };
  const tag = (kind) => el("td", {}, el("span", { class: `tag ${kind === "paired" ? "right" : kind}` }, kindOf[kind]));
  const told = (words) => el("td", { class: "caption" }, words);
  const merged = (captions) => el("td", { class: "caption", title: captions.join(" / ") },
    captions.slice(0, MERGED).join(" / "),
    captions.length > MERGED ? el("small", { class: "meta" }, ` and ${captions.length - MERGED} more`) : null);
  const order = row[3].map((_, j) => j).sort((a, b) => RANK[refs[a][0]] - RANK[refs[b][0]]);
  const first = order.map((j) => {
    const d = said[refs[j][1]];
    return line(golds[j], [merged(row[3][j][1]), told(d ? d[1] : "–"), el("td", {}, d ? shown(d[4]) : "–"),
      el("td", {}, d && d[6] !== null ? shown(d[6], 100) : "–"), tag(refs[j][0])]);
  });
  const extra = said.map((d, i) => i).filter((i) => found[i] === "extra");
  const second = extra.map((i) => line(guesses[i], [told(said[i][1]), el("td", {}, String(said[i][2])),
    el("td", {}, shown(said[i][4])), el("td", {}, said[i][3] === null ? "overlaps no reference"
      : said[i][5] ? "overlaps too little" : "a surer one has the reference")]));
  const grid = (caption, heads, lines) => el("div", { class: "wide" }, el("table", { class: "regions" },
    el("caption", {}, caption), el("thead", {}, el("tr", {}, heads.map((h) => el("th", { scope: "col" }, h)))),
    el("tbody", {}, lines)));
  return el("div", { class: "pictured" },
    el("div", {}, root, el("div", { class: "switches" }, switches), status),
    el("div", { class: "beside" },
      grid("References, worst first", ["Reference", data.systems[s], "IoU", "METEOR", "Verdict"], first),
      extra.length ? el("details", {}, el("summary", {}, `${count(extra.length, "unmatched detection")}`),
        grid("Surest first", ["Caption", "Score", "IoU", "Why"], second)) : null));
}

const MERGED = 2; // captions of a merged reference in a line
const CROWDED = 20; // boxes of a kind that are shown unasked
const RANK = { missed: 0, low: 1, paired: 2 };

function measure(source, then) {
  const image = el("img", { src: source });
  image.addEventListener("load", () => then(image.naturalWidth, image.naturalHeight));
}
