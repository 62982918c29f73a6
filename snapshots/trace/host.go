package trace

// Host is what a program and its workers had of the machine's memory at one moment,
// in bytes, as the kernel counts it. A number is 0 if the program does not know it.
// Package analysis/host makes rows of it that add up.
type Host struct {
	Step int64 `json:"step"` // the last that had ended

	// What is resident of the process itself, and what of it is swapped out.
	Anonymous int64 `json:"anonymous"`
	Files     int64 `json:"files"`
	Shared    int64 `json:"shared"`
	Swapped   int64 `json:"swapped"`

	// What is known of the anonymous memory. Tensors are the processor's, as of the last
	// look; Python is the arenas of its allocator, which has objects of up to 512 bytes;
	// Malloc is what C's allocator handed out, and MallocFree what it keeps for later.
	// Pinned is PyTorch's pool, which may be shared memory instead.
	Tensors    int64 `json:"tensors,omitempty"`
	Python     int64 `json:"python,omitempty"`
	Malloc     int64 `json:"malloc,omitempty"`
	MallocFree int64 `json:"malloc_free,omitempty"`
	Pinned     int64 `json:"pinned,omitempty"`

	// Workers are the processes that it started, and what they have beside what they
	// share with it. Worker is the pid of the one that has most.
	Workers          int   `json:"workers,omitempty"`
	WorkersAnonymous int64 `json:"workers_anonymous,omitempty"`
	WorkersFiles     int64 `json:"workers_files,omitempty"`
	WorkersShared    int64 `json:"workers_shared,omitempty"`
	Worker           int   `json:"worker,omitempty"`
	WorkerAnonymous  int64 `json:"worker_anonymous,omitempty"`

	// Files in shared memory: memtop's black box, and those whose makers have ended.
	Box        int64 `json:"box,omitempty"`
	Left       int64 `json:"left,omitempty"`
	LeftFiles  int   `json:"left_files,omitempty"`
	LeftMakers []int `json:"left_makers,omitempty"` // the pids of some

	// What the kernel charges the process's control group, and how many processes of the
	// group are neither the program nor its workers. Group is 0 without a group.
	Group          int64 `json:"group,omitempty"`
	GroupAnonymous int64 `json:"group_anonymous,omitempty"`
	GroupFiles     int64 `json:"group_files,omitempty"`
	GroupShared    int64 `json:"group_shared,omitempty"`
	GroupKernel    int64 `json:"group_kernel,omitempty"`
	GroupOthers    int   `json:"group_others,omitempty"`

	// The address space, where it is limited.
	AddressSpace      int64 `json:"address_space,omitempty"`
	AddressSpaceLimit int64 `json:"address_space_limit,omitempty"`

	CostNS int64 `json:"cost_ns"` // of reading all this, since the program began
}
