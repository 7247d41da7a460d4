//go:build vulkango

package vk

// The second binding, selected by the build tag vulkango: github.com/vulkan-go/vulkan
// v0.0.0-20221209234627-c0a353ae26c8 (Vulkan headers 1.1.88).
//
// Only calls that take handles and plain structures go through the binding. It frees the C copy of a slice of structures when
// the garbage collector runs during the call, so the shim makes those calls.

import binding "github.com/vulkan-go/vulkan"

// BindingName is the module that Vulkan is called through.
const BindingName = "github.com/vulkan-go/vulkan"

// vkCount is the binding's type for size_t.
type vkCount = uint

type (
	vkInstance                  = binding.Instance
	vkPhysicalDevice            = binding.PhysicalDevice
	vkDevice                    = binding.Device
	vkQueue                     = binding.Queue
	vkCommandBuffer             = binding.CommandBuffer
	vkCommandPool               = binding.CommandPool
	vkBuffer                    = binding.Buffer
	vkDeviceMemory              = binding.DeviceMemory
	vkFence                     = binding.Fence
	vkSemaphore                 = binding.Semaphore
	vkQueryPool                 = binding.QueryPool
	vkPipelineCache             = binding.PipelineCache
	vkShaderModule              = binding.ShaderModule
	vkPipeline                  = binding.Pipeline
	vkPipelineLayout            = binding.PipelineLayout
	vkDescriptorSetLayout       = binding.DescriptorSetLayout
	vkDescriptorPool            = binding.DescriptorPool
	vkResult                    = binding.Result
	vkDeviceSize                = binding.DeviceSize
	vkPhysicalDeviceProperties  = binding.PhysicalDeviceProperties
	vkBufferCreateInfo          = binding.BufferCreateInfo
	vkMemoryRequirements        = binding.MemoryRequirements
	vkMemoryAllocateInfo        = binding.MemoryAllocateInfo
	vkCommandPoolCreateInfo     = binding.CommandPoolCreateInfo
	vkCommandBufferAllocateInfo = binding.CommandBufferAllocateInfo
	vkFenceCreateInfo           = binding.FenceCreateInfo
	vkQueryPoolCreateInfo       = binding.QueryPoolCreateInfo
	vkPipelineCacheCreateInfo   = binding.PipelineCacheCreateInfo
	vkShaderModuleCreateInfo    = binding.ShaderModuleCreateInfo
)

const (
	structureTypeBufferCreateInfo          = binding.StructureTypeBufferCreateInfo
	structureTypeMemoryAllocateInfo        = binding.StructureTypeMemoryAllocateInfo
	structureTypeCommandPoolCreateInfo     = binding.StructureTypeCommandPoolCreateInfo
	structureTypeCommandBufferAllocateInfo = binding.StructureTypeCommandBufferAllocateInfo
	structureTypeFenceCreateInfo           = binding.StructureTypeFenceCreateInfo
	structureTypeQueryPoolCreateInfo       = binding.StructureTypeQueryPoolCreateInfo
	structureTypePipelineCacheCreateInfo   = binding.StructureTypePipelineCacheCreateInfo
	structureTypeShaderModuleCreateInfo    = binding.StructureTypeShaderModuleCreateInfo
	queryTypeTimestamp                     = binding.QueryTypeTimestamp
)

var (
	vkSetGetInstanceProcAddr      = binding.SetGetInstanceProcAddr
	vkInit                        = binding.Init
	vkInitInstance                = binding.InitInstance
	vkEnumeratePhysicalDevices    = binding.EnumeratePhysicalDevices
	vkGetPhysicalDeviceProperties = binding.GetPhysicalDeviceProperties
	vkGetDeviceQueue              = binding.GetDeviceQueue
	vkDestroyDevice               = binding.DestroyDevice
	vkCreateBuffer                = binding.CreateBuffer
	vkDestroyBuffer               = binding.DestroyBuffer
	vkGetBufferMemoryRequirements = binding.GetBufferMemoryRequirements
	vkAllocateMemory              = binding.AllocateMemory
	vkFreeMemory                  = binding.FreeMemory
	vkBindBufferMemory            = binding.BindBufferMemory
	vkMapMemory                   = binding.MapMemory
	vkCreateCommandPool           = binding.CreateCommandPool
	vkDestroyCommandPool          = binding.DestroyCommandPool
	vkAllocateCommandBuffers      = binding.AllocateCommandBuffers
	vkFreeCommandBuffers          = binding.FreeCommandBuffers
	vkCreateFence                 = binding.CreateFence
	vkDestroyFence                = binding.DestroyFence
	vkResetFences                 = binding.ResetFences
	vkWaitForFences               = binding.WaitForFences
	vkCreateQueryPool             = binding.CreateQueryPool
	vkDestroyQueryPool            = binding.DestroyQueryPool
	vkGetQueryPoolResults         = binding.GetQueryPoolResults
	vkCreatePipelineCache         = binding.CreatePipelineCache
	vkGetPipelineCacheData        = binding.GetPipelineCacheData
	vkDestroyPipelineCache        = binding.DestroyPipelineCache
	vkCreateShaderModule          = binding.CreateShaderModule
	vkDestroyShaderModule         = binding.DestroyShaderModule
	vkDestroyPipeline             = binding.DestroyPipeline
	vkDestroyPipelineLayout       = binding.DestroyPipelineLayout
	vkDestroyDescriptorSetLayout  = binding.DestroyDescriptorSetLayout
	vkDestroyDescriptorPool       = binding.DestroyDescriptorPool
	vkDestroySemaphore            = binding.DestroySemaphore
)
