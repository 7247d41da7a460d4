// The function tables behind the shim's opaque types.
#ifndef EVORL_VK_SHIM_INTERNAL_H
#define EVORL_VK_SHIM_INTERNAL_H

#include "shim.h"
#include "shim_platform.h"

enum { MAX_MESSAGES = 1000 }; // bounds the memory that a repeated error can take

// EVK_LIST asks call for a list: first, with all NULL, for its length n, then, after init of the entries, for the list, which the caller frees. A list
// that has grown in between (VK_INCOMPLETE) is asked for again.
#define EVK_LIST(r, n, all, init, call)                                   \
  do {                                                                    \
    all = NULL;                                                           \
    r = VK_INCOMPLETE;                                                    \
    for (int tries = 0; r == VK_INCOMPLETE && tries < 10; tries++) {      \
      free(all);                                                          \
      all = NULL;                                                         \
      n = 0;                                                              \
      r = call;                                                           \
      if (r != VK_SUCCESS || !n) continue;                                \
      all = calloc(n, sizeof *all);                                       \
      for (uint32_t i = 0; all && i < n; i++) init;                       \
      r = all ? call : VK_ERROR_OUT_OF_HOST_MEMORY;                       \
    }                                                                     \
  } while (0)

typedef struct message {
  struct message *next;
  uint32_t severity;
  char text[];
} message;

struct evk_instance {
  VkInstance handle;
  PFN_vkGetInstanceProcAddr gipa;
  uint32_t api;
  int validating;
  VkHandle messenger;
  evk_lock lock; // guards the messages
  message *head, **tail;
  uint32_t message_count;

  void (*DestroyInstance)(VkInstance, const void *);
  PFN_vkGetDeviceProcAddr GetDeviceProcAddr;
  void (*GetPhysicalDeviceProperties2)(VkPhysicalDevice, VkPhysicalDeviceProperties2 *);
  void (*GetPhysicalDeviceFeatures2)(VkPhysicalDevice, VkPhysicalDeviceFeatures2 *);
  void (*GetPhysicalDeviceMemoryProperties)(VkPhysicalDevice, VkPhysicalDeviceMemoryProperties *);
  void (*GetPhysicalDeviceMemoryProperties2)(VkPhysicalDevice, VkPhysicalDeviceMemoryProperties2 *);
  void (*GetPhysicalDeviceQueueFamilyProperties)(VkPhysicalDevice, uint32_t *, VkQueueFamilyProperties *);
  VkResult (*EnumerateDeviceExtensionProperties)(VkPhysicalDevice, const char *, uint32_t *, VkExtensionProperties *);
  VkResult (*GetPhysicalDeviceCooperativeMatrixPropertiesKHR)(VkPhysicalDevice, uint32_t *, VkCooperativeMatrixPropertiesKHR *);
  VkResult (*CreateDevice)(VkPhysicalDevice, const VkDeviceCreateInfo *, const void *, VkDevice *);
  void (*DestroyDebugUtilsMessengerEXT)(VkInstance, VkHandle, const void *);
};

struct evk_device {
  VkDevice handle;
  VkResult (*DeviceWaitIdle)(VkDevice);
  VkResult (*SetDebugUtilsObjectNameEXT)(VkDevice, const VkDebugUtilsObjectNameInfoEXT *);
  VkResult (*CreateDescriptorSetLayout)(VkDevice, const VkDescriptorSetLayoutCreateInfo *, const void *, VkHandle *);
  VkResult (*CreatePipelineLayout)(VkDevice, const VkPipelineLayoutCreateInfo *, const void *, VkHandle *);
  VkResult (*CreateComputePipelines)(VkDevice, VkHandle, uint32_t, const VkComputePipelineCreateInfo *, const void *, VkHandle *);
  VkResult (*GetPipelineExecutablePropertiesKHR)(VkDevice, const VkPipelineInfoKHR *, uint32_t *, VkPipelineExecutablePropertiesKHR *);
  VkResult (*GetPipelineExecutableStatisticsKHR)(VkDevice, const VkPipelineExecutableInfoKHR *, uint32_t *, VkPipelineExecutableStatisticKHR *);
  VkResult (*CreateDescriptorPool)(VkDevice, const VkDescriptorPoolCreateInfo *, const void *, VkHandle *);
  VkResult (*AllocateDescriptorSets)(VkDevice, const VkDescriptorSetAllocateInfo *, VkHandle *);
  VkResult (*CreateBufferView)(VkDevice, const VkBufferViewCreateInfo *, const void *, VkHandle *);
  void (*DestroyBufferView)(VkDevice, VkHandle, const void *);
  void (*UpdateDescriptorSets)(VkDevice, uint32_t, const VkWriteDescriptorSet *, uint32_t, const void *);
  VkResult (*BeginCommandBuffer)(VkCommandBuffer, const VkCommandBufferBeginInfo *);
  VkResult (*EndCommandBuffer)(VkCommandBuffer);
  void (*CmdBindPipeline)(VkCommandBuffer, int32_t, VkHandle);
  void (*CmdBindDescriptorSets)(VkCommandBuffer, int32_t, VkHandle, uint32_t, uint32_t, const VkHandle *, uint32_t, const uint32_t *);
  void (*CmdPushConstants)(VkCommandBuffer, VkHandle, VkFlags, uint32_t, uint32_t, const void *);
  void (*CmdDispatch)(VkCommandBuffer, uint32_t, uint32_t, uint32_t);
  void (*CmdPipelineBarrier)(VkCommandBuffer, VkFlags, VkFlags, VkFlags, uint32_t, const VkMemoryBarrier *, uint32_t, const void *, uint32_t, const void *);
  void (*CmdCopyBuffer)(VkCommandBuffer, VkHandle, VkHandle, uint32_t, const VkBufferCopy *);
  void (*CmdFillBuffer)(VkCommandBuffer, VkHandle, VkDeviceSize, VkDeviceSize, uint32_t);
  void (*CmdResetQueryPool)(VkCommandBuffer, VkHandle, uint32_t, uint32_t);
  void (*CmdWriteTimestamp)(VkCommandBuffer, VkFlags, VkHandle, uint32_t);
  VkResult (*CreateSemaphore)(VkDevice, const VkSemaphoreCreateInfo *, const void *, VkHandle *);
  VkResult (*QueueSubmit)(VkQueue, uint32_t, const VkSubmitInfo *, VkHandle);
  VkResult (*WaitSemaphores)(VkDevice, const VkSemaphoreWaitInfo *, uint64_t);
  VkResult (*GetSemaphoreCounterValue)(VkDevice, VkHandle, uint64_t *);
  VkResult (*FlushMappedMemoryRanges)(VkDevice, uint32_t, const VkMappedMemoryRange *);
  VkResult (*InvalidateMappedMemoryRanges)(VkDevice, uint32_t, const VkMappedMemoryRange *);
};

#endif
