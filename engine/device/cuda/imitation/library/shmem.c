/* NVSHMEM, which PyTorch's symmetric memory uses: it is not imitated, and its names are here
 * so that PyTorch's libraries load where it is not installed. */
#include "imitation.h"

enum { shmem_not_supported = 7 };

/* A function that gives an address gives none. */
#define NOWHERE(name) \
	EXPORT void *name(void) \
	{ \
		static uint64_t times; \
		refuse(#name, shmem_not_supported, CALLER, &times); \
		return NULL; \
	}

NOWHERE(nvshmem_malloc)
NOWHERE(nvshmem_ptr)
NOWHERE(nvshmemx_mc_ptr)

REFUSE(nvshmem_selected_device_transport, shmem_not_supported)
REFUSE(nvshmem_team_n_pes, shmem_not_supported)
REFUSE(nvshmem_team_split_strided, shmem_not_supported)
REFUSE(nvshmemid_hostlib_init_attr, shmem_not_supported)
REFUSE(nvshmemx_alltoallmem_on_stream, shmem_not_supported)
REFUSE(nvshmemx_broadcastmem_on_stream, shmem_not_supported)
REFUSE(nvshmemx_cumodule_init, shmem_not_supported)
REFUSE(nvshmemx_get_uniqueid, shmem_not_supported)
REFUSE(nvshmemx_getmem_on_stream, shmem_not_supported)
REFUSE(nvshmemx_putmem_on_stream, shmem_not_supported)
REFUSE(nvshmemx_putmem_signal_on_stream, shmem_not_supported)
REFUSE(nvshmemx_set_attr_uniqueid_args, shmem_not_supported)
REFUSE(nvshmemx_signal_wait_until_on_stream, shmem_not_supported)

EXPORT void nvshmem_barrier_all(void) {}
EXPORT void nvshmem_free(void *p) {}
EXPORT void nvshmemid_hostlib_finalize(void) {}
EXPORT int nvshmemid_init_status(void) { return 0; } /* it has not begun */
EXPORT void nvshmem_info_get_version(int *major, int *minor) { *major = *minor = 0; }
