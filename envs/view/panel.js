"use strict";
// What stands beside the picture, and time.

// Charts: lines with a cursor at the present moment, over so many steps about it; over all of the episode where those are all.
function chart(canvas, height, values, low, high, steps, bars) {
  const ratio = window.devicePixelRatio || 1, w = canvas.clientWidth || 280, n = values.length;
  canvas.style.height = height + "px";
  canvas.width = w * ratio;
  canvas.height = height * ratio;
  const span = high > low ? high - low : 1, shown = Math.min(n, steps);
  const y = v => (1 - (Math.min(Math.max(v, low), high) - low) / span) * (height - 6) + 3;
  const pen = canvas.getContext("2d");
  let first = 0, still = null;
  function draw() {
    const x = w / shown, from = Math.max(0, Math.floor(first)), to = Math.min(n, Math.ceil(first + shown));
    pen.setTransform(ratio, 0, 0, ratio, 0, 0);
    pen.fillStyle = "#fff";
    pen.fillRect(0, 0, w, height);
    if (low < 0 && high > 0) { pen.fillStyle = "#d9dee5"; pen.fillRect(0, y(0), w, 1); }
    pen.strokeStyle = pen.fillStyle = "#2f6db5";
    pen.lineWidth = 1.3;
    pen.beginPath();
    for (let i = from; i < to; i++) {
      if (!Number.isFinite(values[i])) continue;
      if (bars) pen.rect(x * (i - first), 3, x * values[i], height - 6);
      else if (shown < n) { pen.lineTo(x * (i - first), y(values[i])); pen.lineTo(x * (i + 1 - first), y(values[i])); } // it is kept for a step
      else pen.lineTo(x * (i + 1), y(values[i]));
    }
    if (bars) pen.fill(); else pen.stroke();
  }
  canvas.onpointerdown = canvas.onpointermove = e => {
    if (e.type === "pointerdown" || (e.buttons && shown === n)) seek((first + shown * e.offsetX / canvas.clientWidth) / n);
  };
  return part => {
    if (shown < n) {
      first = Math.min(Math.max(part * n - shown / 2, 0), n - shown);
      draw();
    } else if (still) {
      pen.drawImage(still, 0, 0);
    } else {
      draw();
      still = document.createElement("canvas");
      still.width = canvas.width;
      still.height = canvas.height;
      still.getContext("2d").drawImage(canvas, 0, 0);
    }
    pen.setTransform(1, 0, 0, 1, 0, 0);
    pen.fillStyle = "#c4473d";
    pen.fillRect(Math.round((part * n - first) / shown * (canvas.width - ratio)), 0, ratio, canvas.height);
  };
}
// acted returns, for each name of each seat, the action's values over the steps: of a discrete action 1 where it was taken, else 0.
function acted(values, { seats, names, discrete }, steps) {
  const width = discrete ? 1 : names.length; // numbers of a seat's action
  return Array.from({ length: seats * names.length }, (_, row) => {
    const seat = Math.floor(row / names.length), k = row % names.length;
    const title = seats > 1 ? "seat " + seat + ": " + names[k] : names[k];
    return { title, k, series: Array.from({ length: steps }, (_, i) => {
      const at = (i * seats + seat) * width;
      return discrete ? (values[at] === k ? 1 : 0) : values[at + k];
    }) };
  });
}
function extent(x) {
  let low = Infinity, high = -Infinity;
  for (const v of x) if (Number.isFinite(v)) { low = Math.min(low, v); high = Math.max(high, v); }
  return low > high ? [0, 1] : low === high ? [low - 1, high + 1] : [low, high];
}
const short = v => !Number.isFinite(v) ? "not a number" : Math.abs(v) >= 1000 ? v.toFixed(0) : Math.abs(v) >= 100 ? v.toFixed(1) : v.toFixed(2);

const end = episode.step * episode.steps;
let now = 0, playing = true, before = 0, charts = [], rows = [];
function seek(part) { now = Math.min(Math.max(part, 0), 1) * end; show(); }

