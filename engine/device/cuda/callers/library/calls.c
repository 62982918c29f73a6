/* What the watched calls do to what is taken. Each passes the call on, and notes only what the
 * driver did. */
#include "callers.h"

static int pass(const call *c) { return c->real(c->a[0], c->a[1], c->a[2], c->a[3], c->a[4], c->a[5]); }

/* current returns the number of the thread's device, -1 if it has none yet. */
static int current(void)
{
	static int (*ask)(int *);
	int device = -1;
	if (!ask)
		ask = (int (*)(int *))driver("cuCtxGetDevice");
	return ask && !ask(&device) && device >= 0 && device < most_devices ? device : -1;
}

/* first_of notes once how much of the device is in use before the program takes anything: that is
 * its context, and other programs. */
static void first_of(int device)
{
	int (*ask)(size_t *, size_t *);
	size_t left = 0, total = 0;
	if (device < 0 || memtop_callers_state.before[device] || !(ask = (int (*)(size_t *, size_t *))driver("cuMemGetInfo_v2")))
		return;
	if (!ask(&left, &total) && total > left)
		memtop_callers_state.before[device] = total - left;
}

static int taking(const call *c, word (*size)(const call *))
{
	bool on_device = c->kind != pinned;
	if (on_device)
		first_of(current());
	int status = pass(c);
	word *address = (word *)c->a[0];
	if (!status && address)
		note((taken){.key = *address, .size = size(c), .caller = c->caller, .device = (int16_t)(on_device ? current() : -1), .kind = (uint8_t)c->kind});
	return status;
}

static word second(const call *c) { return c->a[1]; }
static word rows(const call *c) { return *(size_t *)c->a[1] * c->a[3]; } /* the pitch times the height */

int take(const call *c) { return taking(c, second); }
int take_rows(const call *c) { return taking(c, rows); }

/* give forgets before the driver does: another thread may get the same address at once. */
int give(const call *c)
{
	taken was;
	bool known = forget(c->a[0], false, &was);
	int status = pass(c);
	if (status && known)
		note(was);
	return status;
}

/* enlist is about memory that the program had before. */
int enlist(const call *c)
{
	int status = pass(c);
	if (!status)
		note((taken){.key = c->a[0], .size = c->a[1], .caller = c->caller, .device = -1, .kind = pinned});
	return status;
}

/* Published as CUmemAllocationProp. */
typedef struct {
	int kind, handles, location_kind, location;
} properties;

int create(const call *c)
{
	enum { on_device = 1 };
	const properties *p = (const properties *)c->a[2];
	bool here = p && p->location_kind == on_device && p->location >= 0 && p->location < most_devices;
	if (here && p->location == current())
		first_of(p->location);
	int status = pass(c);
	if (!status)
		note((taken){
			.key = *(word *)c->a[0], .size = c->a[1], .caller = c->caller, .device = (int16_t)(here ? p->location : -1),
			.kind = here ? created : pinned, .held = 1,
		});
	return status;
}

/* An imported handle has the size of what is mapped of it. */
int import(const call *c)
{
	int status = pass(c);
	if (!status)
		note((taken){.key = *(word *)c->a[0], .caller = c->caller, .device = (int16_t)current(), .kind = imported, .held = 1});
	return status;
}

static void forget_if_unused(const taken *t)
{
	if (__atomic_load_n(&t->held, __ATOMIC_ACQUIRE) <= 0 && __atomic_load_n(&t->mapped, __ATOMIC_ACQUIRE) <= 0)
		forget(t->key, false, &(taken){0});
}

/* The driver gives such memory back when it is neither held nor mapped any more. */
int release(const call *c)
{
	int status = pass(c);
	taken *t = status ? NULL : find(c->a[0]);
	if (t) {
		__atomic_sub_fetch(&t->held, 1, __ATOMIC_ACQ_REL);
		forget_if_unused(t);
	}
	return status;
}

int retain(const call *c)
{
	int status = pass(c);
	taken *t = status ? NULL : find(*(word *)c->a[0]);
	if (t)
		__atomic_add_fetch(&t->held, 1, __ATOMIC_ACQ_REL);
	return status;
}

int map(const call *c)
{
	int status = pass(c);
	taken *t = status ? NULL : find(c->a[3]);
	if (t) {
		__atomic_add_fetch(&t->mapped, 1, __ATOMIC_ACQ_REL);
		if (t->kind == imported && t->size < c->a[1])
			t->size = c->a[1];
		note((taken){.key = c->a[0], .size = c->a[1], .caller = c->a[3], .device = t->device, .kind = mapping});
	}
	return status;
}

/* One call may end several mappings that lie side by side. */
int unmap(const call *c)
{
	int status = pass(c);
	taken was;
	for (word at = c->a[0], end = at + c->a[1]; !status && at < end && forget(at, true, &was); at += was.size) {
		taken *t = find(was.caller);
		if (t) {
			__atomic_sub_fetch(&t->mapped, 1, __ATOMIC_ACQ_REL);
			forget_if_unused(t);
		}
	}
	return status;
}

/* opened notes memory of another process. */
void opened(word address, word caller)
{
	int (*ask)(word *, size_t *, word) = (int (*)(word *, size_t *, word))driver("cuMemGetAddressRange_v2");
	word start = 0;
	size_t size = 0;
	if (ask && !ask(&start, &size, address))
		note((taken){.key = address, .size = size, .caller = caller, .device = (int16_t)current(), .kind = imported});
}

int look_up(const call *c)
{
	int status = pass(c);
	void **found = (void **)c->a[1];
	if (!status && found && c->a[0])
		*found = watch((const char *)c->a[0], *found, false);
	return status;
}
