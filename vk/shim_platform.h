// What differs between operating systems: shared libraries and locks.
#ifndef EVORL_VK_SHIM_PLATFORM_H
#define EVORL_VK_SHIM_PLATFORM_H

#ifdef _WIN32

#define WIN32_LEAN_AND_MEAN
#include <stdio.h>
#include <windows.h>

typedef SRWLOCK evk_lock;
static inline void evk_lock_init(evk_lock *l) { InitializeSRWLock(l); }
static inline void evk_lock_take(evk_lock *l) { AcquireSRWLockExclusive(l); }
static inline void evk_lock_release(evk_lock *l) { ReleaseSRWLockExclusive(l); }
static inline void evk_lock_destroy(evk_lock *l) { (void)l; }

// The function of a library that stays open, or NULL and the reason.
static inline void *evk_library_function(const char *library, const char *function, char *err, size_t cap) {
  HMODULE lib = LoadLibraryA(library);
  void *f = lib ? (void *)GetProcAddress(lib, function) : NULL;
  if (!f && cap) snprintf(err, cap, "%s: Windows error %lu", library, GetLastError());
  return f;
}

#else

#include <dlfcn.h>
#include <pthread.h>
#include <string.h>

typedef pthread_mutex_t evk_lock;
static inline void evk_lock_init(evk_lock *l) { pthread_mutex_init(l, NULL); }
static inline void evk_lock_take(evk_lock *l) { pthread_mutex_lock(l); }
static inline void evk_lock_release(evk_lock *l) { pthread_mutex_unlock(l); }
static inline void evk_lock_destroy(evk_lock *l) { pthread_mutex_destroy(l); }

static inline void *evk_library_function(const char *library, const char *function, char *err, size_t cap) {
  void *lib = dlopen(library, RTLD_NOW | RTLD_LOCAL);
  void *f = lib ? dlsym(lib, function) : NULL;
  if (!f && cap) {
    const char *why = dlerror();
    strncpy(err, why ? why : "no reason given", cap - 1);
    err[cap - 1] = 0;
  }
  return f;
}

#endif

// Threads inherit the floating-point mode of the thread that makes them. With this one numbers below the normal ones (1.2e-38) are zero; a processor takes
// many times as long for them as for others (docs/drivers.md). Vulkan leaves it to the device.
#if defined(__x86_64__)
#include <immintrin.h>
typedef unsigned int evk_float_mode;
static inline evk_float_mode evk_float_mode_get(void) { return _mm_getcsr(); }
static inline void evk_float_mode_set(evk_float_mode mode) { _mm_setcsr(mode); }
#define EVK_FLUSH_DENORMALS 0x8040u // FTZ, DAZ
#elif defined(__aarch64__) && defined(__GNUC__)
typedef unsigned long evk_float_mode;
static inline evk_float_mode evk_float_mode_get(void) {
  evk_float_mode mode;
  __asm__ volatile("mrs %0, fpcr" : "=r"(mode));
  return mode;
}
static inline void evk_float_mode_set(evk_float_mode mode) { __asm__ volatile("msr fpcr, %0" : : "r"(mode)); }
#define EVK_FLUSH_DENORMALS (1ul << 24) // FZ
#else
typedef int evk_float_mode;
static inline evk_float_mode evk_float_mode_get(void) { return 0; }
static inline void evk_float_mode_set(evk_float_mode mode) { (void)mode; }
#define EVK_FLUSH_DENORMALS 0
#endif

#endif
