// Calls that the Go bindings cannot make, or not safely: calls with arrays of
// structures, feature and property chains, everything newer than Vulkan 1.0, and
// the replay of a recorded tape in one call. Nothing here keeps a Go pointer.
#ifndef EVORL_VK_SHIM_H
#define EVORL_VK_SHIM_H

#include "abi.h"

// One bit per feature, in the order of Features in info.go.
enum {
  EVK_FLOAT64 = 1 << 0,
  EVK_INT64 = 1 << 1,
  EVK_INT16 = 1 << 2,
  EVK_FLOAT16 = 1 << 3,
  EVK_INT8 = 1 << 4,
  EVK_STORAGE16 = 1 << 5,
  EVK_STORAGE8 = 1 << 6,
  EVK_SUBGROUP_EXTENDED = 1 << 7,
  EVK_TIMELINE = 1 << 8,
  EVK_MEMORY_MODEL = 1 << 9,
  EVK_SUBGROUP_SIZE_CONTROL = 1 << 10,
  EVK_FULL_SUBGROUPS = 1 << 11,
  EVK_FLOAT_ATOMIC_ADD = 1 << 12,
  EVK_PIPELINE_STATISTICS = 1 << 13,
  EVK_MEMORY_BUDGET = 1 << 14,
  EVK_COOPERATIVE_MATRIX = 1 << 15,
  EVK_DEVICE_SCOPE = 1 << 16,
};

// Validation modes of evk_create_instance.
enum { EVK_VALIDATE_OFF = 0, EVK_VALIDATE_SYNC = 1, EVK_VALIDATE_GPU = 2 };

// Operations of a tape. A tape is a sequence of 64-bit words; the low byte of an operation's first word identifies it.
enum {
  EVK_OP_PIPELINE = 1, // pipeline
  EVK_OP_SET,          // layout, set
  EVK_OP_PUSH,         // [8..31] bytes; layout, data padded to words
  EVK_OP_DISPATCH,     // [32..63] x; y | z<<32
  EVK_OP_BARRIER,      // source stages | destination stages<<32, source access | destination access<<32
  EVK_OP_COPY,         // source, destination, source offset, destination offset, size
  EVK_OP_FILL,         // [32..63] word; buffer, offset, size
  EVK_OP_RESET,        // query pool, first | count<<32
  EVK_OP_TIMESTAMP,    // query pool, query
};

typedef struct evk_instance evk_instance;
typedef struct evk_device evk_device;

typedef struct {
  uint32_t subgroup_size, min_subgroup_size, max_subgroup_size, required_size_stages, subgroup_operations, max_workgroup_subgroups;
  uint64_t max_allocation, max_buffer;
  char driver_name[256], driver_info[256];
  uint32_t driver_id; // VkDriverId; 0: unknown
  char pci[40];       // domain:bus:device.function; empty: unknown
  uint32_t features;
  int32_t compute_family; // -1: none
  uint32_t timestamp_bits;
  uint32_t type_count, heap_count;
  uint32_t type_flags[32], type_heap[32], heap_flags[16];
  uint64_t heap_size[16];
} evk_physical;

// A product of cooperative matrices of a subgroup; the types are values of VkComponentTypeKHR. Products that saturate are
// left out.
typedef struct {
  uint32_t m, n, k;
  int32_t a, b, c, result;
} evk_matrix;

typedef struct {
  VkHandle module, layout, cache;
  uint32_t subgroup, full_subgroups, statistics;
  uint32_t spec_count;
  const uint32_t *spec_ids, *spec_values;
} evk_pipeline_info;

typedef struct {
  VkHandle set, buffer, view; // view: of a texel buffer, or 0
  uint64_t offset, range;
  uint32_t binding;
} evk_write;

typedef struct {
  char name[256];
  uint32_t format; // 0 bool, 1 int64, 2 uint64, 3 float64
  uint32_t executable;
  uint64_t bits;
} evk_statistic;

// evk_load opens the loader library and returns its vkGetInstanceProcAddr, or NULL with the reason in err.
void *evk_load(const char *name, char *err, size_t cap);

