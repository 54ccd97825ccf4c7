"use strict";
/* The clip of a row beside its timeline: an event plays from its start, a line shows where the film is.
   The file is linked, relative to the page; what a browser cannot play is said, and the timeline stays complete. */

/** Null where the page has no clip of that name. */
function clipOf(id) {
  const source = data.media?.[String(id)];
  if (!source) return null;
  const heads = [];
  const status = el("p", { class: "meta", role: "status" });
  const video = el("video", { controls: "", preload: "metadata", src: source, "aria-label": `Clip of ${id}` });
  const follow = () => { for (const move of heads) move(video.currentTime); };
  for (const happening of ["timeupdate", "seeked", "loadedmetadata"]) video.addEventListener(happening, follow);
  video.addEventListener("error", () => {
    status.textContent = `The clip cannot be played from ${readable(source)}: it is not there, or the browser does not `
      + "play its format (.mp4 with H.264 and .webm mostly play). The timeline is complete without it.";
    status.classList.add("fault");
  });
  const seek = (t) => {
    const end = Number.isFinite(video.duration) ? video.duration : t;
    video.currentTime = Math.min(t, end);
    for (const move of heads) move(video.currentTime);
  };
  return {
    el: video,
    status,
    seek,
    /** What makes an event seek: attributes for its element. */
    pressed: (t, also) => ({
      click: (e) => { e.stopPropagation(); also?.(); seek(t); },
      keydown: (e) => { if (e.key === "Enter" || e.key === " ") { e.preventDefault(); seek(t); } },
    }),
    /** The line that goes with the film. */
    head(extent, bottom) {
      const line = svg("line", { class: "head", x1: 0, x2: 0, y1: -4, y2: bottom });
      heads.push((t) => {
        const x = `${((100 * Math.min(t, extent)) / extent).toFixed(3)}%`;
        line.setAttribute("x1", x);
        line.setAttribute("x2", x);
      });
      return line;
    },
    /** A click between events goes there too. */
    seekOn(root, extent) {
      root.classList.add("plays");
      root.addEventListener("click", (e) => {
        const box = root.getBoundingClientRect();
        const share = (e.clientX - box.left) / box.width;
        if (share >= 0 && share <= 1) seek(extent * share);
      });
    },
  };
}

function readable(address) {
  try { return decodeURI(address); } catch { return address; }
}
