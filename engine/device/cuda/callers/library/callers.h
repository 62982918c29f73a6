/* Who takes memory of NVIDIA's driver: a library in front of its functions for that.
 *
 * memtop run preloads it. It passes every call on as it came, and then notes what it got, who
 * called, and when it is given back. The agent in the program sums that up (sum.c) and finds
 * the callers' libraries; here is neither a lock nor an allocation nor a system call.
 *
 * No header of NVIDIA's is used: functions and layouts are those of the published interfaces. */
#ifndef CALLERS_H
#define CALLERS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define EXPORT __attribute__((visibility("default")))

enum { most_devices = 64 };

/* What was taken. */
enum kind { device_memory, pooled, created, managed, imported, pinned, mapping };

/* Something taken and not given back. */
typedef struct {
	uintptr_t key;    /* an address, or the handle of what was created; the lowest are marks of noted.c */
	uint64_t size;    /* as it was asked for, in bytes */
	uintptr_t caller; /* where the call came from; of a mapping, the handle of what is mapped */
	int16_t device;
	uint8_t kind;
	int held, mapped; /* of what was created: it is given back when both are 0 */
} taken;

/* noted.c: what is taken now. All may be called by any thread, and wait for none. */
void note(taken t);
bool forget(uintptr_t key, bool mappings, taken *was);
taken *find(uintptr_t key);
taken *each(size_t *at);

/* A call on its way to the function that it is for. */
typedef uintptr_t word;
typedef int function(word, word, word, word, word, word);
typedef struct {
	function *real;
	word a[6], caller;
	enum kind kind;
} call;

/* calls.c: what the watched calls do. The status is 0 if they did it. */
int take(const call *c), take_rows(const call *c), give(const call *c), enlist(const call *c), create(const call *c);
int release(const call *c), retain(const call *c), import(const call *c), map(const call *c), unmap(const call *c), look_up(const call *c);
void opened(word address, word caller);

/* watched.c */
void *watch(const char *name, void *found, bool by_symbol);
void *driver(const char *symbol);

/* What no table has. */
typedef struct {
	uint64_t lost;                 /* what did not fit */
	uint64_t unwatched;            /* functions that were looked up and are not followed */
	uint64_t before[most_devices]; /* bytes in use, by all, when the program first took memory; 0 if it took none */
} state;
extern state memtop_callers_state;

#endif
