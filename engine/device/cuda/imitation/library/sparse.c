/* cuSPARSE. Buffers are modelled by the sizes of a matrix: a product's by a number for each
 * row, a solution's and a sort's by two for each element besides. How many elements a result
 * has depends on values, so what asks for that is refused. */
#include "imitation.h"

#include <stdlib.h>

enum { sparse_no_memory = 2 };

typedef struct {
	int64_t rows, elements;
} matrix;

EXPORT const char *cusparseGetErrorString(int status) { return status ? "not supported by the imitated cuSPARSE" : "no error"; }
EXPORT const char *cusparseGetErrorName(int status) { return status ? "CUSPARSE_STATUS_NOT_SUPPORTED" : "CUSPARSE_STATUS_SUCCESS"; }

static int create(matrix **made, int64_t rows, int64_t elements)
{
	*made = malloc(sizeof **made);
	if (!*made)
		return sparse_no_memory;
	**made = (matrix){rows, elements};
	return success;
}

EXPORT int cusparseCreateCsr(matrix **made, int64_t rows, int64_t columns, int64_t elements) { return create(made, rows, elements); }
EXPORT int cusparseCreateCoo(matrix **made, int64_t rows, int64_t columns, int64_t elements) { return create(made, rows, elements); }
EXPORT int cusparseDestroySpMat(matrix *m) { return free(m), success; }

static int buffer(size_t *size, int64_t rows, int64_t elements)
{
	MODELLED("cuSPARSE buffers", "8 bytes for each row, and 16 for each element where it solves or sorts");
	*size = (size_t)(8 * rows + 16 * elements);
	return success;
}

#define ARGUMENTS(...) __VA_ARGS__, size_t *size
#define BUFFER(name, arguments, rows, elements) \
	EXPORT int cusparse##name(ARGUMENTS arguments) { return buffer(size, rows, elements); }

BUFFER(SpMM_bufferSize, (void *h, int a, int b, void *alpha, matrix *m, void *x, void *beta, void *y, int kind, int algorithm), m->rows, 0)
BUFFER(SpMV_bufferSize, (void *h, int a, void *alpha, matrix *m, void *x, void *beta, void *y, int kind, int algorithm), m->rows, 0)
BUFFER(SDDMM_bufferSize, (void *h, int a, int b, void *alpha, void *x, void *y, void *beta, matrix *m, int kind, int algorithm), m->rows, 0)
BUFFER(SpSV_bufferSize, (void *h, int a, void *alpha, matrix *m, void *x, void *y, int kind, int algorithm, void *plan), m->rows, m->elements)
BUFFER(SpSM_bufferSize, (void *h, int a, int b, void *alpha, matrix *m, void *x, void *y, int kind, int algorithm, void *plan), m->rows, m->elements)
BUFFER(Xcsrsort_bufferSizeExt, (void *h, int rows, int columns, int elements, void *starts, void *places), rows, elements)
BUFFER(Xcoosort_bufferSizeExt, (void *h, int rows, int columns, int elements, void *at, void *places), rows, elements)
