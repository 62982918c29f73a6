/* NCCL: collectives are done at once, as if every rank had sent what this one did. */
#include "nccl.h"

#include <stdlib.h>
#include <string.h>

typedef struct {
	char bytes[128];
} identity;

static size_t width(int type)
{
	static const size_t widths[] = {1, 1, 4, 4, 8, 8, 2, 4, 8, 2, 1, 1}; /* from int8 to 8-bit floats */
	return type >= 0 && type < (int)(sizeof widths / sizeof *widths) ? widths[type] : 1;
}

static int join(communicator **c, int rank, int ranks)
{
	*c = malloc(sizeof **c);
	if (!*c)
		return nccl_invalid;
	**c = (communicator){.rank = rank, .ranks = ranks, .device = current_device()};
	believe_for_ranks(ranks);
	return success;
}

EXPORT int ncclGetVersion(int *version) { return *version = gpu()->nccl, success; }
EXPORT int ncclGetUniqueId(identity *id) { return memset(id, 'm', sizeof *id), success; }
EXPORT int ncclCommGetUniqueId(void *c, identity *id) { return ncclGetUniqueId(id); }
EXPORT const char *ncclGetErrorString(int status) { return status ? "not supported by the imitated NCCL" : "no error"; }
EXPORT const char *ncclGetLastError(void *c) { return ""; }

BOTH(ncclCommInitRank, ncclCommInitRankConfig, (communicator **c, int ranks, identity id, int rank), join(c, rank, ranks))
EXPORT int ncclCommInitRankScalable(communicator **c, int ranks, int rank) { return join(c, rank, ranks); }

EXPORT int ncclCommInitAll(communicator **c, int ranks, const int *devices)
{
	for (int i = 0; i < ranks; i++) {
		if (join(&c[i], i, ranks))
			return nccl_invalid;
		c[i]->device = devices ? devices[i] : i;
	}
	return success;
}

/* How many ranks choose a colour together nobody here knows. So PyTorch, which has lists of the
 * ranks, says it by the agent. */
enum { most_colors = 1024, any_color = -1 };

static struct {
	int color, ranks;
} members[most_colors];
static int colors, next_members; /* next_members is of whatever splits now, 0 for what colours say */
static pthread_mutex_t members_lock = PTHREAD_MUTEX_INITIALIZER;

EXPORT void memtop_imitation_split(int color, int ranks)
{
	LOCKED(members_lock);
	if (color == any_color)
		next_members = ranks;
	else if (colors < most_colors)
		members[colors].color = color, members[colors++].ranks = ranks;
}

/* members_of returns how many ranks a part of a communicator has: all of them if nobody said it. */
static int members_of(int color, int all)
{
	LOCKED(members_lock);
	int found = next_members;
	for (int i = colors - 1; i >= 0 && !found; i--)
		if (members[i].color == color)
			found = members[i].ranks;
	return found ? found : all;
}

/* The key orders the ranks of a part; PyTorch's is the rank there. */
EXPORT int ncclCommSplit(communicator *c, int color, int key, communicator **made)
{
	if (color < 0) {
		*made = NULL;
		return success;
	}
	int ranks = members_of(color, c ? c->ranks : 1);
	return join(made, key >= 0 && key < ranks ? key : 0, ranks);
}

BOTH(ncclCommDestroy, ncclCommAbort, (communicator *c), (disconnect(c), free(c), success))
EXPORT int ncclCommGetAsyncError(communicator *c, int *status) { return *status = success, success; }
EXPORT int ncclCommCount(const communicator *c, int *count) { return *count = c->ranks, success; }
EXPORT int ncclCommUserRank(const communicator *c, int *rank) { return *rank = c->rank, success; }
EXPORT int ncclCommCuDevice(const communicator *c, int *device) { return *device = c->device, success; }
EXPORT int ncclCommRegister(void *c, void *p, size_t size, void **handle) { return *handle = new_handle(), success; }
EXPORT int ncclCommWindowRegister(void *c, void *p, size_t size, void **window) { return ncclCommRegister(c, p, size, window); }
EXPORT int ncclMemAlloc(void **p, size_t size) { return device_alloc(current_device(), size, (uintptr_t *)p) ? 1 : success; }
EXPORT int ncclMemFree(void *p) { return device_free((uintptr_t)p) ? nccl_invalid : success; }
EXPORT int ncclRedOpCreatePreMulSum(int *operation) { return *operation = 5, success; }

