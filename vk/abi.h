// The part of the Vulkan binary interface that the shim calls, declared from the
// specification (Vulkan 1.3.239), so that building needs no Vulkan headers.
// Non-dispatchable handles are uint64_t, as the specification has them on every
// 64-bit target; where a structure is only passed through, its body is opaque.
#ifndef EVORL_VK_ABI_H
#define EVORL_VK_ABI_H

#include <stddef.h>
#include <stdint.h>

#if UINTPTR_MAX != UINT64_MAX
#error "package vk supports 64-bit targets only"
#endif

typedef void *VkInstance, *VkPhysicalDevice, *VkDevice, *VkQueue, *VkCommandBuffer;
typedef uint64_t VkHandle;
typedef uint64_t VkDeviceSize;
typedef uint32_t VkBool32, VkFlags;
typedef int32_t VkResult, VkStructureType;
typedef void (*PFN_vkVoidFunction)(void);
typedef PFN_vkVoidFunction (*PFN_vkGetInstanceProcAddr)(VkInstance, const char *);
typedef PFN_vkVoidFunction (*PFN_vkGetDeviceProcAddr)(VkDevice, const char *);

// Results.
enum {
  VK_SUCCESS = 0,
  VK_INCOMPLETE = 5,
  VK_ERROR_OUT_OF_HOST_MEMORY = -1,
  VK_ERROR_INITIALIZATION_FAILED = -3,
  VK_ERROR_EXTENSION_NOT_PRESENT = -7,
};

enum { VK_INSTANCE_CREATE_ENUMERATE_PORTABILITY_BIT_KHR = 1 };

// Structure types.
enum {
  VK_STRUCTURE_TYPE_APPLICATION_INFO = 0,
  VK_STRUCTURE_TYPE_INSTANCE_CREATE_INFO = 1,
  VK_STRUCTURE_TYPE_DEVICE_QUEUE_CREATE_INFO = 2,
  VK_STRUCTURE_TYPE_DEVICE_CREATE_INFO = 3,
  VK_STRUCTURE_TYPE_SUBMIT_INFO = 4,
  VK_STRUCTURE_TYPE_MAPPED_MEMORY_RANGE = 6,
  VK_STRUCTURE_TYPE_SEMAPHORE_CREATE_INFO = 9,
  VK_STRUCTURE_TYPE_BUFFER_VIEW_CREATE_INFO = 13,
  VK_STRUCTURE_TYPE_PIPELINE_SHADER_STAGE_CREATE_INFO = 18,
  VK_STRUCTURE_TYPE_COMPUTE_PIPELINE_CREATE_INFO = 29,
  VK_STRUCTURE_TYPE_PIPELINE_LAYOUT_CREATE_INFO = 30,
  VK_STRUCTURE_TYPE_DESCRIPTOR_SET_LAYOUT_CREATE_INFO = 32,
  VK_STRUCTURE_TYPE_DESCRIPTOR_POOL_CREATE_INFO = 33,
  VK_STRUCTURE_TYPE_DESCRIPTOR_SET_ALLOCATE_INFO = 34,
  VK_STRUCTURE_TYPE_WRITE_DESCRIPTOR_SET = 35,
  VK_STRUCTURE_TYPE_COMMAND_BUFFER_BEGIN_INFO = 42,
  VK_STRUCTURE_TYPE_MEMORY_BARRIER = 46,
  VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_FEATURES_2 = 1000059000,
  VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_PROPERTIES_2 = 1000059001,
  VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_MEMORY_PROPERTIES_2 = 1000059006,
  VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_16BIT_STORAGE_FEATURES = 1000083000,
  VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_SHADER_FLOAT16_INT8_FEATURES = 1000082000,
  VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_SUBGROUP_PROPERTIES = 1000094000,
  VK_STRUCTURE_TYPE_DEBUG_UTILS_OBJECT_NAME_INFO_EXT = 1000128000,
  VK_STRUCTURE_TYPE_DEBUG_UTILS_MESSENGER_CREATE_INFO_EXT = 1000128004,
  VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_MAINTENANCE_3_PROPERTIES = 1000168000,
  VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_SHADER_SUBGROUP_EXTENDED_TYPES_FEATURES = 1000175000,
  VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_8BIT_STORAGE_FEATURES = 1000177000,
  VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_DRIVER_PROPERTIES = 1000196000,
  VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_PCI_BUS_INFO_PROPERTIES_EXT = 1000212000,
  VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_TIMELINE_SEMAPHORE_FEATURES = 1000207000,
  VK_STRUCTURE_TYPE_SEMAPHORE_TYPE_CREATE_INFO = 1000207002,
  VK_STRUCTURE_TYPE_TIMELINE_SEMAPHORE_SUBMIT_INFO = 1000207003,
  VK_STRUCTURE_TYPE_SEMAPHORE_WAIT_INFO = 1000207004,
  VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_VULKAN_MEMORY_MODEL_FEATURES = 1000211000,
  VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_SUBGROUP_SIZE_CONTROL_PROPERTIES = 1000225000,
  VK_STRUCTURE_TYPE_PIPELINE_SHADER_STAGE_REQUIRED_SUBGROUP_SIZE_CREATE_INFO = 1000225001,
  VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_SUBGROUP_SIZE_CONTROL_FEATURES = 1000225002,
  VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_MEMORY_BUDGET_PROPERTIES_EXT = 1000237000,
  VK_STRUCTURE_TYPE_VALIDATION_FEATURES_EXT = 1000247000,
  VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_SHADER_ATOMIC_FLOAT_FEATURES_EXT = 1000260000,
  VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_PIPELINE_EXECUTABLE_PROPERTIES_FEATURES_KHR = 1000269000,
  VK_STRUCTURE_TYPE_PIPELINE_INFO_KHR = 1000269001,
  VK_STRUCTURE_TYPE_PIPELINE_EXECUTABLE_PROPERTIES_KHR = 1000269002,
  VK_STRUCTURE_TYPE_PIPELINE_EXECUTABLE_INFO_KHR = 1000269003,
  VK_STRUCTURE_TYPE_PIPELINE_EXECUTABLE_STATISTIC_KHR = 1000269004,
  VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_MAINTENANCE_4_PROPERTIES = 1000413001,
  VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_COOPERATIVE_MATRIX_FEATURES_KHR = 1000506000,
  VK_STRUCTURE_TYPE_COOPERATIVE_MATRIX_PROPERTIES_KHR = 1000506001,
  VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_COOPERATIVE_MATRIX_PROPERTIES_KHR = 1000506002,
};

