/* cuSOLVER. Workspaces are modelled by LAPACK's, as its Users' Guide gives them, with blocks
 * of 64 columns; Jacobi's methods by copies of what they turn. */
#include "imitation.h"

enum { solver_invalid = 3, block = 64 };

MAKE(cusolverDnCreate)
MAKE(cusolverDnCreateGesvdjInfo)
MAKE(cusolverDnCreateParams)
MAKE(cusolverDnCreateSyevjInfo)
FINE(cusolverDnDestroySyevjInfo)
FINE(cusolverDnXsyevjSetSortEig)
FINE(cusolverDnSsyevj)
FINE(cusolverDnDsyevj)
FINE(cusolverDnCheevj)
FINE(cusolverDnZheevj)

static int64_t least(int64_t a, int64_t b) { return a < b ? a : b; }
static int64_t most(int64_t a, int64_t b) { return a > b ? a : b; }
static int64_t panel(int64_t n) { return n * block; }
static int64_t singular(int64_t m, int64_t n) { return 3 * least(m, n) + panel(m + n) + least(m, n) * least(m, n); }
static int64_t jacobi(int64_t m, int64_t n) { return m * n + 2 * least(m, n) * least(m, n); }
static int64_t symmetric(int64_t n) { return 1 + 6 * n + 2 * n * n; }
static int64_t general(int64_t n) { return n * n + 4 * n + panel(n); }

static void say(void) { MODELLED("cuSOLVER workspace", "LAPACK's, with blocks of 64 columns"); }

static int elements(int *size, int64_t count)
{
	say();
	if (count < 0 || count > INT32_MAX)
		return solver_invalid;
	*size = (int)count;
	return success;
}

/* Functions of the first kind have a name for each type of number, and answer with elements. */
#define TYPES(define) define(S) define(D) define(C) define(Z)
#define REALS(define) define(Ssy, Sor) define(Dsy, Dor)
#define COMPLEXES(define) define(Che, Cun) define(Zhe, Zun)

#define BY_TYPE(t) \
	EXPORT int cusolverDn##t##potrf_bufferSize(void *h, int half, int n, void *a, int lda, int *size) { return elements(size, panel(n)); } \
	EXPORT int cusolverDn##t##getrf_bufferSize(void *h, int m, int n, void *a, int lda, int *size) { return elements(size, panel(n)); } \
	EXPORT int cusolverDn##t##geqrf_bufferSize(void *h, int m, int n, void *a, int lda, int *size) { return elements(size, panel(n)); } \
	EXPORT int cusolverDn##t##sytrf_bufferSize(void *h, int n, void *a, int lda, int *size) { return elements(size, panel(n)); } \
	EXPORT int cusolverDn##t##gesvd_bufferSize(void *h, int m, int n, int *size) { return elements(size, singular(m, n)); } \
	EXPORT int cusolverDn##t##gesvdj_bufferSize(void *h, int job, int economic, int m, int n, void *a, int lda, void *s, void *u, int ldu, void *v, int ldv, \
	                                            int *size) \
	{ \
		return elements(size, jacobi(m, n)); \
	} \
	EXPORT int cusolverDn##t##gesvdjBatched_bufferSize(void *h, int job, int m, int n, void *a, int lda, void *s, void *u, int ldu, void *v, int ldv, \
	                                                   int *size, void *settings, int batch) \
	{ \
		return elements(size, jacobi(m, n) * batch); \
	} \
	EXPORT int cusolverDn##t##gesvdaStridedBatched_bufferSize(void *h, int job, int rank, int m, int n, void *a, int lda, long long as, void *s, \
	                                                          long long ss, void *u, int ldu, long long us, void *v, int ldv, long long vs, int *size, \
	                                                          int batch) \
	{ \
		return elements(size, jacobi(m, n) * batch); \
	}
TYPES(BY_TYPE)

#define SYMMETRIC(sy, or) \
	EXPORT int cusolverDn##sy##evd_bufferSize(void *h, int job, int half, int n, void *a, int lda, void *w, int *size) \
	{ \
		return elements(size, symmetric(n)); \
	} \
	EXPORT int cusolverDn##sy##evj_bufferSize(void *h, int job, int half, int n, void *a, int lda, void *w, int *size, void *settings) \
	{ \
		return elements(size, jacobi(n, n)); \
	} \
	EXPORT int cusolverDn##sy##evjBatched_bufferSize(void *h, int job, int half, int n, void *a, int lda, void *w, int *size, void *settings, int batch) \
	{ \
		return elements(size, jacobi(n, n) * batch); \
	} \
	EXPORT int cusolverDn##or##gqr_bufferSize(void *h, int m, int n, int k, void *a, int lda, void *tau, int *size) { return elements(size, panel(n)); } \
	EXPORT int cusolverDn##or##mqr_bufferSize(void *h, int side, int turned, int m, int n, int k, void *a, int lda, void *tau, void *c, int ldc, int *size) \
	{ \
		return elements(size, panel(most(m, n))); \
	}
REALS(SYMMETRIC)
COMPLEXES(SYMMETRIC)

/* Functions of the second kind are told the type, and answer with bytes, also of the host's memory. */
static int bytes(size_t *device, size_t *host, int64_t count, int kind)
{
	static const int sizes[] = {4, 8, 2, 1, 8, 16, 4}; /* cudaDataType: real 32, 64, 16, 8, complex 32, 64, 16 */
	say();
	*device = (size_t)(count * (kind >= 0 && kind < (int)(sizeof sizes / sizeof *sizes) ? sizes[kind] : 16));
	*host = 0;
	return success;
}

EXPORT int cusolverDnXpotrf_bufferSize(void *h, void *p, int half, int64_t n, int kind, void *a, int64_t lda, int computed, size_t *device, size_t *host)
{
	return bytes(device, host, panel(n), kind);
}

EXPORT int cusolverDnXgeqrf_bufferSize(void *h, void *p, int64_t m, int64_t n, int kind, void *a, int64_t lda, int tau_kind, void *tau, int computed,
                                       size_t *device, size_t *host)
{
	return bytes(device, host, panel(n), kind);
}

EXPORT int cusolverDnXsyevd_bufferSize(void *h, void *p, int job, int half, int64_t n, int kind, void *a, int64_t lda, int w_kind, void *w, int computed,
                                       size_t *device, size_t *host)
{
	return bytes(device, host, symmetric(n), kind);
}

EXPORT int cusolverDnXsyevBatched_bufferSize(void *h, void *p, int job, int half, int64_t n, int kind, void *a, int64_t lda, int w_kind, void *w,
                                             int computed, size_t *device, size_t *host, int64_t batch)
{
	return bytes(device, host, jacobi(n, n) * batch, kind);
}

EXPORT int cusolverDnXgeev_bufferSize(void *h, void *p, int left, int right, int64_t n, int kind, void *a, int64_t lda, int w_kind, void *w, int vl_kind,
                                      void *vl, int64_t ldvl, int vr_kind, void *vr, int64_t ldvr, int computed, size_t *device, size_t *host)
{
	return bytes(device, host, general(n), computed);
}

EXPORT int cusolverDnXsytrs_bufferSize(void *h, int half, int64_t n, int64_t columns, int kind, void *a, int64_t lda, void *pivots, int b_kind, void *b,
                                       int64_t ldb, size_t *device, size_t *host)
{
	return bytes(device, host, n * columns, kind);
}
