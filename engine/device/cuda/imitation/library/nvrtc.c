/* NVRTC compiles kernels while the program runs. What it makes here is a kernel as any other:
 * it does nothing, so every source is taken for good and becomes a few bytes. */
#include "imitation.h"

#include <string.h>

static const char compiled[16] = "imitated";

MAKE(nvrtcCreateProgram)
EXPORT int nvrtcVersion(int *major, int *minor) { return *major = gpu()->cuda / 1000, *minor = gpu()->cuda % 1000 / 10, success; }
EXPORT const char *nvrtcGetErrorString(int status) { return status ? "NVRTC_ERROR_COMPILATION" : "NVRTC_SUCCESS"; }

/* The name under which the module has a kernel is its name in the source: the driver here
 * finds every name. */
EXPORT int nvrtcGetLoweredName(void *program, const char *name, const char **lowered) { return *lowered = name, success; }

#define RESULT(name) \
	EXPORT int nvrtcGet##name##Size(void *program, size_t *size) { return *size = sizeof compiled, success; } \
	EXPORT int nvrtcGet##name(void *program, char *to) { return memcpy(to, compiled, sizeof compiled), success; }
RESULT(CUBIN)
RESULT(PTX)

EXPORT int nvrtcGetProgramLogSize(void *program, size_t *size) { return *size = 1, success; }
EXPORT int nvrtcGetProgramLog(void *program, char *log) { return *log = 0, success; }

FINE(nvrtcAddNameExpression)
FINE(nvrtcCompileProgram)
FINE(nvrtcDestroyProgram)
