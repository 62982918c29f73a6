/* What the command that rehearses is told in lines of text: PID.notes, in the folder that MEMTOP_IMITATION_REPORT names. */
#define _GNU_SOURCE
#include "imitation.h"

#include <dlfcn.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static int notes = -1;
static pid_t opened; /* the process whose file this is: a fork has its own */
pthread_mutex_t report_lock = PTHREAD_MUTEX_INITIALIZER;

static void open_notes(void)
{
	const char *folder = getenv("MEMTOP_IMITATION_REPORT");
	char path[4096];
	opened = getpid();
	notes = -1;
	if (folder && snprintf(path, sizeof path, "%s/%d.notes", folder, (int)opened) < (int)sizeof path)
		notes = open(path, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
}

/* note writes a line at once, so that a process that is killed has said it. */
static void note(const char *format, ...)
{
	char line[1024];
	va_list values;
	va_start(values, format);
	int length = vsnprintf(line, sizeof line, format, values);
	va_end(values);
	if (length < 0 || length >= (int)sizeof line)
		return;
	LOCKED(report_lock);
	if (opened != getpid())
		open_notes();
	if (notes >= 0 && write(notes, line, (size_t)length) != length)
		notes = -1; /* nobody reads them any more */
}

const char *library_of(void *caller)
{
	Dl_info from = {0};
	if (!dladdr(caller, &from) || !from.dli_fname)
		return "?";
	const char *slash = strrchr(from.dli_fname, '/');
	return slash ? slash + 1 : from.dli_fname;
}

/* refuse says that a function is not imitated: at its first call, and each time that the
 * calls have doubled. */
int refuse(const char *function, int status, void *caller, uint64_t *times)
{
	uint64_t now = __atomic_add_fetch(times, 1, __ATOMIC_RELAXED);
	if ((now & (now - 1)) == 0)
		note("refused\t%s\t%s\t%llu\n", function, library_of(caller), (unsigned long long)now);
	return status;
}

void modelled(int *said, const char *what, const char *how)
{
	if (!__atomic_exchange_n(said, 1, __ATOMIC_RELAXED))
		note("modelled\t%s\t%s\n", what, how);
}

void waits(int *said)
{
	if (!__atomic_exchange_n(said, 1, __ATOMIC_RELAXED))
		note("waits\n");
}
