"use strict";
/* The search page: what is typed and filtered, the answer as rows with timelines, keys. Words of users, names of files
   and people reach the page as text nodes and attribute values only. */

const at = (id) => document.getElementById(id);
const WAIT = 200; // ms after the last key before a search begins by itself
const FIRST = 20, MOST = 100; // moments of an answer, and where more are asked for
const CHECK = 20000; // ms between two looks at whether the library has changed
const FILTERS = { video: "video", person: "person", min_length: "min", max_length: "max", min_probability: "certain" };
let library = null; // what /api/store told
let answer = null; // what the last search told
let typing = 0, under = null; // the clock of typing; the call under way

const percent = (p) => (p < 0.01 ? "< 1 %" : p > 0.99 ? "> 99 %" : `${Math.round(100 * p)} %`);
const count = (n, noun) => `${n.toLocaleString("en")} ${noun}${n === 1 ? "" : "s"}`;
const wellFormed = (text) => (text.toWellFormed ? text.toWellFormed() : text);
const spell = (s) => {
  if (s < 60) return `${s.toFixed(s < 10 ? 1 : 0)} s`;
  return s < 5400 ? `${Math.round(s / 60)} min` : `${(s / 3600).toFixed(1)} h`;
};

async function call(path, more = {}) {
  let reply;
  try {
    reply = await fetch(path, { cache: "no-store", ...more });
  } catch (error) {
    if (error.name === "AbortError") throw error;
    throw new Error("The server does not answer. Is fabula serve still running?");
  }
  if (reply.ok) return reply;
  let why = `the server refused (${reply.status})`;
  try {
    const told = await reply.json();
    if (typeof told.detail === "string") why = told.detail;
  } catch { /* no reason was given */ }
  throw new Error(why);
}

function say(text, fault = false) {
  at("status").textContent = text;
  at("status").classList.toggle("fault", fault);
}

/** A clip's picture; where there is none, its place stays. */
function picture(clip, alt = "") {
  const none = () => el("span", { class: "picture none", "aria-hidden": "true" });
  if (clip === null || clip === undefined) return none();
  const image = el("img", { class: "picture", alt, loading: "lazy", src: `/thumb/${clip}.jpg?v=${library.version}` });
  image.addEventListener("error", () => image.replaceWith(none()), { once: true });
  return image;
}

// what is asked ------------------------------------------------------------------------------------------------------

function asked() {
  const params = new URLSearchParams();
  const q = at("q").value.trim();
  if (q) params.set("q", wellFormed(q));
  for (const [name, id] of Object.entries(FILTERS)) {
    const value = at(id).value.trim();
    if (value && !at(id).closest("label").hidden) params.set(name, wellFormed(value));
  }
  return params;
}

/** Fields as an address says them; of certainty what is usual where it says nothing. */
function fill(params) {
  at("q").value = params.get("q") ?? "";
  for (const [name, id] of Object.entries(FILTERS)) {
    at(id).value = params.get(name) ?? (id === "certain" ? "0.5" : "");
  }
  if (at("certain").selectedIndex < 0) at("certain").value = "0.5";
}

function countFilters() {
  const set = Object.values(FILTERS).filter((id) => at(id).value.trim() && id !== "certain").length;
  at("filter-count").textContent = set ? String(set) : "";
  at("clear").hidden = !set;
}

async function search(remember, limit = FIRST) {
  clearTimeout(typing);
  under?.abort();
  countFilters();
  const params = asked(), address = String(params) ? `?${params}` : "/";
  if (remember && location.search !== address) history.pushState(null, "", address);
  else history.replaceState(null, "", address);
  if (!params.has("q")) { await browse(); return; }
  document.title = `${params.get("q").slice(0, 60)} · ${library.name}`;
  const mine = under = new AbortController();
  const slow = setTimeout(() => say("Searching …"), 300);
  try {
    const told = await (await call(`/api/search?${params}&limit=${limit}`, { signal: mine.signal })).json();
    if (mine === under) show(told, limit);
  } catch (error) {
    if (error.name === "AbortError") return;
    clear();
    say(error.message, true);
  } finally {
    clearTimeout(slow);
  }
}

