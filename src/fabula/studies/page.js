// A rater's page: consent, question by question, the end. All words of the study are text nodes; nothing is parsed as HTML.
"use strict";

const main = document.getElementById("main");
const status = document.getElementById("status");
const NEAR = 0.35; // seconds of a clip that players may leave out at its ends
let screen = 0; // counts screens: what belongs to an earlier one is let go

function say(text, fault = false) {
  status.textContent = text;
  status.classList.toggle("fault", fault);
}

function make(tag, attributes = {}, ...inside) {
  const node = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (name.startsWith("on")) node.addEventListener(name.slice(2), value);
    else if (value === true) node.setAttribute(name, "");
    else if (value !== false && value != null) node.setAttribute(name, value);
  }
  node.append(...inside);
  return node;
}

const pause = (seconds) => new Promise((done) => setTimeout(done, seconds * 1000));

// A call to the server, made again until it answers: an answer that was given is not lost while the server is away.
async function call(path, body) {
  for (let tries = 0; ; tries += 1) {
    let reply;
    try {
      reply = await fetch(path, body === undefined ? { cache: "no-store" } : {
        method: "POST", headers: { "Content-Type": "application/json" }, body: JSON.stringify(body),
      });
    } catch {
      say("The server does not answer. What you entered is kept here and sent again.", true);
      await pause(Math.min(5, 0.5 + tries / 2));
      continue;
    }
    if (reply.status === 429 || reply.status === 425 || reply.status >= 500) {
      await pause(Math.max(0.2, Number(reply.headers.get("Retry-After")) || 1));
      continue;
    }
    const told = await reply.json();
    if (!reply.ok) throw new Error(typeof told.detail === "string" ? told.detail : `the server refused (${reply.status})`);
    say("");
    return told;
  }
}

function show(...inside) {
  screen += 1;
  document.onkeydown = null;
  main.replaceChildren(...inside);
  window.scrollTo(0, 0);
  main.focus({ preventScroll: true });
  return screen;
}

function head(state) {
  document.title = state.title;
  document.getElementById("title").textContent = state.simulated ? `${state.title} (simulated)` : state.title;
  const progress = document.getElementById("progress");
  progress.hidden = !state.agreed;
  document.getElementById("bar").max = state.of;
  document.getElementById("bar").value = state.next;
  document.getElementById("count").textContent = `${Math.min(state.next, state.of)} of ${state.of} answered`;
}

async function begin() {
  try {
    const state = await call("/api/state");
    head(state);
    if (!state.agreed) ask(state);
    else if (state.done) end(state);
    else await question(state.next, state);
  } catch (error) {
    fail(error);
  }
}

function fail(error) {
  show(make("h1", {}, "This does not work"), make("p", {}, String(error.message)));
}

function ask(state) {
  const go = make("button", { class: "main", type: "button", onclick: async () => {
    go.disabled = true;
    try { await call("/api/consent", {}); await begin(); } catch (error) { fail(error); }
  } }, "I agree, begin");
  const lines = [make("h1", {}, state.title)];
  if (state.intro) lines.push(make("p", { class: "note" }, state.intro));
  if (state.guide) lines.push(...guide(state.guide));
  lines.push(make("p", { class: "note" }, state.consent));
  lines.push(make("p", {}, `There are ${state.of} questions. You can close the page and come back by the same link.`));
  if (state.contact) lines.push(make("p", {}, `Questions: ${state.contact}`));
  show(...lines, make("div", { class: "bar" }, go));
}

const guide = (text) => text.split("\n\n").map((part) => make("p", { class: "note" }, part));

// Where the plan asks for an id, it comes before the code.
function identify(state) {
  const field = make("input", { type: "text", id: "rater-id", maxlength: 64, autocomplete: "off", required: true });
  const form = make("form", { onsubmit: async (event) => {
    event.preventDefault();
    try { await call("/api/id", { id: field.value }); await begin(); } catch (error) { say(error.message, true); }
  } }, make("label", { for: "rater-id" }, state.rater_id), field, make("div", { class: "bar" },
    make("button", { type: "submit", class: "main" }, "Save")));
  show(make("h1", {}, "Thank you"), make("p", {}, "All questions are answered. One thing more:"), form);
}

