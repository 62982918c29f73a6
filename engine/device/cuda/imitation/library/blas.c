/* cuBLAS and cuBLASLt: products do nothing. Their workspaces are PyTorch's own, from its
 * allocator; a product by cuBLASLt is said to need none of what it is offered. */
#include "imitation.h"

#include <string.h>

MAKE(cublasCreate_v2)
MAKE(cublasLtCreate)
EXPORT int cublasGetMathMode(void *handle, int *mode) { return *mode = 0, success; }
EXPORT int cublasGetPointerMode_v2(void *handle, int *mode) { return *mode = 0, success; }
EXPORT int cublasGetStream_v2(void *handle, void **stream) { return *stream = NULL, success; }
EXPORT int cublasGetAtomicsMode(void *handle, int *mode) { return *mode = 0, success; }
EXPORT int cublasGetSmCountTarget(void *handle, int *count) { return *count = 0, success; }

/* version is 12.x.y or 13.x.y of cuBLAS as it says itself. */
static int version(void) { return gpu()->cuda / 1000 * 10000 + gpu()->cuda % 1000 / 10 * 100; }

EXPORT int cublasGetVersion_v2(void *handle, int *number) { return *number = version(), success; }
EXPORT size_t cublasLtGetVersion(void) { return (size_t)version(); }
EXPORT size_t cublasLtGetCudartVersion(void) { return (size_t)gpu()->cuda; }
EXPORT size_t cublasGetCudartVersion(void) { return (size_t)gpu()->cuda; }
EXPORT unsigned cublasLtDisableCpuInstructionsSetMask(unsigned mask) { return mask; }
EXPORT const char *cublasGetStatusName(int status) { return status ? "CUBLAS_STATUS_NOT_SUPPORTED" : "CUBLAS_STATUS_SUCCESS"; }
EXPORT const char *cublasLtGetStatusName(int status) { return cublasGetStatusName(status); }
EXPORT const char *cublasGetStatusString(int status) { return status ? "not supported by the imitated cuBLAS" : "success"; }
EXPORT const char *cublasLtGetStatusString(int status) { return cublasGetStatusString(status); }

/* What PyTorch gave as workspace, each address and its bytes once, for a rehearsal to tell what
 * that memory is for. More than these are not noted. */
enum { most_workspaces = 512 };
static uint64_t workspaces[most_workspaces][2];
static size_t workspace_count;

static void note_workspace(void *given, size_t bytes)
{
	uint64_t address = (uint64_t)(uintptr_t)given;
	LOCKED(report_lock);
	for (size_t i = 0; i < workspace_count; i++)
		if (workspaces[i][0] == address && workspaces[i][1] == bytes)
			return;
	if (address && workspace_count < most_workspaces)
		workspaces[workspace_count][0] = address, workspaces[workspace_count++][1] = bytes;
}

/* memtop_imitation_workspaces copies them, and says how many there are. */
EXPORT size_t memtop_imitation_workspaces(uint64_t to[most_workspaces][2])
{
	LOCKED(report_lock);
	memcpy(to, workspaces, sizeof workspaces);
	return workspace_count;
}

EXPORT int cublasSetWorkspace_v2(void *handle, void *workspace, size_t bytes) { return note_workspace(workspace, bytes), success; }

EXPORT int cublasLtMatmul(void *handle, void *operation, void *alpha, void *a, void *as, void *b, void *bs, void *beta, void *c, void *cs, void *d, void *ds,
                          void *algorithm, void *workspace, size_t bytes, void *stream)
{
	return note_workspace(workspace, bytes), success;
}

typedef struct {
	uint64_t algorithm[8];
	size_t workspace;
	int status;
	float waves;
	int reserved[4];
} heuristic;

EXPORT int cublasLtMatmulAlgoGetHeuristic(void *handle, void *operation, void *a, void *b, void *c, void *d, void *preference, int wanted,
                                          heuristic *results, int *count)
{
	memset(results, 0, (size_t)wanted * sizeof *results);
	for (int i = 0; i < wanted; i++)
		results[i].waves = 1;
	*count = wanted > 0;
	return success;
}

EXPORT int cublasLtMatmulAlgoCheck(void *handle, void *operation, void *a, void *b, void *c, void *d, void *algorithm, heuristic *result)
{
	int count;
	return cublasLtMatmulAlgoGetHeuristic(handle, operation, a, b, c, d, NULL, 1, result, &count);
}

/* Decompositions of many matrices tell the host whether their arguments are good. */
#define DECOMPOSE(t) \
	EXPORT int cublas##t##geqrfBatched(void *h, int m, int n, void *a, int lda, void *tau, int *info, int batch) { return *info = 0, success; } \
	EXPORT int cublas##t##getrsBatched(void *h, int turned, int n, int columns, void *a, int lda, void *pivots, void *b, int ldb, int *info, int batch) \
	{ \
		return *info = 0, success; \
	} \
	EXPORT int cublas##t##gelsBatched(void *h, int turned, int m, int n, int columns, void *a, int lda, void *c, int ldc, int *info, int *on_device, int batch) \
	{ \
		return *info = 0, success; \
	}
DECOMPOSE(S)
DECOMPOSE(D)
DECOMPOSE(C)
DECOMPOSE(Z)

/* It prints what an argument is wrong; the arguments are not looked at here. */
EXPORT void cublasXerbla(const char *name, int argument) {}
