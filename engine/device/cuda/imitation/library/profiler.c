/* CUPTI: what a device does is not recorded, as it does nothing. A profiler is told that it
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
REFUSE(cuptiActivityEnable, profiler_not_supported)
REFUSE(cuptiActivityEnableCudaEventDeviceTimestamps, profiler_not_supported)
REFUSE(cuptiActivityEnableDriverApi, profiler_not_supported)
REFUSE(cuptiActivityEnableRuntimeApi, profiler_not_supported)
REFUSE(cuptiGetDeviceId, profiler_not_supported)
REFUSE(cuptiGetStreamIdEx, profiler_not_supported)

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
