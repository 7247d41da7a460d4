#include <stdlib.h>
#include <string.h>

#include "shim_internal.h"

VkResult evk_create_set_layout(evk_device *d, uint32_t n, const uint32_t *bindings, const uint32_t *texels, VkHandle *out) {
  VkDescriptorSetLayoutBinding *b = calloc(n ? n : 1, sizeof *b);
  if (!b) return VK_ERROR_OUT_OF_HOST_MEMORY;
  for (uint32_t i = 0; i < n; i++) {
    b[i].binding = bindings[i];
    b[i].descriptorType = texels[i] ? VK_DESCRIPTOR_TYPE_STORAGE_TEXEL_BUFFER : VK_DESCRIPTOR_TYPE_STORAGE_BUFFER;
    b[i].descriptorCount = 1;
    b[i].stageFlags = VK_SHADER_STAGE_COMPUTE_BIT;
  }
  VkDescriptorSetLayoutCreateInfo info = {.sType = VK_STRUCTURE_TYPE_DESCRIPTOR_SET_LAYOUT_CREATE_INFO, .bindingCount = n, .pBindings = b};
  VkResult r = d->CreateDescriptorSetLayout(d->handle, &info, NULL, out);
  free(b);
  return r;
}

VkResult evk_create_pipeline_layout(evk_device *d, VkHandle set_layout, uint32_t push_bytes, VkHandle *out) {
  VkPushConstantRange push = {.stageFlags = VK_SHADER_STAGE_COMPUTE_BIT, .size = push_bytes};
  VkPipelineLayoutCreateInfo info = {.sType = VK_STRUCTURE_TYPE_PIPELINE_LAYOUT_CREATE_INFO, .setLayoutCount = 1, .pSetLayouts = &set_layout, .pushConstantRangeCount = push_bytes != 0, .pPushConstantRanges = &push};
  return d->CreatePipelineLayout(d->handle, &info, NULL, out);
}

VkResult evk_create_pipeline(evk_device *d, const evk_pipeline_info *p, VkHandle *out) {
  VkSpecializationMapEntry *entries = calloc(p->spec_count ? p->spec_count : 1, sizeof *entries);
  if (!entries) return VK_ERROR_OUT_OF_HOST_MEMORY;
  for (uint32_t i = 0; i < p->spec_count; i++) {
    entries[i].constantID = p->spec_ids[i];
    entries[i].offset = 4 * i;
    entries[i].size = 4;
  }
  VkSpecializationInfo spec = {.mapEntryCount = p->spec_count, .pMapEntries = entries, .dataSize = 4 * (size_t)p->spec_count, .pData = p->spec_values};
  VkPipelineShaderStageRequiredSubgroupSizeCreateInfo size = {.sType = VK_STRUCTURE_TYPE_PIPELINE_SHADER_STAGE_REQUIRED_SUBGROUP_SIZE_CREATE_INFO, .requiredSubgroupSize = p->subgroup};
  VkComputePipelineCreateInfo info = {
      .sType = VK_STRUCTURE_TYPE_COMPUTE_PIPELINE_CREATE_INFO,
      .flags = p->statistics ? VK_PIPELINE_CREATE_CAPTURE_STATISTICS_BIT_KHR : 0,
      .stage = {.sType = VK_STRUCTURE_TYPE_PIPELINE_SHADER_STAGE_CREATE_INFO,
                .pNext = p->subgroup ? &size : NULL,
                .flags = p->full_subgroups ? VK_PIPELINE_SHADER_STAGE_CREATE_REQUIRE_FULL_SUBGROUPS_BIT : 0,
                .stage = VK_SHADER_STAGE_COMPUTE_BIT,
                .module = p->module,
                .pName = "main",
                .pSpecializationInfo = p->spec_count ? &spec : NULL},
      .layout = p->layout,
      .basePipelineIndex = -1,
  };
  VkResult r = d->CreateComputePipelines(d->handle, p->cache, 1, &info, NULL, out);
  free(entries);
  return r;
}

VkResult evk_pipeline_statistics(evk_device *d, VkHandle pipeline, evk_statistic *out, uint32_t *count) {
  uint32_t executables = 0, filled = 0, cap = *count;
  *count = 0;
  VkPipelineInfoKHR info = {.sType = VK_STRUCTURE_TYPE_PIPELINE_INFO_KHR, .pipeline = pipeline};
  if (!d->GetPipelineExecutablePropertiesKHR || !d->GetPipelineExecutableStatisticsKHR) return VK_SUCCESS;
  VkResult r = d->GetPipelineExecutablePropertiesKHR(d->handle, &info, &executables, NULL);
  for (uint32_t e = 0; r == VK_SUCCESS && e < executables; e++) {
    VkPipelineExecutableInfoKHR which = {.sType = VK_STRUCTURE_TYPE_PIPELINE_EXECUTABLE_INFO_KHR, .pipeline = pipeline, .executableIndex = e};
    uint32_t n;
    VkPipelineExecutableStatisticKHR *all;
    EVK_LIST(r, n, all, all[i].sType = VK_STRUCTURE_TYPE_PIPELINE_EXECUTABLE_STATISTIC_KHR, d->GetPipelineExecutableStatisticsKHR(d->handle, &which, &n, all));
    if (r != VK_SUCCESS) n = 0;
    for (uint32_t i = 0; i < n && filled < cap; i++, filled++) {
      memcpy(out[filled].name, all[i].name, sizeof out[filled].name);
      out[filled].format = (uint32_t)all[i].format;
      out[filled].executable = e;
      out[filled].bits = all[i].format == 0 ? all[i].value.b32 : all[i].value.u64;
    }
    free(all);
  }
  *count = filled;
  return r;
}

