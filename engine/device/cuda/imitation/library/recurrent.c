/* cuDNN's recurrent networks. The weights' space is the parameters and nothing else: the
 * matrices of all layers, then their biases. The room to work in and what a step back needs
 * are modelled (temporary_elements, kept_elements). */
#include "imitation.h"

#include <stdlib.h>
#include <string.h>

enum { dnn_bad = 2000, dnn_no_memory = 4000 };

/* A tensor's description, which cuDNN gives back for a part of the weights. */
typedef struct {
	int kind, count, dimensions[8], strides[8];
} tensor;

typedef struct {
	int steps, batch;
} sequences;

typedef struct {
	int cell, biases, directions, kind;
	int64_t input, hidden, projected, layers;
} network;

enum { relu, tanh_, lstm, gru };

static void *clear(size_t size, void **made) { return *made = calloc(1, size); }

#define DESCRIPTOR(name, type) \
	EXPORT int cudnnCreate##name##Descriptor(void **made) { return clear(sizeof(type), made) ? success : dnn_no_memory; } \
	EXPORT int cudnnDestroy##name##Descriptor(void *d) { return free(d), success; }

DESCRIPTOR(Tensor, tensor)
DESCRIPTOR(RNN, network)
DESCRIPTOR(RNNData, sequences)

EXPORT int cudnnSetTensorNdDescriptor(tensor *t, int kind, int count, const int *dimensions, const int *strides)
{
	if (count < 1 || count > 8)
		return dnn_bad;
	t->kind = kind;
	t->count = count;
	memcpy(t->dimensions, dimensions, (size_t)count * sizeof *dimensions);
	memcpy(t->strides, strides, (size_t)count * sizeof *strides);
	return success;
}

EXPORT int cudnnGetTensorNdDescriptor(const tensor *t, int wanted, int *kind, int *count, int *dimensions, int *strides)
{
	int given = wanted < t->count ? wanted : t->count;
	*kind = t->kind;
	*count = t->count;
	memcpy(dimensions, t->dimensions, (size_t)given * sizeof *dimensions);
	memcpy(strides, t->strides, (size_t)given * sizeof *strides);
	return success;
}

EXPORT int cudnnSetRNNDataDescriptor(sequences *s, int kind, int layout, int steps, int batch)
{
	*s = (sequences){steps, batch};
	return success;
}

EXPORT int cudnnSetRNNDescriptor_v8(network *n, int algorithm, int cell, int biases, int direction, int input_mode, int kind, int precision, int math,
                                    int32_t input, int32_t hidden, int32_t projected, int32_t layers)
{
	*n = (network){cell, biases, direction ? 2 : 1, kind, input, hidden, projected ? projected : hidden, layers};
	return success;
}

static int64_t gates(const network *n) { return n->cell == lstm ? 4 : n->cell == gru ? 3 : 1; }
static int64_t bias_vectors(const network *n) { return n->biases == 0 ? 0 : n->biases == 2 ? 2 : 1; }
static int64_t element_size(const network *n) { return n->kind == 0 ? 4 : n->kind == 1 ? 8 : 2; }

/* inputs is how wide a layer's input is: the network's, or what both directions below give. */
static int64_t inputs(const network *n, int64_t layer) { return layer == 0 ? n->input : n->projected * n->directions; }
static int64_t projection(const network *n) { return n->projected == n->hidden ? 0 : n->projected * n->hidden; }

static int64_t matrices(const network *n, int64_t layer) { return gates(n) * n->hidden * (inputs(n, layer) + n->projected) + projection(n); }

/* matrices_before counts those of all layers before one, which has a number for each direction. */
static int64_t matrices_before(const network *n, int64_t pseudo)
{
	int64_t size = 0;
	for (int64_t i = 0; i < pseudo; i++)
		size += matrices(n, i / n->directions);
	return size;
}

static int64_t weights(const network *n)
{
	int64_t all = n->layers * n->directions;
	return matrices_before(n, all) + all * bias_vectors(n) * gates(n) * n->hidden;
}

EXPORT int cudnnGetRNNWeightSpaceSize(void *h, const network *n, size_t *size)
{
	*size = (size_t)(weights(n) * element_size(n));
	return success;
}

/* part answers for a matrix or the bias of one; who does not ask has no place for it. */
static void part(tensor *t, void **start, const network *n, int64_t rows, int64_t columns, void *at)
{
	if (start)
		*start = at;
	if (!t)
		return;
	*t = (tensor){n->kind, 3, {1, (int)rows, (int)columns}, {(int)(rows * columns), (int)columns, 1}};
}

/* Where a matrix is: those of the input by gate, those of the state by gate, the projection. */
static int64_t matrix_at(const network *n, int64_t pseudo, int64_t number)
{
	int64_t wide = inputs(n, pseudo / n->directions), first = matrices_before(n, pseudo), of_input = gates(n);
	if (number < of_input)
		return first + number * n->hidden * wide;
	return first + of_input * n->hidden * wide + (number - of_input) * n->hidden * n->projected;
}

EXPORT int cudnnGetRNNWeightParams(void *h, const network *n, int32_t pseudo, size_t size, char *space, int32_t number, tensor *matrix, void **matrix_start,
                                   tensor *bias, void **bias_start)
{
	bool of_input = number < gates(n), projects = number == 2 * gates(n);
	int64_t wide = of_input ? inputs(n, pseudo / n->directions) : projects ? n->hidden : n->projected;
	int64_t biases_start = matrices_before(n, n->layers * n->directions), of_layer = gates(n) * bias_vectors(n);
	bool has_bias = !projects && bias_vectors(n) == 2;
	if (number < 0 || number > 2 * gates(n) || pseudo < 0 || pseudo >= n->layers * n->directions || (projects && !projection(n)))
		return dnn_bad;
	part(matrix, matrix_start, n, projects ? n->projected : n->hidden, wide, space + matrix_at(n, pseudo, number) * element_size(n));
	int64_t bias_at = biases_start + (pseudo * of_layer + number) * n->hidden;
	part(bias, bias_start, n, has_bias ? n->hidden : 0, 1, has_bias ? space + bias_at * element_size(n) : NULL);
	return success;
}

/* temporary_elements: the products of one layer's inputs for all steps at once, and as much
 * for their gradients. */
static int64_t temporary_elements(const network *n, const sequences *s, bool training)
{
	return (training ? 2 : 1) * (int64_t)s->steps * s->batch * n->directions * gates(n) * n->hidden;
}

/* kept_elements: for each layer, direction and step, the gates, what it gives, and the cell
 * of an LSTM or the inner product of a GRU. */
static int64_t kept_elements(const network *n, const sequences *s)
{
	int64_t inner = n->cell == lstm || n->cell == gru ? n->hidden : 0;
	return (int64_t)s->steps * s->batch * n->layers * n->directions * (gates(n) * n->hidden + n->projected + inner);
}

EXPORT int cudnnGetRNNTempSpaceSizes(void *h, const network *n, int mode, const sequences *s, size_t *workspace, size_t *reserve)
{
	bool training = mode == 1;
	MODELLED("cuDNN RNN spaces", "kept: gates, output and inner state of each step and layer; work: one layer's gates, twice when training");
	if (workspace)
		*workspace = (size_t)(temporary_elements(n, s, training) * element_size(n));
	if (reserve)
		*reserve = training ? (size_t)(kept_elements(n, s) * element_size(n)) : 0;
	return success;
}
