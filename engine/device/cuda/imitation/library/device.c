/* Devices as the runtime describes them. */
#include "imitation.h"

#include <stdio.h>
#include <string.h>

BOTH(cudaDriverGetVersion, cuDriverGetVersion, (int *version), (*version = gpu()->cuda, success))
EXPORT int cudaRuntimeGetVersion(int *version) { return *version = gpu()->cuda, success; }
EXPORT int cudaGetDevice(int *device) { return *device = current_device(), success; }
EXPORT int cudaSetDevice(int device) { return failed(use_device(device)); }
EXPORT int cudaInitDevice(int device) { return failed(device < 0 || device >= gpu()->devices ? invalid_device : success); }
EXPORT int cudaGetDeviceFlags(unsigned *flags) { return *flags = 0, success; }

EXPORT int cudaGetDeviceCount(int *count)
{
	enum { no_device = 100 };
	*count = gpu()->devices;
	return failed(*count ? success : no_device);
}

BOTH(cudaDeviceGetAttribute, cuDeviceGetAttribute, (int *value, int number), (*value = (int)attribute(number), success))

BOTH(cudaDeviceCanAccessPeer, cuDeviceCanAccessPeer, (int *can, int device, int peer), (*can = device != peer, success))

/* Access, and native atomics. */
BOTH(cudaDeviceGetP2PAttribute, cuDeviceGetP2PAttribute, (int *value, int number, int from, int to), (*value = from != to && (number == 2 || number == 3), success))

BOTH(cudaDeviceGetPCIBusId, cuDeviceGetPCIBusId, (char *text, int size, int device), (snprintf(text, (size_t)size, "0000:%02X:00.0", place_of(device) + 1), success))

static int by_bus(int *device, const char *text)
{
	unsigned domain, bus;
	if (sscanf(text, "%x:%x", &domain, &bus) == 2)
		for (*device = 0; *device < gpu()->devices; ++*device)
			if (place_of(*device) + 1 == (int)bus)
				return success;
	return failed(invalid_value);
}

BOTH(cudaDeviceGetByPCIBusId, cuDeviceGetByPCIBusId, (int *device, const char *text), by_bus(device, text))

/* Limits: stack of a thread, buffer of printf, heap of malloc, and so on. */
static int limit_of(size_t *value, int limit)
{
	static const size_t values[] = {1024, 7 << 20, 8 << 20, 2, 2048, 128, 0};
	if (limit < 0 || limit >= (int)(sizeof values / sizeof *values))
		return failed(invalid_value);
	*value = values[limit];
	return success;
}

BOTH(cudaDeviceGetLimit, cuCtxGetLimit, (size_t *value, int limit), limit_of(value, limit))

/* The properties of a device have one layout in CUDA 11 and 12 and another in 13. */
static const struct {
	int twelve, thirteen, size, number; /* number of an attribute; 0 where it is none */
} properties[] = {
	{288, 288, 8, 0}, {296, 296, 8, 8}, {304, 304, 4, 12}, {308, 308, 4, 10}, {312, 312, 8, 11}, {320, 320, 4, 1},
	{324, 324, 4, 2}, {328, 328, 4, 3}, {332, 332, 4, 4}, {336, 336, 4, 5}, {340, 340, 4, 6}, {344, 344, 4, 7}, {352, 352, 8, 9},
	{360, 360, 4, 75}, {364, 364, 4, 76}, {368, 368, 8, 14}, {388, 384, 4, 16}, {400, 392, 4, 19}, {576, 560, 4, 31},
	{600, 584, 4, 40}, {604, 588, 4, 41}, {612, 592, 4, 37}, {616, 596, 4, 38}, {624, 604, 4, 39}, {628, 608, 4, 78},
	{632, 612, 4, 79}, {636, 616, 4, 80}, {640, 624, 8, 81}, {648, 632, 4, 82}, {652, 636, 4, 83}, {676, 656, 4, 89},
	{680, 660, 4, 90}, {688, 668, 4, 95}, {696, 672, 8, 97}, {712, 688, 4, 106}, {720, 696, 8, 111}, {728, 704, 4, 99},
	{744, 720, 4, 115}, {772, 748, 4, 120},
};

static void describe(char *to, int device, size_t size, bool thirteen)
{
	memset(to, 0, size);
	snprintf(to, 256, "%s", gpu()->title);
	to[256] = 'm'; /* the identifier: it has to differ by device */
	to[257] = (char)(place_of(device) + 1);
	for (size_t i = 0; i < sizeof properties / sizeof *properties; i++) {
		size_t at = (size_t)(thirteen ? properties[i].thirteen : properties[i].twelve);
		int64_t value = properties[i].number ? attribute(properties[i].number) : (int64_t)gpu()->total;
		if (at + (size_t)properties[i].size <= size)
			memcpy(to + at, &value, (size_t)properties[i].size);
	}
	int bus = place_of(device) + 1;
	memcpy(to + (thirteen ? 568 : 584), &bus, sizeof bus);
}

EXPORT int cudaGetDeviceProperties(void *to, int device)
{
	bool thirteen = gpu()->cuda >= 13000;
	describe(to, device, thirteen ? 1008 : 728, thirteen);
	return success;
}

EXPORT int cudaGetDeviceProperties_v2(void *to, int device)
{
	describe(to, device, 1032, false);
	return success;
}

/* The bits of a texture's x, y, z and w, and their kind. */
typedef struct {
	int x, y, z, w, kind;
} channels;

EXPORT channels cudaCreateChannelDesc(int x, int y, int z, int w, int kind) { return (channels){x, y, z, w, kind}; }