// Flags and small enumerations.
enum {
  VK_SHADER_STAGE_COMPUTE_BIT = 0x20,
  VK_DESCRIPTOR_TYPE_STORAGE_TEXEL_BUFFER = 5,
  VK_DESCRIPTOR_TYPE_STORAGE_BUFFER = 7,
  VK_PIPELINE_BIND_POINT_COMPUTE = 1,
  VK_COMMAND_BUFFER_USAGE_SIMULTANEOUS_USE_BIT = 4,
  VK_PIPELINE_STAGE_COMPUTE_SHADER_BIT = 0x800,
  VK_PIPELINE_STAGE_TRANSFER_BIT = 0x1000,
  VK_PIPELINE_STAGE_BOTTOM_OF_PIPE_BIT = 0x2000,
  VK_PIPELINE_STAGE_HOST_BIT = 0x4000,
  VK_ACCESS_SHADER_READ_BIT = 0x20,
  VK_ACCESS_SHADER_WRITE_BIT = 0x40,
  VK_ACCESS_TRANSFER_READ_BIT = 0x800,
  VK_ACCESS_TRANSFER_WRITE_BIT = 0x1000,
  VK_ACCESS_HOST_READ_BIT = 0x2000,
  VK_SEMAPHORE_TYPE_TIMELINE = 1,
  VK_SCOPE_SUBGROUP_KHR = 3,
  VK_PIPELINE_SHADER_STAGE_CREATE_REQUIRE_FULL_SUBGROUPS_BIT = 2,
  VK_PIPELINE_CREATE_CAPTURE_STATISTICS_BIT_KHR = 0x40,
  VK_VALIDATION_FEATURE_ENABLE_GPU_ASSISTED_EXT = 0,
  VK_VALIDATION_FEATURE_ENABLE_GPU_ASSISTED_RESERVE_BINDING_SLOT_EXT = 1,
  VK_VALIDATION_FEATURE_ENABLE_SYNCHRONIZATION_VALIDATION_EXT = 4,
  VK_DEBUG_UTILS_MESSAGE_SEVERITY_WARNING_BIT_EXT = 0x100,
  VK_DEBUG_UTILS_MESSAGE_SEVERITY_ERROR_BIT_EXT = 0x1000,
  VK_DEBUG_UTILS_MESSAGE_TYPE_VALIDATION_BIT_EXT = 2,
};

// Any structure of a feature or property chain begins so.
typedef struct { VkStructureType sType; void *pNext; } VkBase;

