// A stand-in for the Vulkan loader, for tests: it passes every call on to the real one, counts the calls of each function, and lets
// one call of one function fail. Every fourth wait times out at once, as on a slow device. Environment:
//
//   EVORL_TEST_COUNTS  names a file that receives the counts
//   EVORL_TEST_FAULT   "FUNCTION N RESULT": the Nth call of the function returns RESULT without calling the driver
//   EVORL_TEST_CRASH   a function whose calls end the process once the device is lost
//   EVORL_TEST_PLAIN   the device lacks timeline semaphores and coherent memory
//
// It knows no function's parameters: each wrapper passes eight words on, the most of any function in use, whose parameters are all
// integers and pointers. That is within the calling conventions of x86-64 and ARM64, if not within C. Commands (vkCmd...), which
// cannot fail, may have more and are passed on as they are.
#define _GNU_SOURCE
#include <dlfcn.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

typedef uint64_t word;
typedef word (*function)(word, word, word, word, word, word, word, word);

enum { NAMES = 1024, SLOTS = 1024, TIMEOUT = 2, LOST = -4 };

// The file of counts: a record per function. The process may end in any way, so that the file is mapped.
typedef struct {
  char name[56];
  _Atomic uint32_t calls, failed;
} record;

static record *records;
static struct {
  record *of;
  function real;
} slots[SLOTS];
static function wrappers[SLOTS];
static int used;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static void *(*real_instance_function)(void *, const char *);
static void *(*real_device_function)(void *, const char *);
static char fault[64];
static const char *crash;
static long fault_call;
static int32_t fault_result;
static int plain;
static _Atomic int lost;
static _Atomic(word) device;
static _Atomic(function) wait_idle;

static int is(const record *r, const char *name) { return !strcmp(r->name, name); }

// What a lost device goes on returning.
static int reports_loss(const record *r) {
  static const char *const names[] = {
      "vkQueueSubmit", "vkWaitSemaphores", "vkGetSemaphoreCounterValue", "vkWaitForFences", "vkGetQueryPoolResults", "vkDeviceWaitIdle",
  };
  for (size_t i = 0; i < sizeof names / sizeof *names; i++)
    if (is(r, names[i])) return 1;
  return 0;
}

static int fails(record *r, long call) {
  if (lost && reports_loss(r)) return 1;
  return is(r, fault) && call == fault_call;
}

// A plain device is an old one: without timeline semaphores, and with memory that is neither coherent nor cached.
static void make_plain(const record *r, word a1, word a2, word a3) {
  if (is(r, "vkEnumerateInstanceVersion")) *(uint32_t *)a1 = 1u << 22 | 1 << 12;
  if (is(r, "vkEnumerateDeviceExtensionProperties") && a3)
    for (uint32_t i = 0; i < *(uint32_t *)a2; i++) {
      char *name = (char *)a3 + i * 260;
      if (!strcmp(name, "VK_KHR_timeline_semaphore")) *name = 0;
    }
  if (is(r, "vkGetPhysicalDeviceMemoryProperties")) {
    uint32_t *words = (uint32_t *)a1; // the number of types; flags and heap of each
    for (uint32_t i = 0; i < words[0]; i++) words[1 + 2 * i] &= ~(4u | 8u);
  }
}

static word call(int slot, word a, word b, word c, word d, word e, word f, word g, word h) {
  record *r = slots[slot].of;
  long n = 1 + atomic_fetch_add(&r->calls, 1);
  if (lost && crash && is(r, crash)) _exit(134);
  if (fails(r, n)) {
    if (fault_result == LOST) {
      // A device that is lost runs nothing any more.
      function idle = wait_idle;
      if (idle && device) idle(device, 0, 0, 0, 0, 0, 0, 0);
      lost = 1;
    }
    atomic_fetch_add(&r->failed, 1);
    return (word)(int64_t)fault_result;
  }
  if (n % 4 == 1 && (is(r, "vkWaitSemaphores") || is(r, "vkWaitForFences"))) return TIMEOUT;
  word result = slots[slot].real(a, b, c, d, e, f, g, h);
  if (is(r, "vkCreateDevice") && !(int32_t)result) device = *(word *)d;
  if (plain) make_plain(r, is(r, "vkEnumerateInstanceVersion") ? a : b, c, d);
  return result;
}

