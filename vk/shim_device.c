#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "shim_internal.h"

#define API(minor) ((1u << 22) | (minor) << 12)

// The feature structures of a chain. Only those that the device knows are linked.
typedef struct {
  VkPhysicalDeviceFeatures2 core;
  VkPhysicalDevice16BitStorageFeatures storage16;
  VkPhysicalDevice8BitStorageFeatures storage8;
  VkPhysicalDeviceShaderFloat16Int8Features float16;
  VkPhysicalDeviceShaderSubgroupExtendedTypesFeatures extended;
  VkPhysicalDeviceTimelineSemaphoreFeatures timeline;
  VkPhysicalDeviceVulkanMemoryModelFeatures model;
  VkPhysicalDeviceSubgroupSizeControlFeatures size_control;
  VkPhysicalDeviceShaderAtomicFloatFeaturesEXT atomic;
  VkPhysicalDevicePipelineExecutablePropertiesFeaturesKHR statistics;
  VkPhysicalDeviceCooperativeMatrixFeaturesKHR matrix;
} feature_chain;

// Each extension in use, the version whose core includes it (0: none), and its structure.
static const struct {
  const char *name;
  uint32_t core;
} extensions[] = {
    {"VK_KHR_8bit_storage", API(2)},
    {"VK_KHR_shader_float16_int8", API(2)},
    {"VK_KHR_shader_subgroup_extended_types", API(2)},
    {"VK_KHR_timeline_semaphore", API(2)},
    {"VK_KHR_vulkan_memory_model", API(2)},
    {"VK_KHR_driver_properties", API(2)},
    {"VK_EXT_subgroup_size_control", API(3)},
    {"VK_KHR_maintenance4", API(3)},
    {"VK_EXT_shader_atomic_float", 0},
    {"VK_KHR_pipeline_executable_properties", 0},
    {"VK_EXT_memory_budget", 0},
    {"VK_KHR_cooperative_matrix", 0},
    {"VK_EXT_pci_bus_info", 0},
    {"VK_KHR_portability_subset", 0}, // a device that has it demands it to be enabled
};
enum { X_STORAGE8, X_FLOAT16, X_EXTENDED, X_TIMELINE, X_MODEL, X_DRIVER, X_SIZE_CONTROL, X_MAINTENANCE4, X_ATOMIC, X_STATISTICS, X_BUDGET, X_MATRIX, X_PCI, X_PORTABILITY, X_COUNT };

// known receives for each extension: 0 unknown, 1 part of the core version, 2 to be enabled by name.
static VkResult find_extensions(evk_instance *in, VkPhysicalDevice pd, uint32_t api, int known[X_COUNT]) {
  VkResult r;
  uint32_t n;
  VkExtensionProperties *all;
  EVK_LIST(r, n, all, (void)0, in->EnumerateDeviceExtensionProperties(pd, NULL, &n, all));
  if (r != VK_SUCCESS) n = 0;
  for (int x = 0; x < X_COUNT; x++) {
    known[x] = extensions[x].core && api >= extensions[x].core;
    for (uint32_t i = 0; i < n && !known[x]; i++)
      if (!strcmp(all[i].extensionName, extensions[x].name)) known[x] = 2;
  }
  free(all);
  return r;
}

static void link_features(feature_chain *c, const int known[X_COUNT]) {
  memset(c, 0, sizeof *c);
  void **tail = &c->core.pNext;
  c->core.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_FEATURES_2;
#define LINK(when, member, type) \
  if (when) {                    \
    c->member.sType = type;      \
    *tail = &c->member;          \
    tail = &c->member.pNext;     \
  }
  LINK(1, storage16, VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_16BIT_STORAGE_FEATURES)
  LINK(known[X_STORAGE8], storage8, VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_8BIT_STORAGE_FEATURES)
  LINK(known[X_FLOAT16], float16, VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_SHADER_FLOAT16_INT8_FEATURES)
  LINK(known[X_EXTENDED], extended, VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_SHADER_SUBGROUP_EXTENDED_TYPES_FEATURES)
  LINK(known[X_TIMELINE], timeline, VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_TIMELINE_SEMAPHORE_FEATURES)
  LINK(known[X_MODEL], model, VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_VULKAN_MEMORY_MODEL_FEATURES)
  LINK(known[X_SIZE_CONTROL], size_control, VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_SUBGROUP_SIZE_CONTROL_FEATURES)
  LINK(known[X_ATOMIC], atomic, VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_SHADER_ATOMIC_FLOAT_FEATURES_EXT)
  LINK(known[X_STATISTICS], statistics, VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_PIPELINE_EXECUTABLE_PROPERTIES_FEATURES_KHR)
  LINK(known[X_MATRIX], matrix, VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_COOPERATIVE_MATRIX_FEATURES_KHR)
#undef LINK
}

