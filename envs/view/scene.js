"use strict";
// The picture: what is drawn of a moment. The light, the colours and the ground are those of render.go.

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
