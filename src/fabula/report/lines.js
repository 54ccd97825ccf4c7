/* The page of a film's lines and signs. Strings of users reach it as text nodes and attribute values only.
   A row: [id, seconds, address of the film or null, language or null, entries, sources]; an entry, in the order of
   time: [start, end, "line", words, confidence or null, speaker or null], or
         [start, end, "sign" | "logo" | "subtitle", words, confidence, [left, top, right, bottom] or null].          */

const KINDS = { line: "Lines", sign: "Signs", logo: "Logos", subtitle: "Burnt-in" };
const TAGS = { sign: "sign", logo: "logo", subtitle: "burnt-in" };
const WIDE = 1000; // units of a lane
const JUMP = 5, NEAR = 0.001; // s
const MOST = 600, BEFORE = 100; // rows that are drawn at a time, and of these before the one that is looked for
const safely = (text) => (text.toWellFormed ? text.toWellFormed() : text);
const plain = (text) => text.normalize("NFD").replace(/\p{M}/gu, "").toLowerCase();

function clock(s) {
  const whole = Math.floor(s), hours = Math.floor(whole / 3600);
  const pair = (n) => String(n).padStart(2, "0");
  const rest = `${Math.floor((whole % 3600) / 60)}:${pair(whole % 60)}`;
  return hours ? `${hours}:${rest.padStart(5, "0")}` : rest;
}

function exact(s) { return `${clock(s)}.${String(Math.floor(((s + 1e-9) % 1) * 10))}`; }

function readable(address) {
  try { return decodeURI(address); } catch { return address; }
}

/** The words with what was searched for marked; letters are compared without case and accents. */
function marked(words, wanted) {
  if (!wanted) return [words];
  let flat = "";
  const places = []; // of each letter of `flat`, its place in the words
  for (let i = 0; i < words.length;) {
    const sign = String.fromCodePoint(words.codePointAt(i));
    const simple = plain(sign);
    for (let k = 0; k < simple.length; k++) places.push(i);
    flat += simple;
    i += sign.length;
  }
  places.push(words.length);
  const parts = [];
  let done = 0;
  for (let at = flat.indexOf(wanted); at >= 0; at = flat.indexOf(wanted, at + wanted.length)) {
    const from = places[at], to = places[at + wanted.length];
    if (to <= done) continue;
    parts.push(words.slice(done, from), el("mark", {}, words.slice(Math.max(from, done), to)));
    done = to;
  }
  return [...parts, words.slice(done)];
}

/** Play, a bar of the time, the clock, speed, sound, the whole screen. */
function drawPlayer(video, picture, { play, seek, length }) {
  const start = el("button", { type: "button", class: "play", click: play }, "Play");
  const bar = el("input", {
    type: "range", min: 0, max: 1, step: "any", value: 0, "aria-label": "Time", input: () => seek(Number(bar.value)),
  });
  const shown = el("output", {});
  const speeds = [0.25, 0.5, 1, 1.5, 2].map((s) => el("option", { value: s, selected: s === 1 ? "" : null }, `${s}×`));
  const hurry = () => { video.playbackRate = Number(speed.value); };
  const speed = el("select", { "aria-label": "Speed", change: hurry }, speeds);
  const hush = () => { video.muted = !video.muted; };
  const sound = el("button", { type: "button", "aria-pressed": "false", click: hush }, "Mute");
  const whole = el("button", { type: "button", click: () => {
    if (document.fullscreenElement) document.exitFullscreen(); else picture.requestFullscreen().catch(() => {});
  } }, "Full screen");
  const name = () => { start.textContent = video.paused ? "Play" : "Pause"; };
  for (const happening of ["play", "pause", "ended"]) video.addEventListener(happening, name);
  video.addEventListener("volumechange", () => sound.setAttribute("aria-pressed", String(video.muted)));
  const move = (t) => {
    bar.max = length();
    bar.value = t;
    bar.setAttribute("aria-valuetext", exact(t));
    shown.textContent = `${exact(t)} / ${clock(length())}`;
  };
  video.addEventListener("loadedmetadata", () => move(video.currentTime));
  move(0);
  return { el: el("div", { class: "player" }, start, bar, shown, speed, sound, whole), move };
}

