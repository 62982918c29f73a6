/* cuFFT. What a plan takes as workspace is modelled: cuFFT's manual says from one to eight
 * complex numbers for each of the transforms' elements; here it is one. */
#include "imitation.h"

enum { fft_invalid = 4 };

EXPORT int cufftCreate(int *plan)
{
	static int plans;
	*plan = __atomic_add_fetch(&plans, 1, __ATOMIC_RELAXED);
	return success;
}

/* complex_size is by the kind that the transform computes with (cudaDataType). */
static uint64_t complex_size(int kind)
{
	enum { real64 = 1, real16, complex64 = 5, complex16, real16b = 14, complex16b };
	switch (kind) {
	case real64: case complex64: return 16;
	case real16: case complex16: case real16b: case complex16b: return 4;
	default: return 8;
	}
}

static bool is_real(int kind)
{
	enum { real32, real64, real16, real16b = 14 };
	return kind == real32 || kind == real64 || kind == real16 || kind == real16b;
}

EXPORT int cufftXtMakePlanMany(int plan, int rank, const long long *lengths, const long long *in, long long in_stride, long long in_distance, int in_kind,
                               const long long *out, long long out_stride, long long out_distance, int out_kind, long long batch, size_t *workspace, int computed)
{
	uint64_t size = (uint64_t)batch * complex_size(computed);
	if (rank < 1 || rank > 3)
		return fft_invalid;
	for (int i = 0; i < rank; i++) {
		bool half = i == rank - 1 && (is_real(in_kind) || is_real(out_kind)); /* the other half mirrors it */
		size *= (uint64_t)(half ? lengths[i] / 2 + 1 : lengths[i]);
	}
	MODELLED("cuFFT workspace", "one complex number for each element; cuFFT's manual says one to eight");
	*workspace = size;
	return success;
}
