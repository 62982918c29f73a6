/* NVML, for programs that ask how much memory there is. */
#include "imitation.h"

#include <stdio.h>
#include <string.h>

enum { nvml_invalid = 2, nvml_not_supported, nvml_too_small = 7 };

static int index_of(void *device) { return (int)((uintptr_t)device - 0x900); }

static int device_at(unsigned index, void **device)
{
	*device = (void *)(uintptr_t)(0x900 + index);
	return (int)index < gpu()->places ? success : nvml_invalid;
}

FINE(nvmlInit)
FINE(nvmlInit_v2)
FINE(nvmlInitWithFlags)
FINE(nvmlShutdown)

EXPORT const char *nvmlErrorString(int status) { return status ? "Not Supported" : "Success"; }
BOTH(nvmlDeviceGetCount, nvmlDeviceGetCount_v2, (unsigned *count), (*count = (unsigned)gpu()->places, success))
BOTH(nvmlDeviceGetHandleByIndex, nvmlDeviceGetHandleByIndex_v2, (unsigned index, void **device), device_at(index, device))

EXPORT int nvmlDeviceGetHandleByPciBusId(const char *text, void **device)
{
	unsigned domain, bus;
	return sscanf(text, "%x:%x", &domain, &bus) == 2 && bus ? device_at(bus - 1, device) : nvml_invalid;
}

EXPORT int nvmlDeviceGetHandleByPciBusId_v2(const char *text, void **device) { return nvmlDeviceGetHandleByPciBusId(text, device); }

/* The identifier is that of the device's properties: "m", the number of the device, zeros. */
EXPORT int nvmlDeviceGetUUID(void *device, char *text, unsigned size)
{
	snprintf(text, size, "GPU-6d%02x0000-0000-0000-0000-000000000000", index_of(device) + 1);
	return success;
}

EXPORT int nvmlDeviceGetHandleByUUID(const char *text, void **device)
{
	unsigned number;
	if (sscanf(text, "GPU-6d%2x", &number) != 1 || number < 1)
		return nvml_invalid;
	return device_at(number - 1, device);
}

EXPORT int nvmlDeviceGetMemoryInfo(void *device, uint64_t *figures)
{
	figures[0] = gpu()->total;
	figures[1] = place_left(index_of(device));
	figures[2] = figures[0] - figures[1];
	return success;
}

EXPORT int nvmlDeviceGetMemoryInfo_v2(void *device, uint64_t *figures)
{
	figures[1] = gpu()->total; /* behind the version of the layout */
	figures[2] = 0;            /* what the driver keeps is in the context here */
	figures[3] = place_left(index_of(device));
	figures[4] = figures[1] - figures[3];
	return success;
}

EXPORT int nvmlDeviceGetName(void *device, char *text, unsigned size) { return snprintf(text, size, "%s", gpu()->title), success; }
EXPORT int nvmlDeviceGetIndex(void *device, unsigned *index) { return *index = (unsigned)index_of(device), success; }
EXPORT int nvmlSystemGetDriverVersion(char *text, unsigned size) { return snprintf(text, size, "580.65.06"), success; }
BOTH(nvmlSystemGetCudaDriverVersion, nvmlSystemGetCudaDriverVersion_v2, (int *version), (*version = gpu()->cuda, success))

EXPORT int nvmlDeviceGetCudaComputeCapability(void *device, int *major, int *minor)
{
	*major = gpu()->major;
	*minor = gpu()->minor;
	return success;
}

EXPORT int nvmlDeviceGetUtilizationRates(void *device, unsigned *rates) { return rates[0] = rates[1] = 0, success; }

EXPORT int nvmlDeviceGetPciInfo_v3(void *device, char *to)
{
	unsigned numbers[3] = {0, (unsigned)index_of(device) + 1, 0}; /* domain, bus, device */
	memset(to, 0, 68);
	snprintf(to, 16, "0000:%02X:00.0", numbers[1]);
	memcpy(to + 16, numbers, sizeof numbers);
	snprintf(to + 36, 32, "00000000:%02X:00.0", numbers[1]);
	return success;
}

/* Every processor of the machine is as near. */
EXPORT int nvmlDeviceGetCpuAffinity(void *device, unsigned count, unsigned long *set)
{
	memset(set, 0xff, count * sizeof *set);
	return success;
}

/* Processes are on the GPUs of which they have asked for memory. */
EXPORT int nvmlDeviceGetComputeRunningProcesses_v3(void *device, unsigned *count, user *list)
{
	unsigned room = *count;
	*count = (unsigned)place_users(index_of(device), list, (int)room);
	return room < *count ? nvml_too_small : success;
}

EXPORT int nvmlDeviceGetComputeRunningProcesses_v2(void *device, unsigned *count, user *list) { return nvmlDeviceGetComputeRunningProcesses_v3(device, count, list); }

/* The first version of it has no instances. PyTorch asks it for what its message of a lack of memory says. */
typedef struct {
	unsigned pid;
	uint64_t bytes;
} first_user;

EXPORT int nvmlDeviceGetComputeRunningProcesses(void *device, unsigned *count, first_user *list)
{
	enum { most = 256 };
	user all[most];
	unsigned room = *count;
	*count = (unsigned)place_users(index_of(device), all, most);
	for (unsigned i = 0; i < room && i < *count && i < most; i++)
		list[i] = (first_user){all[i].pid, all[i].bytes};
	return room < *count ? nvml_too_small : success;
}

#define NONE(name) \
	EXPORT int name(void *device, unsigned *count) { return *count = 0, success; }

NONE(nvmlDeviceGetGraphicsRunningProcesses)
NONE(nvmlDeviceGetGraphicsRunningProcesses_v2)
NONE(nvmlDeviceGetGraphicsRunningProcesses_v3)

/* So answers a GPU that is in no fabric of several machines. PyTorch asks for its handles'
 * kind, which no size depends on. */
DECLINE(nvmlDeviceGetGpuFabricInfo, nvml_not_supported)
DECLINE(nvmlDeviceGetGpuFabricInfoV, nvml_not_supported)

REFUSE(nvmlDeviceGetNvLinkState, nvml_not_supported)
REFUSE(nvmlDeviceGetNvLinkCapability, nvml_not_supported)
REFUSE(nvmlDeviceGetNvLinkRemoteDeviceType, nvml_not_supported)
REFUSE(nvmlDeviceGetNvLinkRemotePciInfo_v2, nvml_not_supported)
REFUSE(nvmlDeviceGetTemperature, nvml_not_supported)
REFUSE(nvmlDeviceGetPowerUsage, nvml_not_supported)
REFUSE(nvmlDeviceGetClockInfo, nvml_not_supported)
REFUSE(nvmlDeviceGetProcessUtilization, nvml_not_supported)
