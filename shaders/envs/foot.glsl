// Ground contacts of a robot's feet: envs/feet.go. Points of the feet are transformed from the foot's frame to the
// world's, joint by joint and body by body. The shader declares obs, link and point with their texels.

const uint HINGE = 0u; // rotates about an axis through a point
const uint SLIDE = 1u; // moves along an axis
const uint BODY = 2u;  // from a body's frame to its parent's
const uint FREE = 3u;  // position and quaternion in the world

// q as in MuJoCo, w first; of length 1.
vec3 turned(vec4 q, vec3 v) {
    vec3 t = 2.0 * cross(q.yzw, v);
    return v + q.x * t + cross(q.yzw, t);
}

float seen(uint base, int at) { return at < 0 ? 0.0 : LOAD(obs, obs_texels, base + uint(at)); }

// The height of a point in the world.
float height(uint base, vec3 p, uint first, uint count) {
    for (uint l = first; l < first + count; l++) {
        vec4 head = LOAD4(link, link_texels, 3u * l), axis = LOAD4(link, link_texels, 3u * l + 1u), place = LOAD4(link, link_texels, 3u * l + 2u);
        uint kind = uint(head.x);
        int at = int(head.y);
        if (kind == HINGE) {
            float half_angle = 0.5 * (seen(base, at) - head.z);
            p = place.xyz + turned(vec4(m_cos(half_angle), m_sin(half_angle) * axis.xyz), p - place.xyz);
        } else if (kind == SLIDE) {
            p += (seen(base, at) - head.z) * axis.xyz;
        } else if (kind == BODY) {
            p = place.xyz + turned(axis, p);
        } else {
            vec4 q = vec4(seen(base, at + 3), seen(base, at + 4), seen(base, at + 5), seen(base, at + 6));
            float norm = sqrt(dot(q, q));
            p = turned(norm > 0.0 ? q / norm : vec4(1.0, 0.0, 0.0, 0.0), p);
            p.z += seen(base, at + 2);
        }
    }
    return p.z;
}

// The feet that touch the ground in the observation that begins at obs[base], as bits.
uint touching_feet(uint base, uint points) {
    uint touched = 0u;
    for (uint n = 0u; n < points; n++) {
        vec4 head = LOAD4(point, point_texels, 2u * n), place = LOAD4(point, point_texels, 2u * n + 1u);
        if (height(base, place.xyz, uint(head.x), uint(head.y)) < head.w) touched |= 1u << uint(head.z);
    }
    return touched;
}
