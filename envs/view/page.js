"use strict";
// Plays the episode that is in the page. The light, the colours and the ground are those of render.go.

const episode = JSON.parse(document.getElementById("episode").textContent);
const $ = id => document.getElementById(id);

function floats(text) {
  const bytes = Uint8Array.from(atob(text), c => c.charCodeAt(0));
  const view = new DataView(bytes.buffer);
  return Float32Array.from({ length: bytes.length / 4 }, (_, i) => view.getFloat32(4 * i, true));
}
const poses = floats(episode.poses), path = floats(episode.path), values = floats(episode.values);
const rewards = floats(episode.rewards), returns = floats(episode.returns);
const width = episode.actions.discrete ? 1 : episode.actions.names.length; // numbers of an action

// Vectors and matrices; matrices by columns, as WebGL takes them.
const add = (a, b) => [a[0] + b[0], a[1] + b[1], a[2] + b[2]];
const sub = (a, b) => [a[0] - b[0], a[1] - b[1], a[2] - b[2]];
const scale = (a, s) => [s * a[0], s * a[1], s * a[2]];
const dot = (a, b) => a[0] * b[0] + a[1] * b[1] + a[2] * b[2];
const cross = (a, b) => [a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0]];
const unit = a => scale(a, 1 / Math.hypot(...a));

function product(a, b) {
  const out = new Float32Array(16);
  for (let c = 0; c < 4; c++) for (let r = 0; r < 4; r++) {
    let sum = 0;
    for (let k = 0; k < 4; k++) sum += a[4 * k + r] * b[4 * c + k];
    out[4 * c + r] = sum;
  }
  return out;
}
function placed(pos, q) {
  const [w, x, y, z] = q;
  return new Float32Array([
    1 - 2 * (y * y + z * z), 2 * (x * y + w * z), 2 * (x * z - w * y), 0,
    2 * (x * y - w * z), 1 - 2 * (x * x + z * z), 2 * (y * z + w * x), 0,
    2 * (x * z + w * y), 2 * (y * z - w * x), 1 - 2 * (x * x + y * y), 0,
    pos[0], pos[1], pos[2], 1]);
}
function looking(from, to, up) {
  const f = unit(sub(to, from)), r = unit(cross(f, up)), u = cross(r, f);
  return new Float32Array([r[0], u[0], -f[0], 0, r[1], u[1], -f[1], 0, r[2], u[2], -f[2], 0, -dot(r, from), -dot(u, from), dot(f, from), 1]);
}
function perspective(tangent, aspect, near, far) {
  const f = 1 / tangent;
  return new Float32Array([f / aspect, 0, 0, 0, 0, f, 0, 0, 0, 0, (far + near) / (near - far), -1, 0, 0, 2 * far * near / (near - far), 0]);
}
function orthographic(half, near, far) {
  return new Float32Array([1 / half, 0, 0, 0, 0, 1 / half, 0, 0, 0, 0, 2 / (near - far), 0, 0, 0, (far + near) / (near - far), 1]);
}