// FOR_EACH_FEATURE runs X(bit, boolean of the chain) for every boolean of a feature bit.
#define FOR_EACH_FEATURE(c)                                                   \
  X(EVK_FLOAT64, (c)->core.features[FEATURE_SHADER_FLOAT64])                  \
  X(EVK_INT64, (c)->core.features[FEATURE_SHADER_INT64])                      \
  X(EVK_INT16, (c)->core.features[FEATURE_SHADER_INT16])                      \
  X(EVK_FLOAT16, (c)->float16.shaderFloat16)                                  \
  X(EVK_INT8, (c)->float16.shaderInt8)                                        \
  X(EVK_STORAGE16, (c)->storage16.storageBuffer16BitAccess)                   \
  X(EVK_STORAGE8, (c)->storage8.storageBuffer8BitAccess)                      \
  X(EVK_SUBGROUP_EXTENDED, (c)->extended.shaderSubgroupExtendedTypes)         \
  X(EVK_TIMELINE, (c)->timeline.timelineSemaphore)                            \
  X(EVK_MEMORY_MODEL, (c)->model.vulkanMemoryModel)                           \
  X(EVK_SUBGROUP_SIZE_CONTROL, (c)->size_control.subgroupSizeControl)         \
  X(EVK_FULL_SUBGROUPS, (c)->size_control.computeFullSubgroups)               \
  X(EVK_FLOAT_ATOMIC_ADD, (c)->atomic.shaderBufferFloat32AtomicAdd)           \
  X(EVK_PIPELINE_STATISTICS, (c)->statistics.pipelineExecutableInfo)          \
  X(EVK_COOPERATIVE_MATRIX, (c)->matrix.cooperativeMatrix)                    \
  X(EVK_DEVICE_SCOPE, (c)->model.vulkanMemoryModelDeviceScope)

VkResult evk_describe(evk_instance *in, void *pd, uint32_t api, evk_physical *out) {
  memset(out, 0, sizeof *out);
  out->compute_family = -1;
  uint32_t n = 0;
  in->GetPhysicalDeviceQueueFamilyProperties(pd, &n, NULL);
  VkQueueFamilyProperties *families = calloc(n ? n : 1, sizeof *families);
  if (!families) return VK_ERROR_OUT_OF_HOST_MEMORY;
  in->GetPhysicalDeviceQueueFamilyProperties(pd, &n, families);
  // The first compute family. On desktop GPUs it is the one that also draws, with the most usual clocks and limits.
  for (uint32_t i = 0; i < n && out->compute_family < 0; i++)
    if (families[i].queueFlags & 2 && families[i].queueCount) {
      out->compute_family = (int32_t)i;
      out->timestamp_bits = families[i].timestampValidBits;
    }
  free(families);

  VkPhysicalDeviceMemoryProperties memory;
  in->GetPhysicalDeviceMemoryProperties(pd, &memory);
  out->type_count = memory.memoryTypeCount;
  out->heap_count = memory.memoryHeapCount;
  for (uint32_t i = 0; i < memory.memoryTypeCount; i++) {
    out->type_flags[i] = memory.memoryTypes[i].propertyFlags;
    out->type_heap[i] = memory.memoryTypes[i].heapIndex;
  }
  for (uint32_t i = 0; i < memory.memoryHeapCount; i++) {
    out->heap_flags[i] = memory.memoryHeaps[i].flags;
    out->heap_size[i] = memory.memoryHeaps[i].size;
  }
  if (api < API(1) || !in->GetPhysicalDeviceProperties2 || !in->GetPhysicalDeviceFeatures2) return VK_SUCCESS; // listed, but cannot be opened

  int known[X_COUNT];
  VkResult r = find_extensions(in, pd, api, known);
  if (r != VK_SUCCESS) return r;
  VkPhysicalDeviceMaintenance4Properties m4 = {.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_MAINTENANCE_4_PROPERTIES};
  VkPhysicalDeviceSubgroupSizeControlProperties control = {.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_SUBGROUP_SIZE_CONTROL_PROPERTIES};
  VkPhysicalDeviceDriverProperties driver = {.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_DRIVER_PROPERTIES};
  VkPhysicalDeviceCooperativeMatrixPropertiesKHR matrix = {.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_COOPERATIVE_MATRIX_PROPERTIES_KHR};
  VkPhysicalDevicePCIBusInfoPropertiesEXT pci = {.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_PCI_BUS_INFO_PROPERTIES_EXT};
  VkPhysicalDeviceMaintenance3Properties m3 = {.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_MAINTENANCE_3_PROPERTIES};
  VkPhysicalDeviceSubgroupProperties subgroup = {.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_SUBGROUP_PROPERTIES, .pNext = &m3};
  VkPhysicalDeviceProperties2 properties = {.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_PROPERTIES_2, .pNext = &subgroup};
  void **tail = &m3.pNext;
  if (known[X_DRIVER]) *tail = &driver, tail = &driver.pNext;
  if (known[X_SIZE_CONTROL]) *tail = &control, tail = &control.pNext;
  if (known[X_MATRIX]) *tail = &matrix, tail = &matrix.pNext;
  if (known[X_PCI]) *tail = &pci, tail = &pci.pNext;
  if (known[X_MAINTENANCE4]) *tail = &m4;
  in->GetPhysicalDeviceProperties2(pd, &properties);
  out->subgroup_size = out->min_subgroup_size = out->max_subgroup_size = subgroup.subgroupSize;
  out->subgroup_operations = subgroup.supportedStages & VK_SHADER_STAGE_COMPUTE_BIT ? subgroup.supportedOperations : 0;
  out->max_allocation = m3.maxMemoryAllocationSize;
  out->max_buffer = known[X_MAINTENANCE4] ? m4.maxBufferSize : m3.maxMemoryAllocationSize;
  memcpy(out->driver_name, driver.driverName, sizeof driver.driverName);
  memcpy(out->driver_info, driver.driverInfo, sizeof driver.driverInfo);
  out->driver_id = driver.driverID;
  if (known[X_PCI]) snprintf(out->pci, sizeof out->pci, "%04x:%02x:%02x.%x", pci.pciDomain, pci.pciBus, pci.pciDevice, pci.pciFunction);

  feature_chain c;
  link_features(&c, known);
  in->GetPhysicalDeviceFeatures2(pd, &c.core);
#define X(bit, boolean) \
  if (boolean) out->features |= bit;
  FOR_EACH_FEATURE(&c)
#undef X
  if (known[X_BUDGET]) out->features |= EVK_MEMORY_BUDGET;
  if (!(out->features & EVK_MEMORY_MODEL)) out->features |= EVK_DEVICE_SCOPE; // only that model restricts it
  if (!(matrix.cooperativeMatrixSupportedStages & VK_SHADER_STAGE_COMPUTE_BIT)) out->features &= ~(uint32_t)EVK_COOPERATIVE_MATRIX;
  if (out->features & EVK_SUBGROUP_SIZE_CONTROL) {
    out->min_subgroup_size = control.minSubgroupSize;
    out->max_subgroup_size = control.maxSubgroupSize;
    out->required_size_stages = control.requiredSubgroupSizeStages;
    out->max_workgroup_subgroups = control.maxComputeWorkgroupSubgroups;
  }
  return VK_SUCCESS;
}

