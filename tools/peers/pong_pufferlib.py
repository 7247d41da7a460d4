#!/usr/bin/env python3
"""The peer that evorl's Pong is timed against: PufferLib's Pong, in C.

    git clone --branch dev https://github.com/PufferAI/PufferLib /tmp/pufferlib
    python tools/peers/pong_pufferlib.py --source /tmp/pufferlib --json

Counterpart: `evorl bench --suite agents --only puffer-pong/w4096`.

The world is PufferLib's own pong.h, compiled in a temporary folder with a main program of ours and without its window; nothing of it is stored. What is
equal: 4096 worlds by the same rules (TestPufferPong), of four frames a step, random actions, observations, rewards and ends of every step, and worlds that
begin again by themselves. The worlds are shared among as many threads as there are cores.

What differs: actions are drawn before the measurement, as in PufferLib's own, where evorl draws them in every step; and observations overwrite those of the
step before, where evorl keeps all of 128 steps for learning. Both are to PufferLib's advantage.
"""

import argparse
import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile

# What pong.h uses of raylib to draw, which never happens here.
RAYLIB = """
#pragma once
#include <stdio.h>
#include <math.h>
typedef struct { unsigned char r, g, b, a; } Color;
typedef struct { float x, y; } Vector2;
typedef struct { float x, y, width, height; } Rectangle;
typedef struct { unsigned id; int width, height; } Texture2D;
enum { KEY_ESCAPE };
#define WHITE ((Color){255, 255, 255, 255})
static inline void InitWindow(int w, int h, const char *t) { (void)w; (void)h; (void)t; }
static inline void CloseWindow(void) {}
static inline void SetTargetFPS(int f) { (void)f; }
static inline Texture2D LoadTexture(const char *f) { (void)f; return (Texture2D){0, 0, 0}; }
static inline int IsKeyDown(int k) { (void)k; return 0; }
static inline void BeginDrawing(void) {}
static inline void EndDrawing(void) {}
static inline void ClearBackground(Color c) { (void)c; }
static inline void DrawRectangle(int x, int y, int w, int h, Color c) { (void)x; (void)y; (void)w; (void)h; (void)c; }
static inline void DrawTexturePro(Texture2D t, Rectangle a, Rectangle b, Vector2 o, float r, Color c) { (void)t; (void)a; (void)b; (void)o; (void)r; (void)c; }
static inline void DrawFPS(int x, int y) { (void)x; (void)y; }
static inline void DrawText(const char *t, int x, int y, int s, Color c) { (void)t; (void)x; (void)y; (void)s; (void)c; }
static inline const char *TextFormat(const char *t, ...) { return t; }
static inline int MeasureText(const char *t, int s) { (void)t; (void)s; return 0; }
"""

MAIN = """
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <time.h>
#include "pong.h"

enum { DRAWN = 1024 }; // steps of actions that are drawn before

typedef struct { int worlds; double seconds; long steps, points, ends; uint64_t seed; pthread_barrier_t *begin; } Share;

static double now(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return t.tv_sec + 1e-9 * t.tv_nsec;
}

static void *run(void *of) {
    Share *s = of;
    Pong *env = calloc(s->worlds, sizeof(Pong));
    float *observations = calloc(8 * s->worlds, sizeof(float)), *rewards = calloc(s->worlds, sizeof(float));
    unsigned char *terminals = calloc(s->worlds, 1);
    ACTION *actions = calloc(s->worlds, sizeof(ACTION)), *drawn = calloc((size_t)DRAWN * s->worlds, sizeof(ACTION));
    uint64_t x = s->seed;
    for (long i = 0; i < (long)DRAWN * s->worlds; i++) {
        x = x * 6364136223846793005u + 1442695040888963407u;
        drawn[i] = (x >> 40) % 3;
    }
    for (int i = 0; i < s->worlds; i++) {
        env[i] = (Pong){.width = 500, .height = 640, .paddle_width = 20, .paddle_height = 70, .ball_width = 32, .ball_height = 32, .paddle_speed = 8,
            .ball_initial_speed_x = 10, .ball_initial_speed_y = 1, .ball_speed_y_increment = 3, .ball_max_speed_y = 13, .max_score = 21, .frameskip = FRAMES};
        env[i].observations = observations + 8 * i;
        env[i].actions = actions + i;
        env[i].rewards = rewards + i;
        env[i].terminals = terminals + i;
        LOG
        init(&env[i]);
        RESET(&env[i]);
    }
    pthread_barrier_wait(s->begin);
    double begin = now();
    do {
        for (int k = 0; k < 64; k++) {
            ACTION *a = drawn + (s->steps % DRAWN) * s->worlds;
            for (int i = 0; i < s->worlds; i++) {
                actions[i] = a[i];
                STEP(&env[i]);
                s->points += rewards[i] >= 1 || rewards[i] <= -1;
                s->ends += terminals[i];
            }
            s->steps++;
        }
    } while (now() - begin < s->seconds);
    s->seconds = now() - begin;
    return NULL;
}

int main(int argc, char **argv) {
    if (argc != 4) return 2;
    int worlds = atoi(argv[1]), threads = atoi(argv[2]);
    pthread_barrier_t begin;
    pthread_barrier_init(&begin, NULL, threads);
    pthread_t thread[256];
    Share share[256];
    for (int i = 0; i < threads; i++) {
        share[i] = (Share){.worlds = worlds / threads + (i < worlds % threads), .seconds = atof(argv[3]), .seed = 1 + i, .begin = &begin};
        pthread_create(&thread[i], NULL, run, &share[i]);
    }
    double rate = 0;
    long points = 0, ends = 0, steps = 0;
    for (int i = 0; i < threads; i++) {
        pthread_join(thread[i], NULL);
        rate += share[i].steps * (double)share[i].worlds / share[i].seconds;
        steps += share[i].steps * share[i].worlds;
        points += share[i].points;
        ends += share[i].ends;
    }
    printf("%.17g %ld %ld %ld\\n", rate, steps, points, ends);
    return 0;
}
"""


