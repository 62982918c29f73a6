/* Graphs of kernels: they have nothing to do either. */
#include "imitation.h"

EXPORT int cudaDeviceGetGraphMemAttribute(int device, int number, uint64_t *value)
{
	*value = 0; /* PyTorch's graphs allocate nothing themselves */
	return success;
}

EXPORT int cudaGraphInstantiate(void **graph) { return *graph = new_handle(), success; }
BOTH(cudaGraphInstantiateWithFlags, cuGraphInstantiateWithFlags, (void **graph), cudaGraphInstantiate(graph))
EXPORT int cudaGraphNodeGetDependencies(void *node, void **nodes, void *edges_or_count, size_t *count)
{
	*(gpu()->cuda >= 13000 ? count : (size_t *)edges_or_count) = 0;
	return success;
}

/* Memory that a graph would allocate itself has no address here, so that node is refused. */
static int add_node(const char *function, void *caller, uint64_t *times, void **node, const int *kind)
{
	enum { allocates = 10 };
	if (*kind == allocates)
		return refuse(function, not_supported, caller, times);
	*node = new_handle();
	return success;
}

#define ADD(name, ...) \
	EXPORT int name(void **node, void *graph, void *before, __VA_ARGS__, const int *kind) \
	{ \
		static uint64_t times; \
		return add_node(#name, CALLER, &times, node, kind); \
	}

ADD(cuGraphAddNode, size_t count)
ADD(cuGraphAddNode_v2, void *edges, size_t count)

/* cudaGraphAddNode has had edges since CUDA 13. */
EXPORT int cudaGraphAddNode(void **node, void *graph, void *before, void *edges_or_count, void *count_or_node, const int *node_or_none)
{
	static uint64_t times;
	return add_node("cudaGraphAddNode", CALLER, &times, node, gpu()->cuda >= 13000 ? node_or_none : count_or_node);
}

/* Behind flags and a stream: the node that failed, and why. */
static int instantiate(void **made, void **wanted)
{
	wanted[2] = NULL;
	*(int *)&wanted[3] = success;
	*made = new_handle();
	return success;
}

BOTH(cudaGraphInstantiateWithParams, cuGraphInstantiateWithParams, (void **made, void *graph, void **wanted), instantiate(made, wanted))
