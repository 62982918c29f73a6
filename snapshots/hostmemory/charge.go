package hostmemory

import (
	"slices"
	"strconv"
	"strings"

	"github.com/memtop/memtop/snapshots/procfs"
)

// Limit is the limit of a process's control groups that is nearest to being reached, if
// it is below the machine's memory; zeros without one. Kills is how many processes of the
// innermost group the kernel has killed for lack of memory.
type Limit struct{ Bytes, Used, Kills int64 }

// LimitOf returns the limit of a process.
func LimitOf(pid int) Limit { return of(strconv.Itoa(pid)).nearest() }

func (s system) nearest() (nearest Limit) {
	total, _ := s.machine()
	least := total
	for i, g := range s.memoryGroups() {
		if i == 0 {
			nearest.Kills = s.numbers(g.directory + "/" + g.kills)["oom_kill"]
		}
		if limit, used, limited := s.limit(&g); limited && limit < total && limit-used < least {
			nearest.Bytes, nearest.Used, least = limit, used, limit-used
		}
	}
	return nearest
}

// memoryGroups returns those groups that account for memory, the innermost first.
func (s system) memoryGroups() []group {
	return slices.DeleteFunc(s.groups(), func(g group) bool { return !s.has(g.directory+"/"+g.limit) && !s.has(g.directory+"/"+g.kills) })
}

// Charge is what the kernel charges the innermost control group of a process, in bytes:
// in all, and by kind. Files are those that are cached.
type Charge struct {
	Bytes, Anonymous, Files, Shared, Kernel int64
	Processes                               []int // that are in the group
}

// ChargeOf returns what a process's group is charged, false if it has none.
func ChargeOf(pid int) (Charge, bool) { return of(strconv.Itoa(pid)).charge() }

func (s system) charge() (c Charge, ok bool) {
	groups := s.memoryGroups()
	if len(groups) == 0 {
		return c, false
	}
	g := &groups[0]
	stat := s.numbers(g.directory + "/memory.stat")
	c.Bytes, ok = s.number(g.directory + "/" + g.used)
	c.Anonymous, c.Shared = stat[g.anonymous], stat[g.shared]
	c.Files, c.Kernel = stat[g.files]-c.Shared, s.kernel(g, stat)
	members, _ := procfs.ReadIn(s.root, g.directory+"/cgroup.procs")
	for _, member := range strings.Fields(string(members)) {
		pid, _ := strconv.Atoi(member)
		c.Processes = append(c.Processes, pid)
	}
	return c, ok
}

// kernel returns what the kernel charges a group for its own memory. Linux before 5.18
// has no sum of it.
func (s system) kernel(g *group, stat map[string]int64) int64 {
	if g.kind == version1.kind {
		n, _ := s.number(g.directory + "/memory.kmem.usage_in_bytes")
		return n
	}
	sum, known := stat["kernel"]
	if !known {
		sum = stat["kernel_stack"] + stat["pagetables"] + stat["percpu"] + stat["slab"]
	}
	return sum + stat["sock"]
}
