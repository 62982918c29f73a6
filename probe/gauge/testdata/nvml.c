// A stand-in for libnvidia-ml.so.1: one card, or one that is divided in two, on
// which processes 7, 8 and 9 are. What is defined when it is compiled chooses
// what it lacks and refuses.
#define NVML_NO_UNVERSIONED_FUNC_DEFS
#include <stdio.h>
#include <string.h>
#include <nvml.h>

enum { CARD = 1, FIRST, SECOND };

static int of(nvmlDevice_t device) { return (int)(long)device.handle; }

const char *nvmlErrorString(nvmlReturn_t result) {
	switch (result) {
	case NVML_ERROR_NO_PERMISSION: return "Insufficient Permissions";
	case NVML_ERROR_LIB_RM_VERSION_MISMATCH: return "Driver/library version mismatch";
	case NVML_ERROR_NOT_SUPPORTED: return "Not Supported";
	default: return "Unknown Error";
	}
}

nvmlReturn_t nvmlInit_v2(void) {
#ifdef MISMATCH
	return NVML_ERROR_LIB_RM_VERSION_MISMATCH;
#else
	return NVML_SUCCESS;
#endif
}

nvmlReturn_t nvmlShutdown(void) { return NVML_SUCCESS; }

nvmlReturn_t nvmlDeviceGetCount_v2(unsigned int *count) {
	*count = 1;
	return NVML_SUCCESS;
}

nvmlReturn_t nvmlDeviceGetHandleByIndex_v2(unsigned int index, nvmlDevice_t *device) {
	device->handle = (void *)(long)CARD;
	return NVML_SUCCESS;
}

nvmlReturn_t nvmlDeviceGetUUID(nvmlDevice_t device, char *uuid, unsigned int length) {
	static const char *const names[] = {"", "GPU-1", "MIG-1", "MIG-2"};
	snprintf(uuid, length, "%s", names[of(device)]);
	return NVML_SUCCESS;
}

nvmlReturn_t nvmlDeviceGetName(nvmlDevice_t device, char *name, unsigned int length) {
	snprintf(name, length, "a card of a test");
	return NVML_SUCCESS;
}

nvmlReturn_t nvmlDeviceGetPciInfo_v3(nvmlDevice_t device, nvmlPciInfo_t *pci) {
	memset(pci, 0, sizeof *pci);
	strcpy(pci->busId, "00000000:01:00.0");
	return NVML_SUCCESS;
}

nvmlReturn_t nvmlDeviceGetMemoryInfo(nvmlDevice_t device, nvmlMemory_t *memory) {
#ifdef NO_MEMORY
	return NVML_ERROR_NO_PERMISSION;
#endif
#ifdef UNIFIED
	return NVML_ERROR_NOT_SUPPORTED;
#endif
	unsigned long long of_card = 80ULL << 30;
	memory->total = of(device) == CARD ? of_card : of_card / 4;
	memory->used = of(device) * 1000;
	memory->free = memory->total - memory->used;
	return NVML_SUCCESS;
}

nvmlReturn_t nvmlDeviceGetGraphicsRunningProcesses_v3(nvmlDevice_t device, unsigned int *count, nvmlProcessInfo_t *infos) {
	return NVML_ERROR_NOT_SUPPORTED;
}

#ifdef OLD
// Before the lists had versions, and before cards could be divided.
nvmlReturn_t nvmlDeviceGetComputeRunningProcesses(nvmlDevice_t device, unsigned int *count, nvmlProcessInfo_v1_t *infos) {
	if (*count < 1) return NVML_ERROR_INSUFFICIENT_SIZE;
	*count = 1;
	infos[0] = (nvmlProcessInfo_v1_t){7, 500};
	return NVML_SUCCESS;
}
#else
nvmlReturn_t nvmlDeviceGetUtilizationRates(nvmlDevice_t device, nvmlUtilization_t *rates) {
	if (of(device) != CARD) return NVML_ERROR_NOT_SUPPORTED;
	*rates = (nvmlUtilization_t){90, 40};
	return NVML_SUCCESS;
}

nvmlReturn_t nvmlDeviceGetTemperature(nvmlDevice_t device, nvmlTemperatureSensors_t sensor, unsigned int *degrees) {
	*degrees = 61;
	return of(device) == CARD ? NVML_SUCCESS : NVML_ERROR_INVALID_ARGUMENT;
}

nvmlReturn_t nvmlDeviceGetPowerUsage(nvmlDevice_t device, unsigned int *milliwatts) {
	*milliwatts = 350500;
	return of(device) == CARD ? NVML_SUCCESS : NVML_ERROR_INVALID_ARGUMENT;
}

nvmlReturn_t nvmlDeviceGetComputeRunningProcesses_v3(nvmlDevice_t device, unsigned int *count, nvmlProcessInfo_t *infos) {
#ifdef NO_PERMISSION
	return NVML_ERROR_NO_PERMISSION;
#endif
	static const nvmlProcessInfo_t on_card[] = {{7, 500, -1, -1}, {8, 300, -1, -1}, {9, 20, -1, -1}};
	static const nvmlProcessInfo_t on_second[] = {{7, 700, 2, 0}, {8, (unsigned long long)-1, 2, 0}};
	const nvmlProcessInfo_t *list = of(device) == CARD ? on_card : on_second;
	unsigned int n = of(device) == CARD ? 3 : of(device) == FIRST ? 0 : 2;
	if (*count < n) {
		*count = n;
		return NVML_ERROR_INSUFFICIENT_SIZE;
	}
	*count = n;
	memcpy(infos, list, n * sizeof *infos);
	return NVML_SUCCESS;
}

nvmlReturn_t nvmlDeviceGetMigMode(nvmlDevice_t device, unsigned int *current, unsigned int *pending) {
#ifdef DIVIDED
	*current = *pending = NVML_DEVICE_MIG_ENABLE;
	return NVML_SUCCESS;
#else
	return NVML_ERROR_NOT_SUPPORTED;
#endif
}

nvmlReturn_t nvmlDeviceGetMaxMigDeviceCount(nvmlDevice_t device, unsigned int *count) {
	*count = 7;
	return NVML_SUCCESS;
}

nvmlReturn_t nvmlDeviceGetMigDeviceHandleByIndex(nvmlDevice_t device, unsigned int index, nvmlDevice_t *instance) {
#ifdef NO_PERMISSION
	return NVML_ERROR_NO_PERMISSION;
#endif
	instance->handle = (void *)(long)(FIRST + index / 3);
	return index == 0 || index == 3 ? NVML_SUCCESS : NVML_ERROR_NOT_FOUND;
}
#endif