// Meshes: [place, normal] of every corner of every triangle.
function turned(profile, closed) { // a profile [radius, height, normal outwards, normal upwards] turned about z
  const out = [], around = 40;
  const corner = (p, a) => [p[0] * Math.cos(a), p[0] * Math.sin(a), p[1], p[2] * Math.cos(a), p[2] * Math.sin(a), p[3]];
  for (let i = 0; i + 1 < profile.length; i++) {
    if (closed && profile[i][1] === profile[i + 1][1] && profile[i][0] === profile[i + 1][0]) continue; // an edge
    for (let k = 0; k < around; k++) {
      const a = 2 * Math.PI * k / around, b = 2 * Math.PI * (k + 1) / around;
      const c = [corner(profile[i], a), corner(profile[i], b), corner(profile[i + 1], b), corner(profile[i + 1], a)];
      out.push(...c[0], ...c[1], ...c[2], ...c[0], ...c[2], ...c[3]);
    }
  }
  return out;
}
function dome(radius, at, from, to) {
  const out = [];
  for (let i = 0; i <= 14; i++) {
    const a = from + (to - from) * i / 14;
    out.push([radius * Math.cos(a), at + radius * Math.sin(a), Math.cos(a), Math.sin(a)]);
  }
  return out;
}
function mesh(shape) {
  const [a, b] = shape.size, q = Math.PI / 2;
  switch (shape.form) {
    case "sphere": return turned(dome(a, 0, -q, q));
    case "capsule": return turned([...dome(a, -b, -q, 0), ...dome(a, b, 0, q)]);
    case "cylinder": return turned([[0, -b, 0, -1], [a, -b, 0, -1], [a, -b, 1, 0], [a, b, 1, 0], [a, b, 0, 1], [0, b, 0, 1]], true);
    case "ellipsoid": {
      const out = turned(dome(1, 0, -q, q));
      for (let i = 0; i < out.length; i += 6) {
        let n = [0, 1, 2].map(k => out[i + 3 + k] / shape.size[k]);
        n = unit(n);
        for (let k = 0; k < 3; k++) { out[i + k] *= shape.size[k]; out[i + 3 + k] = n[k]; }
      }
      return out;
    }
    case "box": {
      const out = [];
      for (let axis = 0; axis < 3; axis++) for (const side of [-1, 1]) {
        const corner = (u, v) => {
          const p = [0, 0, 0], n = [0, 0, 0];
          p[axis] = side * shape.size[axis]; n[axis] = side;
          p[(axis + 1) % 3] = u * shape.size[(axis + 1) % 3];
          p[(axis + 2) % 3] = v * shape.size[(axis + 2) % 3];
          return [...p, ...n];
        };
        out.push(...corner(-1, -1), ...corner(side, -side), ...corner(1, 1), ...corner(-1, -1), ...corner(1, 1), ...corner(-side, side));
      }
      return out;
    }
    case "plane": {
      const far = 60 * episode.camera.distance;
      return [[-1, -1], [1, -1], [1, 1], [-1, -1], [1, 1], [-1, 1]].flatMap(p => [far * p[0], far * p[1], 0, 0, 0, 1]);
    }
  }
  return [];
}

const count = Math.max(1, Math.min(48, episode.shapes.filter(s => s.form !== "plane").length)); // of shapes that shade

