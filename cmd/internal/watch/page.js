"use strict";

const $ = (id) => document.getElementById(id);
const band = ["/q25", "/q75"], centers = ["/median", "/mean"], extremes = ["/min", "/max"];
const refresh = 3000; // milliseconds
let run = {}, metrics = {iteration: [], values: {}}, sortBy = 1, memberColumns = [], shownCheckpoint = 0, lineageAt = -1, pointed = null; // pointed: name of the curve under the pointer, and where

async function get(path) {
  const answer = await fetch(path);
  if (!answer.ok) throw new Error(path + ": " + await answer.text());
  return answer.json();
}

// short writes a number with four digits, or as many as tell it from one that differs by step. Numbers just below 1, such as discounts, have
// two digits of their difference from 1.
function short(x, step = Infinity) {
  if (x === null || x === undefined) return "";
  const size = Math.abs(x), place = (y) => 10 ** Math.floor(Math.log10(y) + 1e-9);
  if (size !== 0 && (size < 1e-3 || size >= 1e9)) return x.toExponential(2);
  const last = Math.min(place(step), size > 0.9 && size < 1 ? place(1 - size) / 10 : Infinity); // value of the last digit
  const digits = Math.min(15, Math.max(4, Math.floor(Math.log10(size / last) + 1e-9) + 1));
  for (const [unit, name] of [[1e6, "M"], [1e4, "k"]]) if (size >= unit) return String(+(x / (name === "k" ? 1e3 : unit)).toPrecision(digits)) + name;
  return String(+x.toPrecision(digits));
}

function clock(seconds) {
  const s = Math.round(seconds);
  return s < 60 ? s + "s" : s < 3600 ? Math.floor(s / 60) + "m" + String(s % 60).padStart(2, "0") + "s" :
    Math.floor(s / 3600) + "h" + String(Math.floor(s / 60) % 60).padStart(2, "0") + "m";
}

// bases are the metrics without the suffixes of their statistics, those that matter most first.
function bases() {
  const names = new Set();
  for (const name of Object.keys(metrics.values)) names.add([...band, ...centers, ...extremes].reduce((n, s) => n.endsWith(s) ? n.slice(0, -s.length) : n, name));
  const first = [run.metric, "return", "evaluation", "fitness", "pbt/fitness", "critic/explained_variance", "policy/entropy", "loss/actor", "loss/critic", "time/steps_per_second"];
  const rank = (n) => first.includes(n) ? first.indexOf(n) : first.length;
  return [...names].sort((a, b) => rank(a) - rank(b) || (a < b ? -1 : 1));
}

function column(base, suffixes) {
  for (const s of suffixes) if (metrics.values[base + s]) return metrics.values[base + s];
  return null;
}

// ticks are round numbers from low to high with their labels.
function ticks(low, high, most) {
  const rough = (high - low) / most, power = 10 ** Math.floor(Math.log10(rough));
  const step = [1, 2, 5, 10].map((m) => m * power).find((s) => s >= rough) || 10 * power;
  const out = [];
  for (let i = Math.ceil(low / step - 1e-9); i * step <= high + 1e-9 * step && out.length < 50; i++) out.push(+(i * step).toPrecision(12));
  return out.map((v) => [v, short(v, step)]);
}