VkResult evk_create_descriptor_pool(evk_device *d, uint32_t sets, uint32_t buffers, uint32_t texels, VkHandle *out) {
  VkDescriptorPoolSize sizes[2];
  uint32_t n = 0;
  if (buffers) sizes[n++] = (VkDescriptorPoolSize){.type = VK_DESCRIPTOR_TYPE_STORAGE_BUFFER, .descriptorCount = buffers};
  if (texels) sizes[n++] = (VkDescriptorPoolSize){.type = VK_DESCRIPTOR_TYPE_STORAGE_TEXEL_BUFFER, .descriptorCount = texels};
  VkDescriptorPoolCreateInfo info = {.sType = VK_STRUCTURE_TYPE_DESCRIPTOR_POOL_CREATE_INFO, .maxSets = sets, .poolSizeCount = n, .pPoolSizes = sizes};
  return d->CreateDescriptorPool(d->handle, &info, NULL, out);
}

VkResult evk_allocate_sets(evk_device *d, VkHandle pool, uint32_t n, const VkHandle *layouts, VkHandle *out) {
  VkDescriptorSetAllocateInfo info = {.sType = VK_STRUCTURE_TYPE_DESCRIPTOR_SET_ALLOCATE_INFO, .descriptorPool = pool, .descriptorSetCount = n, .pSetLayouts = layouts};
  return d->AllocateDescriptorSets(d->handle, &info, out);
}

VkResult evk_update_sets(evk_device *d, uint32_t n, const evk_write *writes) {
  VkWriteDescriptorSet *w = calloc(n ? n : 1, sizeof *w);
  VkDescriptorBufferInfo *b = calloc(n ? n : 1, sizeof *b);
  VkResult r = w && b ? VK_SUCCESS : VK_ERROR_OUT_OF_HOST_MEMORY;
  if (r == VK_SUCCESS) {
    for (uint32_t i = 0; i < n; i++) {
      b[i].buffer = writes[i].buffer;
      b[i].offset = writes[i].offset;
      b[i].range = writes[i].range;
      w[i].sType = VK_STRUCTURE_TYPE_WRITE_DESCRIPTOR_SET;
      w[i].dstSet = writes[i].set;
      w[i].dstBinding = writes[i].binding;
      w[i].descriptorCount = 1;
      w[i].descriptorType = writes[i].view ? VK_DESCRIPTOR_TYPE_STORAGE_TEXEL_BUFFER : VK_DESCRIPTOR_TYPE_STORAGE_BUFFER;
      w[i].pTexelBufferView = &writes[i].view;
      w[i].pBufferInfo = &b[i];
    }
    d->UpdateDescriptorSets(d->handle, n, w, 0, NULL);
  }
  free(w);
  free(b);
  return r;
}

VkResult evk_create_buffer_view(evk_device *d, VkHandle buffer, int32_t format, uint64_t offset, uint64_t range, VkHandle *out) {
  VkBufferViewCreateInfo info = {.sType = VK_STRUCTURE_TYPE_BUFFER_VIEW_CREATE_INFO, .buffer = buffer, .format = format, .offset = offset, .range = range};
  return d->CreateBufferView(d->handle, &info, NULL, out);
}

void evk_destroy_buffer_view(evk_device *d, VkHandle view) {
  if (view) d->DestroyBufferView(d->handle, view, NULL);
}

