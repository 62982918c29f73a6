/* Which functions are watched, and how their callers come here.
 *
 * Most who call the driver look its functions up: the runtime by dlsym and cuGetProcAddress, and
 * each library that has a runtime of its own in it likewise. So lookups give functions of ours.
 * One function may have several addresses, such as those for a thread's own stream. Each gets
 * a function of ours of its own, which calls exactly the one that was looked up. Those who are
 * linked to a function call ours by its name. */
#define _GNU_SOURCE
#include "callers.h"
#include "functions.h"

#include <dlfcn.h>
#include <string.h>

enum { linked, looked_up_first, looked_up_second, looked_up_third, ways };

typedef struct {
	const char *symbol, *asked;
	int (*act)(const call *);
	enum kind kind;
	function *ours[ways], *real[ways];
} watched;

static int through(int number, int way, word caller, const word *a);

#define CALLER ((word)__builtin_return_address(0))
#define WORDS word a, word b, word c, word d, word e, word f
#define WAY(symbol, way) \
	static int symbol##_##way(WORDS) { return through(number_of_##symbol, way, CALLER, (word[]){a, b, c, d, e, f}); }
#define NUMBER(symbol, asked, act, kind) number_of_##symbol,
#define OURS(symbol, asked, act, kind) \
	EXPORT int symbol(WORDS) { return through(number_of_##symbol, linked, CALLER, (word[]){a, b, c, d, e, f}); } \
	WAY(symbol, looked_up_first) WAY(symbol, looked_up_second) WAY(symbol, looked_up_third)
#define A(function_of_ours) ((function *)(void *)(function_of_ours))
#define ROW(symbol, asked, act, kind) \
	{#symbol, asked, act, kind, {A(symbol), A(symbol##_looked_up_first), A(symbol##_looked_up_second), A(symbol##_looked_up_third)}, {0}},

/* What opens memory of another process takes a structure by value, between its arguments. */
typedef struct {
	char bytes[64];
} handle;
typedef int opener(word *, handle, unsigned);
static int through_opener(int number, int way, word caller, word *at, handle of, unsigned flags);

#define OPENER_WAY(symbol, way) \
	static int symbol##_##way(word *at, handle of, unsigned flags) { return through_opener(number_of_##symbol, way, CALLER, at, of, flags); }
#define OPENER(symbol, asked, act, kind) \
	EXPORT int symbol(word *at, handle of, unsigned flags) { return through_opener(number_of_##symbol, linked, CALLER, at, of, flags); } \
	OPENER_WAY(symbol, looked_up_first) OPENER_WAY(symbol, looked_up_second) OPENER_WAY(symbol, looked_up_third)

enum { FUNCTIONS(NUMBER) OPENERS(NUMBER) functions };
FUNCTIONS(OURS)
OPENERS(OPENER)
static watched all[] = {FUNCTIONS(ROW) OPENERS(ROW)};

/* The C library's own dlsym, under the version that it has had from the first. */
static void *(*real_dlsym)(void *, const char *);

static void find_dlsym(void)
{
#ifdef __aarch64__
	static const char *const versions[] = {"GLIBC_2.17", "GLIBC_2.34"};
#else
	static const char *const versions[] = {"GLIBC_2.2.5", "GLIBC_2.34"};
#endif
	for (int i = 0; i < 2 && !real_dlsym; i++)
		real_dlsym = (void *(*)(void *, const char *))dlvsym(RTLD_NEXT, "dlsym", versions[i]);
}

static void *looked_up(void *library, const char *symbol)
{
	if (!real_dlsym)
		find_dlsym();
	return real_dlsym ? real_dlsym(library, symbol) : NULL;
}

/* driver returns a function of the driver that is not watched, NULL as long as nobody has loaded it. */
void *driver(const char *symbol)
{
	void *found = looked_up(RTLD_NEXT, symbol);
	void *library = found ? NULL : dlopen("libcuda.so.1", RTLD_LAZY | RTLD_NOLOAD);
	return library ? looked_up(library, symbol) : found;
}

/* next returns the function that a library would call if this one were not here: of what is
 * loaded for all, else of what the library needs. */
static function *next(const watched *w, word caller)
{
	void *found = looked_up(RTLD_NEXT, w->symbol);
	Dl_info from;
	if (!found && dladdr((void *)caller, &from) && from.dli_fname) {
		void *library = dlopen(from.dli_fname, RTLD_LAZY | RTLD_NOLOAD);
		found = library ? looked_up(library, w->symbol) : NULL;
	}
	if (!found)
		found = strncmp(w->symbol, "cuda", 4) ? driver(w->symbol) : NULL;
	return (function *)(found == (void *)w->ours[linked] ? NULL : found);
}

static __thread int depth __attribute__((tls_model("initial-exec")));

/* real returns the function that a call is for. */
static function *real(watched *w, int way, word caller)
{
	function *found = __atomic_load_n(&w->real[way], __ATOMIC_ACQUIRE);
	if (!found && (found = next(w, caller)))
		__atomic_store_n(&w->real[way], found, __ATOMIC_RELEASE);
	return found;
}

enum { not_initialised = 3 };

/* through passes a call on. The runtime calls the driver, so only the outermost call is noted:
 * it says who wanted the memory. */
static int through(int number, int way, word caller, const word *a)
{
	watched *w = &all[number];
	call c = {real(w, way, caller), {a[0], a[1], a[2], a[3], a[4], a[5]}, caller, w->kind};
	if (!c.real)
		return not_initialised;
	if (depth && w->act != look_up)
		return c.real(a[0], a[1], a[2], a[3], a[4], a[5]);
	depth++;
	int status = w->act(&c);
	depth--;
	return status;
}

static int through_opener(int number, int way, word caller, word *at, handle of, unsigned flags)
{
	opener *open = (opener *)(void *)real(&all[number], way, caller);
	if (!open)
		return not_initialised;
	depth++;
	int status = open(at, of, flags);
	depth--;
	if (!status && !depth)
		opened(*at, caller);
	return status;
}

static void *ours(watched *w, void *found)
{
	for (int way = 0; way < ways; way++)
		if (found == (void *)w->ours[way])
			return found;
	for (int way = looked_up_first; way < ways; way++) {
		function *real = NULL;
		if (__atomic_compare_exchange_n(&w->real[way], &real, (function *)found, false, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE) || real == (function *)found)
			return (void *)w->ours[way];
	}
	__atomic_add_fetch(&memtop_callers_state.unwatched, 1, __ATOMIC_RELAXED);
	return found;
}

/* watch returns our function in place of one that was found by its symbol, or by the name
 * under which the driver is asked for it. */
void *watch(const char *name, void *found, bool by_symbol)
{
	for (int i = 0; found && i < functions; i++)
		if (!strcmp(name, by_symbol ? all[i].symbol : all[i].asked))
			return ours(&all[i], found);
	return found;
}

/* dlsym must look like the caller's own call where the place of the caller counts, so it jumps. */
EXPORT void *dlsym(void *restrict handle, const char *restrict name)
{
	if (!real_dlsym)
		find_dlsym();
	if (!real_dlsym)
		return NULL;
	if (handle == RTLD_NEXT || handle == RTLD_DEFAULT || name[0] != 'c' || name[1] != 'u')
		__attribute__((musttail)) return real_dlsym(handle, name);
	return watch(name, real_dlsym(handle, name), true);
}