#define W1(n) \
  static word wrapper_##n(word a, word b, word c, word d, word e, word f, word g, word h) { return call(0x##n, a, b, c, d, e, f, g, h); }
#define W4(n, a, b, c, d) W1(n##a) W1(n##b) W1(n##c) W1(n##d)
#define W16(n) W4(n, 0, 1, 2, 3) W4(n, 4, 5, 6, 7) W4(n, 8, 9, a, b) W4(n, c, d, e, f)
#define W64(n, a, b, c, d) W16(n##a) W16(n##b) W16(n##c) W16(n##d)
#define W256(n) W64(n, 0, 1, 2, 3) W64(n, 4, 5, 6, 7) W64(n, 8, 9, a, b) W64(n, c, d, e, f)
#define ALL(X) X(0) X(1) X(2) X(3)
ALL(W256)
#define N1(n) wrappers[0x##n] = wrapper_##n;
#define N4(n, a, b, c, d) N1(n##a) N1(n##b) N1(n##c) N1(n##d)
#define N16(n) N4(n, 0, 1, 2, 3) N4(n, 4, 5, 6, 7) N4(n, 8, 9, a, b) N4(n, c, d, e, f)
#define N64(n, a, b, c, d) N16(n##a) N16(n##b) N16(n##c) N16(n##d)
#define N256(n) N64(n, 0, 1, 2, 3) N64(n, 4, 5, 6, 7) N64(n, 8, 9, a, b) N64(n, c, d, e, f)

static void die(const char *why) {
  fprintf(stderr, "faults.c: %s\n", why);
  _exit(99);
}

__attribute__((constructor)) static void begin(void) {
  ALL(N256)
  const char *file = getenv("EVORL_TEST_COUNTS"), *plan = getenv("EVORL_TEST_FAULT");
  int fd = file ? open(file, O_RDWR | O_CREAT | O_TRUNC, 0644) : -1;
  if (fd < 0 || ftruncate(fd, NAMES * sizeof(record))) die("EVORL_TEST_COUNTS names no file that can be written");
  records = mmap(NULL, NAMES * sizeof(record), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
  if (records == MAP_FAILED) die("the counts cannot be mapped");
  if (plan && sscanf(plan, "%63s %ld %d", fault, &fault_call, &fault_result) != 3) die("EVORL_TEST_FAULT wants FUNCTION N RESULT");
  crash = getenv("EVORL_TEST_CRASH");
  plain = getenv("EVORL_TEST_PLAIN") != NULL;
  void *loader = dlopen("libvulkan.so.1", RTLD_NOW | RTLD_LOCAL);
  real_instance_function = loader ? dlsym(loader, "vkGetInstanceProcAddr") : NULL;
  if (!real_instance_function) die("there is no libvulkan.so.1");
}

static void *instance_function(void *, const char *);
static void *device_function(void *, const char *);

// wrap returns a wrapper of a function, the same for the same function.
static void *wrap(const char *name, void *real) {
  if (!real || !strncmp(name, "vkCmd", 5)) return real;
  if (!strcmp(name, "vkGetInstanceProcAddr")) return (void *)instance_function;
  if (!strcmp(name, "vkGetDeviceProcAddr")) {
    real_device_function = real;
    return (void *)device_function;
  }
  if (!strcmp(name, "vkDeviceWaitIdle")) wait_idle = (function)real;
  pthread_mutex_lock(&lock);
  int slot = 0;
  while (slot < used && (slots[slot].real != (function)real || strcmp(slots[slot].of->name, name))) slot++;
  if (slot == SLOTS) die("too many functions");
  if (slot == used) {
    int at = 0;
    while (at < NAMES && records[at].name[0] && strcmp(records[at].name, name)) at++;
    if (at == NAMES || strlen(name) >= sizeof records[at].name) die("too many names");
    strcpy(records[at].name, name);
    slots[slot].of = &records[at];
    slots[slot].real = (function)real;
    used++;
  }
  pthread_mutex_unlock(&lock);
  return (void *)wrappers[slot];
}

static void *instance_function(void *instance, const char *name) { return wrap(name, real_instance_function(instance, name)); }
static void *device_function(void *d, const char *name) { return wrap(name, real_device_function(d, name)); }

__attribute__((visibility("default"))) void *vkGetInstanceProcAddr(void *instance, const char *name) { return instance_function(instance, name); }
