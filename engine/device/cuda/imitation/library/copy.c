/* What is known of the bytes on a device: those of small copies from the host, until so many
 * kernels have run since that one may have written there. All others are zeros. */
#define _GNU_SOURCE
#include "imitation.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

enum { most_shadows = 4096, largest_shadow = 64 << 10, shortest_belief = 16 };

typedef struct {
	uintptr_t start;
	size_t size; /* 0: free */
	unsigned char *bytes;
	uint64_t born; /* kernels before it */
} shadow;

pthread_mutex_t copy_lock = PTHREAD_MUTEX_INITIALIZER;
static shadow shadows[most_shadows]; /* in the order of their birth, round and round */
static size_t made;
static uint64_t kernels, belief = shortest_belief;
static void (*on_read)(void *bytes, uint64_t size, int known);

void launched(void) { __atomic_add_fetch(&kernels, 1, __ATOMIC_RELAXED); }

static uint64_t launches(void) { return __atomic_load_n(&kernels, __ATOMIC_RELAXED); }

bool kernels_ran(void) { return launches() > 0; }

static void drop(shadow *s)
{
	free(s->bytes);
	*s = (shadow){.born = s->born};
}

/* believed returns the youngest shadow but so many, NULL where those that are left are too old. */
static shadow *believed(size_t younger)
{
	if (younger >= most_shadows || younger >= made)
		return NULL;
	shadow *s = &shadows[(made - 1 - younger) % most_shadows];
	return launches() - s->born > belief ? NULL : s;
}

static bool overlaps(const shadow *s, uintptr_t start, size_t size)
{
	return s->size && s->start < start + size && start < s->start + s->size;
}

static void forget(uintptr_t start, size_t size)
{
	shadow *s;
	for (size_t i = 0; (s = believed(i)); i++)
		if (overlaps(s, start, size))
			drop(s);
}

static void keep(uintptr_t start, const void *bytes, size_t size)
{
	forget(start, size);
	if (size == 0 || size > largest_shadow)
		return;
	unsigned char *copied = malloc(size);
	if (!copied)
		return;
	memcpy(copied, bytes, size);
	shadow *s = &shadows[made++ % most_shadows];
	free(s->bytes);
	*s = (shadow){start, size, copied, launches()};
}

/* clear writes zeros. Of large pinned memory it gives whole pages back instead: they read as zeros, and take none of the
 * machine's memory until something writes there. */
static void clear(char *to, size_t size)
{
	enum { page = 4096, large = 1 << 20 };
	char *first = to + (-(uintptr_t)to & (page - 1)), *last = to + size - ((uintptr_t)(to + size) & (page - 1));
	if (size < large || !is_own_host(to, size) || madvise(first, (size_t)(last - first), MADV_DONTNEED)) {
		memset(to, 0, size);
		return;
	}
	memset(to, 0, (size_t)(first - to));
	memset(last, 0, (size_t)(to + size - last));
}

/* recall writes what is known of a range. It returns how much is known. */
static size_t recall(uintptr_t start, void *to, size_t size)
{
	size_t known = 0;
	shadow *s;
	for (size_t i = 0; (s = believed(i)); i++) {
		if (!overlaps(s, start, size))
			continue;
		uintptr_t first = s->start > start ? s->start : start;
		uintptr_t s_end = s->start + s->size, end = start + size;
		if (s_end < end)
			end = s_end;
		memcpy((char *)to + (first - start), s->bytes + (first - s->start), end - first);
		known += end - first;
	}
	return known;
}

/* believe_for_ranks: objects that ranks exchange are compared with some kernels for each of
 * them before they are read. What was too old before stays so. */
void believe_for_ranks(int ranks)
{
	uint64_t longer = shortest_belief + 2 * (uint64_t)ranks;
	LOCKED(copy_lock);
	for (int i = 0; i < most_shadows; i++)
		if (launches() - shadows[i].born > belief)
			drop(&shadows[i]);
	if (longer > belief)
		belief = longer;
}

/* within copies from the device to the device. */
static void within(uintptr_t to, uintptr_t from, size_t size, int times)
{
	unsigned char *bytes = size <= largest_shadow ? calloc(1, size) : NULL;
	bool known = bytes && recall(from, bytes, size) > 0;
	for (int i = 0; i < times; i++) {
		if (known)
			keep(to + (size_t)i * size, bytes, size);
		else
			forget(to + (size_t)i * size, size);
	}
	free(bytes);
}

/* memtop_imitation_on_read sets who is called after a copy to the host, on the thread that
 * copied, with the bytes as the program will find them and whether all were known; NULL for
 * nobody. It may write others: what a condition is taken for, or a size. */
EXPORT void memtop_imitation_on_read(void (*callback)(void *bytes, uint64_t size, int known)) { __atomic_store_n(&on_read, callback, __ATOMIC_RELEASE); }

static void tell(void *to, size_t size, bool known)
{
	void (*callback)(void *, uint64_t, int) = __atomic_load_n(&on_read, __ATOMIC_ACQUIRE);
	if (callback)
		callback(to, size, known);
}

void copy(void *to, const void *from, size_t size)
{
	bool there = is_device(to), here = is_device(from);
	size_t known = 0;
	if (size == 0)
		return;
	if (!there && !here) {
		memmove(to, from, size);
		return;
	}
	if (!there)
		clear(to, size);
	pthread_mutex_lock(&copy_lock);
	if (there && here)
		within((uintptr_t)to, (uintptr_t)from, size, 1);
	else if (there)
		keep((uintptr_t)to, from, size);
	else
		known = recall((uintptr_t)from, to, size);
	pthread_mutex_unlock(&copy_lock);
	if (!there)
		tell(to, size, known == size);
}

void copy_rows(void *to, size_t to_pitch, const void *from, size_t from_pitch, size_t width, size_t height)
{
	for (size_t row = 0; row < height; row++)
		copy((char *)to + row * to_pitch, (const char *)from + row * from_pitch, width);
}

void fill(void *at, int value, size_t size)
{
	unsigned char *bytes = size <= largest_shadow ? malloc(size) : NULL;
	LOCKED(copy_lock);
	if (bytes) {
		memset(bytes, value, size);
		keep((uintptr_t)at, bytes, size);
	} else {
		forget((uintptr_t)at, size);
	}
	free(bytes);
}

void freed(uintptr_t start, uint64_t size)
{
	LOCKED(copy_lock);
	forget(start, size);
}

/* mirror is what a collective leaves where every rank sent what this one did. */
void mirror(const void *from, void *to, size_t size, int times)
{
	if (from == to && times == 1)
		return;
	LOCKED(copy_lock);
	within((uintptr_t)to, (uintptr_t)from, size, times);
}
