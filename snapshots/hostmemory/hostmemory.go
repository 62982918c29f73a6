package hostmemory

import (
	"bytes"
	"io/fs"
	"math"
	"os"
	"strconv"
	"strings"

	"github.com/memtop/memtop/snapshots/procfs"
)

// Room is an amount of memory and the limit that ends it.
type Room struct {
	Bytes int64  // math.MaxInt64 when nothing is known
	Of    string // "this machine" or "the control group /a/b"
}

// Available returns how much memory this process can still take before the system
// swaps or kills something. Memory that only caches files counts as available.
func Available() Room { return of("self").available() }

// Total returns the largest amount, including memory in use by other processes; 0
// when unknown.
func Total() int64 { return of("self").total() }

// Machine returns how much memory the machine has, and what of it is available to
// new programs, whatever limits this process has; 0 when unknown.
func Machine() (total, available int64) {
	return of("self").machine()
}

// system is the file system in which Linux reports memory, and the folder of a process
// in /proc.
type system struct {
	root    fs.FS
	process string
}

func of(process string) system { return system{os.DirFS("/"), "proc/" + process} }

func (s system) machine() (total, available int64) {
	found := s.numbers("proc/meminfo")
	return found["MemTotal:"] << 10, found["MemAvailable:"] << 10
}

func (s system) available() Room {
	room := Room{math.MaxInt64, "this machine"}
	if kib, ok := s.numbers("proc/meminfo")["MemAvailable:"]; ok {
		room.Bytes = kib << 10
	}
	for _, g := range s.groups() {
		limit, used, limited := s.limit(&g)
		if left := max(limit-used, 0); limited && left < room.Bytes {
			room = Room{left, "the control group " + g.name}
		}
	}
	return room
}

// limit returns the limit of a group, and what counts towards it that the kernel
// cannot drop; false without a limit.
func (s system) limit(g *group) (limit, used int64, limited bool) {
	limit, limited = s.number(g.directory + "/" + g.limit)
	used, known := s.number(g.directory + "/" + g.used)
	if limited && known {
		stat := s.numbers(g.directory + "/memory.stat")
		for _, cached := range g.cached {
			used -= stat[cached]
		}
	}
	return limit, max(0, used), limited && known
}

func (s system) total() int64 {
	total, _ := s.machine()
	for _, g := range s.groups() {
		if limit, ok := s.number(g.directory + "/" + g.limit); ok && (total == 0 || limit < total) {
			total = limit
		}
	}
	return total
}

func (s system) has(name string) bool {
	_, err := fs.Stat(s.root, name)
	return err == nil
}

// number reads a file with one number; "max" is none.
func (s system) number(name string) (int64, bool) {
	text, err := procfs.ReadIn(s.root, name)
	if err != nil {
		return 0, false
	}
	n, err := strconv.ParseInt(string(bytes.TrimSpace(text)), 10, 64)
	return n, err == nil
}

// numbers reads lines of a word and a number, such as "MemTotal: 8192 kB".
func (s system) numbers(name string) map[string]int64 {
	found := make(map[string]int64)
	text, err := procfs.ReadIn(s.root, name)
	if err != nil {
		return found
	}
	for line := range bytes.Lines(text) {
		if fields := strings.Fields(string(line)); len(fields) > 1 {
			if n, err := strconv.ParseInt(fields[1], 10, 64); err == nil {
				found[fields[0]] = n
			}
		}
	}
	return found
}