const lightCode = `#version 300 es
precision highp float;
const vec3 SUNWARD = normalize(vec3(-0.42, -0.62, 0.95));
const vec3 SUN = vec3(1.05, 0.98, 0.88), SKY = vec3(0.40, 0.46, 0.55), EARTH = vec3(0.22, 0.21, 0.20);
const vec3 ZENITH = vec3(0.28, 0.45, 0.70), HORIZON = vec3(0.80, 0.86, 0.92);
const vec3 TILE_A = vec3(0.62, 0.66, 0.71), TILE_B = vec3(0.47, 0.52, 0.58);
vec3 air(vec3 along) { return mix(HORIZON, ZENITH, sqrt(max(0.0, along.z))); }
vec3 screen(vec3 light) { return pow(clamp(light, 0.0, 1.0), vec3(1.0 / 2.2)); }
`;
const solidVertex = `#version 300 es
layout(location = 0) in vec3 place; layout(location = 1) in vec3 normal;
uniform mat4 model, view, sunView;
uniform float ground;
uniform vec2 centre;
out vec3 point, facing, shadow;
out vec2 local;
void main() {
  vec4 p = model * vec4(place, 1.0);
  if (ground > 0.0) p.xy += centre; // endless: it goes with the camera
  point = p.xyz;
  facing = mat3(model) * normal;
  local = p.xy;
  vec4 s = sunView * p;
  shadow = 0.5 + 0.5 * s.xyz;
  gl_Position = view * p;
}`;
const solidFragment = lightCode + `
precision highp sampler2DShadow;
in vec3 point, facing, shadow;
in vec2 local;
uniform sampler2DShadow depths;
uniform vec3 eye, color;
uniform float ground, tile, haze, opacity;
uniform vec4 core[${count}], end[${count}]; // of what shades: one end of its core and its radius, the other end
out vec4 pixel;
vec2 ramp(vec2 x) { return abs(fract(0.5 * x) - 0.5); }
vec3 tiles(vec2 at) {
  vec2 w = max(fwidth(at), vec2(1e-4));
  vec2 share = 2.0 * (ramp(at - 0.5 * w) - ramp(at + 0.5 * w)) / w;
  return mix(TILE_A, TILE_B, 0.5 - 0.5 * share.x * share.y);
}
float lit(vec3 n) {
  if (any(lessThan(shadow, vec3(0.0))) || any(greaterThan(shadow, vec3(1.0)))) return 1.0;
  float bias = 0.0006 + 0.002 * (1.0 - max(0.0, dot(n, SUNWARD))), step = 1.3 / float(textureSize(depths, 0).x), sum = 0.0;
  for (int x = -2; x <= 2; x++) for (int y = -2; y <= 2; y++) sum += texture(depths, vec3(shadow.xy + step * vec2(x, y), shadow.z - bias));
  return sum / 25.0;
}
float open(vec3 n) {
  float out_ = 1.0;
  for (int i = 0; i < ${count}; i++) {
    vec3 axis = end[i].xyz - core[i].xyz, to = point - core[i].xyz;
    float t = clamp(dot(to, axis) / max(dot(axis, axis), 1e-9), 0.0, 1.0);
    vec3 d = core[i].xyz + t * axis - point;
    float square = max(dot(d, d), 1e-9), r = core[i].w;
    if (square > 1.02 * r * r) out_ *= 1.0 - 0.85 * max(0.0, dot(n, d) * inversesqrt(square)) * min(1.0, r * r / square);
  }
  return out_;
}
void main() {
  vec3 n = normalize(facing), along = normalize(point - eye);
  vec3 base = color;
  if (ground > 0.0) base = tiles(local / tile);
  float sunny = dot(n, SUNWARD) > 0.0 ? lit(n) : 0.0;
  vec3 light = base * (mix(EARTH, SKY, 0.5 + 0.5 * n.z) * open(n) + 0.8 * sunny * max(0.0, dot(n, SUNWARD)) * SUN);
  if (ground > 0.0) {
    float far = distance(point, eye) / haze;
    light = mix(light, HORIZON, 1.0 - exp(-far * far));
  } else {
    light += 0.22 * pow(max(0.0, dot(n, normalize(SUNWARD - along))), 48.0) * sunny * SUN + 0.10 * pow(clamp(1.0 + dot(n, along), 0.0, 1.0), 4.0) * SKY;
  }
  pixel = vec4(screen(light), opacity);
}`;
const depthVertex = `#version 300 es
layout(location = 0) in vec3 place;
uniform mat4 model, sunView;
void main() { gl_Position = sunView * model * vec4(place, 1.0); }`;
const depthFragment = `#version 300 es
precision highp float;
void main() {}`;
const airVertex = `#version 300 es
uniform mat4 back;
out vec3 along;
void main() {
  vec2 at = vec2(gl_VertexID == 1 ? 3.0 : -1.0, gl_VertexID == 2 ? 3.0 : -1.0);
  along = (back * vec4(at, 1.0, 1.0)).xyz;
  gl_Position = vec4(at, 1.0, 1.0);
}`;
const airFragment = lightCode + `
in vec3 along;
out vec4 pixel;
void main() { pixel = vec4(screen(air(normalize(along))), 1.0); }`;

const canvas = $("scene"), gl = canvas.getContext("webgl2", { antialias: true, preserveDrawingBuffer: true });
if (!gl) {
  $("failure").style.display = "grid";
  $("failure").textContent = "This browser has no WebGL 2, which the picture needs. The return and the actions are shown all the same.";
}

function program(vertex, fragment) {
  const p = gl.createProgram();
  for (const [type, text] of [[gl.VERTEX_SHADER, vertex], [gl.FRAGMENT_SHADER, fragment]]) {
    const s = gl.createShader(type);
    gl.shaderSource(s, text);
    gl.compileShader(s);
    if (!gl.getShaderParameter(s, gl.COMPILE_STATUS)) throw new Error(gl.getShaderInfoLog(s));
    gl.attachShader(p, s);
  }
  gl.linkProgram(p);
  if (!gl.getProgramParameter(p, gl.LINK_STATUS)) throw new Error(gl.getProgramInfoLog(p));
  const at = {};
  for (let i = 0; i < gl.getProgramParameter(p, gl.ACTIVE_UNIFORMS); i++) {
    const name = gl.getActiveUniform(p, i).name;
    at[name.replace("[0]", "")] = gl.getUniformLocation(p, name);
  }
  return { p, at };
}

