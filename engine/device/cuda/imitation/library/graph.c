/* Graphs of kernels: they have nothing to do either. */
#include "imitation.h"

#include <string.h>

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
