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

#define ELEMENTS(name, arguments, count) \
	EXPORT int cusolverDn##name##_bufferSize arguments { return elements(size, count); }

#define BY_TYPE(t) \
	ELEMENTS(t##potrf, (void *h, int half, int n, void *a, int lda, int *size), panel(n)) \
	ELEMENTS(t##getrf, (void *h, int m, int n, void *a, int lda, int *size), panel(n)) \
	ELEMENTS(t##geqrf, (void *h, int m, int n, void *a, int lda, int *size), panel(n)) \
	ELEMENTS(t##sytrf, (void *h, int n, void *a, int lda, int *size), panel(n)) \
	ELEMENTS(t##gesvd, (void *h, int m, int n, int *size), singular(m, n)) \
	ELEMENTS(t##gesvdj, (void *h, int job, int economic, int m, int n, void *a, int lda, void *s, void *u, int ldu, void *v, int ldv, int *size), jacobi(m, n)) \
	ELEMENTS(t##gesvdjBatched, (void *h, int job, int m, int n, void *a, int lda, void *s, void *u, int ldu, void *v, int ldv, int *size, void *settings, \
	          int batch), jacobi(m, n) * batch) \
	ELEMENTS(t##gesvdaStridedBatched, (void *h, int job, int rank, int m, int n, void *a, int lda, long long as, void *s, long long ss, void *u, int ldu, \
	          long long us, void *v, int ldv, long long vs, int *size, int batch), jacobi(m, n) * batch)
TYPES(BY_TYPE)

#define SYMMETRIC(sy, or) \
	ELEMENTS(sy##evd, (void *h, int job, int half, int n, void *a, int lda, void *w, int *size), symmetric(n)) \
	ELEMENTS(sy##evj, (void *h, int job, int half, int n, void *a, int lda, void *w, int *size, void *settings), jacobi(n, n)) \
	ELEMENTS(sy##evjBatched, (void *h, int job, int half, int n, void *a, int lda, void *w, int *size, void *settings, int batch), jacobi(n, n) * batch) \
	ELEMENTS(or##gqr, (void *h, int m, int n, int k, void *a, int lda, void *tau, int *size), panel(n)) \
	ELEMENTS(or##mqr, (void *h, int side, int turned, int m, int n, int k, void *a, int lda, void *tau, void *c, int ldc, int *size), panel(most(m, n)))
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

#define BYTES(name, arguments, count, type) \
	EXPORT int cusolverDnX##name##_bufferSize arguments { return bytes(device, host, count, type); }

BYTES(potrf, (void *h, void *p, int half, int64_t n, int kind, void *a, int64_t lda, int computed, size_t *device, size_t *host), panel(n), kind)
BYTES(geqrf, (void *h, void *p, int64_t m, int64_t n, int kind, void *a, int64_t lda, int tau_kind, void *tau, int computed, size_t *device, size_t *host),
       panel(n), kind)
BYTES(syevd, (void *h, void *p, int job, int half, int64_t n, int kind, void *a, int64_t lda, int w_kind, void *w, int computed, size_t *device,
       size_t *host), symmetric(n), kind)
BYTES(syevBatched, (void *h, void *p, int job, int half, int64_t n, int kind, void *a, int64_t lda, int w_kind, void *w, int computed, size_t *device,
       size_t *host, int64_t batch), jacobi(n, n) * batch, kind)
BYTES(geev, (void *h, void *p, int left, int right, int64_t n, int kind, void *a, int64_t lda, int w_kind, void *w, int vl_kind, void *vl, int64_t ldvl,
       int vr_kind, void *vr, int64_t ldvr, int computed, size_t *device, size_t *host), general(n), computed)
BYTES(sytrs, (void *h, int half, int64_t n, int64_t columns, int kind, void *a, int64_t lda, void *pivots, int b_kind, void *b, int64_t ldb, size_t *device,
       size_t *host), n * columns, kind)
