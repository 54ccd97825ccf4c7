"use strict";
/* A query in full: its sentence, its windows and the first answers on one time axis, marks and saliency of clips, and
   the answers as a table. Answers in other videos are in the table alone. */

const ANSWERED = 5; // answers of a list that are drawn
const SLOT = 26, CURVE = 46; // px

PAGES.queries = {
  noun: "query",
  head: "Query",
  placeholder: "ids, sentences and videos",
  words: (row) => [row[2], row[3], row[9], ...row[10]],
  said: (row) => row[10].some((words) => words !== null) || Boolean(row[8]?.some(Boolean))
    || row[6].some((lists) => lists?.some((answers) => answers.length)),
  telling: (row) => row[6].some((lists) => lists?.some((answers) => answers.some((a) => a[2] > 0))) || Boolean(row[8]),
  about: (row) => row[3],
  prepare(row) {
    const ends = [...row[5], ...row[6].flatMap((lists) => (lists ?? []).flat()).filter((a) => !a[5])].map((w) => w[1]);
    row.extent = ends.reduce((far, t) => (Number.isFinite(t) ? Math.max(far, t) : far), row[4]) || 1;
  },
  columns() {
    const first = (r) => r[6][0]?.[0]?.[0]?.[2] ?? null;
    const rank = (r) => {
      const at = r[6][0]?.[0]?.findIndex((a) => a[2] >= data.low) ?? -1;
      return at < 0 ? null : at + 1;
    };
    const list = data.lists[0] ? ` of ${data.lists[0]}` : "";
    const out = [{ key: "text", head: "Sentence", width: 380, value: (r) => r[2] ?? "", words: true }];
    if (data.windows) {
      out.push({ key: "first", head: "First IoU", about: `IoU of the first answer${list} with the window it fits best`,
        value: first, scale: 1 });
      out.push({ key: "rank", head: "Right at", value: rank,
        about: `place of the first answer${list} with an IoU of ${data.low} or more, among the first ${data.first}` });
      out.push({ key: "windows", head: "Windows", about: "reference windows", value: (r) => r[5].length });
    }
    out.push({ key: "video", head: "Video", width: 190, value: (r) => r[3], words: true });
    if (data.typed) out.push({ key: "type", head: "Type", value: (r) => r[9] ?? "", words: true });
    out.push({ key: "length", head: "Length", value: (r) => r.extent, text: clock });
    return out;
  },
  open: queryOf,
};

/** What each list of each system says: [name, role, answers]. */
function answersIn(row) {
  return data.systems.flatMap((system, s) => (row[6][s] ?? data.lists.map(() => [])).map((answers, k) => {
    const list = data.lists[k];
    return [two || !list ? (list ? `${system}, ${list}` : system) : list, s, answers];
  }));
}

const verdictOf = (answer) => (answer[5] ? "other" : answer[2] >= data.low ? "right" : answer[2] > 0 ? "low" : "extra");
const SAID = { right: "right", low: "overlaps too little", extra: "overlaps no window", other: "another video" };

function queryOf(row) {
  const clip = clipOf(row[3]), told = answersIn(row);
  const parts = [el("p", { class: "said" }, row[2] ?? "(no sentence)")];
  row[6].forEach((lists, s) => {
    if (row[10][s] !== null) {
      const none = lists?.some((a) => a.length) ? null
        : el("span", { class: "tag missed" }, "no window was read in it");
      parts.push(el("p", { class: "quoted" }, el("small", {}, `${data.systems[s]} says `), row[10][s], " ", none));
    } else if (!lists?.some((a) => a.length) && !row[8]?.[s]) {
      parts.push(el("p", { class: "fault" },
        two ? `${data.systems[s]} has no answer to this query.` : "This query has no answer."));
    }
  });
  const drawn = queryLine(row, told, clip);
  const tables = told.filter(([, , answers]) => answers.length)
    .map(([name, , answers]) => answerTable(name, answers, clip));
  parts.push(...(clip ? [el("div", { class: "watch" }, clip.el, el("div", { class: "beside" }, tables[0])), drawn,
    clip.status, ...tables.slice(1)] : [drawn, ...tables]));
  return parts;
}

function answerTable(name, answers, clip) {
  const time = (a) => {
    const words = `${a[0]}–${a[1]} s`;
    return clip && !a[5] ? el("button", { type: "button", class: "time", title: "play from there",
      click: () => clip.seek(a[0]) }, words) : words;
  };
  const some = answers.some((a) => a[5]), scored = answers.some((a) => a[3] !== null);
  const heads = ["Place", "Window", some ? "Video" : null, "IoU", scored ? "Score" : null, "Verdict"].filter(Boolean);
  const lines = answers.map((a, k) => el("tr", {}, el("td", {}, String(k + 1)), el("td", {}, time(a)),
    some ? el("td", { class: "long" }, a[5] ?? "the right one") : null, el("td", {}, a[5] ? "–" : shown(a[2])),
    scored ? el("td", {}, a[3] === null ? "–" : String(a[3])) : null,
    el("td", {}, el("span", { class: `tag ${verdictOf(a)}` }, SAID[verdictOf(a)]))));
  return el("div", { class: "wide" }, el("table", { class: "answers" },
    el("caption", {}, `First ${count(answers.length, "answer")} of ${name}`),
    el("thead", {}, el("tr", {}, heads.map((h) => el("th", { scope: "col" }, h)))), el("tbody", {}, lines)));
}