function clear() {
  answer = null;
  at("results").replaceChildren();
  at("notes").replaceChildren();
  markBars();
}

// what is found ------------------------------------------------------------------------------------------------------

function show(told, most) {
  clear();
  answer = told;
  notice(told.version);
  const said = `${library.embedder.name}: ${library.embedder.weak}`; // stands above for good
  at("notes").replaceChildren(...told.notes.filter((note) => note !== said).map((note) => el("li", {}, note)));
  const rows = told.moments.map((moment, i) => drawRow(moment, i + 1));
  if (rows.length) {
    const videos = new Set(told.moments.map((m) => m.video)).size;
    const how = told.stage === "exact" ? "every one compared" : "found by an index";
    say(`${count(rows.length, "moment")} in ${count(videos, "video")} · ${count(told.clips, "clip")}, ${how}, `
      + `${told.seconds < 0.01 ? "under 0.01" : told.seconds.toFixed(2)} s`);
    rows[0].tabIndex = 0; // the way in for Tab
    at("results").append(el("ol", { class: "moments" }, rows));
    if (rows.length === most && most < MOST) {
      const more = el("button", { type: "button", id: "more", click: () => search(false, MOST) }, "More moments");
      at("results").append(more);
    }
  } else {
    showNothing(told);
  }
  markBars();
}

/** Said plainly, with what is known of it; guesses only for who asks for them. */
function showNothing(told) {
  say("");
  const p = told.probability, limit = Number(at("certain").value);
  let why = "Nothing in these videos comes near it.";
  if (told.guesses.length) {
    why = `The probability that these videos show it is ${percent(p ?? 0)}; asked for were ${percent(limit)} or more.`;
  } else if (at("filter-count").textContent) why = "No moment fits the filters.";
  const rows = told.guesses.map((moment, i) => drawRow(moment, i + 1));
  at("results").append(el("div", { class: "nothing" }, el("h2", {}, "Nothing found"), el("p", {}, why)));
  if (rows.length) {
    const some = rows.length === 1 ? "nearest guess" : `${rows.length} nearest guesses`;
    at("results").append(el("details", { class: "guesses" },
      el("summary", {}, `Show the ${some}, most likely wrong`),
      el("ol", { class: "moments" }, rows)));
  }
}

function drawRow(moment, place) {
  const video = answer.videos[moment.video];
  const row = { ...moment, key: video.key, name: video.name, query: at("q").value.trim() };
  const times = `${clock(moment.start)} – ${clock(moment.end)}`;
  const known = moment.probability !== null;
  const certain = el("span", { class: known ? "score" : "times",
    title: known ? "probability that this is what was asked for" : "score; this store is not calibrated" },
  known ? percent(moment.probability) : moment.score.toFixed(2));
  const others = [...answer.moments, ...answer.guesses].filter((m) => m.video === moment.video);
  const keep = el("button", { type: "button", class: "keep", click: (e) => { e.stopPropagation(); toggle(row); } });
  const node = el("li", {
    class: "moment", tabindex: -1, "aria-label": `Moment ${place}, ${video.name}, ${times}`,
    click: () => { choose(node); play(row); },
    focus: () => choose(node, false),
  }, el("div", { class: "frame" }, picture(moment.clips[0]),
    el("span", { class: "length" }, spell(moment.end - moment.start))),
  el("div", { class: "about" },
    el("div", { class: "line" }, el("b", { class: "name", title: video.name }, video.name), certain),
    el("div", { class: "line" }, el("span", { class: "times" }, times), keep),
    drawLine(video.duration, others, moment)));
  node.row = row;
  node.keep = keep;
  markKept(node);
  return node;
}