// evk_llvm_options sets options of the LLVM library that a driver has loaded. The first string is a name of the program, as in argv. The
// result is 0 if there is no such library: the driver contains LLVM itself, or does not use it.
enum { EVK_PATH = 4096 };
int evk_llvm_options(int count, const char *const *options);

// Instance. validate is set to EVK_VALIDATE_OFF if the layer is not installed (see evk_validating).
// where receives the function that failed.
VkResult evk_create_instance(void *gipa, uint32_t max_api, int validate, evk_instance **out, const char **where);
void *evk_instance_handle(evk_instance *in);
uint32_t evk_instance_api(evk_instance *in);
int evk_validating(evk_instance *in);
void evk_destroy_instance(evk_instance *in);
// evk_next_message copies the oldest validation message to out and returns its severity (0: no message).
uint32_t evk_next_message(evk_instance *in, char *out, size_t cap);

// Physical device. api is the version in use: the lower of the versions of instance and device. evk_describe fails with the result of
// vkEnumerateDeviceExtensionProperties: without it features would seem to be missing.
VkResult evk_describe(evk_instance *in, void *pd, uint32_t api, evk_physical *out);
// evk_matrix_products stores up to *count products of cooperative matrices, and their number in *count.
VkResult evk_matrix_products(evk_instance *in, void *pd, evk_matrix *out, uint32_t *count);
void evk_memory_budget(evk_instance *in, void *pd, uint64_t *budget, uint64_t *usage);

// Device. flush has the threads that the driver makes take denormal numbers for zero (shim_platform.h): of use with a software driver.
VkResult evk_create_device(evk_instance *in, void *pd, uint32_t api, uint32_t features, uint32_t family, int flush, evk_device **out, const char **where);
void *evk_device_handle(evk_device *d);
VkResult evk_wait_idle(evk_device *d);
void evk_free_device(evk_device *d); // the table only; the device itself is destroyed through the binding
void evk_name(evk_device *d, int32_t type, uint64_t handle, const char *name);

// Pipelines and descriptors.
// texels holds for each binding whether it is a texel buffer.
VkResult evk_create_set_layout(evk_device *d, uint32_t n, const uint32_t *bindings, const uint32_t *texels, VkHandle *out);
VkResult evk_create_pipeline_layout(evk_device *d, VkHandle set_layout, uint32_t push_bytes, VkHandle *out);
VkResult evk_create_pipeline(evk_device *d, const evk_pipeline_info *info, VkHandle *out);
// evk_pipeline_statistics stores up to *count statistics, and their number in *count.
VkResult evk_pipeline_statistics(evk_device *d, VkHandle pipeline, evk_statistic *out, uint32_t *count);
VkResult evk_create_descriptor_pool(evk_device *d, uint32_t sets, uint32_t buffers, uint32_t texels, VkHandle *out);
VkResult evk_allocate_sets(evk_device *d, VkHandle pool, uint32_t n, const VkHandle *layouts, VkHandle *out);
VkResult evk_update_sets(evk_device *d, uint32_t n, const evk_write *writes);
VkResult evk_create_buffer_view(evk_device *d, VkHandle buffer, int32_t format, uint64_t offset, uint64_t range, VkHandle *out);
void evk_destroy_buffer_view(evk_device *d, VkHandle view);

// Recording, submission, waiting.
VkResult evk_record(evk_device *d, void *cb, const uint64_t *tape, size_t words, const char **where);
VkResult evk_create_timeline(evk_device *d, VkHandle *out);
VkResult evk_submit(evk_device *d, void *queue, uint32_t count, void *const *cbs, VkHandle timeline, uint64_t value, VkHandle fence);
VkResult evk_wait(evk_device *d, VkHandle timeline, uint64_t value, uint64_t timeout_ns);
VkResult evk_completed(evk_device *d, VkHandle timeline, uint64_t *value);
VkResult evk_flush(evk_device *d, VkHandle memory, uint64_t offset, uint64_t size);
VkResult evk_invalidate(evk_device *d, VkHandle memory, uint64_t offset, uint64_t size);

#endif
