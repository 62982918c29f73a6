/* cuDNN's older interface, without recurrent networks (recurrent.c). */
#include "imitation.h"

EXPORT size_t cudnnGetVersion(void) { return (size_t)gpu()->cudnn; }
EXPORT size_t cudnnGetCudartVersion(void) { return (size_t)gpu()->cuda; }
EXPORT const char *cudnnGetErrorString(int status) { return status ? "not supported by the imitated cuDNN" : "success"; }

EXPORT void cudnnGetLastErrorString(char *text, size_t size)
{
	if (size)
		*text = 0;
}

EXPORT int cudnnGetProperty(int part, int *value)
{
	int version = gpu()->cudnn, major = version >= 90000 ? 10000 : 1000;
	*value = part == 0 ? version / major : part == 1 ? version % major / 100 : version % 100;
	return success;
}

MAKE(cudnnCreate)
EXPORT int cudnnGetStream(void *handle, void **stream) { return *stream = NULL, success; }

/* Batch normalisation of PyTorch's kinds needs no room beside its arguments; what it keeps
 * for the way back is a bit for each element only where an activation is fused, which PyTorch does not ask for. */
#define NO_ROOM(name, ...) \
	EXPORT int cudnnGetBatchNormalization##name##Size(void *h, int mode, int operation, __VA_ARGS__, size_t *size) { return *size = 0, success; }

NO_ROOM(ForwardTrainingExWorkspace, void *x, void *z, void *y, void *parameters, void *activation)
NO_ROOM(BackwardExWorkspace, void *x, void *y, void *dy, void *dz, void *dx, void *parameters, void *activation)
NO_ROOM(TrainingExReserveSpace, void *activation, void *x)

/* One state of the generator for each thread that is resident, of 48 bytes as curand's is. */
EXPORT int cudnnDropoutGetStatesSize(void *handle, size_t *size)
{
	MODELLED("cuDNN dropout states", "48 bytes for each thread that can be resident");
	*size = (size_t)gpu()->processors * (size_t)gpu()->threads_per_processor * 48;
	return success;
}