const linear = c => c.slice(0, 3).map(v => Math.pow(v, 2.2));
let solids = [], solidProgram, depthProgram, airProgram, shadowMap, shadowFrame;
const shadowSize = 2048;
if (gl) {
  solidProgram = program(solidVertex, solidFragment);
  depthProgram = program(depthVertex, depthFragment);
  airProgram = program(airVertex, airFragment);
  solids = episode.shapes.filter(s => s.color[3] > 0).map(s => {
    const corners = mesh(s), vao = gl.createVertexArray();
    gl.bindVertexArray(vao);
    gl.bindBuffer(gl.ARRAY_BUFFER, gl.createBuffer());
    gl.bufferData(gl.ARRAY_BUFFER, new Float32Array(corners), gl.STATIC_DRAW);
    gl.enableVertexAttribArray(0);
    gl.vertexAttribPointer(0, 3, gl.FLOAT, false, 24, 0);
    gl.enableVertexAttribArray(1);
    gl.vertexAttribPointer(1, 3, gl.FLOAT, false, 24, 12);
    return { shape: s, vao, corners: corners.length / 6, local: placed(s.pos, s.rot), color: linear(s.color), ground: s.form === "plane" };
  });
  gl.bindVertexArray(null);
  shadowMap = gl.createTexture();
  gl.bindTexture(gl.TEXTURE_2D, shadowMap);
  gl.texStorage2D(gl.TEXTURE_2D, 1, gl.DEPTH_COMPONENT24, shadowSize, shadowSize);
  for (const [name, value] of [[gl.TEXTURE_COMPARE_MODE, gl.COMPARE_REF_TO_TEXTURE], [gl.TEXTURE_COMPARE_FUNC, gl.LEQUAL],
    [gl.TEXTURE_MIN_FILTER, gl.LINEAR], [gl.TEXTURE_MAG_FILTER, gl.LINEAR], [gl.TEXTURE_WRAP_S, gl.CLAMP_TO_EDGE], [gl.TEXTURE_WRAP_T, gl.CLAMP_TO_EDGE]]) {
    gl.texParameteri(gl.TEXTURE_2D, name, value);
  }
  shadowFrame = gl.createFramebuffer();
  gl.bindFramebuffer(gl.FRAMEBUFFER, shadowFrame);
  gl.framebufferTexture2D(gl.FRAMEBUFFER, gl.DEPTH_ATTACHMENT, gl.TEXTURE_2D, shadowMap, 0);
  gl.drawBuffers([gl.NONE]);
  gl.bindFramebuffer(gl.FRAMEBUFFER, null);
}

// The camera: where it looks, from how far and from which side.
const home = episode.camera;
let camera;
function reset() {
  camera = { at: home.lookat.slice(), distance: home.distance, azimuth: home.azimuth, elevation: home.elevation };
}
reset();

// A moment between two states.
function between(i, part, body) {
  const a = 7 * (i * episode.bodies + body), b = a + 7 * episode.bodies * (i < episode.steps ? 1 : 0);
  let sign = 0;
  for (let k = 3; k < 7; k++) sign += poses[a + k] * poses[b + k];
  sign = sign < 0 ? -1 : 1;
  const pos = [0, 1, 2].map(k => poses[a + k] + part * (poses[b + k] - poses[a + k]));
  let q = [3, 4, 5, 6].map(k => (1 - part) * poses[a + k] + part * sign * poses[b + k]);
  const n = Math.hypot(...q);
  return placed(pos, q.map(v => v / n));
}

