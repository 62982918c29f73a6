/* A process may fork while another of its threads holds a lock. The fork has only the thread
 * that made it, so that one holds all of them meanwhile. */
#include "imitation.h"

static pthread_mutex_t *const locks[] = {&copy_lock, &virtual_lock, &memory_lock, &shared_lock, &report_lock};
enum { all = sizeof locks / sizeof *locks };

static void hold(void)
{
	for (int i = 0; i < all; i++)
		pthread_mutex_lock(locks[i]);
}

static void let_go(void)
{
	for (int i = all - 1; i >= 0; i--)
		pthread_mutex_unlock(locks[i]);
}

__attribute__((constructor)) static void begin(void) { pthread_atfork(hold, let_go, let_go); }
