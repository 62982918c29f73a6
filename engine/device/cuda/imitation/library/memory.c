/* Addresses of device memory. An address range is
 * reserved and never backed by memory, so it takes none, is nobody else's, and who touches
 * it from the processor fails as on a real machine. */
#define _GNU_SOURCE
#include "imitation.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

enum { host = -1, reserved = -2 };

typedef struct {
	uintptr_t start;
	uint64_t size;
	int device; /* or host, or reserved: addresses that memory is mapped to */
	bool pooled;
	bool own; /* of the host: memory of our own, and not the program's */
} range;

pthread_mutex_t memory_lock = PTHREAD_MUTEX_INITIALIZER;
static range *ranges; /* by address */
static size_t count, room;

/* Device memory is given in pages of this size. */
static const uint64_t page = 2 << 20;

static uint64_t whole_pages(uint64_t size) { return (size + page - 1) & ~(page - 1); }

/* after returns the place of the first range that begins behind an address. */
static size_t after(uintptr_t address)
{
	size_t low = 0, high = count;
	while (low < high) {
		size_t middle = (low + high) / 2;
		if (ranges[middle].start <= address)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

static range *holding(uintptr_t address)
{
	size_t i = after(address);
	if (i == 0 || address - ranges[i - 1].start >= ranges[i - 1].size)
		return NULL;
	return &ranges[i - 1];
}

static bool insert(range r)
{
	if (count == room) {
		size_t more = room ? 2 * room : 1024;
		range *grown = realloc(ranges, more * sizeof *ranges);
		if (!grown)
			return false;
		ranges = grown;
		room = more;
	}
	size_t i = after(r.start);
	memmove(&ranges[i + 1], &ranges[i], (count - i) * sizeof *ranges);
	ranges[i] = r;
	count++;
	return true;
}

static void erase(range *r)
{
	memmove(r, r + 1, (size_t)(&ranges[count] - (r + 1)) * sizeof *r);
	count--;
}

/* # Where memory lies
 *
 * The driver gives the lowest addresses that are free, as recordings from GPUs show: their
 * segments lie upwards in the order of their making, and in the holes of those that are gone.
 * That matters, because PyTorch takes the block with the lowest address of those that fit
 * alike, and so decides which segments become free. What is allocated before the first kernel
 * runs lies behind a gap, which is filled afterwards: of 80 MiB in recordings by PyTorch 2.6
 * with CUDA 12.4 (the first segment only, for the second comes after a kernel), of 224 MiB in
 * those by 2.11 with CUDA 12.8 (a whole model that is copied to the device). Addresses that are only reserved, for
 * memory to be mapped to, lie elsewhere. They are given in the same way, so that programs which reserve alike get
 * the same order: PyTorch fills the lowest of a stream's ranges first. */

typedef struct {
	uintptr_t start, end;
	uintptr_t full; /* there is no hole of a page below it */
} arena;

static arena backed, mapped; /* of addresses with memory, and of those that are only reserved */

static arena *arena_of(int device) { return device == reserved ? &mapped : &backed; }

/* open_arena takes the addresses of all devices, as many as there can be had. */
static void open_arena(arena *a)
{
	for (uint64_t size = 1ull << 46; size >= 1ull << 36 && !a->end; size /= 2) {
		char *got = mmap(NULL, size, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
		if (got == MAP_FAILED)
			continue;
		a->start = a->full = ((uintptr_t)got + page - 1) & ~(uintptr_t)(page - 1);
		a->end = (uintptr_t)got + size;
	}
}

/* hole returns the lowest addresses of an arena that nobody has. */
static uintptr_t hole(arena *a, uint64_t size)
{
	if (!a->end)
		open_arena(a);
	uintptr_t gap = a->start + ((gpu()->cuda < 12080 ? 80ull : 224ull) << 20);
	uintptr_t at = a != &backed || kernels_ran() || a->full > gap ? a->full : gap;
	bool lowest = at == a->full; /* all before is full */
	for (size_t i = after(at - 1); i < count && ranges[i].start < a->end && ranges[i].start - at < size; i++) {
		lowest = lowest && ranges[i].start == at;
		at = ranges[i].start + whole_pages(ranges[i].size);
		if (lowest)
			a->full = at;
	}
	return size <= a->end - at ? at : 0;
}

static void give_addresses(const range *r)
{
	arena *a = arena_of(r->device);
	if (r->start < a->full)
		a->full = r->start;
}

/* addresses returns a new range, which begins at a page of the device. */
static uintptr_t addresses(uint64_t size, int device, bool pooled)
{
	uint64_t whole = whole_pages(size);
	range r = {hole(arena_of(device), whole), size, device, pooled, false};
	if (r.start && !insert(r)) {
		give_addresses(&r);
		return 0;
	}
	return r.start;
}

static void give(int device, uint64_t size, bool pooled)
{
	if (pooled)
		pool_give(device, size);
	else
		device_take(device, -(int64_t)size);
}

/* allocate takes memory of a device, or of its pool, and gives it addresses. */
static int allocate(int device, uint64_t size, bool pooled, uintptr_t *address)
{
	*address = 0;
	if (size == 0)
		return success;
	LOCKED(memory_lock);
	int status = pooled ? pool_take(device, size) : device_take(device, (int64_t)size);
	if (status == success && !(*address = addresses(size, device, pooled))) {
		give(device, size, pooled);
		status = out_of_memory;
	}
	return status;
}

int device_alloc(int device, uint64_t size, uintptr_t *address) { return allocate(device, whole_pages(size), false, address); }
int pooled_alloc(int device, uint64_t size, uintptr_t *address) { return allocate(device, (size + 511) & ~(uint64_t)511, true, address); }

/* release gives a range back whose kind is at least that; it must begin there. */
static int release(uintptr_t address, bool of_device)
{
	pthread_mutex_lock(&memory_lock);
	range *r = holding(address);
	bool good = r && r->start == address && r->device != host && (r->device >= 0) == of_device;
	uint64_t size = good ? r->size : 0;
	if (good) {
		give_addresses(r);
		if (of_device)
			give(r->device, r->size, r->pooled);
		erase(r);
	}
	pthread_mutex_unlock(&memory_lock);
	if (size)
		freed(address, size); /* who gets these addresses next finds nothing of it */
	return good ? success : invalid_value;
}

int device_free(uintptr_t address) { return address ? release(address, true) : success; }

uintptr_t reserve_addresses(uint64_t size)
{
	LOCKED(memory_lock);
	return addresses(whole_pages(size), reserved, false);
}

int free_addresses(uintptr_t address) { return release(address, false); }

bool address_range(uintptr_t address, uintptr_t *start, uint64_t *size, int *device)
{
	LOCKED(memory_lock);
	range *r = holding(address);
	bool found = r && r->device != host;
	if (found) {
		*start = r->start;
		*size = r->size;
		*device = r->device == reserved ? current_device() : r->device;
	}
	return found;
}

bool is_device(const void *p)
{
	uintptr_t start;
	uint64_t size;
	int device;
	return address_range((uintptr_t)p, &start, &size, &device);
}

void host_add(const void *p, uint64_t size, bool own)
{
	LOCKED(memory_lock);
	insert((range){.start = (uintptr_t)p, .size = size, .device = host, .own = own}); /* without room it is not known as pinned */
}

bool host_remove(const void *p)
{
	LOCKED(memory_lock);
	range *r = holding((uintptr_t)p);
	bool known = r && r->device == host && r->start == (uintptr_t)p;
	if (known)
		erase(r);
	return known;
}

bool is_own_host(const void *p, uint64_t size)
{
	LOCKED(memory_lock);
	range *r = holding((uintptr_t)p);
	return r && r->own && (uintptr_t)p + size <= r->start + r->size;
}

bool is_pinned(const void *p)
{
	LOCKED(memory_lock);
	range *r = holding((uintptr_t)p);
	return r && r->device == host;
}