VkResult evk_record(evk_device *d, void *cb, const uint64_t *t, size_t words, const char **where) {
  VkCommandBufferBeginInfo begin = {.sType = VK_STRUCTURE_TYPE_COMMAND_BUFFER_BEGIN_INFO, .flags = VK_COMMAND_BUFFER_USAGE_SIMULTANEOUS_USE_BIT};
  *where = "vkBeginCommandBuffer";
  VkResult r = d->BeginCommandBuffer(cb, &begin);
  if (r != VK_SUCCESS) return r;
  for (const uint64_t *end = t + words; t < end;) {
    uint64_t op = *t++;
    switch (op & 0xff) {
    case EVK_OP_PIPELINE:
      d->CmdBindPipeline(cb, VK_PIPELINE_BIND_POINT_COMPUTE, t[0]);
      t += 1;
      break;
    case EVK_OP_SET:
      d->CmdBindDescriptorSets(cb, VK_PIPELINE_BIND_POINT_COMPUTE, t[0], 0, 1, &t[1], 0, NULL);
      t += 2;
      break;
    case EVK_OP_PUSH: {
      uint32_t bytes = (uint32_t)(op >> 8) & 0xffffff;
      d->CmdPushConstants(cb, t[0], VK_SHADER_STAGE_COMPUTE_BIT, 0, bytes, &t[1]);
      t += 1 + (bytes + 7) / 8;
      break;
    }
    case EVK_OP_DISPATCH:
      d->CmdDispatch(cb, (uint32_t)(op >> 32), (uint32_t)t[0], (uint32_t)(t[0] >> 32));
      t += 1;
      break;
    case EVK_OP_BARRIER: {
      VkMemoryBarrier m = {.sType = VK_STRUCTURE_TYPE_MEMORY_BARRIER, .srcAccessMask = (VkFlags)t[1], .dstAccessMask = (VkFlags)(t[1] >> 32)};
      d->CmdPipelineBarrier(cb, (VkFlags)t[0], (VkFlags)(t[0] >> 32), 0, 1, &m, 0, NULL, 0, NULL);
      t += 2;
      break;
    }
    case EVK_OP_COPY: {
      VkBufferCopy c = {.srcOffset = t[2], .dstOffset = t[3], .size = t[4]};
      d->CmdCopyBuffer(cb, t[0], t[1], 1, &c);
      t += 5;
      break;
    }
    case EVK_OP_FILL:
      d->CmdFillBuffer(cb, t[0], t[1], t[2], (uint32_t)(op >> 32));
      t += 3;
      break;
    case EVK_OP_RESET:
      d->CmdResetQueryPool(cb, t[0], (uint32_t)t[1], (uint32_t)(t[1] >> 32));
      t += 2;
      break;
    case EVK_OP_TIMESTAMP:
      d->CmdWriteTimestamp(cb, VK_PIPELINE_STAGE_BOTTOM_OF_PIPE_BIT, t[0], (uint32_t)t[1]);
      t += 2;
      break;
    default:
      *where = "a torn tape"; // a fault of package vk
      return VK_ERROR_INITIALIZATION_FAILED;
    }
  }
  *where = "vkEndCommandBuffer";
  return d->EndCommandBuffer(cb);
}

VkResult evk_create_timeline(evk_device *d, VkHandle *out) {
  VkSemaphoreTypeCreateInfo type = {.sType = VK_STRUCTURE_TYPE_SEMAPHORE_TYPE_CREATE_INFO, .semaphoreType = VK_SEMAPHORE_TYPE_TIMELINE};
  VkSemaphoreCreateInfo info = {.sType = VK_STRUCTURE_TYPE_SEMAPHORE_CREATE_INFO, .pNext = &type};
  return d->CreateSemaphore(d->handle, &info, NULL, out);
}

VkResult evk_submit(evk_device *d, void *queue, uint32_t count, void *const *cbs, VkHandle timeline, uint64_t value, VkHandle fence) {
  VkTimelineSemaphoreSubmitInfo signal = {.sType = VK_STRUCTURE_TYPE_TIMELINE_SEMAPHORE_SUBMIT_INFO, .signalSemaphoreValueCount = 1, .pSignalSemaphoreValues = &value};
  VkSubmitInfo info = {.sType = VK_STRUCTURE_TYPE_SUBMIT_INFO, .commandBufferCount = count, .pCommandBuffers = (const VkCommandBuffer *)cbs};
  if (timeline) {
    info.pNext = &signal;
    info.signalSemaphoreCount = 1;
    info.pSignalSemaphores = &timeline;
  }
  return d->QueueSubmit(queue, 1, &info, fence);
}

VkResult evk_wait(evk_device *d, VkHandle timeline, uint64_t value, uint64_t timeout_ns) {
  VkSemaphoreWaitInfo info = {.sType = VK_STRUCTURE_TYPE_SEMAPHORE_WAIT_INFO, .semaphoreCount = 1, .pSemaphores = &timeline, .pValues = &value};
  return d->WaitSemaphores(d->handle, &info, timeout_ns);
}

VkResult evk_completed(evk_device *d, VkHandle timeline, uint64_t *value) { return d->GetSemaphoreCounterValue(d->handle, timeline, value); }

VkResult evk_flush(evk_device *d, VkHandle memory, uint64_t offset, uint64_t size) {
  VkMappedMemoryRange range = {.sType = VK_STRUCTURE_TYPE_MAPPED_MEMORY_RANGE, .memory = memory, .offset = offset, .size = size};
  return d->FlushMappedMemoryRanges(d->handle, 1, &range);
}

VkResult evk_invalidate(evk_device *d, VkHandle memory, uint64_t offset, uint64_t size) {
  VkMappedMemoryRange range = {.sType = VK_STRUCTURE_TYPE_MAPPED_MEMORY_RANGE, .memory = memory, .offset = offset, .size = size};
  return d->InvalidateMappedMemoryRanges(d->handle, 1, &range);
}
