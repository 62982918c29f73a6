/* The CUDA runtime, without streams (stream.c). */
#define _GNU_SOURCE
#include "imitation.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static __thread int last_error;

static int failed(int status)
{
	if (status)
		last_error = status;
	return status;
}

EXPORT int cudaGetLastError(void)
{
	int status = last_error;
	last_error = success;
	return status;
}

EXPORT int cudaPeekAtLastError(void) { return last_error; }

static const struct {
	int status;
	const char *name, *text;
} errors[] = {
	{success, "cudaSuccess", "no error"},
	{invalid_value, "cudaErrorInvalidValue", "invalid argument"},
	{out_of_memory, "cudaErrorMemoryAllocation", "out of memory"},
	{invalid_device, "cudaErrorInvalidDevice", "invalid device ordinal"},
	{not_found, "cudaErrorSymbolNotFound", "named symbol not found"},
	{not_supported, "cudaErrorNotSupported", "operation not supported by the imitated GPU"},
};

static int error_at(int status)
{
	for (int i = 0; i < (int)(sizeof errors / sizeof *errors); i++)
		if (errors[i].status == status)
			return i;
	return 1;
}

EXPORT const char *cudaGetErrorString(int status) { return errors[error_at(status)].text; }
EXPORT const char *cudaGetErrorName(int status) { return errors[error_at(status)].name; }

EXPORT int cuGetErrorString(int status, const char **text)
{
	*text = errors[error_at(status)].text;
	return success;
}

EXPORT int cuGetErrorName(int status, const char **text)
{
	*text = errors[error_at(status)].name;
	return success;
}

/* Devices. */

EXPORT int cudaDriverGetVersion(int *version) { return *version = gpu()->cuda, success; }
EXPORT int cudaRuntimeGetVersion(int *version) { return *version = gpu()->cuda, success; }
EXPORT int cudaGetDevice(int *device) { return *device = current_device(), success; }
EXPORT int cudaSetDevice(int device) { return failed(use_device(device)); }
EXPORT int cudaInitDevice(int device) { return failed(device < 0 || device >= gpu()->devices ? invalid_device : success); }
EXPORT int cudaGetDeviceFlags(unsigned *flags) { return *flags = 0, success; }

EXPORT int cudaGetDeviceCount(int *count)
{
	enum { no_device = 100 };
	*count = gpu()->devices;
	return failed(*count ? success : no_device);
}

EXPORT int cudaDeviceGetAttribute(int *value, int number, int device)
{
	(void)device;
	*value = (int)attribute(number);
	return success;
}

EXPORT int cudaDeviceCanAccessPeer(int *can, int device, int peer) { return *can = device != peer, success; }

EXPORT int cudaDeviceGetP2PAttribute(int *value, int number, int from, int to)
{
	*value = from != to && (number == 2 || number == 3); /* access, native atomics */
	return success;
}

EXPORT int cudaDeviceGetPCIBusId(char *text, int size, int device)
{
	snprintf(text, (size_t)size, "0000:%02X:00.0", device + 1);
	return success;
}

EXPORT int cudaDeviceGetByPCIBusId(int *device, const char *text)
{
	unsigned domain, bus;
	if (sscanf(text, "%x:%x", &domain, &bus) != 2 || bus < 1 || (int)bus > gpu()->devices)
		return failed(invalid_value);
	*device = (int)bus - 1;
	return success;
}

/* Limits: stack of a thread, buffer of printf, heap of malloc, and so on. */
EXPORT int cudaDeviceGetLimit(size_t *value, int limit)
{
	static const size_t values[] = {1024, 7 << 20, 8 << 20, 2, 2048, 128, 0};
	if (limit < 0 || limit >= (int)(sizeof values / sizeof *values))
		return failed(invalid_value);
	*value = values[limit];
	return success;
}

/* The properties of a device have one layout in CUDA 11 and 12 and another in 13. */
static const struct {
	int twelve, thirteen, size, number; /* number of an attribute; 0 where it is none */
} properties[] = {
	{288, 288, 8, 0}, {296, 296, 8, 8}, {304, 304, 4, 12}, {308, 308, 4, 10}, {312, 312, 8, 11}, {320, 320, 4, 1},
	{324, 324, 4, 2}, {328, 328, 4, 3}, {332, 332, 4, 4}, {336, 336, 4, 5}, {340, 340, 4, 6}, {344, 344, 4, 7}, {352, 352, 8, 9},
	{360, 360, 4, 75}, {364, 364, 4, 76}, {368, 368, 8, 14}, {388, 384, 4, 16}, {400, 392, 4, 19}, {576, 560, 4, 31},
	{600, 584, 4, 40}, {604, 588, 4, 41}, {612, 592, 4, 37}, {616, 596, 4, 38}, {624, 604, 4, 39}, {628, 608, 4, 78},
	{632, 612, 4, 79}, {636, 616, 4, 80}, {640, 624, 8, 81}, {648, 632, 4, 82}, {652, 636, 4, 83}, {676, 656, 4, 89},
	{680, 660, 4, 90}, {688, 668, 4, 95}, {696, 672, 8, 97}, {712, 688, 4, 106}, {720, 696, 8, 111}, {728, 704, 4, 99},
	{744, 720, 4, 115}, {772, 748, 4, 120},
};

