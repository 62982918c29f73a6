/* What NCCL takes of a device for itself: buffers for each connection to another rank, by
 * channel. They are allocated when the connection is first used, and are not PyTorch's.
 *
 * A channel's buffers are those of three protocols: 512 KiB (LL), 4,800 KiB (LL128) and
 * NCCL_BUFFSIZE, 4 MiB by default (simple), in pages of 2 MiB: 10 MiB for who receives. Beside
 * it, allocations of 2 MiB for who sends and for who receives. NVIDIA/nccl issue 1685 has
 * these sizes from a log: one all-to-all among 8 H100, with 32 channels for each of 7 peers,
 * took 3.28 GB; 224 connections of 14 MiB are 3.29 GB. */
#include "nccl.h"

#include <stdlib.h>
#include <string.h>

static int64_t setting(const char *name, int64_t otherwise)
{
	const char *text = getenv(name);
	int64_t value = text ? atoll(text) : 0;
	return value > 0 ? value : otherwise;
}

enum { page = 2 << 20, low_latency = 512 << 10, low_latency_128 = 4800 << 10 };

static int64_t received(void)
{
	int64_t size = setting("NCCL_LL_BUFFSIZE", low_latency) + setting("NCCL_LL128_BUFFSIZE", low_latency_128) + setting("NCCL_BUFFSIZE", 4 << 20);
	return (size + page - 1) / page * page;
}

/* of_channels gives a channel's share to so many as the settings leave. */
static int64_t of_channels(int channels, int64_t bytes)
{
	int64_t most = setting("NCCL_MAX_NCHANNELS", channels);
	return (most < channels ? most : channels) * bytes;
}

static int take(communicator *c, int64_t bytes)
{
	MODELLED("NCCL's own buffers", "14 MiB for each channel of each connection");
	if (device_take(c->device, bytes))
		return nccl_cuda_error;
	c->bytes += bytes;
	return success;
}

/* connect_ring connects this rank with the next and the one before, for collectives. */
int connect_ring(communicator *c)
{
	if (c->ring || c->ranks < 2)
		return success;
	c->ring = true;
	return take(c, of_channels(gpu()->channels, received() + 2 * page));
}

/* connect_peer connects this rank with another one, to send or to receive. */
int connect_peer(communicator *c, int peer, bool receives)
{
	enum { most_channels = 32 };
	bool **connected = receives ? &c->receives : &c->sends;
	if (peer == c->rank || peer < 0 || peer >= c->ranks)
		return success;
	if (!*connected && !(*connected = calloc((size_t)c->ranks, sizeof **connected)))
		return nccl_cuda_error;
	if ((*connected)[peer])
		return success;
	(*connected)[peer] = true;
	int channels = gpu()->channels > 4 ? most_channels : 2; /* where there is no NVLink, two */
	return take(c, of_channels(channels, receives ? received() : 2 * page));
}

void disconnect(communicator *c)
{
	device_take(c->device, -c->bytes);
	free(c->sends);
	free(c->receives);
}
