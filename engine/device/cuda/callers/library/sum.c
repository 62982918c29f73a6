/* What the agent asks: what is taken now, by caller. */
#include "callers.h"

/* Addresses that belong to somebody, such as PyTorch's allocator: in ascending order. */
typedef struct {
	uintptr_t start;
	uint64_t size;
} range;

typedef struct {
	uintptr_t caller;
	int32_t device, kind;
	uint64_t bytes, inside; /* asked for, and of that, what lies in the ranges */
	uint64_t rounding;      /* what the driver adds to whole pages, of what has at least one */
	uint64_t count;
} row;

static bool within(const range *ranges, size_t count, uintptr_t address)
{
	size_t low = 0, high = count;
	while (low < high) {
		size_t middle = (low + high) / 2;
		if (ranges[middle].start <= address)
			low = middle + 1;
		else
			high = middle;
	}
	return low > 0 && address - ranges[low - 1].start < ranges[low - 1].size;
}

static row *row_of(row *rows, size_t *count, size_t room, const taken *t)
{
	for (size_t i = 0; i < *count; i++)
		if (rows[i].caller == t->caller && rows[i].device == t->device && rows[i].kind == t->kind)
			return &rows[i];
	if (*count == room)
		return NULL;
	rows[*count] = (row){.caller = t->caller, .device = t->device, .kind = t->kind};
	return &rows[(*count)++];
}

/* memtop_callers writes a row for each caller, device and kind, and returns how many there are. */
EXPORT size_t memtop_callers(const range *ranges, size_t many, row *rows, size_t room)
{
	enum { page = 2 << 20 };
	size_t count = 0;
	taken *t;
	for (size_t at = 0; (t = each(&at));) {
		taken copy = *t;
		taken *of = copy.kind == mapping ? find(copy.caller) : NULL;
		if (of && within(ranges, many, copy.key)) {
			taken whose = *of;
			row *r = row_of(rows, &count, room, &whose);
			if (r)
				r->inside += copy.size;
		}
		row *r = copy.kind == mapping ? NULL : row_of(rows, &count, room, &copy);
		if (!r)
			continue;
		r->bytes += copy.size;
		r->count++;
		if (copy.size >= page)
			r->rounding += (page - copy.size % page) % page;
		if (copy.kind != created && within(ranges, many, copy.key))
			r->inside += copy.size;
	}
	return count;
}
