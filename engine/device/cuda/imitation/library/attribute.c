/* Attributes of a device, by the numbers that cudaDeviceGetAttribute and
 * cuDeviceGetAttribute share (enum CUdevice_attribute). */
#include "imitation.h"

int64_t attribute(int number)
{
	const profile *p = gpu();
	switch (number) {
	case 1: case 2: case 3: return 1024; /* threads of a block, its x and y */
	case 4: return 64;
	case 5: return 2147483647; /* blocks of a grid, x, y and z */
	case 6: case 7: return 65535;
	case 8: return 49152; /* shared memory of a block */
	case 9: return 65536; /* constant memory */
	case 10: return 32; /* threads of a warp */
	case 11: return 2147483647; /* pitch */
	case 12: return 65536; /* registers of a block */
	case 13: return 1980000; /* clock, kHz */
	case 14: return 512; /* alignment of textures */
	case 16: return p->processors;
	case 36: return 2619000; /* clock of memory, kHz */
	case 37: return 5120; /* width of the bus, bits */
	case 38: return (int64_t)p->l2;
	case 39: return p->threads_per_processor;
	case 40: return 3; /* copy engines */
	case 75: return p->major;
	case 76: return p->minor;
	case 81: return (int64_t)p->shared_per_processor;
	case 82: return p->registers_per_processor;
	case 97: return (int64_t)p->shared_optin;
	case 106: return p->blocks_per_processor;
	case 111: return (int64_t)p->shared_reserved;
	case 120: return p->major >= 9; /* clusters */
	case 127: return p->major >= 9; /* tensor maps */
	/* What a device can: copy beside kernels, map host memory, run kernels beside each other, address as the
	 * host does, have priorities and caches, managed memory, preemption, cooperative launches, registered
	 * host memory, virtual memory with file handles, memory pools, functions that are pointers. */
	case 15: case 19: case 31: case 41: case 78: case 79: case 80: case 83: case 89: case 90: case 91: case 95: case 96:
	case 99: case 102: case 103: case 115: case 119: case 129:
		return 1;
	default: return 0; /* what it has not, and what is not known: fabric, multicast, textures */
	}
}
