/* Streams, events, captures and the current device. What is queued has happened, unless a test wants it later. */
#include "imitation.h"

#include <stdlib.h>
#include <string.h>

typedef void (*host_function)(void *);
typedef void (*stream_function)(void *stream, int status, void *data);

static __thread int device;
static uintptr_t handles = 0x1000;
static int capturing;
static uint64_t captures;

void *new_handle(void) { return (void *)__atomic_add_fetch(&handles, 64, __ATOMIC_RELAXED); }

int current_device(void) { return device; }

int use_device(int wanted)
{
	if (wanted < 0 || wanted >= gpu()->devices)
		return invalid_device;
	device = wanted;
	return success;
}

int capture_status(void) { return __atomic_load_n(&capturing, __ATOMIC_ACQUIRE); }

uint64_t capture_id(void) { return capture_status() ? __atomic_load_n(&captures, __ATOMIC_ACQUIRE) : 0; }

static int begin_capture(void)
{
	__atomic_add_fetch(&captures, 1, __ATOMIC_RELEASE);
	__atomic_store_n(&capturing, 1, __ATOMIC_RELEASE);
	return success;
}

static int end_capture(void **graph)
{
	__atomic_store_n(&capturing, 0, __ATOMIC_RELEASE);
	*graph = new_handle();
	return success;
}

static int priorities(int *least, int *greatest)
{
	if (least)
		*least = 0;
	if (greatest)
		*greatest = -5;
	return success;
}

/* elapsed is the same for all that a device does not do, and no zero, by which programs divide. */
static int elapsed(float *milliseconds)
{
	*milliseconds = 1;
	return success;
}

static int zero(int *value)
{
	*value = 0;
	return success;
}

static int call_host(host_function function, void *data)
{
	function(data);
	return success;
}

static int call_stream(void *stream, stream_function function, void *data)
{
	function(stream, success, data);
	return success;
}

/* capture_info answers what every version of it does; the lists are empty. */
static int capture_info(int *status, uint64_t *id, void **graph, size_t *dependencies)
{
	if (status)
		*status = capture_status();
	if (id)
		*id = capture_id();
	if (graph)
		*graph = capture_status() ? (void *)0x40 : NULL;
	if (dependencies)
		*dependencies = 0;
	return success;
}

/* memtop_imitation_late makes only one look of some at an event find that it has happened, and
 * counts looks from now on. 1 makes every look find it. */
static unsigned late = 1, looks;
EXPORT void memtop_imitation_late(int some) { late = some > 1 ? (unsigned)some : 1, looks = 0; }

/* look reports once that PyTorch's allocator asks: then blocks are freed when another stream has passed them. */
static int look(void *caller)
{
	static int said;
	if (!said && strstr(library_of(caller), "libc10_cuda"))
		waits(&said);
	return __atomic_add_fetch(&looks, 1, __ATOMIC_RELAXED) % late ? not_ready : success;
}

BOTH(cudaEventQuery, cuEventQuery, (void *event), look(CALLER))
BOTH(cudaStreamBeginCapture, cuStreamBeginCapture_v2, (void *stream, int mode), begin_capture())
BOTH(cudaStreamBeginCaptureToGraph, cuStreamBeginCaptureToGraph, (void), begin_capture())
BOTH(cudaStreamEndCapture, cuStreamEndCapture, (void *stream, void **graph), end_capture(graph))
BOTH(cudaStreamIsCapturing, cuStreamIsCapturing, (void *stream, int *status), (*status = capture_status(), success))
BOTH(cudaThreadExchangeStreamCaptureMode, cuThreadExchangeStreamCaptureMode, (int *mode), zero(mode))
BOTH(cudaDeviceGetStreamPriorityRange, cuCtxGetStreamPriorityRange, (int *least, int *greatest), priorities(least, greatest))
BOTH(cudaStreamGetPriority, cuStreamGetPriority, (void *stream, int *priority), zero(priority))
BOTH(cudaStreamGetFlags, cuStreamGetFlags, (void *stream, int *flags), zero(flags))
BOTH(cudaStreamGetId, cuStreamGetId, (void *stream, uint64_t *id), (*id = (uintptr_t)stream, success))
BOTH(cudaEventElapsedTime, cuEventElapsedTime, (float *milliseconds, void *from, void *to), elapsed(milliseconds))
BOTH(cudaLaunchHostFunc, cuLaunchHostFunc, (void *stream, host_function function, void *data), call_host(function, data))
BOTH(cudaLaunchHostFunc_v2, cuLaunchHostFunc_v2, (void *stream, host_function function, void *data), call_host(function, data))
BOTH(cudaStreamAddCallback, cuStreamAddCallback, (void *stream, stream_function function, void *data), call_stream(stream, function, data))
BOTH(cudaGraphGetNodes, cuGraphGetNodes, (void *graph, void **nodes, size_t *count), (*count = nodes ? 0 : 1, success))

EXPORT int cuEventElapsedTime_v2(float *milliseconds) { return elapsed(milliseconds); }

/* CUDA 13 gave this name to what was _v3; before it was the one without a graph. */
EXPORT int cudaStreamGetCaptureInfo(void *stream, int *status, uint64_t *id, void **graph, void ***nodes, void **edges, size_t *dependencies)
{
	if (gpu()->cuda < 13000)
		return capture_info(status, id, NULL, NULL);
	return capture_info(status, id, graph, dependencies);
}

EXPORT int cuStreamGetCaptureInfo(void *stream, int *status, uint64_t *id) { return capture_info(status, id, NULL, NULL); }

BOTH(cudaStreamGetCaptureInfo_v2, cuStreamGetCaptureInfo_v2, (void *stream, int *status, uint64_t *id, void **graph, void ***nodes, size_t *dependencies),
     capture_info(status, id, graph, dependencies))
BOTH(cudaStreamGetCaptureInfo_v3, cuStreamGetCaptureInfo_v3, (void *stream, int *status, uint64_t *id, void **graph, void ***nodes, void **edges, size_t *dependencies),
     capture_info(status, id, graph, dependencies))
