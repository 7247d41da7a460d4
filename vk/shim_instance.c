#include "shim.h"

#include <stdlib.h>
#include <string.h>

#include "shim_internal.h"

// The library stays open: the binding keeps its functions for the life of the process.
void *evk_load(const char *name, char *err, size_t cap) { return evk_library_function(name, "vkGetInstanceProcAddr", err, cap); }

// Messages are stored until Go reads them, since the layer may call from any thread, also within a cgo call.
static VkBool32 on_message(VkFlags severity, VkFlags types, const VkDebugUtilsMessengerCallbackDataEXT *data, void *user) {
  evk_instance *in = user;
  (void)types;
  const char *text = data->pMessage ? data->pMessage : "";
  message *m = malloc(sizeof *m + strlen(text) + 1);
  if (!m) return 0;
  m->next = NULL;
  m->severity = severity;
  strcpy(m->text, text);
  evk_lock_take(&in->lock);
  if (in->message_count < MAX_MESSAGES) {
    *in->tail = m;
    in->tail = &m->next;
    in->message_count++;
    m = NULL;
  }
  evk_lock_release(&in->lock);
  free(m);
  return 0;
}

uint32_t evk_next_message(evk_instance *in, char *out, size_t cap) {
  evk_lock_take(&in->lock);
  message *m = in->head;
  if (m) {
    in->head = m->next;
    in->message_count--;
    if (!in->head) in->tail = &in->head;
  }
  evk_lock_release(&in->lock);
  if (!m) return 0;
  uint32_t severity = m->severity;
  strncpy(out, m->text, cap - 1);
  out[cap - 1] = 0;
  free(m);
  return severity;
}

// has_layer and has_instance_extension store whether there is one of this name.
static VkResult has_layer(PFN_vkGetInstanceProcAddr gipa, const char *name, int *found) {
  VkResult (*list)(uint32_t *, VkLayerProperties *) = (void *)gipa(NULL, "vkEnumerateInstanceLayerProperties");
  VkResult r;
  uint32_t n;
  VkLayerProperties *all;
  *found = 0;
  if (!list) return VK_SUCCESS;
  EVK_LIST(r, n, all, (void)0, list(&n, all));
  for (uint32_t i = 0; r == VK_SUCCESS && i < n && !*found; i++) *found = !strcmp(all[i].layerName, name);
  free(all);
  return r;
}

static VkResult has_instance_extension(PFN_vkGetInstanceProcAddr gipa, const char *name, int *found) {
  VkResult (*list)(const char *, uint32_t *, VkExtensionProperties *) = (void *)gipa(NULL, "vkEnumerateInstanceExtensionProperties");
  VkResult r;
  uint32_t n;
  VkExtensionProperties *all;
  *found = 0;
  if (!list) return VK_SUCCESS;
  EVK_LIST(r, n, all, (void)0, list(NULL, &n, all));
  for (uint32_t i = 0; r == VK_SUCCESS && i < n && !*found; i++) *found = !strcmp(all[i].extensionName, name);
  free(all);
  return r;
}