typedef struct { VkStructureType sType; const void *pNext; const char *pApplicationName; uint32_t applicationVersion; const char *pEngineName; uint32_t engineVersion; uint32_t apiVersion; } VkApplicationInfo;
typedef struct { VkStructureType sType; const void *pNext; VkFlags flags; const VkApplicationInfo *pApplicationInfo; uint32_t enabledLayerCount; const char *const *ppEnabledLayerNames; uint32_t enabledExtensionCount; const char *const *ppEnabledExtensionNames; } VkInstanceCreateInfo;
typedef struct { VkStructureType sType; const void *pNext; VkFlags flags; uint32_t queueFamilyIndex; uint32_t queueCount; const float *pQueuePriorities; } VkDeviceQueueCreateInfo;
typedef struct { VkStructureType sType; const void *pNext; VkFlags flags; uint32_t queueCreateInfoCount; const VkDeviceQueueCreateInfo *pQueueCreateInfos; uint32_t enabledLayerCount; const char *const *ppEnabledLayerNames; uint32_t enabledExtensionCount; const char *const *ppEnabledExtensionNames; const void *pEnabledFeatures; } VkDeviceCreateInfo;
typedef struct { char extensionName[256]; uint32_t specVersion; } VkExtensionProperties;
typedef struct { char layerName[256]; uint32_t specVersion, implementationVersion; char description[256]; } VkLayerProperties;
typedef struct { VkFlags queueFlags; uint32_t queueCount, timestampValidBits, granularity[3]; } VkQueueFamilyProperties;

// Properties. The body of VkPhysicalDeviceProperties (824 bytes) is read through the binding.
typedef struct { VkStructureType sType; void *pNext; uint64_t properties[103]; } VkPhysicalDeviceProperties2;
typedef struct { VkStructureType sType; void *pNext; uint32_t subgroupSize; VkFlags supportedStages, supportedOperations; VkBool32 quadOperationsInAllStages; } VkPhysicalDeviceSubgroupProperties;
typedef struct { VkStructureType sType; void *pNext; uint32_t maxPerSetDescriptors; VkDeviceSize maxMemoryAllocationSize; } VkPhysicalDeviceMaintenance3Properties;
typedef struct { VkStructureType sType; void *pNext; VkDeviceSize maxBufferSize; } VkPhysicalDeviceMaintenance4Properties;
typedef struct { VkStructureType sType; void *pNext; int32_t driverID; char driverName[256], driverInfo[256]; uint8_t conformance[4]; } VkPhysicalDeviceDriverProperties;
typedef struct { VkStructureType sType; void *pNext; uint32_t pciDomain, pciBus, pciDevice, pciFunction; } VkPhysicalDevicePCIBusInfoPropertiesEXT;
typedef struct { VkStructureType sType; void *pNext; uint32_t minSubgroupSize, maxSubgroupSize, maxComputeWorkgroupSubgroups; VkFlags requiredSubgroupSizeStages; } VkPhysicalDeviceSubgroupSizeControlProperties;
typedef struct { VkStructureType sType; void *pNext; VkFlags cooperativeMatrixSupportedStages; } VkPhysicalDeviceCooperativeMatrixPropertiesKHR;
typedef struct { VkStructureType sType; void *pNext; uint32_t MSize, NSize, KSize; int32_t AType, BType, CType, ResultType; VkBool32 saturatingAccumulation; int32_t scope; } VkCooperativeMatrixPropertiesKHR;
typedef struct { VkFlags propertyFlags; uint32_t heapIndex; } VkMemoryType;
typedef struct { VkDeviceSize size; VkFlags flags; } VkMemoryHeap;
typedef struct { uint32_t memoryTypeCount; VkMemoryType memoryTypes[32]; uint32_t memoryHeapCount; VkMemoryHeap memoryHeaps[16]; } VkPhysicalDeviceMemoryProperties;
typedef struct { VkStructureType sType; void *pNext; VkPhysicalDeviceMemoryProperties memoryProperties; } VkPhysicalDeviceMemoryProperties2;
typedef struct { VkStructureType sType; void *pNext; VkDeviceSize heapBudget[16], heapUsage[16]; } VkPhysicalDeviceMemoryBudgetPropertiesEXT;

