/* What is taken now: a table of fixed size with open addressing. A place is claimed by an
 * exchange of its key, so nobody waits, and a search looks at a few places only: if there is
 * no room near, what is taken is counted as lost. */
#include "callers.h"

enum { places = 1 << 16, near = 256 };
enum { empty, left, claimed }; /* keys that are none */

static taken table[places];

EXPORT state memtop_callers_state;

static size_t first(uintptr_t key) { return (size_t)((key >> 4) * 0x9E3779B97F4A7C15ull >> 48) % places; }

static uintptr_t key_of(taken *t) { return __atomic_load_n(&t->key, __ATOMIC_ACQUIRE); }

static taken *at(uintptr_t key, bool mappings)
{
	for (size_t i = 0; i < near; i++) {
		taken *t = &table[(first(key) + i) % places];
		uintptr_t found = key_of(t);
		if (found == empty)
			return NULL;
		if (found == key && (t->kind == mapping) == mappings)
			return t;
	}
	return NULL;
}

taken *find(uintptr_t key) { return at(key, false); }

void note(taken t)
{
	if (t.key <= claimed)
		return;
	forget(t.key, t.kind == mapping, &(taken){0}); /* it was given back in a way that nobody followed */
	for (size_t i = 0; i < near; i++) {
		taken *place = &table[(first(t.key) + i) % places];
		uintptr_t found = key_of(place);
		if (found > left || !__atomic_compare_exchange_n(&place->key, &found, claimed, false, __ATOMIC_ACQUIRE, __ATOMIC_RELAXED))
			continue;
		uintptr_t key = t.key;
		t.key = claimed;
		*place = t;
		__atomic_store_n(&place->key, key, __ATOMIC_RELEASE);
		return;
	}
	__atomic_add_fetch(&memtop_callers_state.lost, 1, __ATOMIC_RELAXED);
}

bool forget(uintptr_t key, bool mappings, taken *was)
{
	taken *t = key > claimed ? at(key, mappings) : NULL;
	if (!t)
		return false;
	*was = *t;
	was->key = key;
	return __atomic_compare_exchange_n(&t->key, &key, left, false, __ATOMIC_RELEASE, __ATOMIC_RELAXED);
}

/* each returns the next thing that is taken, from a place on, NULL after the last. */
taken *each(size_t *at)
{
	while (*at < places) {
		taken *t = &table[(*at)++];
		if (key_of(t) > claimed)
			return t;
	}
	return NULL;
}