// draw draws a metric: its median or mean, and the middle half of the members.
function draw(canvas, base) {
  const scale = window.devicePixelRatio || 1, width = canvas.clientWidth, height = canvas.clientHeight;
  canvas.width = width * scale; canvas.height = height * scale;
  const c = canvas.getContext("2d");
  c.scale(scale, scale);
  const xs = metrics[$("axis").value], y = column(base, ["", ...centers]), low = column(base, [band[0]]), high = column(base, [band[1]]);
  const at = xs.map((_, i) => i).filter((i) => y[i] !== null);
  canvas.places = null;
  if (!at.length) return;
  const ys = at.flatMap((i) => [y[i], low ? low[i] : y[i], high ? high[i] : y[i]]).filter((v) => v !== null);
  let y0 = Math.min(...ys), y1 = Math.max(...ys), x0 = 0, x1 = Math.max(xs[xs.length - 1], 1e-9);
  const room = (y1 - y0) * 0.05 || Math.abs(y1) * 0.05 || 1;
  y0 -= room; y1 += room;
  const left = 52, bottom = height - 20, X = (v) => left + (v - x0) / (x1 - x0) * (width - left - 8), Y = (v) => bottom - (v - y0) / (y1 - y0) * (bottom - 6);
  c.font = "11px Liberation Sans, Arial, sans-serif"; c.fillStyle = "#6b6b6b"; c.strokeStyle = "#e6e6e6"; c.lineWidth = 1;
  c.textAlign = "right"; c.textBaseline = "middle";
  for (const [v, label] of ticks(y0, y1, height > 200 ? 6 : 4)) {
    c.beginPath(); c.moveTo(left, Y(v)); c.lineTo(width - 8, Y(v)); c.stroke();
    c.fillText(label, left - 6, Y(v));
  }
  c.textAlign = "center"; c.textBaseline = "top";
  for (const [v, label] of ticks(x0, x1, width / 110)) c.fillText(label, X(v), bottom + 5);
  if (low && high) {
    const both = at.filter((i) => low[i] !== null && high[i] !== null);
    c.beginPath();
    both.forEach((i, k) => k ? c.lineTo(X(xs[i]), Y(high[i])) : c.moveTo(X(xs[i]), Y(high[i])));
    both.reverse().forEach((i) => c.lineTo(X(xs[i]), Y(low[i])));
    c.closePath(); c.fillStyle = "rgba(0, 114, 178, 0.19)"; c.fill();
  }
  c.beginPath(); c.strokeStyle = c.fillStyle = "#0072b2"; c.lineWidth = 1.8; c.lineJoin = "round";
  at.forEach((i, k) => k ? c.lineTo(X(xs[i]), Y(y[i])) : c.moveTo(X(xs[i]), Y(y[i])));
  c.stroke();
  canvas.places = {at, left, bottom, X, xs, y, low, high};
  if (at.length === 1) { c.beginPath(); c.arc(X(xs[at[0]]), Y(y[at[0]]), 3, 0, 7); c.fill(); }
}

// point tells the values of the point of a curve that is nearest to the pointer.
function point() {
  for (const old of document.querySelectorAll(".tip, .mark")) old.remove();
  const figure = pointed && [...$("curves").children].find((f) => f.dataset.name === pointed.name), canvas = figure && figure.lastChild;
  if (!canvas || !canvas.places) return;
  const {at, left, bottom, X, xs, y, low, high} = canvas.places;
  const i = at.reduce((best, k) => Math.abs(X(xs[k]) - pointed.x) < Math.abs(X(xs[best]) - pointed.x) ? k : best);
  const mark = Object.assign(document.createElement("div"), {className: "mark"}), tip = Object.assign(document.createElement("div"), {className: "tip"});
  tip.textContent = short(y[i]) + (low && high && low[i] !== null && high[i] !== null ? "  (" + short(low[i]) + " to " + short(high[i]) + ")" : "") +
    "\niteration " + metrics.iteration[i] + ", " + (metrics.env_steps[i] ? short(metrics.env_steps[i]) + " steps, " : "") + clock(metrics.seconds[i]);
  mark.style.cssText = `left: ${X(xs[i])}px; top: ${canvas.offsetTop + 6}px; height: ${bottom - 6}px`;
  figure.insertBefore(mark, canvas);
  figure.insertBefore(tip, canvas);
  tip.style.top = canvas.offsetTop + 8 + "px";
  const right = X(xs[i]) + 8; // beside the line, on the side where there is room
  tip.style.left = (right + tip.offsetWidth < canvas.clientWidth ? right : Math.max(0, X(xs[i]) - 8 - tip.offsetWidth)) + "px";
}

function drawCurves() {
  const usual = 9, names = bases().filter((n) => column(n, ["", ...centers])), shown = $("all").checked ? names : names.slice(0, usual), holder = $("curves");
  if ([...holder.children].map((f) => f.dataset.name).join("\n") !== shown.join("\n")) {
    holder.replaceChildren(...shown.map((name, i) => {
      const figure = document.createElement("figure"), caption = document.createElement("figcaption"), canvas = document.createElement("canvas");
      figure.dataset.name = name;
      figure.className = i ? "" : "first";
      figure.append(caption, canvas);
      canvas.onmousemove = (e) => { pointed = {name, x: e.offsetX}; point(); };
      canvas.onmouseleave = () => { pointed = null; point(); };
      return figure;
    }));
  }
  for (const figure of holder.children) {
    const name = figure.dataset.name, values = column(name, ["", ...centers]).filter((v) => v !== null);
    const title = document.createElement("b");
    title.textContent = name;
    figure.firstChild.replaceChildren(title, " " + short(values[values.length - 1]) + (column(name, [band[0]]) ? ", line: median, band: middle half of the members" : ""));
    draw(figure.lastChild, name);
  }
  point();
}

