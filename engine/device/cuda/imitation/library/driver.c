/* The CUDA driver, as far as it is not the same as the runtime. */
#include "imitation.h"

#include <stdio.h>
#include <string.h>


FINE(cuInit)
FINE(cuModuleUnload)

/* There is nothing to log. */
EXPORT int cuLogsRegisterCallback(void *function, void *data, void **handle) { return *handle = new_handle(), success; }

/* Devices and their contexts: a device's primary one is all that there is. */

EXPORT int cuDeviceGetCount(int *count) { return *count = gpu()->devices, success; }

EXPORT int cuDeviceGet(int *device, int ordinal)
{
	*device = ordinal;
	return ordinal >= 0 && ordinal < gpu()->devices ? success : invalid_device;
}

EXPORT int cuDeviceGetName(char *name, int size) { return snprintf(name, (size_t)size, "%s", gpu()->title), success; }
EXPORT int cuDeviceTotalMem_v2(size_t *size) { return *size = gpu()->total, success; }
EXPORT int cuDeviceComputeCapability(int *major, int *minor) { return *major = gpu()->major, *minor = gpu()->minor, success; }

EXPORT int cuDeviceGetUuid_v2(char *id, int device)
{
	memset(id, 0, 16);
	id[0] = 'm';
	id[1] = (char)(place_of(device) + 1);
	return success;
}

EXPORT int cuDeviceGetUuid(char *id, int device) { return cuDeviceGetUuid_v2(id, device); }

static void *context_of(int device) { return (void *)(uintptr_t)(0x700 + device); }
static int device_of(void *context) { return (int)((uintptr_t)context - 0x700); }

EXPORT int cuDevicePrimaryCtxRetain(void **context, int device) { return *context = context_of(device), success; }
EXPORT int cuCtxCreate(void **context, unsigned flags, int device) { return *context = context_of(device), use_device(device); }
EXPORT int cuCtxCreate_v2(void **context, unsigned flags, int device) { return cuCtxCreate(context, flags, device); }
EXPORT int cuCtxCreate_v3(void **context, void *affinity, int count, unsigned flags, int device) { return cuCtxCreate(context, flags, device); }
EXPORT int cuCtxCreate_v4(void **context, void *wanted, unsigned flags, int device) { return cuCtxCreate(context, flags, device); }
EXPORT int cuDevicePrimaryCtxGetState(int device, unsigned *flags, int *active) { return *flags = 0, *active = 1, success; }
EXPORT int cuCtxGetCurrent(void **context) { return *context = context_of(current_device()), success; }
EXPORT int cuCtxPopCurrent_v2(void **context) { return context ? cuCtxGetCurrent(context) : success; }
EXPORT int cuCtxGetDevice(int *device) { return *device = current_device(), success; }
BOTH(cuCtxSetCurrent, cuCtxPushCurrent_v2, (void *context), (context ? use_device(device_of(context)) : success))
EXPORT int cuCtxGetFlags(unsigned *flags) { return *flags = 0, success; }
EXPORT int cuCtxGetApiVersion(void *context, unsigned *version) { return *version = 3020, success; }
EXPORT int cuStreamGetCtx(void *stream, void **context) { return cuCtxGetCurrent(context); }

/* Memory. */

BOTH(cuMemAlloc_v2, cuMemAllocManaged, (uintptr_t * address, size_t size), (size ? device_alloc(current_device(), size, address) : invalid_value))
EXPORT int cuMemFree_v2(uintptr_t address) { return device_free(address); }

EXPORT int cuMemGetAddressRange_v2(uintptr_t *start, size_t *size, uintptr_t address)
{
	uintptr_t first;
	uint64_t length;
	int device;
	if (!address_range(address, &first, &length, &device))
		return invalid_value;
	if (start)
		*start = first;
	if (size)
		*size = length;
	return success;
}

/* What cuPointerGetAttribute is asked by what PyTorch and Triton use. */
EXPORT int cuPointerGetAttribute(void *value, int number, uintptr_t address)
{
	enum { its_context = 1, its_kind, its_device_address, its_host_address, is_managed = 8, its_device = 9, its_start = 11, its_size = 12 };
	uintptr_t start = address;
	uint64_t size = 0;
	int device = current_device();
	bool there = address_range(address, &start, &size, &device), pinned = !there && is_pinned((void *)address);
	if (!there && !pinned)
		return invalid_value;
	switch (number) {
	case its_context: *(void **)value = context_of(device); return success;
	case its_kind: *(int *)value = there ? 2 : 1; return success;
	case its_device_address: *(uintptr_t *)value = address; return success;
	case its_host_address: *(uintptr_t *)value = address; return pinned ? success : invalid_value;
	case is_managed: *(char *)value = 0; return success;
	case its_device: *(int *)value = device; return success;
	case its_start: *(uintptr_t *)value = start; return there ? success : invalid_value;
	case its_size: *(size_t *)value = size; return there ? success : invalid_value;
	default: return invalid_value;
	}
}

BOTH(cuMemcpy, cuMemcpyAsync, (uintptr_t to, uintptr_t from, size_t size), (copy((void *)to, (void *)from, size), success))
BOTH(cuMemcpyHtoD_v2, cuMemcpyHtoDAsync_v2, (uintptr_t to, void *from, size_t size), (copy((void *)to, from, size), success))
BOTH(cuMemcpyDtoH_v2, cuMemcpyDtoHAsync_v2, (void *to, uintptr_t from, size_t size), (copy(to, (void *)from, size), success))
BOTH(cuMemcpyDtoD_v2, cuMemcpyDtoDAsync_v2, (uintptr_t to, uintptr_t from, size_t size), (copy((void *)to, (void *)from, size), success))
BOTH(cuMemsetD8_v2, cuMemsetD8Async, (uintptr_t at, unsigned char value, size_t count), (fill((void *)at, value, count), success))
BOTH(cuMemsetD16_v2, cuMemsetD16Async, (uintptr_t at, unsigned short value, size_t count), (fill((void *)at, 0, 2 * count), success))
BOTH(cuMemsetD32_v2, cuMemsetD32Async, (uintptr_t at, unsigned value, size_t count), (fill((void *)at, 0, 4 * count), success))

/* Code. */

EXPORT int cuModuleGetFunction(void **function) { return *function = new_handle(), success; }
EXPORT int cuKernelGetFunction(void **function, void *kernel) { return *function = kernel, success; }
EXPORT int cuLibraryGetKernel(void **kernel) { return *kernel = new_handle(), success; }
EXPORT int cuLibraryGetModule(void **module) { return *module = new_handle(), success; }
EXPORT int cuModuleGetLoadingMode(int *mode) { return *mode = 2, success; } /* lazy */

EXPORT int cuModuleGetGlobal_v2(uintptr_t *address, size_t *size)
{
	enum { variable = 4096 };
	if (address && !(*address = reserve_addresses(variable)))
		return out_of_memory;
	if (size)
		*size = variable;
	return success;
}

EXPORT int cuFuncGetAttribute(int *value, int number)
{
	enum { most_threads, static_shared, constant, local, registers, ptx, binary, cache, most_dynamic };
	switch (number) {
	case most_threads: *value = 1024; break;
	case registers: *value = 32; break;
	case ptx: case binary: *value = 10 * gpu()->major + gpu()->minor; break;
	case most_dynamic: *value = (int)gpu()->shared_optin; break;
	default: *value = 0;
	}
	return success;
}

EXPORT int cuKernelGetAttribute(int *value, int number) { return cuFuncGetAttribute(value, number); }
