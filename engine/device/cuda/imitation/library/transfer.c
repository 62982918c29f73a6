/* The runtime's copies. They have happened when the call returns. */
#include "imitation.h"

EXPORT int cudaMemcpy(void *to, const void *from, size_t size) { return copy(to, from, size), success; }
EXPORT int cudaMemcpyAsync(void *to, const void *from, size_t size) { return copy(to, from, size), success; }

EXPORT int cudaMemcpyPeer(void *to, int there, const void *from, int here, size_t size)
{
	(void)there, (void)here;
	return cudaMemcpy(to, from, size);
}

EXPORT int cudaMemcpyPeerAsync(void *to, int there, const void *from, int here, size_t size) { return cudaMemcpyPeer(to, there, from, here, size); }

EXPORT int cudaMemcpy2D(void *to, size_t to_pitch, const void *from, size_t from_pitch, size_t width, size_t height)
{
	copy_rows(to, to_pitch, from, from_pitch, width, height);
	return success;
}

EXPORT int cudaMemcpy2DAsync(void *to, size_t to_pitch, const void *from, size_t from_pitch, size_t width, size_t height)
{
	return cudaMemcpy2D(to, to_pitch, from, from_pitch, width, height);
}

EXPORT int cudaMemcpyBatchAsync(void *const *to, const void *const *from, const size_t *sizes, size_t count)
{
	for (size_t i = 0; i < count; i++)
		copy(to[i], from[i], sizes[i]);
	return success;
}

EXPORT int cudaMemset(void *p, int value, size_t size) { return fill(p, value, size), success; }
EXPORT int cudaMemsetAsync(void *p, int value, size_t size) { return cudaMemset(p, value, size); }

EXPORT int cudaMemset2D(char *p, size_t pitch, int value, size_t width, size_t height)
{
	for (size_t row = 0; row < height; row++)
		fill(p + row * pitch, value, width);
	return success;
}

EXPORT int cudaMemset2DAsync(char *p, size_t pitch, int value, size_t width, size_t height) { return cudaMemset2D(p, pitch, value, width, height); }
