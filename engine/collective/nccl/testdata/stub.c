// A libnccl that writes down how it was called, for tests of how arguments arrive. Its
// declarations are those of the NCCL User Guide.
#include <stddef.h>
#include <stdio.h>
#include <string.h>

typedef struct { char internal[128]; } ncclUniqueId;
typedef void *ncclComm_t, *cudaStream_t;
typedef int ncclResult_t, ncclDataType_t, ncclRedOp_t;

static char calls[4096];
const char *stubCalls(void) { return calls; }

#define NOTE(...) snprintf(calls + strlen(calls), sizeof calls - strlen(calls), __VA_ARGS__)

const char *ncclGetErrorString(ncclResult_t r) { return r == 5 ? "invalid usage" : "another error"; }
const char *ncclGetLastError(ncclComm_t c) { return "Duplicate GPU detected :\n rank 0 and rank 1"; }

ncclResult_t ncclGetUniqueId(ncclUniqueId *id) {
	for (int i = 0; i < 128; i++) id->internal[i] = (char)(i + 1);
	return 0;
}

ncclResult_t ncclCommInitRank(ncclComm_t *comm, int nranks, ncclUniqueId id, int rank) {
	for (int i = 0; i < 128; i++)
		if (id.internal[i] != (char)(i + 1)) {
			NOTE("byte %d of the id is %d\n", i, id.internal[i]);
			return 4;
		}
	NOTE("init %d of %d\n", rank, nranks);
	*comm = (ncclComm_t)0x1234567890;
	return nranks > 4 ? 5 : 0;
}

ncclResult_t ncclCommGetAsyncError(ncclComm_t comm, ncclResult_t *r) {
	NOTE("async %p\n", comm);
	*r = 6;
	return 0;
}

ncclResult_t ncclCommAbort(ncclComm_t comm) { NOTE("abort %p\n", comm); return 0; }
ncclResult_t ncclCommFinalize(ncclComm_t comm) { NOTE("finalize %p\n", comm); return 0; }
ncclResult_t ncclCommDestroy(ncclComm_t comm) { NOTE("destroy %p\n", comm); return 0; }

ncclResult_t ncclAllReduce(const void *send, void *receive, size_t count, ncclDataType_t type, ncclRedOp_t op, ncclComm_t comm, cudaStream_t stream) {
	NOTE("all-reduce %p %p %zu %d %d %p %p\n", send, receive, count, type, op, comm, stream);
	return 0;
}

ncclResult_t ncclReduceScatter(const void *send, void *receive, size_t count, ncclDataType_t type, ncclRedOp_t op, ncclComm_t comm, cudaStream_t stream) {
	NOTE("reduce-scatter %p %p %zu %d %d %p %p\n", send, receive, count, type, op, comm, stream);
	return 0;
}

ncclResult_t ncclAllGather(const void *send, void *receive, size_t count, ncclDataType_t type, ncclComm_t comm, cudaStream_t stream) {
	NOTE("all-gather %p %p %zu %d %p %p\n", send, receive, count, type, comm, stream);
	return 0;
}

ncclResult_t ncclBroadcast(const void *send, void *receive, size_t count, ncclDataType_t type, int root, ncclComm_t comm, cudaStream_t stream) {
	NOTE("broadcast %p %p %zu %d %d %p %p\n", send, receive, count, type, root, comm, stream);
	return 0;
}