function layout() {
  const { seats, discrete, low: least, high: most } = episode.actions;
  const [low, high] = extent([0, ...returns]), [worst, best] = extent([0, ...rewards]);
  charts = [chart($("returns"), 110, returns, low, high, Infinity), chart($("rewards"), 60, rewards, worst, best, Infinity)];
  const list = $("actions");
  list.textContent = "";
  function row(text, series, low, high, discrete) {
    const box = document.createElement("div"), title = document.createElement("span"), value = document.createElement("output"), line = document.createElement("canvas");
    box.className = "action";
    line.className = "chart";
    title.textContent = text;
    box.append(title, value, line);
    list.append(box);
    return { row: box, value, series, discrete, draw: chart(line, discrete ? 18 : 34, series, low, high, 100, discrete) };
  }
  rows = acted(values, episode.actions, episode.steps).map(a => row(a.title, a.series, discrete ? 0 : least[a.k], discrete ? 1 : most[a.k], discrete));
  for (let seat = 0; seatReturns.length > 0 && seat < seats; seat++) {
    const sums = Array.from({ length: episode.steps }, (_, i) => seatReturns[i * seats + seat]);
    rows.push(row("seat " + seat + ": return", sums, ...extent([0, ...sums]), false));
  }
}

function show() {
  const part = end > 0 ? now / end : 0;
  const done = Math.min(Math.floor(now / episode.step + 1e-6), episode.steps), acting = Math.min(done, episode.steps - 1);
  $("return").textContent = short(done > 0 ? returns[done - 1] : 0);
  $("reward").textContent = acting < 0 ? "" : short(rewards[acting]);
  $("step").textContent = done;
  const of = document.createElement("small");
  of.textContent = " of " + episode.steps;
  $("step").append(of);
  $("time").value = now;
  $("clock").textContent = now.toFixed(2) + " / " + end.toFixed(2) + " s";
  for (const c of charts) c(part);
  for (const r of rows) {
    r.draw(part);
    const v = acting < 0 ? 0 : r.series[acting];
    r.value.textContent = r.discrete ? "" : short(v);
    r.row.classList.toggle("on", r.discrete && v === 1);
  }
  draw(now);
}

function play(on) {
  playing = on;
  if (on && now >= end) now = 0;
  $("play").textContent = on ? "Pause" : "Play";
}
function tick(time) {
  const passed = Math.min((time - before) / 1000, 0.1);
  before = time;
  if (playing) {
    now += passed * Number($("speed").value);
    if (now >= end) { now = end; play(false); }
    show();
  }
  requestAnimationFrame(tick);
}

$("play").onclick = () => play(!playing);
$("time").max = end;
$("time").oninput = () => { now = Number($("time").value); show(); };
$("follow").onchange = show;
$("home").onclick = () => { reset(); show(); };
addEventListener("resize", () => { layout(); show(); });
addEventListener("keydown", e => {
  if (e.target.tagName === "SELECT") return;
  if (e.key === " ") { e.preventDefault(); play(!playing); }
  const steps = { ArrowLeft: -1, ArrowRight: 1 }[e.key];
  if (steps && e.target.type !== "range") { play(false); now = Math.min(Math.max((Math.round(now / episode.step) + steps) * episode.step, 0), end); show(); }
});
canvas.addEventListener("pointerdown", e => canvas.setPointerCapture(e.pointerId));
canvas.addEventListener("pointermove", e => {
  if (!e.buttons) return;
  if (e.shiftKey || e.buttons === 2) {
    const a = camera.azimuth * Math.PI / 180, way = camera.distance / canvas.clientHeight;
    camera.at = add(camera.at, scale([Math.sin(a), -Math.cos(a), 0], -way * e.movementX));
    camera.at[2] += way * e.movementY;
  } else {
    camera.azimuth -= 0.4 * e.movementX;
    camera.elevation = Math.min(Math.max(camera.elevation - 0.4 * e.movementY, -89), 20);
  }
  show();
});
canvas.addEventListener("contextmenu", e => e.preventDefault());
canvas.addEventListener("wheel", e => {
  e.preventDefault();
  camera.distance = Math.min(Math.max(camera.distance * Math.exp(0.001 * e.deltaY), home.distance / 6), 6 * home.distance);
  show();
}, { passive: false });

$("total").textContent = episode.return === null ? "not a number" : short(episode.return);
const ended = document.createElement("small");
ended.textContent = episode.ended ? " " + episode.ended : "";
$("total").append(ended);
// #t=SECONDS in the address shows that moment.
const asked = /[#&]t=([\d.]+)/.exec(location.hash);
if (asked) { now = Math.min(Number(asked[1]), end); play(false); }
layout();
show();
requestAnimationFrame(t => { before = t; tick(t); });
