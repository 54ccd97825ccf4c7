"use strict";
/* The player of a moment: the film from where the moment begins, a strip of the film's clips, a line with every moment
   that was found in it, and who is seen when. What a browser cannot play is shown as a clip that the server makes. */

let playing = null; // {row, node, video, bars, …} of the film that is shown

const clock = (s) => {
  const [h, m] = [Math.floor(s / 3600), Math.floor((s % 3600) / 60)];
  const rest = (Math.floor(10 * (s % 60)) / 10).toFixed(1).padStart(4, "0");
  return h ? `${h}:${String(m).padStart(2, "0")}:${rest}` : `${m}:${rest}`;
};
const short = (s) => clock(s).replace(/\.\d$/, "");
const film = () => playing?.film ?? null;

async function play(row) {
  if (!playing || playing.row.key !== row.key || playing.preview) await open(row);
  if (!playing || playing.row.key !== row.key) return;
  playing.row = row;
  const moment = row.end !== undefined;
  playing.title.textContent = moment ? `${clock(row.start)} – ${clock(row.end)}` : short(playing.extent);
  playing.until = moment ? row.end : Infinity;
  playing.keep.hidden = !moment;
  markKeep();
  markBars();
  if (playing.preview) playPreview(row);
  else seek(row.start, true);
}

async function open(row) {
  const section = at("player");
  playing?.film.pause();
  let told;
  try {
    told = await (await call(`/api/video/${row.key}`)).json();
  } catch (error) {
    playing = null;
    section.hidden = false;
    section.replaceChildren(el("p", { class: "fault" }, error.message));
    return;
  }
  const extent = Math.max(told.duration || 0, ...told.strip.map((c) => c[2])) || 1;
  const status = el("p", { class: "fault", role: "status" });
  const title = el("span", { class: "times" });
  const keep = el("button", { type: "button", class: "keep", click: () => toggle(playing.row) });
  const screen = el("video",
    { controls: "", playsinline: "", preload: "metadata", "aria-label": `Video ${told.name}` });
  const head = svg("line", { class: "head", x1: 0, x2: 0, y1: 0, y2: 34 });
  const bars = svg("g", {});
  const x = (t) => `${((100 * t) / extent).toFixed(3)}%`;
  const line = svg("svg", { class: "strip", height: 34 + 18, role: "group", "aria-label": `Timeline of ${told.name}`,
    click: (e) => {
      const box = line.getBoundingClientRect();
      playing.until = Infinity;
      seek((extent * (e.clientX - box.left)) / box.width, true);
    },
  }, svg("rect", { class: "ground", width: "100%", height: 34, rx: 4 }), bars, ticks(extent, x), head);
  const pictures = el("div", { class: "pictures", "aria-hidden": "true" }, told.strip.map(([clip, from]) => {
    const one = picture(clip);
    one.title = short(from);
    one.addEventListener("click", () => { playing.until = Infinity; seek(from, true); });
    return one;
  }));
  section.hidden = false;
  section.replaceChildren(screen, status,
    el("div", { class: "line" }, el("b", { class: "name", title: told.name }, told.name), title, keep,
      el("button", { type: "button", class: "quiet", "aria-label": "Close the player", click: close }, "×")),
    told.strip.length > 1 ? pictures : "", line, ...drawPeople(told.people, extent, x));
  playing = { row, film: screen, title, keep, bars, head, extent, x, status, told, until: Infinity };
  playing.preview = !told.plays;
  for (const happening of ["timeupdate", "seeked", "loadedmetadata"]) screen.addEventListener(happening, follow);
  screen.addEventListener("error", failed);
  if (told.gone) status.textContent = "The file is no longer where it was indexed: put it back, or index again.";
  else if (!playing.preview) screen.src = `/video/${row.key}`;
}

function close() {
  playing?.film.pause();
  playing = null;
  at("player").hidden = true;
  at("player").replaceChildren();
}

function ticks(extent, x) {
  const step = STEPS.find((s) => extent / s <= 6) ?? Math.floor(extent / 6) + 1;
  const marks = [];
  for (let t = 0; t < extent; t += step) {
    marks.push(svg("text", { class: "tick", x: x(t), y: 34 + 14, "text-anchor": t ? "middle" : "start" }, short(t)));
  }
  return marks;
}

function drawPeople(people, extent, x) {
  return people.map((p) => el("div", { class: "person" }, el("span", { class: "name", title: p.name }, p.name),
    svg("svg", { class: "seen", height: 10, role: "img", "aria-label": `${p.name} is seen ${p.spans.length} times` },
      svg("rect", { class: "ground", width: "100%", height: 10, rx: 3 }),
      p.spans.map(([a, b]) => svg("rect", { x: x(a), width: x(Math.max(b - a, extent / 200)), height: 10, rx: 2 })))));
}

/** Where in the film the screen is: a clip that was made of it begins at its own zero. */
const moved = () => (playing.preview ? playing.offset ?? 0 : 0);

function seek(t, go) {
  const { film: screen, preview, row } = playing;
  if (preview) { playPreview({ ...row, start: Math.max(0, t), end: Math.min(t + 20, playing.extent) }); return; }
  const set = () => {
    screen.currentTime = Math.max(0, t);
    if (go) screen.play().catch(() => {});
  };
  if (screen.readyState) set();
  else screen.addEventListener("loadedmetadata", set, { once: true });
}

/** A film that no browser plays: the stretch is made into one that they do. */
function playPreview(row) {
  const start = Math.max(0, row.start), end = row.end ?? Math.min(start + 20, playing.extent);
  if (playing.told.gone) return;
  if (!library.cuts) {
    const kind = playing.told.kind;
    playing.status.textContent = `Browsers do not play .${kind}, and the server has no PyAV to make a clip.`;
    return;
  }
  playing.offset = start;
  playing.until = Infinity;
  playing.film.src = `/clip/${row.key}?start=${start.toFixed(3)}&end=${end.toFixed(3)}`;
  playing.film.play().catch(() => {});
}

function follow() {
  if (!playing) return;
  const t = playing.film.currentTime + moved();
  const where = playing.x(Math.min(t, playing.extent));
  playing.head.setAttribute("x1", where);
  playing.head.setAttribute("x2", where);
  if (t >= playing.until && !playing.film.paused) {
    playing.film.pause();
    playing.until = Infinity; // whoever goes on sees the rest
  }
}

function failed() {
  if (!playing || !playing.film.getAttribute("src")) return;
  if (!playing.preview && library.cuts && !playing.told.gone) { // a codec that this browser lacks
    playing.preview = true;
    playPreview(playing.row);
    return;
  }
  playing.status.textContent = "The video cannot be played here: it is not there, or is damaged.";
}

/** The moments of the answer in the film that is shown. */
function markBars() {
  if (!playing) return;
  const every = answer ? [...answer.moments, ...answer.guesses] : [];
  const own = every.filter((m) => m.video === playing.told.name);
  const row = playing.row;
  const kept = row.end === undefined || own.some((m) => m.start === row.start && m.end === row.end) ? [] : [row];
  playing.bars.replaceChildren(...[...own, ...kept].map((m) => {
    const now = m.start === row.start && m.end === row.end;
    return svg("rect", { class: now ? "mark own" : "mark", x: playing.x(m.start), y: 4, height: 26, rx: 3,
      width: playing.x(Math.max(m.end - m.start, playing.extent / 200)) },
    svg("title", {}, `${clock(m.start)} – ${clock(m.end)}`));
  }));
}