VkResult evk_matrix_products(evk_instance *in, void *pd, evk_matrix *out, uint32_t *count) {
  VkResult r;
  uint32_t n, kept = 0, cap = *count;
  VkCooperativeMatrixPropertiesKHR *all;
  *count = 0;
  if (!in->GetPhysicalDeviceCooperativeMatrixPropertiesKHR) return VK_SUCCESS;
  EVK_LIST(r, n, all, all[i].sType = VK_STRUCTURE_TYPE_COOPERATIVE_MATRIX_PROPERTIES_KHR, in->GetPhysicalDeviceCooperativeMatrixPropertiesKHR(pd, &n, all));
  if (r != VK_SUCCESS) n = 0;
  for (uint32_t i = 0; i < n && kept < cap; i++) {
    const VkCooperativeMatrixPropertiesKHR *p = &all[i];
    if (p->scope != VK_SCOPE_SUBGROUP_KHR || p->saturatingAccumulation) continue;
    out[kept++] = (evk_matrix){p->MSize, p->NSize, p->KSize, p->AType, p->BType, p->CType, p->ResultType};
  }
  free(all);
  *count = kept;
  return r;
}

void evk_memory_budget(evk_instance *in, void *pd, uint64_t *budget, uint64_t *usage) {
  VkPhysicalDeviceMemoryBudgetPropertiesEXT b = {.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_MEMORY_BUDGET_PROPERTIES_EXT};
  VkPhysicalDeviceMemoryProperties2 p = {.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_MEMORY_PROPERTIES_2, .pNext = &b};
  in->GetPhysicalDeviceMemoryProperties2(pd, &p);
  memcpy(budget, b.heapBudget, sizeof b.heapBudget);
  memcpy(usage, b.heapUsage, sizeof b.heapUsage);
}

