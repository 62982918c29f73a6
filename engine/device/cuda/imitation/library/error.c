/* Errors: the last one of each thread, and their texts. */
#include "imitation.h"

static __thread int last_error;

int failed(int status)
{
	if (status)
		last_error = status;
	return status;
}

EXPORT int cudaGetLastError(void)
{
	int status = last_error;
	last_error = success;
	return status;
}

EXPORT int cudaPeekAtLastError(void) { return last_error; }

static const struct {
	int status;
	const char *name, *text;
} errors[] = {
	{success, "cudaSuccess", "no error"},
	{invalid_value, "cudaErrorInvalidValue", "invalid argument"},
	{out_of_memory, "cudaErrorMemoryAllocation", "out of memory"},
	{invalid_device, "cudaErrorInvalidDevice", "invalid device ordinal"},
	{not_found, "cudaErrorSymbolNotFound", "named symbol not found"},
	{not_supported, "cudaErrorNotSupported", "operation not supported by the imitated GPU"},
};

static int error_at(int status)
{
	for (int i = 0; i < (int)(sizeof errors / sizeof *errors); i++)
		if (errors[i].status == status)
			return i;
	return 1;
}

EXPORT const char *cudaGetErrorString(int status) { return errors[error_at(status)].text; }
EXPORT const char *cudaGetErrorName(int status) { return errors[error_at(status)].name; }

EXPORT int cuGetErrorString(int status, const char **text) { return *text = cudaGetErrorString(status), success; }
EXPORT int cuGetErrorName(int status, const char **text) { return *text = cudaGetErrorName(status), success; }
