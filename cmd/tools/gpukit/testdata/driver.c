/* A driver for a GPU that is not there. It opens, gives memory and takes work, of which
   it does nothing, and then STUB_DRIVER says what goes wrong:

   refuse  no device is found
   hang    what waits for work waits for ever
   fault   what waits for work meets an illegal address, and every call after it does

   Device memory is addresses, memory of the host is memory. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { NO_DEVICE = 100, ILLEGAL_ADDRESS = 700 };

static volatile int broken;
static uint64_t next = 1ull << 40;

static int mode(const char *name) {
	const char *chosen = getenv("STUB_DRIVER");
	return chosen && !strcmp(chosen, name);
}

static int awaited(void) {
	while (mode("hang"))
		pause();
	if (mode("fault"))
		broken = ILLEGAL_ADDRESS;
	return broken;
}

static int handle(uint64_t *to, uint64_t size) {
	*to = __atomic_fetch_add(&next, (size + 0x3fffff) & ~0x1fffffull, __ATOMIC_SEQ_CST);
	return broken;
}

int cuInit(unsigned flags) { return mode("refuse") ? NO_DEVICE : 0; }
int cuDriverGetVersion(int *v) { *v = 12040; return 0; }
int cuGetErrorName(int r, const char **text) {
	*text = r == NO_DEVICE ? "CUDA_ERROR_NO_DEVICE" : "CUDA_ERROR_ILLEGAL_ADDRESS";
	return 0;
}
int cuGetErrorString(int r, const char **text) { *text = "the stub was asked for it"; return 0; }
int cuDeviceGet(int *d, int n) { *d = n; return n ? 101 : 0; }
int cuDeviceGetName(char *to, int n, int d) { strncpy(to, "a stub", n); return 0; }
int cuDeviceGetUuid_v2(char *to, int d) { memset(to, 7, 16); return 0; }
int cuDeviceGetAttribute(int *v, int which, int d) {
	*v = which == 75 ? 8 : which == 16 ? 4 : which == 97 ? 160 << 10 : which == 102;
	return 0;
}
int cuDeviceTotalMem_v2(uint64_t *n, int d) { *n = 8ull << 30; return 0; }
int cuDevicePrimaryCtxRetain(uint64_t *c, int d) { return handle(c, 0); }
int cuMemAlloc_v2(uint64_t *to, uint64_t n) { return handle(to, n); }
int cuMemGetInfo_v2(uint64_t *free, uint64_t *all) { *free = *all = 8ull << 30; return broken; }
int cuMemHostAlloc(void **to, uint64_t n, unsigned flags) { *to = calloc(n, 1); return broken; }
int cuMemFreeHost(void *p) { free(p); return broken; }
int cuStreamCreate(uint64_t *to, unsigned flags) { return handle(to, 0); }
int cuEventCreate(uint64_t *to, unsigned flags) { return handle(to, 0); }
int cuModuleLoadDataEx(uint64_t *to) { return handle(to, 0); }
int cuModuleGetFunction(uint64_t *to) { return handle(to, 0); }
int cuMemAddressReserve(uint64_t *to, uint64_t n) { return handle(to, n); }
int cuMemCreate(uint64_t *to) { return handle(to, 0); }

int cuCtxSynchronize(void) { return awaited(); }
int cuStreamSynchronize(void) { return awaited(); }
int cuEventSynchronize(void) { return awaited(); }
int cuEventQuery(void) { return awaited(); }

#define NOTHING(name) int name(void) { return broken; }
NOTHING(cuDevicePrimaryCtxRelease_v2)
NOTHING(cuCtxSetCurrent)
NOTHING(cuMemFree_v2)
NOTHING(cuMemHostRegister_v2)
NOTHING(cuMemHostUnregister)
NOTHING(cuMemcpyHtoDAsync_v2)
NOTHING(cuMemcpyDtoHAsync_v2)
NOTHING(cuMemcpyDtoDAsync_v2)
NOTHING(cuMemsetD8Async)
NOTHING(cuStreamDestroy_v2)
NOTHING(cuStreamWaitEvent)
NOTHING(cuEventDestroy_v2)
NOTHING(cuEventRecord)
NOTHING(cuModuleUnload)
NOTHING(cuFuncSetAttribute)
NOTHING(cuLaunchKernel)
NOTHING(cuMemAddressFree)
NOTHING(cuMemRelease)
NOTHING(cuMemMap)
NOTHING(cuMemUnmap)
NOTHING(cuMemSetAccess)
