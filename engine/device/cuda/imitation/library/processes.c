/* What each process of a command has of the devices. The processes share a table, the file `memory` in the folder
 * that MEMTOP_IMITATION_REPORT names; report.go reads it. Each has a row, which it locks for as long as it lives: what
 * an ended process had is free again, however it ended. */
#define _GNU_SOURCE
#include "imitation.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

typedef struct {
	uint64_t place; /* of the device among those of the machine */
	uint64_t used, most, refused;
	uint64_t together, sharing; /* the most that all processes had, with their contexts, and how many they were */
} taken;

typedef struct {
	uint64_t pid; /* 0: no process has had it yet */
	taken of[most_devices];
} row;

enum { most_rows = 4096 }; /* the first is no process's: its lock is that of the table */

pthread_mutex_t shared_lock = PTHREAD_MUTEX_INITIALIZER;
static row alone, *own = &alone, *table; /* without a table this process is alone */
static int file = -1;
static pid_t owner; /* of own: a fork has its own */

/* lock locks or asks for the lock of a row. It returns which lock another process has. */
static int lock(int command, short kind, const row *r)
{
	struct flock wanted = {.l_type = kind, .l_whence = SEEK_SET, .l_start = (r - table) * (off_t)sizeof *r, .l_len = 1};
	return fcntl(file, command, &wanted) ? F_UNLCK : wanted.l_type;
}

static void lock_table(short kind)
{
	if (table)
		lock(F_SETLKW, kind, table);
}

static void open_table(void)
{
	const char *folder = getenv("MEMTOP_IMITATION_REPORT");
	char path[4096];
	const size_t size = most_rows * sizeof *table;
	if (!folder || snprintf(path, sizeof path, "%s/memory", folder) >= (int)sizeof path)
		return;
	file = open(path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
	void *got = file < 0 || ftruncate(file, size) ? MAP_FAILED : mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
	table = got == MAP_FAILED ? NULL : got;
}

/* begin gives this process a row. */
static void begin(void)
{
	owner = getpid();
	own = &alone;
	alone = (row){0};
	if (!table)
		open_table();
	lock_table(F_WRLCK);
	for (row *r = table + 1; table && own == &alone && r < table + most_rows; r++)
		own = r->pid ? own : r;
	own->pid = (uint64_t)owner;
	if (own != &alone)
		lock(F_SETLK, F_WRLCK, own);
	lock_table(F_UNLCK);
}

static taken *of(int device)
{
	if (owner != getpid())
		begin();
	own->of[device].place = (uint64_t)place_of(device);
	return &own->of[device];
}

/* part returns what a process has of a device, with its context, which comes with its first request. */
static uint64_t part(const row *r, uint64_t place)
{
	for (const taken *t = r->of; t < r->of + most_devices; t++)
		if (t->place == place && (t->most || t->refused))
			return t->used + gpu()->context;
	return 0;
}

/* next_user returns the next process after a row that has something of a device, NULL if there is none. */
static const row *next_user(const row *r, uint64_t place)
{
	while (table && ++r < table + most_rows && r->pid)
		if (r != own && part(r, place) && lock(F_GETLK, F_WRLCK, r) != F_UNLCK)
			return r;
	return NULL;
}

/* others returns what the other processes have of a device, and counts them. */
static uint64_t others(uint64_t place, uint64_t *number)
{
	uint64_t sum = 0;
	for (const row *r = table; (r = next_user(r, place)); ++*number)
		sum += part(r, place);
	return sum;
}

static uint64_t larger(uint64_t a, uint64_t b) { return a > b ? a : b; }

static int take(taken *t, uint64_t size)
{
	uint64_t sharing = 1, total = gpu()->total, there = others(t->place, &sharing) + gpu()->context + t->used;
	if (!gpu()->endless && (there > total || size > total - there)) {
		t->refused = size;
		return out_of_memory;
	}
	t->used += size;
	t->most = larger(t->most, t->used);
	if (there + size > t->together) {
		t->together = there + size;
		t->sharing = sharing;
	}
	return success;
}

int device_take(int device, int64_t size)
{
	LOCKED(shared_lock);
	taken *t = of(device);
	if (size <= 0) {
		uint64_t less = (uint64_t)-size;
		t->used -= less < t->used ? less : t->used; /* what a fork gives back is its parent's */
		return success;
	}
	lock_table(F_WRLCK);
	int status = take(t, (uint64_t)size);
	lock_table(F_UNLCK);
	return status;
}

static uint64_t left(uint64_t has) { return has < gpu()->total ? gpu()->total - has : 0; }

uint64_t device_left(int device)
{
	uint64_t number = 0;
	LOCKED(shared_lock);
	taken *t = of(device);
	return left(others(t->place, &number) + gpu()->context + t->used);
}

uint64_t place_left(int place)
{
	uint64_t number = 0;
	LOCKED(shared_lock);
	of(0);
	return left(others((uint64_t)place, &number) + part(own, (uint64_t)place));
}

static void list_user(const row *r, int place, user *list, int room, int *count)
{
	if (*count < room)
		list[*count] = (user){(unsigned)r->pid, part(r, (uint64_t)place), ~0u, ~0u};
	++*count;
}

int place_users(int place, user *list, int room)
{
	int count = 0;
	LOCKED(shared_lock);
	of(0);
	if (part(own, (uint64_t)place))
		list_user(own, place, list, room, &count);
	for (const row *r = table; (r = next_user(r, (uint64_t)place));)
		list_user(r, place, list, room, &count);
	return count;
}