/* What is broadcast within a group. A group of broadcasts, one from each rank, is how
 * PyTorch gathers what has other sizes on other ranks: all others sent what this one did. */
typedef struct {
	const void *from;
	void *to;
	size_t size;
	bool own;
} broadcast;

enum { most_queued = 4096 };

static __thread broadcast queue[most_queued];
static __thread int queued, depth;

EXPORT int ncclGroupStart(void) { return depth++, success; }

EXPORT int ncclGroupEnd(void)
{
	if (depth > 0 && --depth > 0)
		return success;
	for (int i = 0; i < queued; i++)
		for (int j = 0; queue[i].own && j < queued; j++)
			if (queue[j].size == queue[i].size && queue[j].to != queue[i].from)
				mirror(queue[i].from, queue[j].to, queue[i].size, 1);
	queued = 0;
	return success;
}

EXPORT int ncclGroupSimulateEnd(void) { return ncclGroupEnd(); }

EXPORT int ncclBroadcast(const void *from, void *to, size_t count, int type, int root, communicator *c)
{
	size_t size = count * width(type);
	if (depth > 0 && queued < most_queued)
		queue[queued++] = (broadcast){from, to, size, root == c->rank};
	else if (from)
		mirror(from, to, size, 1);
	return connect_ring(c);
}

EXPORT int ncclBcast(void *p) { return success; }

/* collective does one for which this rank gets what it sent, so many times. */
static int collective(const void *from, void *to, size_t count, int type, int times, communicator *c)
{
	if (to)
		mirror(from, to, count * width(type), times);
	return connect_ring(c);
}

EXPORT int ncclAllGather(const void *from, void *to, size_t count, int type, communicator *c) { return collective(from, to, count, type, c->ranks, c); }

/* reduce ends what is known of the results: what other ranks add to them is not. */
static int reduce(const void *from, void *to, size_t count, int type, communicator *c)
{
	int status = collective(from, to, count, type, 1, c);
	if (c->ranks > 1)
		freed((uintptr_t)to, count * width(type));
	return status;
}

EXPORT int ncclAllReduce(const void *from, void *to, size_t count, int type, int op, communicator *c) { return reduce(from, to, count, type, c); }
EXPORT int ncclReduce(const void *from, void *to, size_t count, int type, int op, int root, communicator *c) { return reduce(from, to, count, type, c); }
EXPORT int ncclReduceScatter(const void *from, void *to, size_t count, int type, int op, communicator *c) { return reduce(from, to, count, type, c); }

EXPORT int ncclSend(const void *from, size_t count, int type, int peer, communicator *c) { return connect_peer(c, peer, false); }

EXPORT int ncclRecv(void *to, size_t count, int type, int peer, communicator *c)
{
	fill(to, 0, count * width(type));
	return connect_peer(c, peer, true);
}

EXPORT int ncclAlltoAll(const void *from, void *to, size_t count, int type, communicator *c)
{
	mirror(from, to, count * width(type) * (size_t)c->ranks, 1);
	int status = success;
	for (int peer = 0; peer < c->ranks && status == success; peer++)
		if ((status = connect_peer(c, peer, false)) == success)
			status = connect_peer(c, peer, true);
	return status;
}

FINE(ncclCommFinalize)
FINE(ncclCommDeregister)
FINE(ncclCommWindowDeregister)
FINE(ncclRedOpDestroy)
