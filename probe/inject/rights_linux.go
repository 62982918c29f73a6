package inject

import (
	"cmp"
	"fmt"
	"os"
	"reflect"
	"regexp"
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
	status, err := procfs.Status(folder + "/status")
	if err == nil {
		err = r.take(status)
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

// limitLines match a table with a title, and a line for each limit by its number.
var limitLines = regexp.MustCompile(`(?m)^.{25} +(\S+) +(\S+)`)

func (r *rights) readLimits(folder string) error {
	text, err := procfs.Read(folder + "/limits")
	lines := limitLines.FindAllStringSubmatch(string(text), -1)
	if err != nil || len(lines) <= len(r.Limits) {
		return cmp.Or(err, fmt.Errorf("the system states the limits of a process as %q", text))
	}
	for n := range r.Limits {
		to := &r.Limits[n]
		to.Cur, to.Max = unix.RLIM_INFINITY, unix.RLIM_INFINITY
		_, _ = fmt.Sscan(lines[n+1][1], &to.Cur) // or "unlimited"
		_, _ = fmt.Sscan(lines[n+1][2], &to.Max)
	}
	return nil
}

// take reads the lines of a status file. An old kernel has no ambient capabilities.
func (r *rights) take(status map[string][]string) error {
	r.Others = make([]int, len(status["Groups"]))
	for name, ids := range map[string][]int{"Groups": r.Others, "Uid": r.Users[:], "Gid": r.Groups[:]} {
		for i := range ids {
			if ids[i] = procfs.Number(status[name], i, -1); ids[i] < 0 {
				return fmt.Errorf("the status of a process has a %s of %q", name, status[name])
			}
		}
	}
	for name, set := range map[string]*uint64{"CapInh": &r.Inheritable, "CapPrm": &r.Permitted, "CapBnd": &r.Bounding, "CapAmb": &r.Ambient} {
		_, err := fmt.Sscanf(strings.Join(status[name], ""), "%x", set)
		if err != nil && name != "CapAmb" {
			return fmt.Errorf("the status of a process has a %s of %q", name, status[name])
		}
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
