/* CUPTI and NVTX: what a device does is not recorded, as it does nothing. A profiler is told that it
 * cannot have its activities and goes on with what the host does. */
#define _GNU_SOURCE
#include "imitation.h"

#include <time.h>

enum { profiler_not_supported = 27 };

FINE(cuptiActivityFlushAll)
FINE(cuptiActivityPushExternalCorrelationId)
FINE(cuptiActivityRegisterCallbacks)
FINE(cuptiActivityRegisterTimestampCallback)
FINE(cuptiActivitySetAttribute)
FINE(cuptiActivityDisable)
FINE(cuptiEnableCallback)
FINE(cuptiEnableDomain)
FINE(cuptiFinalize)
FINE(cuptiUnsubscribe)
MAKE(cuptiSubscribe)
DECLINE(cuptiActivityEnable, profiler_not_supported)
DECLINE(cuptiActivityEnableCudaEventDeviceTimestamps, profiler_not_supported)
DECLINE(cuptiActivityEnableDriverApi, profiler_not_supported)
DECLINE(cuptiActivityEnableRuntimeApi, profiler_not_supported)
DECLINE(cuptiGetDeviceId, profiler_not_supported)
DECLINE(cuptiEventGetAttribute, profiler_not_supported)
DECLINE(cuptiEventGetIdFromName, profiler_not_supported)
DECLINE(cuptiEventGroupGetAttribute, profiler_not_supported)
DECLINE(cuptiEventGroupReadEvent, profiler_not_supported)
DECLINE(cuptiEventGroupSetAttribute, profiler_not_supported)
DECLINE(cuptiEventGroupSetDisable, profiler_not_supported)
DECLINE(cuptiEventGroupSetEnable, profiler_not_supported)
DECLINE(cuptiEventGroupSetsCreate, profiler_not_supported)
DECLINE(cuptiEventGroupSetsDestroy, profiler_not_supported)
DECLINE(cuptiMetricEnumEvents, profiler_not_supported)
DECLINE(cuptiMetricGetAttribute, profiler_not_supported)
DECLINE(cuptiMetricGetIdFromName, profiler_not_supported)
DECLINE(cuptiMetricGetNumEvents, profiler_not_supported)
DECLINE(cuptiMetricGetValue, profiler_not_supported)
DECLINE(cuptiSetEventCollectionMode, profiler_not_supported)
DECLINE(cuptiGetStreamIdEx, profiler_not_supported)

EXPORT int cuptiActivityGetNumDroppedRecords(void *context, uint32_t stream, size_t *count) { return *count = 0, success; }

EXPORT int cuptiActivityGetNextRecord(void *buffer, size_t size, void **record)
{
	enum { no_more = 12 };
	*record = NULL;
	return no_more;
}

EXPORT int cuptiActivityPopExternalCorrelationId(int kind, uint64_t *last)
{
	if (last)
		*last = 0;
	return success;
}

EXPORT int cuptiGetVersion(uint32_t *version) { return *version = (uint32_t)(gpu()->cuda / 1000 * 10000 + gpu()->cuda % 1000), success; }
EXPORT int cuptiGetResultString(int status, const char **text) { return *text = status ? "not supported by the imitated CUPTI" : "success", success; }
EXPORT int cuptiGetCallbackName(int domain, uint32_t id, const char **name) { return *name = "", success; }

EXPORT int cuptiGetTimestamp(uint64_t *nanoseconds)
{
	struct timespec now;
	clock_gettime(CLOCK_REALTIME, &now);
	*nanoseconds = (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
	return success;
}

/* Ranges that nobody draws. They answer as NVTX does where there is no tool: with -2, and no number. */
enum { no_tool = -2 };

EXPORT void nvtxMarkA(const char *text) {}
EXPORT int nvtxRangePushA(const char *text) { return no_tool; }
EXPORT int nvtxRangePop(void) { return no_tool; }
EXPORT uint64_t nvtxRangeStartA(const char *text) { return 0; }
EXPORT void nvtxRangeEnd(uint64_t range) {}
