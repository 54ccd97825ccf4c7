"use strict";
/* The kept list: moments in this browser's own storage, by the query that found them; and what the server makes of it:
   a submission or clips. */

let kept = []; // {video, key, name, start, end, score, probability, query, clips}
let ids = {}; // query → the id that the submission says, where one was typed

const own = () => `fabula kept ${library.id}`;
const same = (a, b) => a.key === b.key && a.start === b.start && a.end === b.end && a.query === b.query;
const isKept = (row) => kept.some((one) => same(one, row));

function readKept() {
  try {
    const held = JSON.parse(localStorage.getItem(own()) ?? "{}");
    kept = (Array.isArray(held.kept) ? held.kept : []).filter((one) => one && typeof one.key === "string"
      && typeof one.query === "string" && Number.isFinite(one.start) && Number.isFinite(one.end));
    ids = held.ids && typeof held.ids === "object" ? held.ids : {};
  } catch { kept = []; }
  markAll();
}

function markAll() {
  drawKept();
  for (const node of document.querySelectorAll("li.moment")) markKept(node);
  markKeep();
}

function writeKept() {
  try {
    localStorage.setItem(own(), JSON.stringify({ kept, ids }));
  } catch { tellExport("This browser keeps nothing: the list is lost when the page is closed.", true); }
  markAll();
}

function toggle(row) {
  if (isKept(row)) kept = kept.filter((one) => !same(one, row));
  else kept.push({ key: row.key, name: row.name, video: row.name, start: row.start, end: row.end, score: row.score,
    probability: row.probability, query: row.query, clips: row.clips.slice(0, 1) });
  writeKept();
}

function keepChosen() {
  const row = chosenNode()?.row ?? playing?.row;
  if (row && row.end !== undefined) toggle(row);
}

function setKeep(button, is) {
  button.textContent = is ? "★ Kept" : "☆ Keep";
  button.setAttribute("aria-pressed", String(is));
}

const markKept = (node) => setKeep(node.keep, isKept(node.row));
const markKeep = () => { if (playing && playing.row.end !== undefined) setKeep(playing.keep, isKept(playing.row)); };

function openKept(open) {
  at("kept").hidden = !open;
  at("show-kept").setAttribute("aria-expanded", String(open));
  if (open) at("kept").scrollIntoView({ block: "nearest" });
}

function drawKept() {
  at("kept-count").textContent = String(kept.length);
  const groups = new Map();
  for (const one of kept) groups.set(one.query, [...(groups.get(one.query) ?? []), one]);
  const bar = el("div", { class: "line" }, el("h2", {}, "Kept"),
    el("button", { type: "button", id: "export-list", disabled: kept.length ? null : "",
      click: () => send("submission") }, "Submission"),
    el("button", { type: "button", id: "export-clips", disabled: kept.length && library.cuts ? null : "",
      title: library.cuts ? "" : "the server has no PyAV (fabula[features])", click: () => send("clips") }, "Clips"));
  const empty = el("p", { class: "soft" },
    "Nothing yet. The star, or the key k, keeps a moment; the list stays in this browser.");
  const again = kept.length ? el("button", { type: "button", class: "quiet", click: forget }, "Empty the list") : null;
  at("kept").replaceChildren(bar, el("p", { id: "export-status", role: "status" }),
    ...(kept.length ? [...groups].map(([query, some]) => drawGroup(query, some)) : [empty]), ...(again ? [again] : []));
}

function drawGroup(query, some) {
  const name = el("input", { type: "text", value: ids[query] ?? "", placeholder: "as asked", maxlength: 200,
    "aria-label": `Id of the query ${query}`, change: (e) => {
      if (e.target.value.trim()) ids[query] = e.target.value.trim();
      else delete ids[query];
      writeKept();
    } });
  return el("section", { class: "group" },
    el("div", { class: "line" }, el("h3", {}, query), el("label", { class: "soft" }, "id ", name)),
    el("ol", {}, some.map((one) => el("li", {},
      el("button", { type: "button", class: "kept-row", click: () => play({ ...one }) }, picture(one.clips?.[0]),
        el("span", {}, el("b", { class: "name" }, one.name),
          el("span", { class: "times" }, `${clock(one.start)} – ${clock(one.end)}`))),
      el("button", { type: "button", class: "quiet", "aria-label": `Let go of ${one.name} at ${clock(one.start)}`,
        click: () => toggle(one) }, "×")))));
}

function forget() {
  if (!confirm(`Let go of ${count(kept.length, "moment")}?`)) return;
  [kept, ids] = [[], {}];
  writeKept();
}

function tellExport(text, fault = false) {
  const status = at("export-status");
  if (!status) return;
  status.textContent = text;
  status.classList.toggle("fault", fault);
}

/** What is typed as an id is one; a whole number is a number, as reference files have it. */
const idOf = (query) => {
  const typed = ids[query] ?? query;
  return /^(0|[1-9][0-9]{0,14})$/.test(typed) ? Number(typed) : wellFormed(typed);
};

async function send(as) {
  const tell = ({ query, key, start, end, score }) => ({ query: idOf(query), video: key, start, end, score });
  const moments = kept.map(tell);
  tellExport(as === "clips" ? `Cutting ${count(moments.length, "clip")} …` : "Writing …");
  try {
    const reply = await call("/api/export", { method: "POST", headers: { "Content-Type": "application/json" },
      body: JSON.stringify({ as, moments }) });
    const blob = await reply.blob();
    const name = as === "clips" ? "clips.zip" : "submission.jsonl";
    const link = el("a", { href: URL.createObjectURL(blob), download: name });
    link.click();
    setTimeout(() => URL.revokeObjectURL(link.href), 60000);
    tellExport(as === "clips" ? `clips.zip, ${(blob.size / 1e6).toFixed(1)} MB; list.jsonl in it says how each was cut.`
      : "submission.jsonl: fabula score submission.jsonl --refs … --task moments reads it.");
  } catch (error) { tellExport(error.message, true); }
}
