/* What the command that rehearses is told: two files for each process, in the folder that
 * MEMTOP_IMITATION_REPORT names. PID.memory has, for each device, three numbers of 64 bits:
 * bytes taken now, at most, and the last that were refused. PID.notes has lines of text. */
#define _GNU_SOURCE
#include "imitation.h"

#include <dlfcn.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

typedef struct {
	uint64_t used, most, refused;
} taken;

static taken none[most_devices], *memory;
static int notes = -1;
static pid_t opened; /* the process whose files these are: a fork has its own */
pthread_mutex_t report_lock = PTHREAD_MUTEX_INITIALIZER;

static int file(const char *folder, const char *kind, int flags)
{
	char path[4096];
	if (snprintf(path, sizeof path, "%s/%d.%s", folder, (int)getpid(), kind) >= (int)sizeof path)
		return -1;
	return open(path, flags | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
}

static void open_files(void)
{
	const char *folder = getenv("MEMTOP_IMITATION_REPORT");
	opened = getpid();
	memory = none;
	notes = -1;
	if (!folder)
		return;
	notes = file(folder, "notes", O_WRONLY | O_APPEND);
	int fd = file(folder, "memory", O_RDWR);
	if (fd < 0)
		return;
	if (ftruncate(fd, sizeof none) == 0) {
		void *got = mmap(NULL, sizeof none, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
		memory = got == MAP_FAILED ? none : got;
	}
	close(fd);
}

void report_memory(int device, uint64_t used, uint64_t wanted)
{
	LOCKED(report_lock);
	if (opened != getpid())
		open_files();
	taken *t = &memory[device];
	t->used = used;
	if (used > t->most)
		t->most = used;
	if (wanted)
		t->refused = wanted;
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
		open_files();
	if (notes >= 0 && write(notes, line, (size_t)length) != length)
		notes = -1; /* nobody reads them any more */
}

/* refuse says that a function is not imitated: at its first call, and each time that the
 * calls have doubled. */
int refuse(const char *function, int status, void *caller, uint64_t *times)
{
	uint64_t now = __atomic_add_fetch(times, 1, __ATOMIC_RELAXED);
	if ((now & (now - 1)) == 0) {
		Dl_info from = {0};
		const char *name = "?";
		if (dladdr(caller, &from) && from.dli_fname) {
			const char *slash = strrchr(from.dli_fname, '/');
			name = slash ? slash + 1 : from.dli_fname;
		}
		note("refused\t%s\t%s\t%llu\n", function, name, (unsigned long long)now);
	}
	return status;
}

void modelled(int *said, const char *what, const char *how)
{
	if (!__atomic_exchange_n(said, 1, __ATOMIC_RELAXED))
		note("modelled\t%s\t%s\n", what, how);
}
