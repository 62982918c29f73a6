/* The runtime's copies. They have happened when the call returns. */
#include "imitation.h"

BOTH(cudaMemcpy, cudaMemcpyAsync, (void *to, const void *from, size_t size), (copy(to, from, size), success))
BOTH(cudaMemcpyPeer, cudaMemcpyPeerAsync, (void *to, int there, const void *from, int here, size_t size), (copy(to, from, size), success))
BOTH(cudaMemcpy2D, cudaMemcpy2DAsync, (void *to, size_t to_pitch, const void *from, size_t from_pitch, size_t width, size_t height),
     (copy_rows(to, to_pitch, from, from_pitch, width, height), success))

EXPORT int cudaMemcpyBatchAsync(void *const *to, const void *const *from, const size_t *sizes, size_t count)
{
	for (size_t i = 0; i < count; i++)
		copy(to[i], from[i], sizes[i]);
	return success;
}

static void fill_rows(char *p, size_t pitch, int value, size_t width, size_t height)
{
	for (size_t row = 0; row < height; row++)
		fill(p + row * pitch, value, width);
}

BOTH(cudaMemset, cudaMemsetAsync, (void *p, int value, size_t size), (fill(p, value, size), success))
BOTH(cudaMemset2D, cudaMemset2DAsync, (char *p, size_t pitch, int value, size_t width, size_t height), (fill_rows(p, pitch, value, width, height), success))
