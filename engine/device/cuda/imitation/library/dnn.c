/* cuDNN. Its backend interface describes an operation by descriptors with attributes, which
 * are kept here as they come; heuristics answer with one engine. What a convolution's plan
 * takes as workspace is modelled (workspace). Numbers are those of cudnn_graph.h. */
#include "imitation.h"

#include <stdlib.h>
#include <string.h>

enum { dnn_not_supported = 3000 };

/* Kinds of descriptors. */
enum { engine = 2, convolution_forward = 10, convolution_filter, convolution_data, variant_pack = 16 };

/* Names of attributes. */
enum {
	heuristics_graph = 201, heuristics_results = 202,
	config_engine = 300, config_workspace = 303, config_shared_memory = 304,
	plan_workspace = 402, plan_json = 405,
	graph_operations = 801, graph_engines = 802,
	tensor_type = 901, tensor_dimensions = 902,
	engine_graph = 1300, engine_index = 1301,
	plan_config = 401,
};

/* Types of attributes: a handle, 64-bit numbers, addresses and descriptors have 8 bytes. */
static size_t type_size(int type)
{
	switch (type) {
	case 0: case 3: case 5: case 6: case 15: return 8;
	case 2: case 24: return 1;
	default: return 4;
	}
}

typedef struct attributes {
	int name, type;
	int64_t count;
	struct attributes *next;
	char data[];
} attributes;

typedef struct descriptor {
	int kind;
	attributes *list;
} descriptor;

static attributes *find(const descriptor *d, int name)
{
	for (attributes *a = d ? d->list : NULL; a; a = a->next)
		if (a->name == name)
			return a;
	return NULL;
}

/* set puts an attribute in front of those that are there, which other descriptors may share. */
static int set(descriptor *d, int name, int type, int64_t count, const void *data)
{
	size_t size = (size_t)count * type_size(type);
	attributes *a = malloc(sizeof *a + size);
	if (!a)
		return dnn_not_supported;
	*a = (attributes){name, type, count, d->list};
	if (size)
		memcpy(a->data, data, size);
	d->list = a;
	return success;
}

/* to returns the descriptor that an attribute refers to, the first of several. */
static descriptor *to(const descriptor *d, int name)
{
	attributes *a = find(d, name);
	return a && a->type == 15 && a->count > 0 ? *(descriptor **)a->data : NULL;
}

EXPORT int cudnnBackendCreateDescriptor(int kind, descriptor **d)
{
	*d = calloc(1, sizeof **d);
	if (!*d)
		return dnn_not_supported;
	(*d)->kind = kind;
	return success;
}

/* Descriptors refer to each other and cuDNN counts the references; these are kept. Only a variant pack, which
 * every execution makes, is given back: nothing refers to it, and it shares no attributes. */
EXPORT int cudnnBackendDestroyDescriptor(descriptor *d)
{
	if (!d || d->kind != variant_pack)
		return success;
	for (attributes *a = d->list, *next; a; a = next) {
		next = a->next;
		free(a);
	}
	free(d);
	return success;
}

FINE(cudnnBackendInitialize)
FINE(cudnnBackendFinalize)
FINE(cudnnBackendExecute)
FINE(cudnnBackendPopulateCudaGraph)
FINE(cudnnBackendUpdateCudaGraph)

EXPORT int cudnnBackendSetAttribute(descriptor *d, int name, int type, int64_t count, const void *data) { return set(d, name, type, count, data); }

/* bytes returns how many a tensor of an operation takes, 0 if it has none by that name. */
static int64_t bytes(const descriptor *operation, int name)
{
	const attributes *dimensions = find(to(operation, name), tensor_dimensions), *type = find(to(operation, name), tensor_type);
	if (!dimensions || !type)
		return 0;
	int64_t size = *(const int *)type->data == 0 ? 4 : *(const int *)type->data == 1 ? 8 : 2;
	for (int64_t i = 0; i < dimensions->count; i++)
		size *= ((const int64_t *)dimensions->data)[i];
	return size;
}

/* workspace models what a convolution takes: in recordings of real GPUs the bytes of the
 * filter and 128 or 256 more. Other operations take none. */
static int64_t workspace(const descriptor *plan)
{
	enum { filter_forward = 703, filter_data = 709, filter_filter = 715 };
	const descriptor *graph = to(to(to(plan, plan_config), config_engine), engine_graph);
	const attributes *operations = find(graph, graph_operations);
	int64_t size = 0;
	for (int64_t i = 0; operations && i < operations->count; i++) {
		const descriptor *operation = ((descriptor **)operations->data)[i];
		if (operation->kind < convolution_forward || operation->kind > convolution_data)
			continue;
		int64_t filter = 0;
		for (const attributes *a = operation->list; a && !filter; a = a->next)
			if (a->name == filter_forward || a->name == filter_data || a->name == filter_filter)
				filter = bytes(operation, a->name);
		MODELLED("cuDNN convolution workspace", "the filter's bytes and 256");
		size += filter + 256;
	}
	return size;
}

/* answer writes one number. */
static int answer(int64_t *count, void *data, int64_t wanted, const void *value, size_t size)
{
	if (count)
		*count = 1;
	if (data && wanted > 0)
		memcpy(data, value, size);
	return success;
}

/* heuristics gives the one engine there is to the first configuration of those asked for. */
static int heuristics(const descriptor *d, int64_t wanted, int64_t *count, descriptor **configurations)
{
	if (count)
		*count = 1;
	if (!configurations || wanted < 1 || !configurations[0])
		return success;
	descriptor *one;
	attributes *graph = find(d, heuristics_graph);
	int status = cudnnBackendCreateDescriptor(engine, &one);
	if (status == success && graph)
		status = set(one, engine_graph, 15, 1, graph->data);
	return status ? status : set(configurations[0], config_engine, 15, 1, &one);
}

EXPORT int cudnnBackendGetAttribute(descriptor *d, int name, int type, int64_t wanted, int64_t *count, void *data)
{
	static const int64_t zero, one = 1;
	int64_t size;
	switch (name) {
	case heuristics_results:
		return heuristics(d, wanted, count, data);
	case plan_workspace:
		size = workspace(d);
		return answer(count, data, wanted, &size, sizeof size);
	case config_workspace: case engine_index:
		return answer(count, data, wanted, &zero, sizeof zero);
	case config_shared_memory:
		return answer(count, data, wanted, &zero, sizeof(int));
	case graph_engines:
		return answer(count, data, wanted, &one, sizeof one);
	case plan_json:
		if (count)
			*count = 2;
		if (data && wanted >= 2)
			memcpy(data, "{}", 2);
		return success;
	}
	attributes *a = find(d, name);
	if (count)
		*count = a ? a->count : 0;
	if (!a || !data || wanted <= 0)
		return success;
	if (type == 15 && *(descriptor **)data) { /* the caller's descriptor becomes a copy */
		descriptor *from = *(descriptor **)a->data, *copied = *(descriptor **)data;
		copied->kind = from->kind;
		copied->list = from->list;
		return success;
	}
	memcpy(data, a->data, (size_t)(wanted < a->count ? wanted : a->count) * type_size(a->type));
	return success;
}