def parse_arguments():
    p = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    p.add_argument("--source", type=pathlib.Path, required=True, help="a checkout of PufferLib")
    p.add_argument("--worlds", type=int, default=4096)
    p.add_argument("--threads", type=int, default=os.cpu_count())
    p.add_argument("--seconds", type=float, default=5)
    p.add_argument("--frames", type=int, default=4, help="of a step")
    p.add_argument("--compiler", default="cc")
    p.add_argument("--json", action="store_true", help="print one JSON object")
    a = p.parse_args()
    if not (1 <= a.threads <= 256 and a.worlds >= a.threads):
        p.error("--threads must be 1 to 256 and at most the worlds, not %d of %d worlds" % (a.threads, a.worlds))
    return a


def main():
    a = parse_arguments()
    found = sorted(a.source.rglob("pong/pong.h"))
    if len(found) != 1:
        sys.exit("%s has %d files pong/pong.h; want a checkout of PufferLib with one" % (a.source, len(found)))
    text = found[0].read_text()
    prefix = "c_" if re.search(r"\bvoid c_step\(Pong", text) else ""
    action = re.search(r"\b(int|float)\s*\*\s*actions;", text)
    if not action or not re.search(r"\bvoid %sstep\(Pong" % prefix, text):
        sys.exit("%s has no step of a Pong with actions of int or float; want PufferLib's of 2024 or 2025" % found[0])
    log = "env[i].log_buffer = allocate_logbuffer(1024);" if "allocate_logbuffer" in text else ""
    names = {"ACTION": action[1], "FRAMES": str(a.frames), "LOG\n": log + "\n", "RESET(": prefix + "reset(", "STEP(": prefix + "step("}
    program = MAIN
    for name, value in names.items():
        program = program.replace(name, value)
    with tempfile.TemporaryDirectory() as folder:
        (pathlib.Path(folder) / "raylib.h").write_text(RAYLIB)
        (pathlib.Path(folder) / "main.c").write_text(program)
        binary = os.path.join(folder, "pong")
        flags = ["-O3", "-march=native", "-w", "-I", folder, "-I", str(found[0].parent)]
        subprocess.run([a.compiler, *flags, os.path.join(folder, "main.c"), "-o", binary, "-lm", "-lpthread"], check=True)
        out = subprocess.run([binary, str(a.worlds), str(a.threads), str(a.seconds)], check=True, capture_output=True, text=True).stdout.split()
    rate, steps, points, ends = float(out[0]), *map(int, out[1:])
    result = {
        "worlds": a.worlds,
        "threads": a.threads,
        "env_steps_per_second": round(rate, 1),
        "env_steps": steps,
        "steps_a_point": round(steps / max(points, 1), 1),
        "games": ends,
        "load_average": round(os.getloadavg()[0], 2),
        "compiler": subprocess.run([a.compiler, "--version"], capture_output=True, text=True).stdout.splitlines()[0],
    }
    if a.json:
        print(json.dumps(result))
    else:
        for k, v in result.items():
            print("%-22s %s" % (k, v))


if __name__ == "__main__":
    main()
