"use strict";
// The episode that is in the page, and the meshes of its shapes.

const episode = JSON.parse(document.getElementById("episode").textContent);
const $ = id => document.getElementById(id);

function floats(text) {
  const bytes = Uint8Array.from(atob(text), c => c.charCodeAt(0));
  const view = new DataView(bytes.buffer);
  return Float32Array.from({ length: bytes.length / 4 }, (_, i) => view.getFloat32(4 * i, true));
}
const poses = floats(episode.poses), path = floats(episode.path), values = floats(episode.values);
const rewards = floats(episode.rewards), returns = floats(episode.returns);
const seatReturns = floats(episode.seats); // empty: there is one seat

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
