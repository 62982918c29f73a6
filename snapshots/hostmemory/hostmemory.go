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
func Available() Room { return system{os.DirFS("/")}.available() }

// Total returns the largest amount, including memory in use by other processes; 0
// when unknown.
func Total() int64 { return system{os.DirFS("/")}.total() }

// Machine returns how much memory the machine has, and what of it is available to
// new programs, whatever limits this process has; 0 when unknown.
func Machine() (total, available int64) {
	s := system{os.DirFS("/")}
	total, _ = s.field("proc/meminfo", "MemTotal:")
	available, _ = s.field("proc/meminfo", "MemAvailable:")
	return total, available
}

// system is the file system in which Linux reports memory.
type system struct{ root fs.FS }

func (s system) available() Room {
	room := Room{math.MaxInt64, "this machine"}
	if n, ok := s.field("proc/meminfo", "MemAvailable:"); ok {
		room.Bytes = n << 10
	}
	for _, g := range s.groups() {
		limit, limited := s.number(g.directory + "/" + g.limit)
		used, known := s.number(g.directory + "/" + g.used)
		if !limited || !known {
			continue
		}
		for _, cached := range g.cached {
			n, _ := s.field(g.directory+"/memory.stat", cached)
			used -= n
		}
		if left := max(limit-used, 0); left < room.Bytes {
			room = Room{left, "the control group " + g.name}
		}
	}
	return room
}

func (s system) total() int64 {
	n, _ := s.field("proc/meminfo", "MemTotal:")
	total := n << 10
	for _, g := range s.groups() {
		if limit, ok := s.number(g.directory + "/" + g.limit); ok && (total == 0 || limit < total) {
			total = limit
		}
	}
	return total
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

// field reads the number behind a word that begins a line.
func (s system) field(name, word string) (int64, bool) {
	text, err := procfs.ReadIn(s.root, name)
	if err != nil {
		return 0, false
	}
	for line := range bytes.Lines(text) {
		if fields := strings.Fields(string(line)); len(fields) > 1 && fields[0] == word {
			n, err := strconv.ParseInt(fields[1], 10, 64)
			return n, err == nil
		}
	}
	return 0, false
}