function draw(seconds) {
  if (!gl) return;
  const ratio = Math.min(window.devicePixelRatio || 1, 2);
  const w = Math.max(1, Math.round(canvas.clientWidth * ratio)), h = Math.max(1, Math.round(canvas.clientHeight * ratio));
  if (canvas.width !== w || canvas.height !== h) { canvas.width = w; canvas.height = h; }
  const at = Math.min(Math.max(seconds / episode.step, 0), episode.steps);
  const i = Math.min(Math.floor(at), Math.max(0, episode.steps - 1)), part = at - i, next = Math.min(i + 1, episode.steps);
  let followed = [0, 0];
  if ($("follow").checked) followed = [0, 1].map(k => path[2 * i + k] + part * (path[2 * next + k] - path[2 * i + k]));

  const bodies = Array.from({ length: episode.bodies }, (_, b) => between(i, part, b));
  for (const s of solids) s.model = product(bodies[s.shape.body], s.local);
  const there = solids.filter(s => s.model.every(Number.isFinite));

  const turn = Math.PI / 180, target = [camera.at[0] + followed[0], camera.at[1] + followed[1], camera.at[2]];
  const forward = [Math.cos(camera.elevation * turn) * Math.cos(camera.azimuth * turn), Math.cos(camera.elevation * turn) * Math.sin(camera.azimuth * turn), Math.sin(camera.elevation * turn)];
  const right = [Math.sin(camera.azimuth * turn), -Math.cos(camera.azimuth * turn), 0];
  const eye = sub(target, scale(forward, camera.distance));
  const aspect = w / h, tangent = Math.tan(22.5 * turn) / Math.min(1, aspect / 1.2);
  const rigid = looking(eye, target, cross(right, forward));
  const view = product(perspective(tangent, aspect, camera.distance / 50, 80 * camera.distance), rigid);

  // The sun sees what is about the target.
  const sunward = unit([-0.42, -0.62, 0.95]), reach = 1.7 * home.distance;
  const sunView = product(orthographic(reach, 0.1, 8 * reach), looking(add(target, scale(sunward, 4 * reach)), target, [0, 0, 1]));
  gl.bindFramebuffer(gl.FRAMEBUFFER, shadowFrame);
  gl.viewport(0, 0, shadowSize, shadowSize);
  gl.enable(gl.DEPTH_TEST);
  gl.clear(gl.DEPTH_BUFFER_BIT);
  gl.useProgram(depthProgram.p);
  gl.uniformMatrix4fv(depthProgram.at.sunView, false, sunView);
  for (const s of there) {
    if (s.ground) continue;
    gl.uniformMatrix4fv(depthProgram.at.model, false, s.model);
    gl.bindVertexArray(s.vao);
    gl.drawArrays(gl.TRIANGLES, 0, s.corners);
  }
  gl.bindFramebuffer(gl.FRAMEBUFFER, null);
  gl.viewport(0, 0, w, h);
  gl.clear(gl.DEPTH_BUFFER_BIT | gl.COLOR_BUFFER_BIT);

  gl.disable(gl.DEPTH_TEST);
  gl.useProgram(airProgram.p);
  const up = cross(right, forward);
  gl.uniformMatrix4fv(airProgram.at.back, false, new Float32Array([
    ...scale(right, tangent * aspect), 0, ...scale(up, tangent), 0, ...forward, 0, 0, 0, 0, 1]));
  gl.drawArrays(gl.TRIANGLES, 0, 3);

  gl.enable(gl.DEPTH_TEST);
  gl.enable(gl.BLEND);
  gl.blendFunc(gl.SRC_ALPHA, gl.ONE_MINUS_SRC_ALPHA);
  const p = solidProgram;
  gl.useProgram(p.p);
  gl.bindTexture(gl.TEXTURE_2D, shadowMap);
  gl.uniformMatrix4fv(p.at.view, false, view);
  gl.uniformMatrix4fv(p.at.sunView, false, sunView);
  gl.uniform3fv(p.at.eye, eye);
  gl.uniform1f(p.at.tile, episode.tile);
  gl.uniform1f(p.at.haze, 9 * Math.max(camera.distance, home.distance));
  const core = new Float32Array(4 * count), end = new Float32Array(4 * count);
  there.filter(s => !s.ground).slice(0, count).forEach((s, k) => {
    const m = s.model, form = s.shape.form, size = s.shape.size;
    const half = form === "capsule" || form === "cylinder" ? size[1] : 0;
    let radius = size[0], axis = 2, reach = half;
    if (form === "box") { // along its longest edge
      radius = Math.min(...size);
      axis = size.indexOf(Math.max(...size));
      reach = size[axis] - radius;
    }
    for (let d = 0; d < 3; d++) {
      core[4 * k + d] = m[12 + d] - reach * m[4 * axis + d];
      end[4 * k + d] = m[12 + d] + reach * m[4 * axis + d];
    }
    core[4 * k + 3] = radius;
  });
  gl.uniform4fv(p.at.core, core);
  gl.uniform4fv(p.at.end, end);
  for (const s of there) {
    gl.uniform1f(p.at.ground, s.ground ? 1 : 0);
    gl.uniform2fv(p.at.centre, s.ground ? [target[0], target[1]] : [0, 0]);
    gl.uniform3fv(p.at.color, s.color);
    gl.uniform1f(p.at.opacity, s.shape.color[3]);
    gl.uniformMatrix4fv(p.at.model, false, s.model);
    gl.bindVertexArray(s.vao);
    gl.drawArrays(gl.TRIANGLES, 0, s.corners);
  }
  gl.bindVertexArray(null);
}

