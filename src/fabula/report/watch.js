/* The page of predicted stories beside their videos. Strings of users reach it as text nodes and attribute values only.
   A row: [id, seconds, events, address of the video or null]; an event: [start, end, caption], malformed ones with text
   for times. A film's row goes on with its people and how many more there are: [name, pictures, [[start, end], …]]; its
   events with which of them they name. Clicking an event, or the timeline, seeks; the playing video marks where it is. */

const BAR = 34, GAP = 4, AXIS = 28; // px
const clock = (s) => `${Math.floor(s / 60)}:${(s % 60).toFixed(1).padStart(4, "0")}`;
const short = (s) => `${Math.floor(s / 60)}:${String(Math.floor(s % 60)).padStart(2, "0")}`;
const isSound = (event) => typeof event[0] === "number";
const safely = (text) => (text.toWellFormed ? text.toWellFormed() : text);

/** The first lane that is free when an event starts; events that overlap lie below each other. */
function lanesOf(events) {
  const free = [];
  return events.map(([start, end]) => {
    let lane = free.findIndex((until) => until <= start);
    if (lane < 0) lane = free.length;
    free[lane] = end;
    return lane;
  });
}

/** A strip a person: the face, the name, when it is seen. */
function drawPeople(people, more, extent, seek) {
  const x = (t) => `${((100 * t) / extent).toFixed(3)}%`;
  const rows = people.map(([name, pictures, spans]) => el("li", {},
    el("span", { class: "who" }, pictures.slice(0, 1).map((p) => el("img", { src: p, alt: "" })), el("b", {}, name),
      el("span", { class: "more" }, pictures.slice(1).map((p) => el("img", { src: p, alt: "" })))),
    svg("svg", {
      class: "seen", height: 18, role: "img", "aria-label": `${name} is seen ${spans.length} times`,
      click: (e) => {
        const box = e.currentTarget.getBoundingClientRect();
        seek((extent * (e.clientX - box.left)) / box.width);
      },
    }, svg("rect", { class: "ground", width: "100%", height: "100%", rx: 4 }),
      spans.map(([a, b]) => svg("rect", { x: x(a), width: x(Math.max(b - a, extent / 300)), height: "100%", rx: 3 },
        svg("title", {}, `${clock(a)}–${clock(b)}`))))));
  const rest = more ? el("p", { class: "meta" }, `and ${more} more, seen less`) : null;
  return people.length ? [el("h3", {}, "People"), el("ul", { class: "people" }, rows), rest] : [];
}

