/* Functions of the driver by their names. */
#define _GNU_SOURCE
#include "imitation.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>

static void *self;

/* find_self opens this library once more, so that its own functions are found whoever else
 * has functions of these names. */
static void find_self(void)
{
	Dl_info here;
	if (dladdr((void *)lookup, &here))
		self = dlopen(here.dli_fname, RTLD_NOW | RTLD_NOLOAD);
}

void *lookup(const char *name)
{
	static pthread_once_t once = PTHREAD_ONCE_INIT;
	pthread_once(&once, find_self);
	char versioned[256];
	for (int version = 4; version >= 2; version--) {
		snprintf(versioned, sizeof versioned, "%s_v%d", name, version);
		void *found = dlsym(self, versioned);
		if (found)
			return found;
	}
	return dlsym(self, name);
}

/* look_up answers a query with 0, or 1 for "no such function". */
static int look_up(const char *name, void **found, int *result)
{
	*found = lookup(name);
	if (result)
		*result = *found ? 0 : 1;
	return *found ? success : not_found;
}

EXPORT int cudaGetDriverEntryPoint(const char *name, void **found, uint64_t flags, int *result) { return look_up(name, found, result), success; }
EXPORT int cudaGetDriverEntryPointByVersion(const char *name, void **found, unsigned version, uint64_t flags, int *result) { return look_up(name, found, result), success; }
EXPORT int cuGetProcAddress(const char *name, void **found, int version, uint64_t flags) { return look_up(name, found, NULL); }
EXPORT int cuGetProcAddress_v2(const char *name, void **found, int version, uint64_t flags, int *result) { return look_up(name, found, result); }