// Charts: lines over the episode, with a cursor at the present moment.
function chart(canvas, height, lines, low, high, seek) {
  const ratio = window.devicePixelRatio || 1, w = canvas.clientWidth || 280;
  canvas.style.height = height + "px";
  const still = document.createElement("canvas");
  for (const c of [canvas, still]) { c.width = w * ratio; c.height = height * ratio; }
  const span = high > low ? high - low : 1, n = lines.length;
  const y = v => (1 - (v - low) / span) * (height - 6) + 3;
  const pen = still.getContext("2d");
  pen.scale(ratio, ratio);
  pen.fillStyle = "#fff";
  pen.fillRect(0, 0, w, height);
  if (low < 0 && high > 0) { pen.fillStyle = "#d9dee5"; pen.fillRect(0, y(0), w, 1); }
  pen.strokeStyle = "#2f6db5";
  pen.lineWidth = 1.3;
  pen.beginPath();
  for (let i = 0; i < n; i++) {
    if (!Number.isFinite(lines[i])) continue;
    pen.lineTo(w * (i + 1) / n, y(Math.min(Math.max(lines[i], low), high)));
  }
  pen.stroke();
  canvas.onpointerdown = canvas.onpointermove = e => {
    if (e.type === "pointerdown" || e.buttons) seek(e.offsetX / canvas.clientWidth);
  };
  return part => {
    const top = canvas.getContext("2d");
    top.drawImage(still, 0, 0);
    top.fillStyle = "#c4473d";
    top.fillRect(Math.round(part * (canvas.width - ratio)), 0, ratio, canvas.height);
  };
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
  const sums = [0, ...returns];
  const [low, high] = extent(sums), [worst, best] = extent(rewards);
  charts = [chart($("returns"), 110, returns, low, high, seek), chart($("rewards"), 60, rewards, Math.min(0, worst), Math.max(0, best), seek)];
  const list = $("actions");
  list.textContent = "";
  rows = episode.actions.names.map((name, a) => {
    const row = document.createElement("div"), title = document.createElement("span"), value = document.createElement("output"), line = document.createElement("canvas");
    row.className = "action";
    line.className = "chart";
    title.textContent = name;
    row.append(title, value, line);
    list.append(row);
    const series = Array.from({ length: episode.steps }, (_, i) => episode.actions.discrete ? (values[i] === a ? 1 : 0) : values[i * width + a]);
    const bounds = episode.actions.discrete ? [0, 1] : [episode.actions.low[a], episode.actions.high[a]];
    return { row, value, series, draw: chart(line, episode.actions.discrete ? 18 : 34, series, bounds[0], bounds[1], seek) };
  });
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
    r.value.textContent = episode.actions.discrete ? "" : short(v);
    r.row.classList.toggle("on", episode.actions.discrete && v === 1);
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