// Features. VkPhysicalDeviceFeatures is 55 booleans; the three used are named by position.
enum { FEATURE_SHADER_FLOAT64 = 39, FEATURE_SHADER_INT64 = 40, FEATURE_SHADER_INT16 = 41 };
typedef struct { VkStructureType sType; void *pNext; VkBool32 features[55]; } VkPhysicalDeviceFeatures2;
typedef struct { VkStructureType sType; void *pNext; VkBool32 storageBuffer16BitAccess, uniformAndStorageBuffer16BitAccess, storagePushConstant16, storageInputOutput16; } VkPhysicalDevice16BitStorageFeatures;
typedef struct { VkStructureType sType; void *pNext; VkBool32 storageBuffer8BitAccess, uniformAndStorageBuffer8BitAccess, storagePushConstant8; } VkPhysicalDevice8BitStorageFeatures;
typedef struct { VkStructureType sType; void *pNext; VkBool32 shaderFloat16, shaderInt8; } VkPhysicalDeviceShaderFloat16Int8Features;
typedef struct { VkStructureType sType; void *pNext; VkBool32 shaderSubgroupExtendedTypes; } VkPhysicalDeviceShaderSubgroupExtendedTypesFeatures;
typedef struct { VkStructureType sType; void *pNext; VkBool32 timelineSemaphore; } VkPhysicalDeviceTimelineSemaphoreFeatures;
typedef struct { VkStructureType sType; void *pNext; VkBool32 vulkanMemoryModel, vulkanMemoryModelDeviceScope, vulkanMemoryModelAvailabilityVisibilityChains; } VkPhysicalDeviceVulkanMemoryModelFeatures;
typedef struct { VkStructureType sType; void *pNext; VkBool32 subgroupSizeControl, computeFullSubgroups; } VkPhysicalDeviceSubgroupSizeControlFeatures;
typedef struct { VkStructureType sType; void *pNext; VkBool32 shaderBufferFloat32Atomics, shaderBufferFloat32AtomicAdd, shaderBufferFloat64Atomics, shaderBufferFloat64AtomicAdd, shaderSharedFloat32Atomics, shaderSharedFloat32AtomicAdd, shaderSharedFloat64Atomics, shaderSharedFloat64AtomicAdd, shaderImageFloat32Atomics, shaderImageFloat32AtomicAdd, sparseImageFloat32Atomics, sparseImageFloat32AtomicAdd; } VkPhysicalDeviceShaderAtomicFloatFeaturesEXT;
typedef struct { VkStructureType sType; void *pNext; VkBool32 pipelineExecutableInfo; } VkPhysicalDevicePipelineExecutablePropertiesFeaturesKHR;
typedef struct { VkStructureType sType; void *pNext; VkBool32 cooperativeMatrix, cooperativeMatrixRobustBufferAccess; } VkPhysicalDeviceCooperativeMatrixFeaturesKHR;

// Pipelines and descriptors.
typedef struct { uint32_t binding; int32_t descriptorType; uint32_t descriptorCount; VkFlags stageFlags; const void *pImmutableSamplers; } VkDescriptorSetLayoutBinding;
typedef struct { VkStructureType sType; const void *pNext; VkFlags flags; uint32_t bindingCount; const VkDescriptorSetLayoutBinding *pBindings; } VkDescriptorSetLayoutCreateInfo;
typedef struct { VkFlags stageFlags; uint32_t offset, size; } VkPushConstantRange;
typedef struct { VkStructureType sType; const void *pNext; VkFlags flags; uint32_t setLayoutCount; const VkHandle *pSetLayouts; uint32_t pushConstantRangeCount; const VkPushConstantRange *pPushConstantRanges; } VkPipelineLayoutCreateInfo;
typedef struct { uint32_t constantID, offset; size_t size; } VkSpecializationMapEntry;
typedef struct { uint32_t mapEntryCount; const VkSpecializationMapEntry *pMapEntries; size_t dataSize; const void *pData; } VkSpecializationInfo;
typedef struct { VkStructureType sType; void *pNext; uint32_t requiredSubgroupSize; } VkPipelineShaderStageRequiredSubgroupSizeCreateInfo;
typedef struct { VkStructureType sType; const void *pNext; VkFlags flags; VkFlags stage; VkHandle module; const char *pName; const VkSpecializationInfo *pSpecializationInfo; } VkPipelineShaderStageCreateInfo;
typedef struct { VkStructureType sType; const void *pNext; VkFlags flags; VkPipelineShaderStageCreateInfo stage; VkHandle layout, basePipelineHandle; int32_t basePipelineIndex; } VkComputePipelineCreateInfo;
typedef struct { int32_t type; uint32_t descriptorCount; } VkDescriptorPoolSize;
typedef struct { VkStructureType sType; const void *pNext; VkFlags flags; uint32_t maxSets, poolSizeCount; const VkDescriptorPoolSize *pPoolSizes; } VkDescriptorPoolCreateInfo;
typedef struct { VkStructureType sType; const void *pNext; VkHandle descriptorPool; uint32_t descriptorSetCount; const VkHandle *pSetLayouts; } VkDescriptorSetAllocateInfo;
typedef struct { VkHandle buffer; VkDeviceSize offset, range; } VkDescriptorBufferInfo;
typedef struct { VkStructureType sType; const void *pNext; VkFlags flags; VkHandle buffer; int32_t format; VkDeviceSize offset, range; } VkBufferViewCreateInfo;
typedef struct { VkStructureType sType; const void *pNext; VkHandle dstSet; uint32_t dstBinding, dstArrayElement, descriptorCount; int32_t descriptorType; const void *pImageInfo; const VkDescriptorBufferInfo *pBufferInfo; const void *pTexelBufferView; } VkWriteDescriptorSet;
typedef struct { VkStructureType sType; const void *pNext; VkHandle pipeline; } VkPipelineInfoKHR;
typedef struct { VkStructureType sType; void *pNext; VkFlags stages; char name[256], description[256]; uint32_t subgroupSize; } VkPipelineExecutablePropertiesKHR;
typedef struct { VkStructureType sType; const void *pNext; VkHandle pipeline; uint32_t executableIndex; } VkPipelineExecutableInfoKHR;
typedef union { VkBool32 b32; int64_t i64; uint64_t u64; double f64; } VkPipelineExecutableStatisticValueKHR;
typedef struct { VkStructureType sType; void *pNext; char name[256], description[256]; int32_t format; VkPipelineExecutableStatisticValueKHR value; } VkPipelineExecutableStatisticKHR;