static void describe(char *to, int device, size_t size, bool thirteen)
{
	memset(to, 0, size);
	snprintf(to, 256, "%s", gpu()->title);
	to[256] = 'm'; /* the identifier: it has to differ by device */
	to[257] = (char)(device + 1);
	for (size_t i = 0; i < sizeof properties / sizeof *properties; i++) {
		size_t at = (size_t)(thirteen ? properties[i].thirteen : properties[i].twelve);
		int64_t value = properties[i].number ? attribute(properties[i].number) : (int64_t)gpu()->total;
		if (at + (size_t)properties[i].size <= size)
			memcpy(to + at, &value, (size_t)properties[i].size);
	}
	int bus = device + 1;
	memcpy(to + (thirteen ? 568 : 584), &bus, sizeof bus);
}

EXPORT int cudaGetDeviceProperties(void *to, int device)
{
	bool thirteen = gpu()->cuda >= 13000;
	describe(to, device, thirteen ? 1008 : 728, thirteen);
	return success;
}

EXPORT int cudaGetDeviceProperties_v2(void *to, int device)
{
	describe(to, device, 1032, false);
	return success;
}

/* Memory. */

EXPORT int cudaMemGetInfo(size_t *left, size_t *total)
{
	*left = device_left(current_device());
	*total = gpu()->total;
	return success;
}

EXPORT int cudaMalloc(void **p, size_t size) { return failed(device_alloc(current_device(), size, (uintptr_t *)p)); }
EXPORT int cudaFree(void *p) { return failed(device_free((uintptr_t)p)); }
EXPORT int cudaMallocManaged(void **p, size_t size) { return cudaMalloc(p, size); }
EXPORT int cudaMallocAsync(void **p, size_t size) { return cudaMalloc(p, size); }
EXPORT int cudaMallocFromPoolAsync(void **p, size_t size) { return cudaMalloc(p, size); }
EXPORT int cudaFreeAsync(void *p) { return cudaFree(p); }

EXPORT int cudaMallocPitch(void **p, size_t *pitch, size_t width, size_t height)
{
	*pitch = (width + 511) & ~(size_t)511;
	return cudaMalloc(p, *pitch * height);
}

EXPORT int cudaHostAlloc(void **p, size_t size)
{
	if (posix_memalign(p, 4096, size ? size : 1))
		return failed(out_of_memory);
	host_add(*p, size);
	return success;
}

EXPORT int cudaMallocHost(void **p, size_t size) { return cudaHostAlloc(p, size); }

EXPORT int cudaFreeHost(void *p)
{
	if (!p)
		return success;
	if (!host_remove(p))
		return failed(invalid_value);
	free(p);
	return success;
}

EXPORT int cudaHostRegister(void *p, size_t size) { return host_add(p, size), success; }
EXPORT int cudaHostUnregister(void *p) { return failed(host_remove(p) ? success : invalid_value); }
EXPORT int cudaHostGetDevicePointer(void **at, void *p) { return *at = p, success; }
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

/* Copies. */

EXPORT int cudaMemcpy(void *to, const void *from, size_t size) { return copy(to, from, size), success; }
EXPORT int cudaMemcpyAsync(void *to, const void *from, size_t size) { return copy(to, from, size), success; }

EXPORT int cudaMemcpyPeer(void *to, int there, const void *from, int here, size_t size)
{
	(void)there, (void)here;
	return cudaMemcpy(to, from, size);
}

EXPORT int cudaMemcpyPeerAsync(void *to, int there, const void *from, int here, size_t size) { return cudaMemcpyPeer(to, there, from, here, size); }

EXPORT int cudaMemcpy2D(void *to, size_t to_pitch, const void *from, size_t from_pitch, size_t width, size_t height)
{
	copy_rows(to, to_pitch, from, from_pitch, width, height);
	return success;
}

EXPORT int cudaMemcpy2DAsync(void *to, size_t to_pitch, const void *from, size_t from_pitch, size_t width, size_t height)
{
	return cudaMemcpy2D(to, to_pitch, from, from_pitch, width, height);
}

EXPORT int cudaMemcpyBatchAsync(void *const *to, const void *const *from, const size_t *sizes, size_t count)
{
	for (size_t i = 0; i < count; i++)
		copy(to[i], from[i], sizes[i]);
	return success;
}

EXPORT int cudaMemset(void *p, int value, size_t size) { return fill(p, value, size), success; }
EXPORT int cudaMemsetAsync(void *p, int value, size_t size) { return cudaMemset(p, value, size); }

/* A variable of the device's code has an address of its own for each name. */
EXPORT int cudaGetSymbolAddress(void **at, const void *symbol)
{
	static uintptr_t variables;
	if (!variables)
		variables = reserve_addresses(1 << 30);
	*at = (void *)(variables + ((uintptr_t)symbol & ((1 << 30) - 1)));
	return success;
}