/** One film: its elements, and what to do when a key is pressed. */
function showFilm([id, seconds, source, language, entries, sources]) {
  const extent = seconds || 1;
  const kinds = Object.keys(KINDS).filter((kind) => entries.some((e) => e[2] === kind));
  const shown = new Set(kinds);
  const hasBoxes = entries.some((e) => e[2] !== "line" && e[5]);
  let wanted = "", at = 0, current = new Set();

  // --- the film, with frames around its signs ----------------------------------------------------------------------
  const status = el("p", { class: "meta", role: "status" });
  const video = source === null ? null
    : el("video", {
      preload: "metadata", playsinline: "", src: source, "aria-label": `Film ${id}`, click: () => play(),
    });
  const frame = el("div", { class: "frame", "aria-hidden": "true" });
  const length = () => (video && Number.isFinite(video.duration) ? video.duration : extent);
  function fit() {
    const scale = Math.min(video.clientWidth / video.videoWidth, video.clientHeight / video.videoHeight);
    if (!Number.isFinite(scale)) return;
    const [w, h] = [video.videoWidth * scale, video.videoHeight * scale];
    const place = { left: (video.clientWidth - w) / 2, top: (video.clientHeight - h) / 2, width: w, height: h };
    for (const [name, px] of Object.entries(place)) frame.style[name] = `${px}px`;
  }
  function drawBoxes() {
    const boxes = boxed.checked && hasBoxes && video ? [...current].map((i) => entries[i]) : [];
    const framed = boxes.filter((e) => e[2] !== "line" && e[5] && shown.has(e[2]));
    frame.replaceChildren(...framed.map(([, , kind, , , box]) => {
      const one = el("i", { class: kind });
      const share = (x) => `${(100 * x).toFixed(3)}%`;
      Object.assign(one.style, { left: share(box[0]), top: share(box[1]),
        width: share(box[2] - box[0]), height: share(box[3] - box[1]) });
      return one;
    }));
  }
  const play = () => {
    if (video.paused) video.play().catch(() => {}); // the error is told by its own event
    else video.pause();
  };
  /** Below the picture and not over it: where burnt-in subtitles stand, a bar would hide them. */
  const picture = video ? el("div", { class: "picture" }, video, frame) : null;
  const player = video ? drawPlayer(video, picture, { play, seek: (t) => seek(t), length }) : null;
  const caption = el("p", { class: "caption", hidden: "", dir: "auto" });
  picture?.append(caption);
  function drawCaption() {
    const lines = captioned.checked ? [...current].map((i) => entries[i]).filter((e) => e[2] === "line") : [];
    caption.textContent = lines.map(([, , , words, , who]) => (who ? `${who}: ${words}` : words)).join("\n");
    caption.hidden = !lines.length;
  }
  const check = (name, on, change) => {
    const box = el("input", { type: "checkbox", checked: on ? "" : null, change });
    return [box, el("label", {}, box, name)];
  };
  const [boxed, boxedLabel] = check("Frame the signs", true, drawBoxes);
  const [captioned, captionedLabel] = check("Lines on the film", false, drawCaption);
  const [follows, followsLabel] = check("Follow the film", true, () => follow(true));

  // --- lanes: where something is spoken or written -----------------------------------------------------------------
  const heads = [];
  const x = (t) => (WIDE * Math.min(t, extent)) / extent;
  const lanes = kinds.map((kind) => {
    const bars = []; // what touches at this width is one bar
    let n = 0;
    for (const [a, b, other] of entries) {
      if (other !== kind) continue;
      n += 1;
      const [from, to] = [x(a), Math.max(x(b), x(a) + 1)];
      if (bars.length && from <= bars.at(-1)[1] + 0.1) bars.at(-1)[1] = Math.max(bars.at(-1)[1], to);
      else bars.push([from, to]);
    }
    const path = bars.map(([a, b]) => `M${a.toFixed(2)} 0H${b.toFixed(2)}V18H${a.toFixed(2)}z`).join("");
    const head = svg("line", { class: "head", x1: 0, x2: 0, y1: 0, y2: 18 });
    heads.push(head);
    return el("li", {}, el("span", {}, `${KINDS[kind]} ${n.toLocaleString("en")}`), svg("svg", {
      viewBox: `0 0 ${WIDE} 18`, preserveAspectRatio: "none", role: "img",
      "aria-label": `${KINDS[kind]}: ${n} over ${clock(extent)}`,
      click: (e) => {
        const box = e.currentTarget.getBoundingClientRect();
        seek((extent * (e.clientX - box.left)) / box.width);
      },
    }, svg("rect", { class: "ground", width: WIDE, height: 18 }), svg("path", { class: kind, d: path }), head));
  });

  // --- the list ----------------------------------------------------------------------------------------------------
  const flat = entries.map((e) => plain(e[2] === "line" && e[5] ? `${e[5]} ${e[3]}` : e[3]));
  const list = el("ol", { class: "entries", "aria-label": "Lines and signs" });
  const hits = el("span", { class: "meta", role: "status" });
  const isListed = (i) => shown.has(entries[i][2]) && (!wanted || flat[i].includes(wanted));
  let listed = entries.map((_, i) => i), first = 0;
  const rows = new Map(); // those that are drawn: entry → its button
  function drawRow(i) {
    const [start, end, kind, words, confidence, more] = entries[i];
    const speaker = kind === "line" ? more : null;
    const what = `${TAGS[kind] ?? "line"}${speaker ? ` of ${speaker}` : ""}`;
    const button = el("button", {
      type: "button", class: kind, "aria-label": `${exact(start)} to ${exact(end)}, ${what}: ${words}`,
      click: () => { at = i; seek(start); },
    }, el("time", { title: `${exact(start)}–${exact(end)}` }, exact(start)), el("span", {},
      speaker ? el("span", { class: "speaker" }, marked(speaker, wanted)) : null,
      TAGS[kind] ? el("span", { class: "tag" }, TAGS[kind]) : null,
      el("span", { class: "words", dir: "auto" }, marked(words, wanted)),
      confidence === null ? null : el("small", { title: "confidence, from 0 to 1" }, confidence.toFixed(2))));
    rows.set(i, button);
    if (current.has(i)) setNow(i, true);
    return el("li", {}, button);
  }
  function setNow(i, on) {
    const button = rows.get(i);
    button?.classList.toggle("now", on);
    if (on) button?.setAttribute("aria-current", "true"); else button?.removeAttribute("aria-current");
  }
  /** The rows from here on; of a long list the others are a button away. */
  function drawRows(from) {
    first = Math.max(0, Math.min(from, listed.length - MOST));
    rows.clear();
    const turn = (to, n, words) => (n <= 0 ? null : el("li", {}, el("button", {
      type: "button", class: "more", click: () => { drawRows(to); list.scrollTop = 0; },
    }, `${n.toLocaleString("en")} ${words}`)));
    const last = Math.min(listed.length, first + MOST);
    list.replaceChildren(...[turn(first - MOST, first, "before these"), ...listed.slice(first, last).map(drawRow),
      turn(last, listed.length - last, "after these")].filter(Boolean));
  }
  /** The row of an entry comes into the list's sight; the page itself does not move. */
  function bring(i) {
    if (!rows.has(i)) {
      const place = listed.indexOf(i);
      if (place < 0) return;
      drawRows(place - BEFORE);
    }
    const item = rows.get(i).parentElement;
    const [top, bottom] = [item.offsetTop, item.offsetTop + item.offsetHeight];
    if (top < list.scrollTop || bottom > list.scrollTop + list.clientHeight) {
      list.scrollTop = top - list.clientHeight / 3;
    }
  }
  function filter() {
    listed = entries.map((_, i) => i).filter(isListed);
    drawRows(0);
    hits.textContent = wanted ? `${listed.length.toLocaleString("en")} found` : "";
    drawBoxes();
    follow(true);
  }
  const find = el("input", {
    type: "search", placeholder: "Search the words", "aria-label": "Search lines and signs",
    input: () => { wanted = plain(find.value.trim()); filter(); },
    keydown: (e) => {
      if (e.key === "Enter") { e.preventDefault(); step(e.shiftKey ? -1 : 1); }
      if (e.key === "Escape") { find.value = wanted = ""; filter(); find.blur(); }
    },
  });
  const filters = kinds.length > 1 ? kinds.map((kind) => check(KINDS[kind], true, (e) => {
    if (e.target.checked) shown.add(kind); else shown.delete(kind);
    filter();
  })[1]) : [];

  // --- time --------------------------------------------------------------------------------------------------------
  /** What is at a moment: from its start up to its end; what has no length for an instant. */
  function mark(t) {
    for (const head of heads) { head.setAttribute("x1", x(t)); head.setAttribute("x2", x(t)); }
    player?.move(t);
    const now = new Set();
    for (let i = 0; i < entries.length && entries[i][0] <= t + NEAR; i++) {
      if (t + NEAR < Math.max(entries[i][1], entries[i][0] + 2 * NEAR)) now.add(i);
    }
    if (now.size === current.size && [...now].every((i) => current.has(i))) return;
    for (const i of current) if (!now.has(i)) setNow(i, false);
    for (const i of now) setNow(i, true);
    current = now;
    drawBoxes();
    drawCaption();
    follow(false);
  }
  /** The newest of what is there comes into sight. */
  function follow(again) {
    const there = [...current].filter(isListed);
    const i = there.filter((k) => entries[k][2] === "line").at(-1) ?? there.at(-1);
    if (i === undefined || !follows.checked || (i === follow.last && !again)) return;
    follow.last = i;
    bring(i);
  }
  function seek(t) {
    const to = Math.max(0, Math.min(t, length()));
    if (video && !video.error) video.currentTime = to;
    mark(to);
  }
  const now = () => (video && !video.error ? video.currentTime : entries[at]?.[0] ?? 0);
  /** To the next entry that is listed, or the one before. */
  function step(by) {
    const t = now();
    const isHere = (i) => Math.abs(entries[i][0] - t) < 0.01;
    let i;
    if (entries[at] && isListed(at) && isHere(at)) i = listed[listed.indexOf(at) + by];
    else i = by > 0 ? listed.find((k) => entries[k][0] > t) : listed.findLast((k) => entries[k][0] < t - NEAR);
    if (i === undefined && wanted) i = by > 0 ? listed[0] : listed.at(-1);
    if (i === undefined) return;
    at = i;
    seek(entries[i][0]);
    bring(i);
  }
  if (video) {
    let timer = null;
    const look = () => mark(video.currentTime);
    for (const happening of ["timeupdate", "seeking", "seeked"]) video.addEventListener(happening, look);
    video.addEventListener("playing", () => { timer ??= setInterval(look, 100); });
    for (const happening of ["pause", "ended", "emptied"]) {
      video.addEventListener(happening, () => { clearInterval(timer); timer = null; });
    }
    video.addEventListener("loadedmetadata", fit);
    new ResizeObserver(fit).observe(video);
    video.addEventListener("error", () => {
      status.textContent = `The film cannot be played from ${readable(source)}: it is not there, or the browser does `
        + "not play its format (.mp4 with H.264 and .webm mostly do). The list is complete without it.";
      status.classList.add("fault");
    });
  } else status.textContent = "No film is linked: lines and signs stand alone.";

  const press = (e) => {
    if (e.ctrlKey || e.metaKey || e.altKey || e.target.closest("input:not([type=checkbox]), select, textarea")) return;
    const onControl = e.target.closest("button, input, a, summary");
    const deeds = {
      ArrowDown: () => step(1), ArrowUp: () => step(-1), j: () => step(1), k: () => step(-1), "/": () => find.focus(),
      b: () => { if (hasBoxes) { boxed.checked = !boxed.checked; drawBoxes(); } },
    };
    if (video && !video.error) {
      deeds.ArrowLeft = () => seek(video.currentTime - JUMP);
      deeds.ArrowRight = () => seek(video.currentTime + JUMP);
      if (!onControl) deeds[" "] = play;
    }
    if (!deeds[e.key]) return;
    e.preventDefault();
    deeds[e.key]();
  };
  const keys = [["Space", "play"], ["← →", `${JUMP} s`], ["↑ ↓", "line"], ["/", "search"], ["b", "frames"]];
  const stage = el("div", { class: "stage" },
    picture, player?.el, video ? el("div", { class: "options" }, hasBoxes ? boxedLabel : null,
      kinds.includes("line") ? captionedLabel : null, followsLabel) : null,
    kinds.length ? el("ul", { class: "lanes" }, lanes) : null, status);
  const beside = el("div", { class: "beside" }, el("div", { class: "find" }, find, hits),
    filters.length ? el("div", { class: "kinds", role: "group", "aria-label": "What is listed" }, filters) : null, list,
    entries.length ? null : el("p", { class: "meta" }, "Nothing is spoken or written in this film."));
  drawRows(0);
  const body = [
    el("h2", {}, id, el("small", { class: "meta" }, ` ${clock(extent)}${language ? ` · ${language}` : ""}`)),
    el("div", { class: `film${video ? "" : " alone"}` }, stage, beside),
    el("p", { class: "meta keys" }, keys.map(([k, what]) => el("span", {}, el("kbd", {}, k), ` ${what}`))),
    sources.map((line) => el("p", { class: "meta" }, line)),
  ].flat();
  return { body, press, stop: () => { video?.pause(); video?.removeAttribute("src"); video?.load(); } };
}

