/* What nccl.c and nccl_memory.c share. */
#ifndef NCCL_H
#define NCCL_H

#include "imitation.h"

typedef struct {
	int rank, ranks, device;
	bool ring;              /* its rings are connected */
	bool *sends, *receives; /* by rank: a connection to it, or from it */
	int64_t bytes;          /* of the device, for all of that */
} communicator;

enum { nccl_cuda_error = 1, nccl_invalid = 4 };

int connect_ring(communicator *c);
int connect_peer(communicator *c, int peer, bool receives);
void disconnect(communicator *c);

#endif
