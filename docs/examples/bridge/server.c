// A server of evorl's bridge (docs/bridge.md) in C: something hovers by a thruster that is on or off. It needs a little-endian machine.
//
//   cc -O2 -o server server.c -lm
//   evorl run --set env="'exec:./server'" --set bridge.folder=. ...
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

enum { MAP = 1, READY = 2, GO = 3, DONE = 4 };                        // messages
enum { STEP = 1, RESET = 2, ANEW = 3, LAST = 0x10, STAY = 0x20 };     // commands
enum { COMMAND, SEED, ACTION, REWARD, ENDED, STATUS, OBS, FINAL };    // arrays of a half, by their place in its table
enum { O = 2 };                                                       // elements of an observation

typedef struct {
  uint32_t sequence;
  uint8_t half, what;
  uint16_t count;
} message;

typedef struct {
  float height, speed;
  uint32_t random;
} world;

static int transfer(ssize_t (*move)(int, void *, size_t), int fd, void *data, size_t size) {
  for (size_t done = 0; done < size;) {
    ssize_t n = move(fd, (char *)data + done, size - done);
    if (n <= 0) return 0; // evorl has ended
    done += (size_t)n;
  }
  return 1;
}

static ssize_t give(int fd, void *data, size_t size) { return write(fd, data, size); }

static void begin(world *w) {
  w->random = w->random * 1664525u + 1013904223u;
  w->height = (float)(w->random >> 8) / (1 << 24) - 0.5f; // -0.5 to 0.5
  w->speed = 0;
}

static void observe(const world *w, float *obs) {
  obs[0] = w->height;
  obs[1] = w->speed;
}

// act does what the commands of a half of n worlds say; at(k) is its k-th array.
static void act(world *worlds, uint32_t n, char *memory, const uint64_t *table, volatile uint32_t *now, uint32_t first) {
#define at(k, type) ((type *)(memory + table[k]))
  for (uint32_t i = 0; i < n; i++) {
    world *w = &worlds[i];
    uint8_t command = at(COMMAND, uint8_t)[i];
    if (!command) continue;
    *now = first + i; // so that evorl can say where a server hangs
    if ((command & 15) == STEP) {
      w->speed += at(ACTION, int32_t)[i] ? 0.05f : -0.05f;
      w->height += 0.1f * w->speed;
      int fell = fabsf(w->height) > 1;
      at(REWARD, float)[i] = 1 - fabsf(w->height);
      at(ENDED, uint8_t)[i] = fell ? 1 : 0; // 1: terminated, 2: truncated; STATUS stays 0
      if (fell || command & LAST) {
        observe(w, at(FINAL, float) + O * i);
        if (command & STAY) continue;
        begin(w);
      }
    } else { // RESET or ANEW
      w->random = at(SEED, uint32_t)[i];
      begin(w);
    }
    observe(w, at(OBS, float) + O * i);
  }
  *now = UINT32_MAX;
}

int main(void) {
  int sock = atoi(getenv("EVORL_BRIDGE_SOCKET")), file = atoi(getenv("EVORL_BRIDGE_FILE"));
  static char hello[] = "{\"protocol\": \"evorl-bridge\", \"version\": 1, \"by\": \"hover in C\", \"max_steps\": 200,"
                        " \"observation\": {\"shape\": [2]}, \"action\": {\"n\": 2}}\n";
  message m;
  if (!transfer(give, sock, hello, strlen(hello)) || !transfer(read, sock, &m, sizeof m) || m.what != MAP) return 0; // it was only asked
  struct stat size;
  if (fstat(file, &size)) return 1;
  char *memory = mmap(NULL, (size_t)size.st_size, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
  uint32_t header[20];
  uint64_t digest = 14695981039346656037u, want;
  if (memory == MAP_FAILED || memcmp(memory, "EVORLBR1", 8)) return 1;
  memcpy(header, memory, sizeof header);
  for (int i = 24; i < 80; i++) digest = (digest ^ (uint8_t)memory[i]) * 1099511628211u;
  memcpy(&want, memory + 16, sizeof want);
  if (header[2] != 1 || digest != want || header[8] != O) return 1; // version, layout, elements of an observation
  uint32_t n = header[7], split = header[12];
  uint64_t tables[2];
  memcpy(tables, memory + 56, sizeof tables);
  world *worlds = calloc(n, sizeof *worlds);
  for (m.what = READY;; m.what = DONE) {
    m.count = 0; // failures
    if (!transfer(give, sock, &m, sizeof m) || !transfer(read, sock, &m, sizeof m) || m.what != GO || m.half > 1) return 0;
    uint32_t first = m.half ? split : 0;
    act(worlds + first, m.half ? n - split : split, memory, (uint64_t *)(memory + tables[m.half]), (uint32_t *)(memory + 128), first);
  }
}
