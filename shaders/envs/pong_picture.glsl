// Pong as a picture of 40 rows and 32 columns: a cell of the picture, of 4 x 5 units of the arena, is as bright as the share of it that bats and the ball
// cover. The last four pictures lie in the bytes of a word, oldest first. Rules: envs/pong.glsl, which the includer has included.

const uint COLUMNS = 32u;
const float CELL_WIDTH = 5.0, CELL_HEIGHT = 4.0;

// The earlier places of the bats' tops in the state, three of each player, oldest first. The first ones follow the state of the rules.
const uint S_EARLIER = 16u;

float pong_bat_at(const float s[STATE_SIZE], uint player, uint frame) {
    return frame == NOW ? s[S_BAT + player] : s[S_EARLIER + 3u * player + frame];
}

// Before an episode's first step the earlier pictures are the first one.
void pong_first_picture(inout float s[STATE_SIZE]) {
    [[unroll]] for (uint i = 0u; i < 3u; i++) {
        s[S_EARLIER + i] = s[S_BAT];
        s[S_EARLIER + 3u + i] = s[S_BAT + 1u];
    }
}

// What the earlier pictures will show after the next step: three places each of the bats, and of the ball.
struct PongPictures {
    vec3 bat0, bat1, x, y;
};

PongPictures pong_pictures(const float s[STATE_SIZE]) {
    return PongPictures(vec3(s[S_EARLIER + 1u], s[S_EARLIER + 2u], s[S_BAT]), vec3(s[S_EARLIER + 4u], s[S_EARLIER + 5u], s[S_BAT + 1u]),
                        vec3(s[S_X + 1u], s[S_X + 2u], s[S_X + 3u]), vec3(s[S_Y + 1u], s[S_Y + 2u], s[S_Y + 3u]));
}

// Keeps them in the state after the step: also where it served, for frames that were shown do not change.
void pong_keep(inout float s[STATE_SIZE], PongPictures before) {
    [[unroll]] for (uint i = 0u; i < 3u; i++) {
        s[S_EARLIER + i] = before.bat0[i];
        s[S_EARLIER + 3u + i] = before.bat1[i];
        s[S_X + i] = before.x[i];
        s[S_Y + i] = before.y[i];
    }
}

// A rectangle of the arena: left, top, right, bottom.
float area(vec4 r) { return max(r.z - r.x, 0.0) * max(r.w - r.y, 0.0); }
vec4 overlap(vec4 a, vec4 b) { return vec4(max(a.xy, b.xy), min(a.zw, b.zw)); }

// Pixel w of the last four pictures.
uint pong_word(const float s[STATE_SIZE], uint w) {
    vec2 corner = vec2(CELL_WIDTH * float(w % COLUMNS), TOP + CELL_HEIGHT * float(w / COLUMNS));
    vec4 cell = vec4(corner, corner + vec2(CELL_WIDTH, CELL_HEIGHT));
    uint word = 0u;
    [[unroll]] for (uint i = 0u; i < 4u; i++) {
        float top0 = pong_bat_at(s, 0u, i), top1 = pong_bat_at(s, 1u, i);
        vec4 left = overlap(cell, vec4(BAT_LEFT, top0, BAT_LEFT + BAT_WIDTH, top0 + BAT_HEIGHT));
        vec4 right = overlap(cell, vec4(BAT_RIGHT, top1, BAT_RIGHT + BAT_WIDTH, top1 + BAT_HEIGHT));
        vec4 ball = overlap(cell, vec4(s[S_X + i], s[S_Y + i], s[S_X + i] + BALL, s[S_Y + i] + BALL));
        float covered = area(left) + area(right) + area(ball) - area(overlap(ball, left)) - area(overlap(ball, right));
        word |= uint(covered * (255.0 / (CELL_WIDTH * CELL_HEIGHT)) + 0.5) << (8u * i);
    }
    return word;
}
