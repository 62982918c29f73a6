/* The driver's virtual memory: addresses are reserved, memory is created, and one is mapped
 * to the other. A device's memory is taken from the creation until it is neither held nor
 * mapped any more. */
#include "imitation.h"

#include <stdlib.h>

typedef struct {
	uint64_t size;
	int device;
	int uses; /* the handle itself, and each mapping */
} created;

typedef struct mapping {
	uintptr_t start;
	uint64_t size;
	created *memory;
	struct mapping *next;
} mapping;

pthread_mutex_t virtual_lock = PTHREAD_MUTEX_INITIALIZER;
static mapping *mappings;

static const uint64_t granularity = 2 << 20;

/* Where and what: published as CUmemAllocationProp. */
typedef struct {
	int kind, handle_kinds, location_kind, location;
} properties;

static void drop(created *memory)
{
	if (--memory->uses)
		return;
	device_take(memory->device, -(int64_t)memory->size);
	free(memory);
}

EXPORT int cuMemGetAllocationGranularity(size_t *size) { return *size = granularity, success; }

EXPORT int cuMemAddressReserve(uintptr_t *start, size_t size)
{
	*start = reserve_addresses(size);
	return *start ? success : out_of_memory;
}

EXPORT int cuMemAddressFree(uintptr_t start) { return free_addresses(start); }

EXPORT int cuMemCreate(created **handle, size_t size, const properties *p)
{
	enum { location_device = 1 };
	if (size == 0 || size % granularity)
		return invalid_value;
	int device = p->location_kind == location_device ? p->location : current_device();
	if (device < 0 || device >= gpu()->devices)
		return invalid_device;
	created *memory = malloc(sizeof *memory);
	int status = memory ? device_take(device, (int64_t)size) : out_of_memory;
	if (status) {
		free(memory);
		return status;
	}
	*memory = (created){size, device, 1};
	*handle = memory;
	return success;
}

EXPORT int cuMemRelease(created *handle)
{
	LOCKED(virtual_lock);
	drop(handle);
	return success;
}

EXPORT int cuMemMap(uintptr_t start, size_t size, size_t offset, created *handle)
{
	mapping *m = malloc(sizeof *m);
	if (!m)
		return out_of_memory;
	LOCKED(virtual_lock);
	*m = (mapping){start, size, handle, mappings};
	mappings = m;
	handle->uses++;
	return success;
}

EXPORT int cuMemUnmap(uintptr_t start, size_t size)
{
	int status = invalid_value;
	LOCKED(virtual_lock);
	for (mapping **at = &mappings; *at;) {
		mapping *m = *at;
		if (m->start < start || m->start >= start + size) {
			at = &m->next;
			continue;
		}
		*at = m->next;
		drop(m->memory);
		free(m);
		status = success;
	}
	return status;
}

EXPORT int cuMemRetainAllocationHandle(created **handle, uintptr_t address)
{
	int status = invalid_value;
	LOCKED(virtual_lock);
	for (mapping *m = mappings; m && status; m = m->next) {
		if (address - m->start < m->size) {
			m->memory->uses++;
			*handle = m->memory;
			status = success;
		}
	}
	return status;
}

FINE(cuMemSetAccess)
