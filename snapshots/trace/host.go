package trace

import "slices"

// Host is what a program and its workers had of the machine's memory at one moment,
// in bytes, as the kernel counts it. A number is 0 if the program does not know it.
// Package analysis/host makes rows of it that add up.
type Host struct {
	Step int64 `json:"step"` // the last that had ended
	// Asked is that step when allocators were last asked: what Python, Malloc and MallocFree
	// are of. Listed is that step when files in shared memory were last listed: what
	// Batches, Taken, SharedFiles and Left are of. 0 if it is not known.
	Asked  int64 `json:"asked,omitempty"`
	Listed int64 `json:"listed,omitempty"`

	// What is resident of the process itself, and what of it is swapped out.
	Anonymous int64 `json:"anonymous"`
	Files     int64 `json:"files"`
	Shared    int64 `json:"shared"`
	Swapped   int64 `json:"swapped"`
	// Writable is the process's private memory that it may write, resident or not.
	Writable int64 `json:"writable,omitempty"`

	// What is known of the anonymous memory. Tensors are the processor's, as of the last
	// look; Python is the arenas of its allocator, which has objects of up to 512 bytes;
	// Malloc is what C's allocator handed out, and MallocFree what it keeps for later.
	// Pinned is PyTorch's pool, which may be shared memory instead; tensors have
	// PinnedUsed of it.
	Tensors    int64 `json:"tensors,omitempty"`
	Python     int64 `json:"python,omitempty"`
	Malloc     int64 `json:"malloc,omitempty"`
	MallocFree int64 `json:"malloc_free,omitempty"`
	Pinned     int64 `json:"pinned,omitempty"`
	PinnedUsed int64 `json:"pinned_used,omitempty"`

	// Workers are the processes that it started, and what they have beside what they
	// share with it. Worker is the pid of the one that has most.
	Workers          int   `json:"workers,omitempty"`
	WorkersAnonymous int64 `json:"workers_anonymous,omitempty"`
	WorkersFiles     int64 `json:"workers_files,omitempty"`
	WorkersShared    int64 `json:"workers_shared,omitempty"`
	Worker           int   `json:"worker,omitempty"`
	WorkerAnonymous  int64 `json:"worker_anonymous,omitempty"`

	// Shared memory without a name, in which processes hand each other tensors: what
	// workers have ready, and what the program has taken of them.
	Batches int64 `json:"batches,omitempty"`
	Taken   int64 `json:"taken,omitempty"`

	// Files in shared memory: memtop's black box; those that the program and its workers
	// have open or mapped, whether they are resident there or not, without Batches; and
	// those that the program or a process that it started has made, and that no process
	// has any more. A name is that of the largest, and is not made printable.
	Box         int64  `json:"box,omitempty"`
	SharedFiles int64  `json:"shared_files,omitempty"`
	SharedName  string `json:"shared_name,omitempty"`
	Left        int64  `json:"left,omitempty"`
	LeftFiles   int    `json:"left_files,omitempty"`
	LeftName    string `json:"left_name,omitempty"`

	// What the kernel charges the process's control group, and how many processes of the
	// group are neither the program nor its workers. Group is 0 without a group.
	Group          int64 `json:"group,omitempty"`
	GroupAnonymous int64 `json:"group_anonymous,omitempty"`
	GroupFiles     int64 `json:"group_files,omitempty"`
	GroupShared    int64 `json:"group_shared,omitempty"`
	GroupKernel    int64 `json:"group_kernel,omitempty"`
	GroupOthers    int   `json:"group_others,omitempty"`

	// Kept is containers of the program's language that grow, with about what they take.
	Kept []Kept `json:"kept,omitempty"`

	// Places is what the processor's tensors are of a program that computes on another
	// device, the largest places first.
	Places []Place `json:"places,omitempty"`

	// The address space, where it is limited.
	AddressSpace      int64 `json:"address_space,omitempty"`
	AddressSpaceLimit int64 `json:"address_space_limit,omitempty"`

	CostNS int64 `json:"cost_ns"` // of reading all this, since the program began
}

// Kept is a list or dict that has grown since an earlier look. Its name is from the
// program and is not made printable.
type Kept struct {
	Name    string `json:"name"`
	Bytes   int64  `json:"bytes"`
	Entries int    `json:"entries"`
}

// Place is tensors of one purpose that one container or variable keeps. Its texts are
// from the program and are not made printable.
type Place struct {
	Name     string `json:"name,omitempty"` // with its line; empty if the category says all
	Category string `json:"category"`
	Bytes    int64  `json:"bytes"`
	Entries  int    `json:"entries"` // storages
}

// Limit is an amount of memory that ends the program when it is used up.
type Limit struct {
	By          string // LimitByMachine and so on
	Bytes, Used int64
}

// What limits memory, as JSON names it. The kernel kills for the first two; of an address
// space it gives no more.
const (
	LimitByMachine = "machine"
	LimitByGroup   = "cgroup"
	LimitByShell   = "ulimit"
)

// Whose names what has the limit.
func (l Limit) Whose() string {
	return map[string]string{LimitByMachine: "the machine", LimitByGroup: "its control group", LimitByShell: "its address space (ulimit -v)"}[l.By]
}

// Left returns how much is left of it.
func (l Limit) Left() int64 { return max(0, l.Bytes-l.Used) }

// Spent reports whether so little was left that the kernel may have ended the program.
func (l Limit) Spent() bool { return l.By != LimitByShell && l.Left() < l.Bytes/20 }

// Nearest returns the limit of which least is left: the machine's memory, that of a
// control group, or the address space. It reports false if the gauge knows none.
func (g *Gauge) Nearest() (nearest Limit, known bool) {
	consider := func(l Limit) {
		if !known || l.Left() < nearest.Left() {
			nearest, known = l, true
		}
	}
	if g.Total > 0 && g.Used >= 0 {
		consider(Limit{LimitByMachine, g.Total, g.Used})
	}
	if g.Limit > 0 {
		consider(Limit{LimitByGroup, g.Limit, g.LimitUsed})
	}
	if h := g.Host; h != nil && h.AddressSpaceLimit > 0 {
		consider(Limit{LimitByShell, h.AddressSpaceLimit, h.AddressSpace})
	}
	return nearest, known
}

// LastOfHost returns the last gauge of the machine's memory, nil if there is none: that
// of the host, else that of a program that computes on a processor.
func (t *Trace) LastOfHost() *Gauge {
	device := HostDevice
	if NewGeometry(t.Settings).Uncached && len(t.Devices) > 0 {
		device = t.Devices[0].ID
	}
	return t.LastGauge(device)
}

// LastGauge returns the last known gauge of a device, nil if there is none.
func (t *Trace) LastGauge(device int) *Gauge {
	if t.Live == nil {
		return nil
	}
	for i := range slices.Backward(t.Live.Gauges) {
		if t.Live.Gauges[i].Device == device {
			return &t.Live.Gauges[i]
		}
	}
	return nil
}
