/* A library that takes memory of the driver in each of the ways that programs do. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

typedef uintptr_t word;

int cudaMalloc(word *at, size_t size);
int cudaFree(word at);
int cudaMallocPitch(word *at, size_t *pitch, size_t width, size_t height);
int cudaHostAlloc(word *at, size_t size, unsigned flags);
int cudaFreeHost(word at);
int cudaHostRegister(word at, size_t size, unsigned flags);
int cudaHostUnregister(word at);
int cudaGetDriverEntryPoint(const char *name, void **found, uint64_t flags, int *result);

/* by_name finds a function of the driver as those do who are not linked to it. */
static void *by_name(const char *name) { return dlsym(dlopen("libcuda.so.1", RTLD_NOW), name); }

static void *asked(const char *name)
{
	int (*ask)(const char *, void **, int, uint64_t, int *) = (int (*)(const char *, void **, int, uint64_t, int *))by_name("cuGetProcAddress_v2");
	void *found = NULL;
	ask(name, &found, 12000, 0, NULL);
	return found;
}

static void *entry(const char *name)
{
	void *found = NULL;
	cudaGetDriverEntryPoint(name, &found, 0, NULL);
	return found;
}

enum { linked, looked_up, from_a_pool, created, managed, rows, pinned, opened, registered };

typedef struct {
	int kind, handles, location_kind, location, rest[8];
} properties;

/* create maps what it creates, and keeps no handle of it. */
static int create(word *at, size_t size)
{
	properties where = {.kind = 1, .location_kind = 1};
	word handle = 0;
	int status = ((int (*)(word *, size_t, properties *, uint64_t))entry("cuMemCreate"))(&handle, size, &where, 0);
	if (status)
		return status;
	((int (*)(word *, size_t, size_t, word, uint64_t))by_name("cuMemAddressReserve"))(at, size, 0, 0, 0);
	status = ((int (*)(word, size_t, size_t, word, uint64_t))asked("cuMemMap"))(*at, size, 0, handle, 0);
	return status + ((int (*)(word))asked("cuMemRelease"))(handle);
}

typedef struct {
	char bytes[64];
} handle;

static void *of_opener(const char *name) { return dlsym(dlopen("libopener.so", RTLD_NOW), name); }

/* open_other opens memory that begins at an address, by a handle as opener.c reads it. */
static int open_other(word *at)
{
	handle of;
	memset(&of, 'h', sizeof of);
	memcpy(&of, at, sizeof *at);
	return ((int (*)(word *, handle, unsigned))of_opener("cudaIpcOpenMemHandle"))(at, of, 1);
}

int taker_take(int way, word *at, size_t size)
{
	size_t pitch;
	switch (way) {
	case linked: return cudaMalloc(at, size);
	case looked_up: return ((int (*)(word *, size_t))by_name("cuMemAlloc_v2"))(at, size);
	case from_a_pool: return ((int (*)(word *, size_t, void *))asked("cuMemAllocAsync"))(at, size, NULL);
	case created: return create(at, size);
	case managed: return ((int (*)(word *, size_t, unsigned))by_name("cuMemAllocManaged"))(at, size, 1);
	case rows: return cudaMallocPitch(at, &pitch, 100, size / 512);
	case pinned: return cudaHostAlloc(at, size, 0);
	case opened: return open_other(at);
	default: return cudaHostRegister(*at, size, 0);
	}
}

int taker_give(int way, word at, size_t size)
{
	switch (way) {
	case linked: return cudaFree(at);
	case looked_up: return ((int (*)(word))by_name("cuMemFree_v2"))(at);
	case from_a_pool: return ((int (*)(word, void *))asked("cuMemFreeAsync"))(at, NULL);
	case created: return ((int (*)(word, size_t))by_name("cuMemUnmap"))(at, size);
	case managed: return ((int (*)(word))asked("cuMemFree"))(at);
	case rows: return cudaFree(at);
	case pinned: return cudaFreeHost(at);
	case opened: return ((int (*)(word))of_opener("cudaIpcCloseMemHandle"))(at);
	default: return cudaHostUnregister(at);
	}
}
