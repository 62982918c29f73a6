/* An imitated GPU: what answers PyTorch's CUDA build where there is no GPU.
 *
 * One library stands in for the CUDA runtime and driver, cuBLAS, cuDNN, NCCL, NVML and the
 * rest. Device memory is address space that nobody can touch, kernels do nothing, and copies
 * from the device give what was copied there, or zeros. So PyTorch's own allocator decides
 * as it does on the GPU that the environment names.
 *
 * What is not imitated says so: it answers with its library's "not supported" and is
 * reported with its caller (refuse). Nothing that gives back a size or a count leaves it
 * untouched. No header of NVIDIA's is used: functions, numbers and layouts are those of the
 * published interfaces of CUDA 11, 12 and 13. */
#ifndef IMITATION_H
#define IMITATION_H

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define EXPORT __attribute__((visibility("default")))

enum {
	success = 0,
	invalid_value = 1,
	out_of_memory = 2,
	invalid_device = 101,
	not_found = 500,
	not_ready = 600,
	not_supported = 801,
};

enum { most_devices = 64 };

/* What every answer about a GPU comes from. Sizes are in bytes. */
typedef struct {
	char title[128]; /* as the driver names it */
	uint64_t total, context;
	uint64_t l2, shared_per_processor, shared_optin, shared_reserved;
	int major, minor, processors, threads_per_processor, blocks_per_processor, registers_per_processor;
	int devices; /* that this process sees */
	int places;  /* of the machine: of all devices */
	int channels; /* of NCCL, between the GPUs of a machine */
	int endless; /* more than the total can be taken: how much a program needs is asked */
	int cuda, cudnn, nccl; /* versions, as the libraries say them */
} profile;

const profile *gpu(void);
int place_of(int device); /* the number that it has where all are seen */

/* processes.c: how much of a device is taken, by this process and by all of them. A user is one of them, as NVML lists it. */
typedef struct {
	unsigned pid;
	uint64_t bytes;
	unsigned instance, part;
} user;

int device_take(int device, int64_t size); /* counts memory without an address; negative gives it back */
uint64_t device_left(int device);
uint64_t place_left(int place);
int place_users(int place, user *list, int room);

/* memory.c: addresses. */
int device_alloc(int device, uint64_t size, uintptr_t *address);
int device_free(uintptr_t address);
int pooled_alloc(int device, uint64_t size, uintptr_t *address);
uintptr_t reserve_addresses(uint64_t size);
int free_addresses(uintptr_t address);
bool address_range(uintptr_t address, uintptr_t *start, uint64_t *size, int *device);
bool is_device(const void *p);
void host_add(const void *p, uint64_t size, bool own);
bool is_own_host(const void *p, uint64_t size);
bool host_remove(const void *p);
bool is_pinned(const void *p);

/* pool.c: called under memory_lock. */
int pool_take(int device, uint64_t size);
void pool_give(int device, uint64_t size);

/* copy.c: what is known of the bytes on a device. */
void copy(void *to, const void *from, size_t size);
void copy_rows(void *to, size_t to_pitch, const void *from, size_t from_pitch, size_t width, size_t height);
void fill(void *at, int value, size_t size);
void freed(uintptr_t start, uint64_t size);
void mirror(const void *from, void *to, size_t size, int times);
void launched(void);
bool kernels_ran(void);
void believe_for_ranks(int ranks);

/* stream.c */
void *new_handle(void);
int capture_status(void);
uint64_t capture_id(void);
int current_device(void);
int use_device(int device);

/* error.c: keeps what a call of the runtime fails with. */
int failed(int status);

/* attribute.c: by the numbers that the runtime and the driver share. */
int64_t attribute(int number);

/* report.c: what the command that rehearses is told. */
int refuse(const char *function, int status, void *caller, uint64_t *times);
void modelled(int *said, const char *what, const char *how);
void waits(int *said);
const char *library_of(void *caller); /* its name, without the folder */

/* lookup.c: a function of the driver by its name, newest version first. */
void *lookup(const char *name);

#define CALLER __builtin_return_address(0)

/* Says once that an answer is a model of ours, not what the library would give. */
#define MODELLED(what, how) \
	do { \
		static int said; \
		modelled(&said, what, how); \
	} while (0)

/* The locks, in the order in which they are taken (fork.c). */
extern pthread_mutex_t copy_lock, virtual_lock, memory_lock, shared_lock, report_lock;

/* Holds a lock until its block ends. */
static inline void unlock(pthread_mutex_t **held) { pthread_mutex_unlock(*held); }
#define LOCKED(lock) \
	pthread_mutex_t *held __attribute__((cleanup(unlock))) = &(lock); \
	pthread_mutex_lock(held)

/* Arguments are the libraries', and few of them matter here. */
#pragma GCC diagnostic ignored "-Wunused-parameter"

/* A function that has nothing to do here. */
#define FINE(name) \
	EXPORT int name(void) { return success; }

/* A function whose first argument is where a new handle goes. */
#define MAKE(name) \
	EXPORT int name(void **made) \
	{ \
		*made = new_handle(); \
		return success; \
	}

/* Two names of one function, such as the runtime's and the driver's. */
#define BOTH(one, other, arguments, body) \
	EXPORT int one arguments { return body; } \
	EXPORT int other arguments { return body; }

/* The same of a library's functions for types of numbers: float, double and the complex of
 * both. kind is one of these macros. */
#define FOR_REAL(kind, library, name) kind(library##S##name) kind(library##D##name)
#define FOR_COMPLEX(kind, library, name) kind(library##C##name) kind(library##Z##name)
#define FOR_ALL(kind, library, name) FOR_REAL(kind, library, name) FOR_COMPLEX(kind, library, name)

/* A function that is not imitated, and cannot matter to memory: nobody is told. */
#define DECLINE(name, status) \
	EXPORT int name(void) { return status; }

/* A function that is not imitated. */
#define REFUSE(name, status) \
	EXPORT int name(void) \
	{ \
		static uint64_t times; \
		return refuse(#name, status, CALLER, &times); \
	}

#endif