/** Windows, answers and clips over time, strip below strip. */
function queryLine(row, told, clip) {
  const x = (t) => `${((100 * Math.min(Math.max(t, 0), row.extent)) / row.extent).toFixed(3)}%`;
  const parts = [], many = [];
  let y = 0, stop = 0;
  const label = (name, role) => parts.push(
    svg("text", { class: "name", x: -14, y: y + 14 }, brief(name, narrow() ? 10 : 16), svg("title", {}, name)),
    svg("text", { class: "role", x: -14, y: y + 28 }, role));
  const bar = (span, top, kind, words, inside) => {
    const about = { role: clip ? "button" : "img", "aria-label": words, tabindex: stop++ ? -1 : 0 };
    const node = svg("svg", { class: `event ${kind}`, ...about, x: x(span[0]), y: top,
      width: x(Math.max(Math.min(span[1], row.extent) - Math.max(span[0], 0), row.extent / 400)), height: SLOT - 4,
      ...(clip ? clip.pressed(span[0]) : {}) }, svg("title", {}, words),
    svg("rect", { width: "100%", height: "100%", rx: 4 }));
    const late = span[1] > row.extent * 0.8; // no room behind it
    const place = late ? { x: -6, "text-anchor": "end" } : { x: "100%", dx: 6 };
    if (inside) node.append(svg("text", { class: "inside", y: 15, ...place }, inside));
    parts.push(node);
  };
  if (row[5].length) {
    label("windows", "reference");
    const order = row[5].map((w, k) => [w, k]).sort((a, b) => a[0][0] - b[0][0]), lane = lanes(order.map(([w]) => w));
    const reached = (k) => told.some(([, , answers]) => answers.some((a) => a[4] === k && a[2] >= data.low));
    order.forEach(([w, k], i) => bar(w, y + lane[i] * SLOT, `reference ${reached(k) ? "" : "missed"}`,
      `reference window, ${w[0]} to ${w[1]} s${reached(k) ? "" : ", which no answer shown reaches"}`));
    many.push(count(row[5].length, "window"));
    y += (Math.max(...lane) + 1) * SLOT + 14;
  }
  for (const [name, , answers] of told) {
    const own = answers.map((a, k) => [a, k]).filter(([a]) => !a[5] && a[0] < a[1]).slice(0, ANSWERED);
    if (!answers.length) continue;
    label(name, "first answers");
    own.forEach(([a, k], i) => bar(a, y + i * SLOT, `prediction ${{ low: "low", extra: "extra" }[verdictOf(a)] ?? ""}`,
      `answer ${k + 1} of ${name}, ${a[0]} to ${a[1]} s, IoU ${shown(a[2])}`, `${k + 1} · IoU ${shown(a[2])}`));
    if (!own.length) parts.push(svg("text", { class: "role", x: 0, y: y + 18 }, "none in this video"));
    many.push(`${count(answers.length, "answer")} of ${name}`);
    y += Math.max(1, own.length) * SLOT + 14;
  }
  if (row[7]) {
    label("marks", "annotators");
    const [clips, marks] = row[7], slots = marks[0]?.length ?? 0, tall = slots ? 28 / slots : 28;
    clips.forEach((c, i) => marks[i].forEach((mark, a) => {
      if (!mark) return;
      const at = { x: x(c * data.clip), y: y + a * tall, width: x(data.clip * 0.94), height: tall - 1 };
      parts.push(svg("rect", { class: "heat", ...at, "fill-opacity": Math.max(0, Math.min(1, mark / 4)) },
        svg("title", {}, `clip ${c}, annotator ${a + 1}: ${mark}`)));
    }));
    many.push(`${count(clips.length, "clip")} with marks`);
    y += 40;
  }
  row[8]?.forEach((curve, s) => {
    if (!curve || !curve.length) return;
    label(two ? data.systems[s] : "saliency", two ? "saliency" : "predicted");
    const low = Math.min(...curve), high = Math.max(...curve), room = high - low || 1;
    curve.forEach((value, c) => {
      const tall = 2 + ((value - low) / room) * (CURVE - 4);
      const at = { x: x(c * data.clip), y: y + CURVE - tall, width: x(data.clip * 0.94), height: tall };
      parts.push(svg("rect", { class: `salient s${s}`, ...at }, svg("title", {}, `clip ${c}: ${value}`)));
    });
    y += CURVE + 12;
  });
  parts.push(...timeAxis(row.extent, y));
  if (clip) parts.push(clip.head(row.extent, y));
  const root = svg("svg", { class: "timeline", role: "group", "aria-label": `Timeline of ${row[0]}: ${many.join(", ")}`,
    width: "100%", height: y + AXIS, keydown: (e) => walkStops(e, root) }, parts);
  if (clip) clip.seekOn(root, row.extent);
  return root;
}