VkResult evk_create_device(evk_instance *in, void *pd, uint32_t api, uint32_t features, uint32_t family, int flush, evk_device **out, const char **where) {
  int known[X_COUNT];
  *where = "vkEnumerateDeviceExtensionProperties";
  VkResult r = find_extensions(in, pd, api, known);
  if (r != VK_SUCCESS) return r;
  *where = "vkCreateDevice";
  // An extension whose feature is not requested is not enabled.
  static const uint32_t needs[X_COUNT] = {EVK_STORAGE8, EVK_FLOAT16 | EVK_INT8, EVK_SUBGROUP_EXTENDED, EVK_TIMELINE, EVK_MEMORY_MODEL, ~0u,
                                          EVK_SUBGROUP_SIZE_CONTROL, ~0u, EVK_FLOAT_ATOMIC_ADD, EVK_PIPELINE_STATISTICS, EVK_MEMORY_BUDGET, EVK_COOPERATIVE_MATRIX, 0};
  const char *names[X_COUNT];
  uint32_t n = 0;
  for (int x = 0; x < X_COUNT; x++) {
    if (x != X_PORTABILITY && !(needs[x] & features)) known[x] = 0;
    if (known[x] == 2) names[n++] = extensions[x].name;
  }
  feature_chain c;
  link_features(&c, known);
#define X(bit, boolean) boolean = (features & (bit)) != 0;
  FOR_EACH_FEATURE(&c)
#undef X

  float priority = 1;
  VkDeviceQueueCreateInfo queue = {.sType = VK_STRUCTURE_TYPE_DEVICE_QUEUE_CREATE_INFO, .queueFamilyIndex = family, .queueCount = 1, .pQueuePriorities = &priority};
  VkDeviceCreateInfo info = {.sType = VK_STRUCTURE_TYPE_DEVICE_CREATE_INFO, .pNext = &c.core, .queueCreateInfoCount = 1, .pQueueCreateInfos = &queue, .enabledExtensionCount = n, .ppEnabledExtensionNames = names};
  evk_device *d = calloc(1, sizeof *d);
  if (!d) return VK_ERROR_OUT_OF_HOST_MEMORY;
  evk_float_mode mode = evk_float_mode_get();
  if (flush) evk_float_mode_set(mode | EVK_FLUSH_DENORMALS);
  r = in->CreateDevice(pd, &info, NULL, &d->handle);
  evk_float_mode_set(mode);
  if (r != VK_SUCCESS) {
    free(d);
    return r;
  }
#define LOAD(f) d->f = (void *)in->GetDeviceProcAddr(d->handle, "vk" #f)
  LOAD(DeviceWaitIdle);
  LOAD(CreateDescriptorSetLayout);
  LOAD(CreatePipelineLayout);
  LOAD(CreateComputePipelines);
  LOAD(CreateDescriptorPool);
  LOAD(AllocateDescriptorSets);
  LOAD(UpdateDescriptorSets);
  LOAD(CreateBufferView);
  LOAD(DestroyBufferView);
  LOAD(BeginCommandBuffer);
  LOAD(EndCommandBuffer);
  LOAD(CmdBindPipeline);
  LOAD(CmdBindDescriptorSets);
  LOAD(CmdPushConstants);
  LOAD(CmdDispatch);
  LOAD(CmdPipelineBarrier);
  LOAD(CmdCopyBuffer);
  LOAD(CmdFillBuffer);
  LOAD(CmdResetQueryPool);
  LOAD(CmdWriteTimestamp);
  LOAD(CreateSemaphore);
  LOAD(QueueSubmit);
  LOAD(FlushMappedMemoryRanges);
  LOAD(InvalidateMappedMemoryRanges);
  if (features & EVK_PIPELINE_STATISTICS) {
    LOAD(GetPipelineExecutablePropertiesKHR);
    LOAD(GetPipelineExecutableStatisticsKHR);
  }
  if (features & EVK_TIMELINE) {
    LOAD(WaitSemaphores);
    LOAD(GetSemaphoreCounterValue);
    if (!d->WaitSemaphores) d->WaitSemaphores = (void *)in->GetDeviceProcAddr(d->handle, "vkWaitSemaphoresKHR");
    if (!d->GetSemaphoreCounterValue) d->GetSemaphoreCounterValue = (void *)in->GetDeviceProcAddr(d->handle, "vkGetSemaphoreCounterValueKHR");
  }
  if (in->validating) d->SetDebugUtilsObjectNameEXT = (void *)in->gipa(in->handle, "vkSetDebugUtilsObjectNameEXT");
#undef LOAD
  *out = d;
  return VK_SUCCESS;
}

void *evk_device_handle(evk_device *d) { return d->handle; }
VkResult evk_wait_idle(evk_device *d) { return d->DeviceWaitIdle(d->handle); }
void evk_free_device(evk_device *d) { free(d); }

void evk_name(evk_device *d, int32_t type, uint64_t handle, const char *name) {
  VkDebugUtilsObjectNameInfoEXT info = {.sType = VK_STRUCTURE_TYPE_DEBUG_UTILS_OBJECT_NAME_INFO_EXT, .objectType = type, .objectHandle = handle, .pObjectName = name};
  if (d->SetDebugUtilsObjectNameEXT) d->SetDebugUtilsObjectNameEXT(d->handle, &info);
}
