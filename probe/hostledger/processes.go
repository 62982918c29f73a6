//go:build linux

package hostledger

import (
	"os"
	"strconv"
	"strings"

	"github.com/memtop/memtop/snapshots/procfs"
)

// memory is what is resident of processes, in bytes by kind.
type memory struct{ anonymous, files, shared int64 }

func (m memory) plus(other memory, times int64) memory {
	return memory{m.anonymous + times*other.anonymous, m.files + times*other.files, m.shared + times*other.shared}
}

func (m memory) least(n int64) memory {
	return memory{max(n, m.anonymous), max(n, m.files), max(n, m.shared)}
}

// status is the memory of a process in bytes: what is resident, by kind and in all, what
// is swapped out, its address space, and what of that is private and may be written.
type status struct {
	memory
	resident, swapped, space, writable int64
}

// statusOf returns the memory of a process, also where it shares it; false if it has ended or the
// kernel does not divide it.
func statusOf(pid int) (status, bool) {
	lines, err := procfs.Status(procfs.Of(pid, "status"))
	if err != nil || lines["RssAnon"] == nil {
		return status{}, false
	}
	return status{
		memory{kib(lines["RssAnon"]), kib(lines["RssFile"]), kib(lines["RssShmem"])},
		kib(lines["VmRSS"]), kib(lines["VmSwap"]), kib(lines["VmSize"]), kib(lines["VmData"]),
	}, true
}

// proportional returns what is resident of a process, with its part of what it shares:
// nothing if the system does not say. The kernel walks through the page tables for it.
func proportional(pid int) memory {
	lines, _ := procfs.Status(procfs.Of(pid, "smaps_rollup"))
	return memory{kib(lines["Pss_Anon"]), kib(lines["Pss_File"]), kib(lines["Pss_Shmem"])}
}

func kib(fields []string) int64 { return int64(procfs.Number(fields, 0, 0)) << 10 }

// mostWorkers is how many workers are counted.
const mostWorkers = 256

// workersOf returns the processes that a process has started, and those that they have,
// as far as they run.
func workersOf(pid int) (workers []int) {
	all := []int{pid}
	for i := 0; i < len(all) && len(all) <= mostWorkers; i++ {
		threads, _ := os.ReadDir(procfs.Of(all[i], "task"))
		for _, thread := range threads {
			children, _ := procfs.Read(procfs.Of(all[i], "task/"+thread.Name()+"/children"))
			for _, child := range strings.Fields(string(children)) {
				if pid, err := strconv.Atoi(child); err == nil {
					all = append(all, pid)
				}
			}
		}
	}
	return all[1:]
}

// spaceLimit returns the limit of a process's address space, 0 without one.
func spaceLimit(pid int) int64 {
	text, _ := procfs.Read(procfs.Of(pid, "limits"))
	_, line, _ := strings.Cut(string(text), "Max address space")
	limit, _, _ := strings.Cut(strings.TrimSpace(line), " ")
	n, _ := strconv.ParseInt(limit, 10, 64) // else it is unlimited
	return n
}
