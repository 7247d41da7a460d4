#define _GNU_SOURCE // dl_iterate_phdr
#include "shim.h"

#ifdef __linux__

#include <dlfcn.h>
#include <link.h>
#include <string.h>

// The path of the LLVM library that a driver has loaded.
static int find_llvm(struct dl_phdr_info *info, size_t size, void *found) {
  (void)size;
  const char *slash = strrchr(info->dlpi_name, '/');
  if (!slash || strncmp(slash + 1, "libLLVM", 7) != 0 || strlen(info->dlpi_name) >= EVK_PATH) return 0;
  strcpy(found, info->dlpi_name);
  return 1;
}

int evk_llvm_options(int count, const char *const *options) {
  char path[EVK_PATH];
  if (!dl_iterate_phdr(find_llvm, path)) return 0;
  // The handle stays open: a library that is loaded again would have its defaults again.
  void *library = dlopen(path, RTLD_LAZY | RTLD_NOLOAD);
  if (!library) return 0;
  // Of LLVM's C interface. Options that it does not know change nothing and are not reported.
  void (*parse)(int, const char *const *, const char *) =
      (void (*)(int, const char *const *, const char *))dlsym(library, "LLVMParseCommandLineOptions");
  if (!parse) return 0;
  parse(count, options, "");
  return 1;
}

#else

int evk_llvm_options(int count, const char *const *options) {
  (void)count;
  (void)options;
  return 0;
}

#endif