function drawFacts() {
  const n = metrics.iteration.length - 1;
  document.title = $("title").textContent = run.title;
  const facts = [run.run_dir];
  if (n >= 0) {
    facts.push("iteration " + metrics.iteration[n] + " of " + run.iterations, clock(metrics.seconds[n]));
    if (metrics.env_steps[n]) facts.push(short(metrics.env_steps[n]) + " environment steps");
    const rate = metrics.values["time/steps_per_second"];
    if (rate && rate[n] !== null) facts.push(short(rate[n]) + " a second");
    $("done").style.width = 100 * metrics.iteration[n] / run.iterations + "%";
  } else facts.push("no metrics yet");
  $("facts").textContent = facts.join("  ·  ");
}

function drawWorkers(workers, divides) {
  $("shared").hidden = !workers;
  if (!workers) return;
  const line = (kind, cells) => {
    const row = document.createElement("tr");
    for (const x of cells) row.append(Object.assign(document.createElement(kind), {textContent: x}));
    return row;
  };
  $("workers").replaceChildren(line("th", ["worker", "device", divides ? "slices of " + divides : "slices", "seconds a slice", ""]), ...workers.map((w, i) =>
    line("td", [w.name || "device " + i, w.device, w.slices, w.slice_seconds ? short(w.slice_seconds) : "", w.outcome ? "left the run: " + w.outcome : ""])));
}

function drawMembers(members) {
  $("members").hidden = members.rows.length < 2;
  $("count").textContent = members.members > members.rows.length ? "the " + members.rows.length + " best of " + members.members : "";
  memberColumns = members.columns;
  const rows = [...members.rows].sort((a, b) => (b[sortBy] ?? -Infinity) - (a[sortBy] ?? -Infinity));
  const head = document.createElement("tr");
  members.columns.forEach((name, i) => {
    const cell = document.createElement("th");
    cell.textContent = name.replace("hyper/", "") + (i === sortBy ? " ▾" : "");
    cell.onclick = () => { sortBy = i; drawMembers(members); };
    head.append(cell);
  });
  $("table").replaceChildren(head, ...rows.map((row) => {
    const line = document.createElement("tr");
    for (const x of row) line.append(Object.assign(document.createElement("td"), {textContent: short(x)}));
    return line;
  }));
}

function showEpisode() {
  if (!run.checkpoint || run.checkpoint === shownCheckpoint) return;
  shownCheckpoint = run.checkpoint;
  const frame = document.createElement("iframe");
  frame.src = "episode.html?" + run.checkpoint;
  frame.title = "episode";
  $("frame").replaceChildren(frame);
  $("episode").textContent = "after iteration " + run.checkpoint;
}

async function drawLineage() {
  const answer = await fetch("lineage.svg?" + lineageAt);
  $("undrawn").textContent = answer.ok ? "" : await answer.text();
  $("lineage").hidden = !answer.ok;
  if (answer.ok) $("lineage").src = "data:image/svg+xml," + encodeURIComponent(await answer.text());
}

async function update() {
  try {
    run = await get("run.json");
    metrics = await get("metrics.json");
    drawFacts();
    drawCurves();
    drawWorkers(run.workers, run.divides);
    drawMembers(await get("members.json?by=" + encodeURIComponent(memberColumns[sortBy] || "")));
    $("episodes").hidden = !run.episodes;
    $("play").disabled = !run.checkpoint || run.checkpoint === shownCheckpoint;
    $("descent").hidden = !run.lineage || !run.exchanges;
    if (run.lineage && run.exchanges && run.exchanges !== lineageAt) { lineageAt = run.exchanges; await drawLineage(); }
    $("error").textContent = "";
  } catch (e) {
    $("error").textContent = e instanceof TypeError ? "the page has ended: no answer" : e.message;
  }
  setTimeout(update, refresh);
}

$("play").onclick = showEpisode;
$("axis").onchange = $("all").onchange = window.onresize = drawCurves;
update();