/** A video's length as a line, its moments as marks on it. */
function drawLine(duration, moments, own) {
  const extent = Math.max(duration || 0, ...moments.map((m) => m.end)) || 1;
  const x = (t) => `${((100 * t) / extent).toFixed(3)}%`;
  const mark = (m) => svg("rect", { class: m === own ? "mark own" : "mark", x: x(m.start), y: m === own ? 0 : 3,
    width: x(Math.max(m.end - m.start, extent / 120)), height: m === own ? 12 : 6, rx: 2 });
  return svg("svg", { class: "time", height: 12, role: "img",
    "aria-label": `from ${clock(own.start)} of ${clock(extent)}` },
  svg("rect", { class: "ground", y: 3, width: "100%", height: 6, rx: 3 }),
  moments.filter((m) => m !== own).map(mark), mark(own));
}

/** Before anything is asked: what there is. */
async function browse() {
  clear();
  document.title = library.name;
  const { name, videos, seconds, clips, problems } = library;
  const bad = problems ? `; ${count(problems, "video")} could not be read` : "";
  say(`${name}: ${count(videos, "video")}, ${spell(seconds)}, ${count(clips, "clip")}${bad}`);
  try {
    const told = await (await call("/api/videos")).json();
    if (at("q").value.trim()) return;
    const more = told.of > told.videos.length ? ` (${told.videos.length} of ${told.of.toLocaleString("en")})` : "";
    const open = ({ key, name }) => play({ key, name, start: 0 });
    const covers = told.videos.map((v) => el("li", {},
      el("button", { type: "button", title: v.problem ?? v.name, click: () => open(v) },
        picture(v.clip), el("b", { class: "name" }, v.name),
        el("span", { class: v.problem ? "fault" : "times" }, v.problem ? "could not be read" : clock(v.duration)))));
    at("results").replaceChildren(el("h2", {}, `In this library${more}`), el("ul", { class: "covers" }, covers));
  } catch (error) { say(error.message, true); }
}

// the library changes ------------------------------------------------------------------------------------------------

async function learn() {
  library = await (await call("/api/store")).json();
  const { name, weak } = library.embedder;
  const limits = [weak ? `The embedder ${name} is weak: ${weak}.` : "", library.calibrated ? ""
    : "The store is not calibrated: the nearest moments are listed, also where nothing fits."].filter(Boolean);
  at("weak").hidden = !limits.length;
  at("weak").textContent = limits.join(" ");
  at("people").hidden = !library.people.length;
  at("certainty").hidden = !library.calibrated;
  const chosen = at("person").value;
  at("person").replaceChildren(el("option", { value: "" }, "anybody"),
    ...library.people.map((p) => el("option", { value: p.name }, p.name)));
  at("person").value = chosen;
}

/** An answer of another version than the page has seen: it is said. */
async function notice(version) {
  if (version === library.version) return;
  const before = library.clips;
  await learn();
  tellChange(`The library has changed: ${before.toLocaleString("en")} clips before, `
    + `${library.clips.toLocaleString("en")} now. This answer is of the new one.`);
}

function tellChange(text, ...more) {
  at("changed").hidden = !text;
  at("changed").replaceChildren(text, ...more);
}

async function watchLibrary() {
  if (document.hidden || !library) return;
  try {
    const now = await (await call("/api/store")).json();
    if (now.version === library.version) return;
    const before = library.clips;
    await learn();
    tellChange(`The library has changed (${before.toLocaleString("en")} clips before, `
      + `${library.clips.toLocaleString("en")} now). `,
    el("button", { type: "button", click: () => { tellChange(""); search(false); } }, "Search again"));
  } catch { /* said when something is asked */ }
}

async function nameVideos() {
  const typed = encodeURIComponent(wellFormed(at("video").value.trim()));
  try {
    const told = await (await call(`/api/videos?limit=20&q=${typed}`)).json();
    at("video-names").replaceChildren(...told.videos.map((v) => el("option", { value: v.name })));
  } catch { /* typed names serve too */ }
}

