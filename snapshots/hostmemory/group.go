package hostmemory

import (
	"bytes"
	"path"
	"slices"
	"strings"

	"github.com/memtop/memtop/snapshots/procfs"
)

// version has the file names of one version of control groups.
type version struct {
	kind        string // of file system
	limit, used string // files
	cached      []string
}

var (
	version1 = version{
		"cgroup", "memory.limit_in_bytes", "memory.usage_in_bytes", []string{"total_inactive_file", "total_active_file"},
	}
	version2 = version{"cgroup2", "memory.max", "memory.current", []string{"inactive_file", "active_file"}}
)

// group is a control group that this process is in.
type group struct {
	version
	name      string // "/a/b", as far as this process can see it
	directory string // of its files, without the first slash
}

// groups returns the memory groups of the process: its own, and its parents up to
// the outermost that is mounted. Each has a limit of its own.
func (s system) groups() []group {
	mounts, _ := procfs.ReadIn(s.root, "proc/self/mountinfo")
	own, _ := procfs.ReadIn(s.root, "proc/self/cgroup")
	var list []group
	for line := range bytes.Lines(mounts) {
		m, ok := mountOf(string(line))
		if !ok {
			continue
		}
		name, ok := m.nameIn(string(own))
		if !ok {
			continue
		}
		for name = m.within(name); ; name = path.Dir(name) {
			list = append(list, group{m.version, name, strings.TrimPrefix(path.Join(m.at, name), "/")})
			if name == "/" {
				break
			}
		}
	}
	return list
}

// mount is a mount of memory groups.
type mount struct {
	version
	root, at string // the mounted group, and its folder
}

// mountOf reads a line of /proc/self/mountinfo:
//
//	36 35 98:0 /root /at rw,noatime master:1 - kind source options
func mountOf(line string) (mount, bool) {
	before, after, _ := strings.Cut(line, " - ")
	place, what := strings.Fields(before), strings.Fields(after)
	if len(place) < 5 || len(what) < 3 {
		return mount{}, false
	}
	switch {
	case what[0] == version2.kind:
		return mount{version2, place[3], place[4]}, true
	case what[0] == version1.kind && slices.Contains(strings.Split(what[2], ","), "memory"):
		return mount{version1, place[3], place[4]}, true
	}
	return mount{}, false
}

// nameIn finds the process's group in the text of /proc/self/cgroup, whose lines
// are "4:memory:/a/b" and, of version 2, "0::/a/b".
func (m mount) nameIn(own string) (name string, ok bool) {
	for line := range strings.Lines(own) {
		parts := strings.SplitN(strings.TrimSpace(line), ":", 3)
		if len(parts) < 3 {
			continue
		}
		controllers := strings.Split(parts[1], ",")
		if m.kind == version2.kind && parts[0] == "0" || m.kind == version1.kind && slices.Contains(controllers, "memory") {
			return parts[2], true
		}
	}
	return "", false
}

// within returns a group's name relative to the mount. In a container the mount
// may show only the container's group while the name is the host's. If the group
// lies outside of the mount, the mount is the nearest visible group.
func (m mount) within(name string) string {
	if m.root != "/" {
		rest, below := strings.CutPrefix(name, m.root)
		if !below {
			return "/"
		}
		name = rest
	}
	if strings.HasPrefix(name, "/..") {
		return "/"
	}
	return path.Join("/", name)
}
