/* Pools of cudaMallocAsync, one for each device. What is allocated counts in units of 512
 * bytes; what the pool takes of the device is modelled as a multiple of 32 MiB that only
 * grows until it is trimmed, without gaps between the allocations. */
#include "imitation.h"

typedef struct {
	uint64_t used, most_used, reserved, most_reserved, threshold;
} pool;

static pool pools[most_devices]; /* under memory_lock */

static const uint64_t chunk = 32 << 20;

static uint64_t whole_chunks(uint64_t size) { return (size + chunk - 1) / chunk * chunk; }
static uint64_t larger(uint64_t a, uint64_t b) { return a > b ? a : b; }

static void shrink(int device, uint64_t keep)
{
	pool *p = &pools[device];
	uint64_t least = larger(whole_chunks(p->used), keep);
	if (p->reserved <= least)
		return;
	device_take(device, -(int64_t)(p->reserved - least));
	p->reserved = least;
}

int pool_take(int device, uint64_t size)
{
	pool *p = &pools[device];
	uint64_t wanted = whole_chunks(p->used + size);
	MODELLED("pools of cudaMallocAsync", "chunks of 32 MiB without gaps");
	if (wanted > p->reserved) {
		int status = device_take(device, (int64_t)(wanted - p->reserved));
		if (status)
			return status;
		p->reserved = wanted;
	}
	p->used += size;
	p->most_used = larger(p->most_used, p->used);
	p->most_reserved = larger(p->most_reserved, p->reserved);
	return success;
}

void pool_give(int device, uint64_t size)
{
	pools[device].used -= size;
	shrink(device, pools[device].threshold);
}

static void *handle_of(int device) { return (void *)(uintptr_t)(0x100 + device); }

/* of returns the pool of a handle; one that a program made is the current device's. */
static int of(void *handle)
{
	uintptr_t device = (uintptr_t)handle - 0x100;
	return device < most_devices ? (int)device : current_device();
}

enum { its_threshold = 4, reserved_now, reserved_most, used_now, used_most };

static uint64_t *figure(pool *p, int number)
{
	switch (number) {
	case its_threshold: return &p->threshold;
	case reserved_now: return &p->reserved;
	case reserved_most: return &p->most_reserved;
	case used_now: return &p->used;
	case used_most: return &p->most_used;
	default: return NULL;
	}
}

static int get(void *handle, int number, void *value)
{
	LOCKED(memory_lock);
	uint64_t *at = figure(&pools[of(handle)], number);
	if (at)
		*(uint64_t *)value = *at;
	else
		*(int *)value = 1; /* memory is used again, also across streams */
	return success;
}

/* The most there was can be set back, to what there is. */
static int set(void *handle, int number, const void *value)
{
	LOCKED(memory_lock);
	pool *p = &pools[of(handle)];
	if (number == its_threshold)
		p->threshold = *(const uint64_t *)value;
	else if (number == reserved_most)
		p->most_reserved = p->reserved;
	else if (number == used_most)
		p->most_used = p->used;
	return success;
}

static int trim(void *handle, size_t keep)
{
	LOCKED(memory_lock);
	shrink(of(handle), keep);
	return success;
}

BOTH(cudaDeviceGetDefaultMemPool, cuDeviceGetDefaultMemPool, (void **made, int device), (*made = handle_of(device), success))
BOTH(cudaDeviceGetMemPool, cuDeviceGetMemPool, (void **made, int device), (*made = handle_of(device), success))
BOTH(cudaMemPoolGetAttribute, cuMemPoolGetAttribute, (void *handle, int number, void *value), get(handle, number, value))
BOTH(cudaMemPoolSetAttribute, cuMemPoolSetAttribute, (void *handle, int number, const void *value), set(handle, number, value))
BOTH(cudaMemPoolTrimTo, cuMemPoolTrimTo, (void *handle, size_t keep), trim(handle, keep))
BOTH(cudaMallocAsync, cuMemAllocAsync, (uintptr_t * at, size_t size), failed(pooled_alloc(current_device(), size, at)))
BOTH(cudaMallocFromPoolAsync, cuMemAllocFromPoolAsync, (uintptr_t * at, size_t size, void *handle), failed(pooled_alloc(of(handle), size, at)))
BOTH(cudaFreeAsync, cuMemFreeAsync, (uintptr_t at), failed(device_free(at)))
