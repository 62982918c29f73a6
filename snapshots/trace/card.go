package trace

// Card is what a program had of a device's memory at one moment, in bytes, as those
// say who handed it out. A number is 0 if it is not known. Package analysis/card makes
// rows of it that add up to what the driver counts.
type Card struct {
	Step     int64 `json:"step"`     // the last that had ended
	Reserved int64 `json:"reserved"` // by PyTorch's allocator, at the same moment

	// Watched says that calls of the driver are seen, so that Taken is all that was taken
	// by a call and not given back. Lost is how many calls were missed all the same.
	Watched bool    `json:"watched,omitempty"`
	Taken   []Taken `json:"taken,omitempty"`
	Lost    int64   `json:"lost,omitempty"`

	// Before is what of the device was in use, by all, when the program first took some:
	// its context, and what other processes had.
	Before int64 `json:"before,omitempty"`

	// Communicators are those of NCCL on this device that have communicated.
	Communicators []Communicator `json:"communicators,omitempty"`

	// Tags are pools of PyTorch's that the program's allocator has names for, as that of
	// vLLM has.
	Tags []NamedPool `json:"tags,omitempty"`

	// Cache is how much of its cache of keys and values a server has in use, nil for other
	// programs.
	Cache *CacheUse `json:"cache,omitempty"`

	CostNS int64 `json:"cost_ns"` // of reading all this, since the program began
}

// Taken is memory that a library took of the driver. Its name is a file's, "" if the
// caller is in none, and is not made printable.
type Taken struct {
	Library string    `json:"library,omitempty"`
	Kind    TakenKind `json:"kind"`
	Bytes   int64     `json:"bytes,omitempty"`    // as they were asked for
	Inside  int64     `json:"inside,omitempty"`   // of them, in segments of PyTorch's allocator
	Round   int64     `json:"rounding,omitempty"` // what the driver adds to whole pages
	Number  int64     `json:"number,omitempty"`   // of allocations
}

// TakenKind says by which calls memory was taken.
type TakenKind string

// The kinds: by cuMemAlloc, from a pool of cudaMallocAsync, by cuMemCreate, shared
// with the host, opened from another process, and pinned on the host.
const (
	TakenDevice   TakenKind = "device"
	TakenPooled   TakenKind = "pool"
	TakenCreated  TakenKind = "created"
	TakenManaged  TakenKind = "managed"
	TakenImported TakenKind = "imported"
	TakenPinned   TakenKind = "pinned"
)

// CacheUse is what a server counts of its cache. The texts are from the program and are
// not made printable.
type CacheUse struct {
	Server string `json:"server"` // such as VLLM
	Used   int64  `json:"used"`   // by requests that are not finished
	Size   int64  `json:"size"`
	Unit   string `json:"unit"` // such as blocks
}

// VLLM is the server whose share of a device gpu_memory_utilization sets.
const VLLM = "vLLM"

// Communicator is a process group that communicates by NCCL. Its name is from the
// program and is not made printable.
type Communicator struct {
	Name       string `json:"name"`
	Ranks      int    `json:"ranks"`
	Channels   int    `json:"channels"`   // of a ring, 0 if that is not known
	Connection int64  `json:"connection"` // bytes of a channel's connection with both neighbours
}

// User is another process on a device. Its command is made printable by who shows it.
type User struct {
	PID     int    `json:"pid"`
	Bytes   int64  `json:"bytes"` // -1 if the driver does not say
	Command string `json:"command,omitempty"`
}

// NamedPool is what a server's allocator calls some of its memory. The name is from the
// program and is not made printable.
type NamedPool struct {
	Name   string `json:"name"`
	Bytes  int64  `json:"bytes"`  // whether awake or asleep
	Backed int64  `json:"backed"` // of them, that are awake; -1 if that is not known
}
