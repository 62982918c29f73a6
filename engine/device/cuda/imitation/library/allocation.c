/* The runtime's memory: of the device, and pinned on the host. */
#define _GNU_SOURCE
#include "imitation.h"

#include <stdlib.h>
#include <string.h>

BOTH(cudaMemGetInfo, cuMemGetInfo_v2, (size_t *left, size_t *total), (*left = device_left(current_device()), *total = gpu()->total, success))

EXPORT int cudaMalloc(void **p, size_t size) { return failed(device_alloc(current_device(), size, (uintptr_t *)p)); }
EXPORT int cudaFree(void *p) { return failed(device_free((uintptr_t)p)); }
EXPORT int cudaMallocManaged(void **p, size_t size) { return cudaMalloc(p, size); }

EXPORT int cudaMallocPitch(void **p, size_t *pitch, size_t width, size_t height)
{
	*pitch = (width + 511) & ~(size_t)511;
	return cudaMalloc(p, *pitch * height);
}

static int host_alloc(void **p, size_t size)
{
	if (posix_memalign(p, 4096, size ? size : 1))
		return failed(out_of_memory);
	host_add(*p, size, true);
	return success;
}

BOTH(cudaHostAlloc, cuMemHostAlloc, (void **p, size_t size), host_alloc(p, size))
BOTH(cudaMallocHost, cuMemAllocHost_v2, (void **p, size_t size), host_alloc(p, size))

static int free_host(void *p)
{
	if (!p)
		return success;
	if (!host_remove(p))
		return failed(invalid_value);
	free(p);
	return success;
}

BOTH(cudaFreeHost, cuMemFreeHost, (void *p), free_host(p))

BOTH(cudaHostRegister, cuMemHostRegister_v2, (void *p, size_t size), (host_add(p, size, false), success))
BOTH(cudaHostUnregister, cuMemHostUnregister, (void *p), failed(host_remove(p) ? success : invalid_value))
BOTH(cudaHostGetDevicePointer, cuMemHostGetDevicePointer_v2, (void **at, void *p), (*at = p, success))
EXPORT int cudaHostGetFlags(unsigned *flags) { return *flags = 0, success; }

EXPORT int cudaPointerGetAttributes(void *to, const void *p)
{
	enum { unregistered, pinned, on_device };
	struct {
		int kind, device;
		const void *there, *here;
		long unused[8];
	} answer = {.device = -2};
	uintptr_t start;
	uint64_t size;
	if (is_pinned(p)) {
		answer.kind = pinned;
		answer.device = current_device();
		answer.there = answer.here = p;
	} else if (address_range((uintptr_t)p, &start, &size, &answer.device)) {
		answer.kind = on_device;
		answer.there = p;
	}
	memcpy(to, &answer, gpu()->cuda >= 13000 ? sizeof answer : 24);
	return success;
}