VkResult evk_create_instance(void *gipa_, uint32_t max_api, int validate, evk_instance **out, const char **where) {
  static const char *layer = "VK_LAYER_KHRONOS_validation", *portability = "VK_KHR_portability_enumeration";
  PFN_vkGetInstanceProcAddr gipa = (PFN_vkGetInstanceProcAddr)gipa_;
  VkResult (*create)(const VkInstanceCreateInfo *, const void *, VkInstance *) = (void *)gipa(NULL, "vkCreateInstance");
  VkResult (*version)(uint32_t *) = (void *)gipa(NULL, "vkEnumerateInstanceVersion");
  uint32_t api = 1u << 22; // 1.0: the loader predates vkEnumerateInstanceVersion
  VkResult r = VK_SUCCESS;
  int layered = 0, portable = 0;
  *where = "vkEnumerateInstanceVersion";
  if (version && (r = version(&api)) != VK_SUCCESS) return r;
  if (api > max_api) api = max_api;
  *where = "vkEnumerateInstanceLayerProperties";
  if (validate && (r = has_layer(gipa, layer, &layered)) != VK_SUCCESS) return r;
  *where = "vkEnumerateInstanceExtensionProperties";
  if ((r = has_instance_extension(gipa, portability, &portable)) != VK_SUCCESS) return r;
  *where = "vkCreateInstance";
  if (!create) return VK_ERROR_INITIALIZATION_FAILED;

  evk_instance *in = calloc(1, sizeof *in);
  if (!in) return VK_ERROR_OUT_OF_HOST_MEMORY;
  in->gipa = gipa;
  in->api = api;
  in->tail = &in->head;
  evk_lock_init(&in->lock);
  in->validating = layered ? validate : EVK_VALIDATE_OFF;

  VkDebugUtilsMessengerCreateInfoEXT messenger = {
      .sType = VK_STRUCTURE_TYPE_DEBUG_UTILS_MESSENGER_CREATE_INFO_EXT,
      .messageSeverity = VK_DEBUG_UTILS_MESSAGE_SEVERITY_WARNING_BIT_EXT | VK_DEBUG_UTILS_MESSAGE_SEVERITY_ERROR_BIT_EXT,
      .messageType = VK_DEBUG_UTILS_MESSAGE_TYPE_VALIDATION_BIT_EXT,
      .pfnUserCallback = on_message,
      .pUserData = in,
  };
  const int32_t sync[] = {VK_VALIDATION_FEATURE_ENABLE_SYNCHRONIZATION_VALIDATION_EXT};
  const int32_t gpu[] = {VK_VALIDATION_FEATURE_ENABLE_GPU_ASSISTED_EXT, VK_VALIDATION_FEATURE_ENABLE_GPU_ASSISTED_RESERVE_BINDING_SLOT_EXT};
  VkValidationFeaturesEXT features = {
      .sType = VK_STRUCTURE_TYPE_VALIDATION_FEATURES_EXT,
      .pNext = &messenger, // reports errors of instance creation itself
      .enabledValidationFeatureCount = in->validating == EVK_VALIDATE_GPU ? 2 : 1,
      .pEnabledValidationFeatures = in->validating == EVK_VALIDATE_GPU ? gpu : sync,
  };
  const char *extensions[3];
  uint32_t n = 0;
  VkApplicationInfo app = {.sType = VK_STRUCTURE_TYPE_APPLICATION_INFO, .pApplicationName = "evorl", .pEngineName = "evorl", .apiVersion = api};
  VkInstanceCreateInfo info = {.sType = VK_STRUCTURE_TYPE_INSTANCE_CREATE_INFO, .pApplicationInfo = &app};
  if (in->validating) {
    info.pNext = &features;
    info.enabledLayerCount = 1;
    info.ppEnabledLayerNames = &layer;
    extensions[n++] = "VK_EXT_debug_utils";
    extensions[n++] = "VK_EXT_validation_features";
  }
  if (portable) { // else the loader hides MoltenVK, which lacks parts of Vulkan that are of no use here
    extensions[n++] = portability;
    info.flags |= VK_INSTANCE_CREATE_ENUMERATE_PORTABILITY_BIT_KHR;
  }
  info.enabledExtensionCount = n;
  info.ppEnabledExtensionNames = extensions;
  r = create(&info, NULL, &in->handle);
  if (r != VK_SUCCESS) {
    evk_destroy_instance(in);
    return r;
  }
#define LOAD(f) in->f = (void *)gipa(in->handle, "vk" #f)
  LOAD(DestroyInstance);
  LOAD(GetDeviceProcAddr);
  LOAD(GetPhysicalDeviceProperties2);
  LOAD(GetPhysicalDeviceFeatures2);
  LOAD(GetPhysicalDeviceMemoryProperties2);
  LOAD(GetPhysicalDeviceMemoryProperties);
  LOAD(GetPhysicalDeviceQueueFamilyProperties);
  LOAD(EnumerateDeviceExtensionProperties);
  LOAD(GetPhysicalDeviceCooperativeMatrixPropertiesKHR);
  LOAD(CreateDevice);
  if (in->validating) {
    VkResult (*create_messenger)(VkInstance, const void *, const void *, VkHandle *) = (void *)gipa(in->handle, "vkCreateDebugUtilsMessengerEXT");
    LOAD(DestroyDebugUtilsMessengerEXT);
    *where = "vkCreateDebugUtilsMessengerEXT";
    if (create_messenger) r = create_messenger(in->handle, &messenger, NULL, &in->messenger);
  }
#undef LOAD
  if (r != VK_SUCCESS) {
    evk_destroy_instance(in);
    return r;
  }
  *out = in;
  return VK_SUCCESS;
}

void *evk_instance_handle(evk_instance *in) { return in->handle; }
uint32_t evk_instance_api(evk_instance *in) { return in->api; }
int evk_validating(evk_instance *in) { return in->validating; }

void evk_destroy_instance(evk_instance *in) {
  if (in->messenger && in->DestroyDebugUtilsMessengerEXT) in->DestroyDebugUtilsMessengerEXT(in->handle, in->messenger, NULL);
  if (in->handle && in->DestroyInstance) in->DestroyInstance(in->handle, NULL);
  for (message *m = in->head; m;) {
    message *next = m->next;
    free(m);
    m = next;
  }
  evk_lock_destroy(&in->lock);
  free(in);
}
