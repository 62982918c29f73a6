/* Memory and events that processes share. Memory that another process took is addresses here,
 * and counts there. */
#include "imitation.h"

#include <string.h>
#include <unistd.h>

typedef struct {
	uintptr_t start;
	uint64_t size, process;
	char rest[40];
} handle; /* 64 bytes, which the program hands to the other process */

static int share(handle *of, uintptr_t address)
{
	int device;
	*of = (handle){.process = (uint64_t)getpid()};
	return failed(address_range(address, &of->start, &of->size, &device) ? success : invalid_value);
}

static int open_shared(uintptr_t *address, uint64_t size)
{
	*address = reserve_addresses(size);
	return failed(*address ? success : out_of_memory);
}

BOTH(cudaIpcGetMemHandle, cuIpcGetMemHandle, (handle * of, uintptr_t address), share(of, address))
BOTH(cudaIpcOpenMemHandle, cuIpcOpenMemHandle_v2, (uintptr_t * address, handle of, unsigned flags), open_shared(address, of.size))
BOTH(cudaIpcCloseMemHandle, cuIpcCloseMemHandle, (uintptr_t address), failed(free_addresses(address)))
BOTH(cudaIpcGetEventHandle, cuIpcGetEventHandle, (handle * of, void *event), (*of = (handle){0}, success))
BOTH(cudaIpcOpenEventHandle, cuIpcOpenEventHandle, (void **event, handle of), (*event = new_handle(), success))