async function start() {
  const app = document.getElementById("app");
  if (typeof DecompressionStream === "undefined") {
    app.append(el("p", { class: "fault" }, "This browser is too old for this page (it has no DecompressionStream)."));
    return;
  }
  const { rows } = await unpacked();
  const place = el("section", {});
  let open = null;
  const show = (i) => {
    open?.stop();
    open = showFilm(rows[i]);
    place.replaceChildren(...open.body);
  };
  const named = () => {
    let id = location.hash.replace(/^#video=/, "");
    try { id = decodeURIComponent(id); } catch { /* as it is */ }
    return Math.max(0, rows.findIndex((row) => safely(String(row[0])) === id));
  };
  const chooser = el("select", {
    "aria-label": "Film", change: (e) => {
      history.replaceState(null, "", `#video=${encodeURIComponent(safely(rows[e.target.value][0]))}`);
      show(Number(e.target.value));
    },
  }, rows.map(([id], i) => el("option", { value: i }, id)));
  if (rows.length > 1) app.append(el("p", { class: "chooser" }, "Film ", chooser));
  app.append(place);
  const first = named();
  chooser.value = String(first);
  show(first);
  addEventListener("hashchange", () => { chooser.value = String(named()); show(named()); });
  addEventListener("keydown", (e) => open.press(e));
  app.dataset.ready = "yes";
}

start();
