package inject

import (
	"cmp"
	"fmt"
	"os"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/memtop/memtop/snapshots/procfs"
)

// rights are what a process may do and where it is, as this process sees them.
type rights struct {
	Users, Groups       [3]int // real, effective, saved
	Others              []int  // its supplementary groups
	Inheritable         uint64 // capabilities, one bit each
	Permitted, Bounding uint64
	Ambient             uint64
	Limits              [16]unix.Rlimit   // by the kernel's numbers
	Nice                int               // the lower, the more processor time
	RealTime            bool              // it comes before all that is not
	Namespaces          map[string]string // by kind
	Root                string            // the path of its / in its mounts
	Image               string            // identifies its last call of execve
}

// namespaces are the kinds to enter, in this order: entering the last one takes away the
// right to enter others. The time namespace gives no rights.
var namespaces = []string{"cgroup", "ipc", "uts", "net", "pid", "mnt", "user"}

// readRights reads the rights from a process's folder in /proc.
func readRights(folder string) (rights, error) {
	r := rights{Namespaces: make(map[string]string)}
	status, err := procfs.Read(folder + "/status")
	if err != nil {
		return r, procfs.Gone(err)
	}
	for line := range strings.Lines(string(status)) {
		name, value, _ := strings.Cut(line, ":")
		if err == nil {
			err = r.take(name, strings.Fields(value))
		}
	}
	if err != nil {
		return r, err
	}
	for _, kind := range namespaces {
		r.Namespaces[kind], err = os.Readlink(folder + "/ns/" + kind)
		if err != nil && !os.IsNotExist(err) { // a kernel without them
			return r, err
		}
	}
	if r.Root, err = os.Readlink(folder + "/root"); err != nil {
		return r, err
	}
	const nice, start, stack, policy = 16, 19, 25, 38 // execve changes the stack's address
	fields, err := procfs.StatFields(folder+"/stat", policy)
	if err != nil {
		return r, err
	}
	r.Image = string(fields[start]) + " " + string(fields[stack])
	r.Nice, _ = strconv.Atoi(string(fields[nice]))                                // the kernel writes a number
	r.RealTime = slices.Contains([]string{"1", "2", "6"}, string(fields[policy])) // FIFO, RR, DEADLINE
	return r, r.readLimits(folder)
}

// readLimits reads a table with a line for each limit, in the order of their numbers, after
// one with titles.
func (r *rights) readLimits(folder string) error {
	const name = 25 // characters
	text, err := procfs.Read(folder + "/limits")
	lines := strings.SplitAfter(string(text), "\n")
	if err != nil || len(lines) < len(r.Limits)+1 {
		return cmp.Or(err, fmt.Errorf("the system states %d limits of a process", len(lines)))
	}
	for n := range r.Limits {
		fields := strings.Fields(lines[n+1][min(name, len(lines[n+1])):])
		if len(fields) < 2 {
			return fmt.Errorf("the system states a limit of %q", lines[n+1])
		}
		r.Limits[n] = unix.Rlimit{Cur: limit(fields[0]), Max: limit(fields[1])}
	}
	return nil
}

func limit(text string) uint64 {
	n, err := strconv.ParseUint(text, 10, 64)
	if err != nil {
		return unix.RLIM_INFINITY // "unlimited"
	}
	return n
}

// take reads one line of a status file.
func (r *rights) take(name string, fields []string) (err error) {
	ids := map[string][]int{"Uid": r.Users[:], "Gid": r.Groups[:]}
	sets := map[string]*uint64{"CapInh": &r.Inheritable, "CapPrm": &r.Permitted, "CapBnd": &r.Bounding, "CapAmb": &r.Ambient}
	switch {
	case name == "Groups":
		r.Others = make([]int, len(fields))
		err = numbers(r.Others, fields)
	case ids[name] != nil:
		err = numbers(ids[name], fields)
	case sets[name] != nil && len(fields) == 1:
		*sets[name], err = strconv.ParseUint(fields[0], 16, 64)
	}
	if err != nil {
		err = fmt.Errorf("the status of a process has a %s of %q: %w", name, fields, err)
	}
	return err
}

func numbers(to []int, fields []string) error {
	for i := range to {
		n, err := strconv.Atoi(slices.Concat(fields, make([]string, len(to)))[i])
		if err != nil {
			return err
		}
		to[i] = n
	}
	return nil
}

func (r rights) equal(other rights) bool { return reflect.DeepEqual(r, other) }

// within reports whether a process with the other rights may do everything that these allow.
// The kernel would let it into this process anyway, so running its code loses nothing.
func (r rights) within(other rights) bool {
	return r.Users == other.Users && r.Groups == other.Groups && r.Permitted&^other.Permitted == 0 &&
		r.Namespaces["user"] == other.Namespaces["user"] && r.Namespaces["pid"] == other.Namespaces["pid"]
}

// together reports whether two processes see the same system.
func (r rights) together(other rights) bool {
	return reflect.DeepEqual(r.Namespaces, other.Namespaces) && r.Root == other.Root
}

const ptrace = 1 << 19 // the bit of CAP_SYS_PTRACE
