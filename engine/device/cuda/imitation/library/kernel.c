/* Kernels do nothing; what is asked about them is answered as for a small one. */
#include "imitation.h"

#include <string.h>

typedef struct {
	unsigned x, y, z;
} dimensions;

typedef struct {
	dimensions grid, block;
	size_t shared;
	void *stream;
} configuration;

static __thread configuration configured;

EXPORT unsigned __cudaPushCallConfiguration(dimensions grid, dimensions block, size_t shared, void *stream)
{
	configured = (configuration){grid, block, shared, stream};
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

EXPORT char __cudaInitModule(void **binary) { return 1; }
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

/* code returns the compute capability that a kernel was compiled for, of those that PyTorch's releases are
 * compiled for: CUB refuses one for which its caller was not compiled. A device runs the code of an earlier
 * device of the same major number. */
static int code(void)
{
	static const int compiled[] = {120, 100, 90, 86, 80, 75, 70, 60, 50};
	int device = 10 * gpu()->major + gpu()->minor;
	for (size_t i = 0; i < sizeof compiled / sizeof *compiled; i++)
		if (compiled[i] <= device && compiled[i] / 10 == device / 10)
			return compiled[i];
	return device;
}

/* Kernels are said to need few registers and no shared memory of their own. */
EXPORT int cudaFuncGetAttributes(void *to, const void *function)
{
	struct {
		size_t shared, constant, local;
		int most_threads, registers, ptx, binary, cache, most_dynamic, carveout;
	} answer = {.most_threads = 1024, .registers = 32, .most_dynamic = 49152};
	answer.ptx = answer.binary = code();
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
	EXPORT int name(int *blocks, const void *function, int threads) { return failed(resident_blocks(blocks, threads)); }

RESIDENT(cudaOccupancyMaxActiveBlocksPerMultiprocessor)
RESIDENT(cudaOccupancyMaxActiveBlocksPerMultiprocessorWithFlags)
RESIDENT(cuOccupancyMaxActiveBlocksPerMultiprocessor)
RESIDENT(cuOccupancyMaxActiveBlocksPerMultiprocessorWithFlags)

BOTH(cudaOccupancyMaxActiveClusters, cuOccupancyMaxActiveClusters, (int *clusters), (*clusters = gpu()->processors / 8, success))
BOTH(cudaOccupancyMaxPotentialClusterSize, cuOccupancyMaxPotentialClusterSize, (int *size), (*size = 8, success))

EXPORT int cudaLibraryGetKernel(void **kernel) { return *kernel = new_handle(), success; }

/* A variable of the device's code has an address of its own for each name. */
EXPORT int cudaGetSymbolAddress(void **at, const void *symbol)
{
	static uintptr_t variables;
	if (!variables)
		variables = reserve_addresses(1 << 30);
	*at = (void *)(variables + ((uintptr_t)symbol & ((1 << 30) - 1)));
	return success;
}
