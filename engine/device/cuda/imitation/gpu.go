package imitation

import (
	_ "embed"
	"fmt"
	"strconv"
	"strings"
	"sync"
)

// GPUVariable and VersionsVariable are environment variables with the properties
// that the library reports to a process, see library/profile.c. The agent sets
// the second.
const (
	GPUVariable      = "MEMTOP_IMITATED_GPU"
	VersionsVariable = "MEMTOP_IMITATED_VERSIONS"
)

// GPU describes a GPU of the catalogue, as its driver does. Sizes are bytes.
type GPU struct {
	Name       string `json:"name"`  // as in h100-80gb
	Title      string `json:"title"` // as the driver names it
	Total      int64  `json:"total_bytes"`
	Capability string `json:"compute_capability"`
	Processors int    `json:"processors"`
	L2         int64  `json:"l2_bytes"`
	Context    int64  `json:"context_bytes"` // what CUDA takes beside all that is allocated, with the kernels that are loaded
	Channels   int    `json:"nccl_channels"` // of NCCL's collectives between the GPUs of a machine
	Sources    string `json:"sources"`       // of each figure

	generation generation
}

// generation holds the properties that all GPUs of a compute capability share.
// Sizes are bytes.
type generation struct {
	threads, blocks, registers              int
	sharedBytes, optinBytes, reservedShared int64
}

//go:embed gpus.tsv
var gpuTable string

//go:embed capabilities.tsv
var capabilityTable string

// Catalogue returns the GPUs that can be imitated, in the order of their table.
var Catalogue = sync.OnceValue(func() []GPU {
	generations := make(map[string]generation)
	for _, row := range rows(capabilityTable) {
		generations[row["capability"]] = row.generation()
	}
	var all []GPU
	for _, row := range rows(gpuTable) {
		all = append(all, GPU{
			Name: row["name"], Title: row["title"], Total: row.number("total_bytes"), Capability: row["capability"],
			Processors: int(row.number("processors")), L2: row.number("l2_bytes"),
			Context:  row.number("context_bytes") + loaded(row["capability"]),
			Channels: int(row.number("nccl_channels")),
			Sources:  row["sources"], generation: generations[row["capability"]],
		})
	}
	return all
})

// loaded returns what a program that computes takes of a GPU beyond an empty context. In 30 out-of-memory errors that
// people published the median was 66 MiB; docs/rehearse.md lists them. On Blackwell's datacenter GPUs cuBLAS allocates
// 64 MiB more for each of its two handles, those of forward and of backward.
func loaded(capability string) int64 {
	if strings.HasPrefix(capability, "10.") {
		return 3 * 64 << 20
	}
	return 64 << 20
}

// Find returns the GPU with a name.
func Find(name string) (GPU, bool) {
	for _, g := range Catalogue() {
		if g.Name == name {
			return g, true
		}
	}
	return GPU{}, false
}

// Variable returns the value of [GPUVariable] for a number of devices of this
// GPU. If endless is set, a process can take more memory than the devices have.
func (g *GPU) Variable(devices int, endless bool) string {
	major, minor, _ := strings.Cut(g.Capability, ".")
	n := &g.generation
	value := fmt.Sprintf("title=%s;total=%d;context=%d;l2=%d;major=%s;minor=%s;processors=%d;devices=%d;threads_per_processor=%d;blocks_per_processor=%d;"+
		"registers_per_processor=%d;shared_per_processor=%d;shared_optin=%d;shared_reserved=%d", g.Title, g.Total, g.Context, g.L2, major, minor,
		g.Processors, devices, n.threads, n.blocks, n.registers, n.sharedBytes, n.optinBytes, n.reservedShared)
	value += fmt.Sprintf(";channels=%d", g.Channels)
	if endless {
		value += ";endless=1"
	}
	return value
}

// row is a line of a table, by the column names of the first line.
type row map[string]string

func (r row) number(column string) int64 {
	n, _ := strconv.ParseInt(r[column], 10, 64) // a test looks that all are numbers
	return n
}

// generation is a line of capabilities.tsv.
func (r row) generation() generation {
	return generation{
		int(r.number("threads_per_processor")), int(r.number("blocks_per_processor")), int(r.number("registers_per_processor")),
		r.number("shared_per_processor"), r.number("shared_per_block_optin"), r.number("reserved_shared_per_block"),
	}
}

func rows(table string) (all []row) {
	lines := strings.Split(strings.TrimRight(table, "\n"), "\n")
	names := strings.Split(lines[0], "\t")
	for _, line := range lines[1:] {
		r := make(row)
		for i, field := range strings.Split(line, "\t") {
			r[names[i]] = field
		}
		all = append(all, r)
	}
	return all
}