function end(state) {
  if (state.rater_id) { identify(state); return; }
  const lines = [make("h1", {}, "Thank you"), make("p", {}, "All questions are answered. Your code:"),
    make("p", { class: "code", id: "code" }, state.code)];
  if (state.return_url) lines.push(make("a", { class: "button", href: state.return_url, rel: "noreferrer" }, "Go back with this code"));
  const back = make("button", { type: "button", class: "quiet", onclick: () => question(state.of - 1, state) }, "Look at the last question again");
  show(...lines, make("div", { class: "bar" }, back));
}

// How much of the span was on the screen.
function covered(video, start, end) {
  let sum = 0;
  for (let i = 0; i < video.played.length; i += 1) {
    sum += Math.max(0, Math.min(end, video.played.end(i)) - Math.max(start, video.played.start(i)));
  }
  return sum;
}

const keep = (place) => `fabula answer ${place}`;

async function question(place, state) {
  let told;
  try { told = await call(`/api/question/${place}`); } catch (error) { fail(error); return; }
  const { start, end } = told.clip;
  const nonce = [...crypto.getRandomValues(new Uint8Array(16))].map((b) => b.toString(16).padStart(2, "0")).join("");
  const video = make("video", { controls: true, playsinline: true, preload: "auto", controlslist: "nodownload noplaybackrate",
    disablepictureinpicture: true, "aria-label": "The clip", src: `${told.clip.src}#t=${start},${end}` });
  const open = make("p", { class: "hint", id: "open" });
  const next = make("button", { type: "button", class: "main", id: "next", disabled: true }, "Next");
  const back = make("button", { type: "button", id: "back", disabled: place === 0 }, "Back");
  const broken = make("button", { type: "button", class: "quiet", id: "skip", hidden: true }, "The clip does not play: go on without it");
  const before = told.answer || JSON.parse(sessionStorage.getItem(keep(place)) || "null") || {};
  const groups = told.fields.map((field) => draw(field, before[field.name]));
  const texts = make("div", { class: "texts" }, ...told.descriptions.map((text, i) => make("section", {},
    make("h2", {}, told.descriptions.length > 1 ? `Description ${i + 1}` : "Description"), make("p", {}, text))));
  const now = show(
    make("h1", {}, `Question ${place + 1} of ${told.of}`), make("p", {}, told.lead),
    ...(state.guide ? [make("details", {}, make("summary", {}, "Instructions"), ...guide(state.guide))] : []), video, open, texts,
    make("form", { id: "form", autocomplete: "off" }, ...pairs(groups)),
    make("div", { class: "bar" }, back, broken, next),
    make("p", { class: "hint keys" }, `Keys: P plays the clip, digits choose${state.guide ? "" : " (0: neither)"}, Enter goes on.`),
  );
  let playable = told.played;

  function answer() {
    const found = {};
    for (const group of groups) {
      const chosen = group.querySelector("input:checked");
      if (!chosen) return null;
      found[chosen.name] = Number(chosen.value);
    }
    if (told.distinct && new Set(Object.values(found)).size < groups.length) return null;
    return found;
  }

  function refresh() {
    for (const group of groups) group.disabled = !playable;
    open.textContent = playable ? "The clip was played: please answer below. You may play it again."
      : "Please play the clip to its end; then the answers open.";
    next.disabled = !playable || !answer();
    const chosen = Object.fromEntries([...main.querySelectorAll("input:checked")].map((i) => [i.name, Number(i.value)]));
    if (Object.keys(chosen).length) sessionStorage.setItem(keep(place), JSON.stringify(chosen));
    if (told.distinct && playable) say(Object.keys(chosen).length === groups.length && !answer() ? "Each place is given once." : "");
  }

  async function watched() {
    if (playable || video.dataset.sent || covered(video, start, end) < Math.max(0.9 * (end - start) - NEAR, 0.5 * (end - start))) return;
    if (video.currentTime < end - NEAR && !video.ended) return;
    video.dataset.sent = "yes";
    try {
      await call("/api/played", { place });
      playable = true;
    } catch (error) { say(error.message, true); }
    delete video.dataset.sent;
    if (now === screen) refresh();
  }

  video.addEventListener("loadedmetadata", () => { if (Math.abs(video.currentTime - start) > NEAR) video.currentTime = start; });
  video.addEventListener("ratechange", () => { if (video.playbackRate !== 1) video.playbackRate = 1; });
  video.addEventListener("play", () => { if (video.currentTime >= end - 0.05 || video.currentTime < start - NEAR) video.currentTime = start; });
  video.addEventListener("timeupdate", () => {
    if (video.currentTime >= end && !video.paused) video.pause();
    watched();
  });
  for (const name of ["pause", "ended"]) video.addEventListener(name, watched);
  video.addEventListener("error", async () => {
    if (now !== screen) return;
    // the server may only be away: once it answers, the clip is asked for again
    const kind = video.error ? video.error.code : 0;
    try { await call("/api/state"); } catch (error) { fail(error); return; }
    if (now !== screen) return;
    video.dataset.tries = Number(video.dataset.tries || 0) + 1;
    if (Number(video.dataset.tries) <= 3) { await pause(0.5); video.load(); return; }
    say(`The clip cannot be played here (${kind}).`, true);
    broken.hidden = false;
  });

  next.addEventListener("click", async () => {
    const chosen = answer();
    if (!chosen || next.disabled) return;
    next.disabled = true;
    say("Saving …");
    try {
      const saved = await call("/api/answer", { place, nonce, answer: chosen });
      sessionStorage.removeItem(keep(place));
      head(saved);
      if (place + 1 < told.of) await question(place + 1, saved);
      else await begin();
    } catch (error) { say(error.message, true); refresh(); }
  });
  back.addEventListener("click", () => { if (place > 0) question(place - 1, state); });
  broken.addEventListener("click", async () => {
    try { head(await call("/api/skip", { place })); await begin(); } catch (error) { say(error.message, true); }
  });
  main.querySelector("form").addEventListener("submit", (event) => event.preventDefault());
  main.querySelector("form").addEventListener("change", refresh);
  document.onkeydown = (event) => {
    if (event.altKey || event.ctrlKey || event.metaKey || now !== screen) return;
    if (event.key === "Enter" && event.target.tagName !== "BUTTON") { event.preventDefault(); next.click(); return; }
    if (event.key.toLowerCase() === "p") { if (video.paused) video.play(); else video.pause(); return; }
    if (!/^[0-9]$/.test(event.key) || !playable) return;
    const group = groups.find((g) => g.contains(document.activeElement)) || groups.find((g) => !g.querySelector("input:checked")) || groups[0];
    const chosen = group.querySelector(`input[value="${event.key}"]`);
    if (!chosen) return;
    event.preventDefault();
    chosen.checked = true;
    const after = groups[groups.indexOf(group) + 1];
    if (after) (after.querySelector("input:checked") || after.querySelector("input")).focus();
    else next.focus({ preventScroll: true });
    refresh();
  };
  refresh();
}

function draw(field, before) {
  const long = field.options.some(([, label]) => label.length > 24);
  const options = field.options.map(([value, label]) => make("label", {},
    make("input", { type: "radio", name: field.name, value, checked: before === value, required: true }), make("span", {}, label)));
  const help = field.help ? [make("p", { class: "hint", id: `help-${field.name}` }, field.help)] : [];
  return make("fieldset", { "aria-describedby": field.help ? `help-${field.name}` : null, disabled: true },
    make("legend", {}, field.legend), ...help, make("div", { class: long ? "options long" : "options" }, ...options));
}

// Fields about description 1 and 2 stand side by side where there is room.
function pairs(groups) {
  if (!groups.some((g) => /_1$/.test(g.querySelector("input").name))) return groups;
  const single = groups.filter((g) => !/_\d+$/.test(g.querySelector("input").name));
  const each = groups.filter((g) => /_\d+$/.test(g.querySelector("input").name));
  return [...single, ...(each.length ? [make("div", { class: "pair" }, ...each)] : [])];
}

begin();