/* Kernels. */

typedef struct {
	unsigned x, y, z;
} dimensions;

static __thread struct {
	dimensions grid, block;
	size_t shared;
	void *stream;
} configured;

EXPORT unsigned __cudaPushCallConfiguration(dimensions grid, dimensions block, size_t shared, void *stream)
{
	configured.grid = grid;
	configured.block = block;
	configured.shared = shared;
	configured.stream = stream;
	return success;
}

EXPORT int __cudaPopCallConfiguration(dimensions *grid, dimensions *block, size_t *shared, void **stream)
{
	*grid = configured.grid;
	*block = configured.block;
	*shared = configured.shared;
	*stream = configured.stream;
	return success;
}

EXPORT void **__cudaRegisterFatBinary(void)
{
	static void *none;
	return &none;
}

EXPORT int __cudaGetKernel(void **kernel, const void *function) { return *kernel = (void *)function, success; }

#define LAUNCH(name) \
	EXPORT int name(void) \
	{ \
		launched(); \
		return success; \
	}

LAUNCH(cudaLaunchKernel)
LAUNCH(__cudaLaunchKernel)
LAUNCH(cudaLaunchKernelExC)
LAUNCH(cudaLaunchCooperativeKernel)
LAUNCH(cudaGraphLaunch)
LAUNCH(cuLaunchKernel)
LAUNCH(cuLaunchKernelEx)
LAUNCH(cuLaunchCooperativeKernel)
LAUNCH(cuGraphLaunch)

/* Kernels are said to need few registers and no shared memory of their own. */
EXPORT int cudaFuncGetAttributes(void *to, const void *function)
{
	struct {
		size_t shared, constant, local;
		int most_threads, registers, ptx, binary, cache, most_dynamic, carveout;
	} answer = {.most_threads = 1024, .registers = 32, .most_dynamic = 49152};
	(void)function;
	answer.ptx = answer.binary = 10 * gpu()->major + gpu()->minor;
	memset(to, 0, gpu()->cuda >= 12000 ? 144 : sizeof answer);
	memcpy(to, &answer, sizeof answer);
	return success;
}

static int resident_blocks(int *blocks, int threads)
{
	if (threads <= 0)
		return invalid_value;
	*blocks = gpu()->threads_per_processor / threads;
	if (*blocks > gpu()->blocks_per_processor)
		*blocks = gpu()->blocks_per_processor;
	return success;
}

#define RESIDENT(name) \
	EXPORT int name(int *blocks, const void *function, int threads) { return (void)function, failed(resident_blocks(blocks, threads)); }

RESIDENT(cudaOccupancyMaxActiveBlocksPerMultiprocessor)
RESIDENT(cudaOccupancyMaxActiveBlocksPerMultiprocessorWithFlags)
RESIDENT(cuOccupancyMaxActiveBlocksPerMultiprocessor)
RESIDENT(cuOccupancyMaxActiveBlocksPerMultiprocessorWithFlags)

EXPORT int cudaOccupancyMaxActiveClusters(int *clusters) { return *clusters = gpu()->processors / 8, success; }
EXPORT int cuOccupancyMaxActiveClusters(int *clusters) { return *clusters = gpu()->processors / 8, success; }
EXPORT int cudaOccupancyMaxPotentialClusterSize(int *size) { return *size = 8, success; }
EXPORT int cuOccupancyMaxPotentialClusterSize(int *size) { return *size = 8, success; }

/* Pools: what they hold is what is in use. */
EXPORT int cudaDeviceGetDefaultMemPool(void **pool, int device) { return *pool = (void *)(uintptr_t)(0x100 + device), success; }
EXPORT int cudaDeviceGetMemPool(void **pool, int device) { return cudaDeviceGetDefaultMemPool(pool, device); }

EXPORT int cudaMemPoolGetAttribute(void *pool, int number, void *value)
{
	(void)pool;
	if (number <= 3) /* reuse of memory, an int each */
		*(int *)value = 0;
	else /* the threshold, and what is reserved and used, now and at most */
		*(uint64_t *)value = number == 4 ? 0 : device_used(current_device());
	return success;
}

EXPORT int cudaDeviceGetGraphMemAttribute(int device, int number, uint64_t *value)
{
	(void)device, (void)number;
	*value = 0; /* PyTorch's graphs allocate nothing themselves */
	return success;
}

/* Handles between processes name nothing that another process could have. */
EXPORT int cudaIpcGetEventHandle(void *handle) { return memset(handle, 0, 64), success; }

EXPORT int cudaGraphInstantiate(void **graph) { return *graph = new_handle(), success; }
EXPORT int cudaGraphInstantiateWithFlags(void **graph) { return cudaGraphInstantiate(graph); }
EXPORT int cudaGraphNodeGetDependencies(void *node, void **nodes, void *edges_or_count, size_t *count)
{
	(void)node, (void)nodes;
	*(gpu()->cuda >= 13000 ? count : (size_t *)edges_or_count) = 0;
	return success;
}

EXPORT int cudaLibraryGetKernel(void **kernel) { return *kernel = new_handle(), success; }
