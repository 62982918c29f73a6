/* The functions that are watched: the name of the symbol, the name by which the driver is asked
 * for it, what the call does, and the kind of memory.
 *
 * All pass their arguments in registers, at most six, so one signature fits all: a register
 * that a function does not have is passed on too, and nobody reads it. */
#define ON_STREAM(F, symbol, asked, act, kind) F(symbol, asked, act, kind) F(symbol##_ptsz, "", act, kind)
#define FUNCTIONS(F) \
	F(cuMemAlloc_v2, "cuMemAlloc", take, device_memory) \
	F(cuMemAllocPitch_v2, "cuMemAllocPitch", take_rows, device_memory) \
	F(cuMemAllocManaged, "cuMemAllocManaged", take, managed) \
	ON_STREAM(F, cuMemAllocAsync, "cuMemAllocAsync", take, pooled) \
	ON_STREAM(F, cuMemAllocFromPoolAsync, "cuMemAllocFromPoolAsync", take, pooled) \
	F(cuMemFree_v2, "cuMemFree", give, device_memory) \
	ON_STREAM(F, cuMemFreeAsync, "cuMemFreeAsync", give, pooled) \
	F(cuMemHostAlloc, "cuMemHostAlloc", take, pinned) \
	F(cuMemAllocHost_v2, "cuMemAllocHost", take, pinned) \
	F(cuMemFreeHost, "cuMemFreeHost", give, pinned) \
	F(cuMemHostRegister_v2, "cuMemHostRegister", enlist, pinned) \
	F(cuMemHostUnregister, "cuMemHostUnregister", give, pinned) \
	F(cuMemCreate, "cuMemCreate", create, created) \
	F(cuMemRelease, "cuMemRelease", release, created) \
	F(cuMemRetainAllocationHandle, "cuMemRetainAllocationHandle", retain, created) \
	F(cuMemImportFromShareableHandle, "cuMemImportFromShareableHandle", import, imported) \
	F(cuMemMap, "cuMemMap", map, mapping) \
	F(cuMemUnmap, "cuMemUnmap", unmap, mapping) \
	F(cuIpcCloseMemHandle, "cuIpcCloseMemHandle", give, imported) \
	F(cuGetProcAddress, "", look_up, device_memory) \
	F(cuGetProcAddress_v2, "cuGetProcAddress", look_up, device_memory) \
	F(cudaMalloc, "", take, device_memory) \
	F(cudaMallocPitch, "", take_rows, device_memory) \
	F(cudaMallocManaged, "", take, managed) \
	ON_STREAM(F, cudaMallocAsync, "", take, pooled) \
	ON_STREAM(F, cudaMallocFromPoolAsync, "", take, pooled) \
	F(cudaFree, "", give, device_memory) \
	ON_STREAM(F, cudaFreeAsync, "", give, pooled) \
	F(cudaHostAlloc, "", take, pinned) \
	F(cudaMallocHost, "", take, pinned) \
	F(cudaFreeHost, "", give, pinned) \
	F(cudaHostRegister, "", enlist, pinned) \
	F(cudaHostUnregister, "", give, pinned) \
	F(cudaIpcCloseMemHandle, "", give, imported) \
	ON_STREAM(F, cudaGetDriverEntryPoint, "", look_up, device_memory) \
	ON_STREAM(F, cudaGetDriverEntryPointByVersion, "", look_up, device_memory)

#define OPENERS(F) \
	F(cuIpcOpenMemHandle_v2, "cuIpcOpenMemHandle", NULL, imported) \
	F(cudaIpcOpenMemHandle, "", NULL, imported)