function drawStory([id, seconds, events, source, people = [], more = 0]) {
  const sound = events.filter(isSound), bad = events.filter((e) => !isSound(e));
  const extent = Math.max(seconds, ...sound.map((e) => e[1])) || 1;
  const video = source === null ? null
    : el("video", { controls: "", preload: "metadata", src: source, "aria-label": `Video ${id}` });
  const status = el("p", { class: "meta", role: "status" },
    video ? "Click an event or the timeline to see it." : "No video was given for this story: the timeline stands alone.");
  const seek = (t) => {
    if (!video) return;
    video.currentTime = Math.min(t, extent);
    mark(t);
  };
  const bars = [], lines = [];
  const x = (t) => `${((100 * t) / extent).toFixed(3)}%`;
  const lanes = lanesOf(sound);
  const height = (Math.max(0, ...lanes) + 1) * (BAR + GAP);
  sound.forEach((event, i) => {
    const [start, end, caption] = event;
    const go = (e) => { e.stopPropagation(); seek(start); };
    const key = (e) => { if (e.key === "Enter" || e.key === " ") { e.preventDefault(); seek(start); } };
    bars.push(svg("svg", {
      class: "bar", x: x(start), y: lanes[i] * (BAR + GAP), width: x(Math.max(end - start, extent / 400)), height: BAR,
      role: "button", tabindex: 0, "aria-label": `${clock(start)} to ${clock(end)}: ${caption}`, click: go, keydown: key,
    }, svg("title", {}, `${clock(start)}–${clock(end)} ${caption}`), svg("rect", { width: "100%", height: "100%" }),
      svg("foreignObject", { width: "100%", height: BAR }, el("p", { "aria-hidden": "true" }, caption.slice(0, 120)))));
    lines.push(el("button", { type: "button", click: () => seek(start) },
      el("time", {}, `${clock(start)}–${clock(end)}`), el("span", {}, caption || "(no caption)",
        (event[3] ?? []).map((k) => people[k][1].slice(0, 1)
          .map((p) => el("img", { src: p, alt: people[k][0], title: people[k][0] }))))));
  });
  const head = svg("line", { class: "head", x1: 0, x2: 0, y1: -4, y2: height });
  const ticks = [];
  const step = STEPS.find((s) => extent / s <= 10) ?? Math.floor(extent / 10) + 1;
  for (let t = 0; t <= extent; t += step) {
    ticks.push(svg("line", { x1: x(t), x2: x(t), y1: height, y2: height + 5 }),
      svg("text", { class: "tick", x: x(t), y: height + 20 }, short(t)));
  }
  const strip = svg("svg", {
    class: "strip", height: height + AXIS, role: "group", "aria-label": `Timeline of ${id}`,
    click: (e) => {
      const box = strip.getBoundingClientRect();
      seek((extent * (e.clientX - box.left)) / box.width);
    },
  }, svg("rect", { class: "ground", width: "100%", height, rx: 5 }), bars, ticks, video ? head : null);
  function mark(t) {
    head.setAttribute("x1", x(t));
    head.setAttribute("x2", x(t));
    sound.forEach(([start, end], i) => {
      const now = start <= t && t < end;
      bars[i].classList.toggle("now", now);
      lines[i].classList.toggle("now", now);
    });
  }
  if (video) {
    video.addEventListener("timeupdate", () => mark(video.currentTime));
    video.addEventListener("seeked", () => mark(video.currentTime));
    video.addEventListener("error", () => {
      status.textContent = `The video cannot be played from ${decodeURI(source)}: it is not there, or the browser does `
        + "not play its format (.mp4 with H.264 and .webm mostly do). The timeline is complete without it.";
      status.classList.add("fault");
    });
  }
  return [
    el("div", { class: `watch${video ? "" : " alone"}` }, video,
      el("ol", { class: "steps", "aria-label": "Predicted events" }, lines.map((line) => el("li", {}, line)))),
    strip, status, ...drawPeople(people, more, extent, seek),
    sound.length ? null : el("p", { class: "meta" }, "No event was predicted in this video."),
    bad.length ? el("p", { class: "fault" }, `${bad.length} predicted: no stretch of time, not drawn.`) : null,
  ];
}

async function start() {
  const app = document.getElementById("app");
  if (typeof DecompressionStream === "undefined") {
    app.append(el("p", { class: "fault" }, "This browser is too old to unpack this page (it has no DecompressionStream)."));
    return;
  }
  const { rows } = await unpacked();
  const place = el("section", { "aria-live": "polite" });
  const show = (i) => {
    place.querySelector("video")?.pause();
    place.replaceChildren(el("h2", {}, rows[i][0], el("small", { class: "meta" }, ` ${short(rows[i][1])}`)),
      ...drawStory(rows[i]).filter(Boolean));
  };
  const named = () => {
    let id = location.hash.replace(/^#video=/, "");
    try { id = decodeURIComponent(id); } catch { /* as it is */ }
    return Math.max(0, rows.findIndex((row) => safely(String(row[0])) === id));
  };
  const chooser = el("select", {
    "aria-label": "Video", change: (e) => {
      history.replaceState(null, "", `#video=${encodeURIComponent(safely(rows[e.target.value][0]))}`);
      show(Number(e.target.value));
    },
  }, rows.map(([id], i) => el("option", { value: i }, id)));
  if (rows.length > 1) app.append(el("p", { class: "chooser" }, "Video ", chooser));
  app.append(place);
  const at = named();
  chooser.value = String(at);
  show(at);
  addEventListener("hashchange", () => { chooser.value = String(named()); show(named()); });
  app.dataset.ready = "yes";
}

start();