// Commands, submission, waiting, memory.
typedef struct { VkStructureType sType; const void *pNext; VkFlags flags; const void *pInheritanceInfo; } VkCommandBufferBeginInfo;
typedef struct { VkStructureType sType; const void *pNext; VkFlags srcAccessMask, dstAccessMask; } VkMemoryBarrier;
typedef struct { VkDeviceSize srcOffset, dstOffset, size; } VkBufferCopy;
typedef struct { VkStructureType sType; const void *pNext; uint32_t waitSemaphoreCount; const VkHandle *pWaitSemaphores; const VkFlags *pWaitDstStageMask; uint32_t commandBufferCount; const VkCommandBuffer *pCommandBuffers; uint32_t signalSemaphoreCount; const VkHandle *pSignalSemaphores; } VkSubmitInfo;
typedef struct { VkStructureType sType; const void *pNext; uint32_t waitSemaphoreValueCount; const uint64_t *pWaitSemaphoreValues; uint32_t signalSemaphoreValueCount; const uint64_t *pSignalSemaphoreValues; } VkTimelineSemaphoreSubmitInfo;
typedef struct { VkStructureType sType; const void *pNext; int32_t semaphoreType; uint64_t initialValue; } VkSemaphoreTypeCreateInfo;
typedef struct { VkStructureType sType; const void *pNext; VkFlags flags; } VkSemaphoreCreateInfo;
typedef struct { VkStructureType sType; const void *pNext; VkFlags flags; uint32_t semaphoreCount; const VkHandle *pSemaphores; const uint64_t *pValues; } VkSemaphoreWaitInfo;
typedef struct { VkStructureType sType; const void *pNext; VkHandle memory; VkDeviceSize offset, size; } VkMappedMemoryRange;

// Debugging.
typedef struct { VkStructureType sType; const void *pNext; uint32_t enabledValidationFeatureCount; const int32_t *pEnabledValidationFeatures; uint32_t disabledValidationFeatureCount; const int32_t *pDisabledValidationFeatures; } VkValidationFeaturesEXT;
typedef struct { VkStructureType sType; const void *pNext; VkFlags flags; const char *pMessageIdName; int32_t messageIdNumber; const char *pMessage; } VkDebugUtilsMessengerCallbackDataEXT; // first members only
typedef VkBool32 (*PFN_vkDebugUtilsMessengerCallbackEXT)(VkFlags severity, VkFlags types, const VkDebugUtilsMessengerCallbackDataEXT *data, void *user);
typedef struct { VkStructureType sType; const void *pNext; VkFlags flags, messageSeverity, messageType; PFN_vkDebugUtilsMessengerCallbackEXT pfnUserCallback; void *pUserData; } VkDebugUtilsMessengerCreateInfoEXT;
typedef struct { VkStructureType sType; const void *pNext; int32_t objectType; uint64_t objectHandle; const char *pObjectName; } VkDebugUtilsObjectNameInfoEXT;

#endif
