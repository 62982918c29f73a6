/* Stands for the part of the runtime that opens memory of other processes: a handle has the
 * address, and the same byte to its end. */
#include <stdint.h>
#include <string.h>

typedef struct {
	char bytes[64];
} handle;

int cudaIpcOpenMemHandle(uintptr_t *at, handle of, unsigned flags)
{
	for (int i = sizeof *at; i < (int)sizeof of; i++)
		if (of.bytes[i] != 'h')
			return 1;
	memcpy(at, of.bytes, sizeof *at);
	return flags == 1 ? 0 : 2;
}

int cudaIpcCloseMemHandle(uintptr_t at) { return at ? 0 : 1; }