// keys ---------------------------------------------------------------------------------------------------------------

const rowNodes = () => [...document.querySelectorAll("li.moment")].filter((n) => !n.closest("details:not([open])"));
const chosenNode = () => document.querySelector("li.moment.chosen");

function choose(node, focus = true) {
  for (const other of document.querySelectorAll("li.moment.chosen")) {
    other.classList.remove("chosen");
    other.tabIndex = -1;
  }
  node.classList.add("chosen");
  node.tabIndex = 0;
  if (focus) node.focus({ preventScroll: true });
  if (focus) node.scrollIntoView({ block: "nearest" });
}

function step(by) {
  const nodes = rowNodes();
  const now = nodes.indexOf(chosenNode());
  const next = now < 0 ? (by > 0 ? 0 : nodes.length - 1) : now + by;
  if (next < 0) at("q").focus();
  else if (next < nodes.length) choose(nodes[next]);
}

function pressed(event) {
  if (event.altKey || event.ctrlKey || event.metaKey || at("help").open) return;
  const field = event.target.closest("input, select, textarea");
  const press = event.target.closest("button, summary, a, video");
  const key = event.key;
  const does = (what) => { event.preventDefault(); what(); };
  if (field) {
    if (key === "Escape") does(() => field.blur()); // browsers would empty the field
    if (key === "ArrowDown" && field === at("q")) does(() => step(1));
    return;
  }
  if (key === "/") does(() => { at("q").focus(); at("q").select(); });
  else if (key === "?") does(() => at("help").showModal());
  else if (key === "ArrowDown") does(() => step(1));
  else if (key === "ArrowUp") does(() => step(-1));
  else if (key === "k") does(() => keepChosen());
  else if (key === "l") does(() => openKept(at("kept").hidden));
  else if (press && (key === "Enter" || key === " ")) return; // buttons have them of their own
  else if (key === "Enter" && chosenNode()) does(() => play(chosenNode().row));
  else if (key === " " && film()) does(() => (film().paused ? film().play().catch(() => {}) : film().pause()));
  else if ((key === "ArrowLeft" || key === "ArrowRight") && film() && !press) {
    does(() => { film().currentTime = Math.max(0, film().currentTime + (key === "ArrowLeft" ? -2 : 2)); });
  }
}

async function start() {
  const wide = matchMedia("(min-width: 701px)");
  const unfold = () => { if (wide.matches) at("filters").open = true; };
  wide.addEventListener("change", unfold);
  unfold();
  at("form").addEventListener("submit", (e) => { e.preventDefault(); search(true); });
  at("q").addEventListener("input", () => {
    clearTimeout(typing);
    typing = setTimeout(() => search(false), WAIT);
  });
  for (const id of Object.values(FILTERS)) at(id).addEventListener("change", () => search(true));
  at("video").addEventListener("input", nameVideos);
  at("video").addEventListener("focus", nameVideos);
  at("clear").addEventListener("click", () => {
    for (const id of Object.values(FILTERS)) if (id !== "certain") at(id).value = "";
    search(true);
  });
  at("show-kept").addEventListener("click", () => openKept(at("kept").hidden));
  at("show-help").addEventListener("click", () => at("help").showModal());
  document.addEventListener("keydown", pressed);
  addEventListener("storage", (e) => { if (e.key === own()) readKept(); }); // another window keeps too
  addEventListener("popstate", () => { fill(new URLSearchParams(location.search)); search(false); });
  try {
    await learn();
  } catch (error) { say(error.message, true); return; }
  fill(new URLSearchParams(location.search));
  readKept();
  setInterval(watchLibrary, CHECK);
  document.addEventListener("visibilitychange", watchLibrary);
  await search(false);
  document.body.dataset.ready = "yes";
  if (!matchMedia("(pointer: coarse)").matches) at("q").focus();
}

start();
