/* cuFile, which moves files to a device's memory: it is refused, as there is no such memory. */
#include "imitation.h"

/* cuFile's own error, and the driver's. */
typedef struct {
	int own, driver;
} file_error;

#define NO_FILE(name) \
	EXPORT file_error name(void) \
	{ \
		static uint64_t times; \
		enum { platform_not_supported = 5007 }; \
		return (file_error){refuse(#name, platform_not_supported, CALLER, &times), 0}; \
	}

NO_FILE(cuFileBufRegister)
NO_FILE(cuFileBufDeregister)
NO_FILE(cuFileHandleRegister)

EXPORT void cuFileHandleDeregister(void *handle) {}

#define NO_BYTES(name) \
	EXPORT int64_t name(void) \
	{ \
		static uint64_t times; \
		return refuse(#name, -1, CALLER, &times); \
	}

NO_BYTES(cuFileRead)
NO_BYTES(cuFileWrite)
