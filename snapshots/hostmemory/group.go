package hostmemory

import (
	"path"
	"slices"
	"strings"

	"github.com/memtop/memtop/snapshots/procfs"
)

// version has the file names of one version of control groups.
type version struct {
	kind               string // of file system
	limit, used, kills string // files
	cached             []string
	anonymous, files   string // lines of memory.stat; files are with shared memory
	shared             string
}

var (
	version1 = version{
		"cgroup", "memory.limit_in_bytes", "memory.usage_in_bytes", "memory.oom_control",
		[]string{"total_inactive_file", "total_active_file"},
		"total_rss", "total_cache", "total_shmem",
	}
	version2 = version{
		"cgroup2", "memory.max", "memory.current", "memory.events",
		[]string{"inactive_file", "active_file"},
		"anon", "file", "shmem",
	}
)

// group is a control group that a process is in.
type group struct {
	version
	name      string // "/a/b", as far as this process can see it
	directory string // of its files, without the first slash
}

// groups returns the memory groups of the process: its own, and its parents up to
// the outermost that is mounted. Each has a limit of its own.
func (s system) groups() []group {
	mounts, _ := procfs.ReadIn(s.root, s.process+"/mountinfo")
	own, _ := procfs.ReadIn(s.root, s.process+"/cgroup")
	names := procfs.Groups(own)
	var list []group
	for _, found := range procfs.Mounts(mounts) {
		m := mount{found.Root, found.At}
		v, name, ok := memoryGroup(&found, names)
		if !ok {
			continue
		}
		for name = m.within(name); ; name = path.Dir(name) {
			list = append(list, group{v, name, strings.TrimPrefix(path.Join(m.at, name), "/")})
			if name == "/" {
				break
			}
		}
	}
	return list
}

// mount is a mount of memory groups: the mounted group, and its folder.
type mount struct{ root, at string }

// memoryGroup returns the process's group of memory in a mount, false if it has none.
func memoryGroup(m *procfs.Mount, names map[string]string) (v version, name string, ok bool) {
	if m.Kind == version2.kind {
		name, ok = names[""]
		return version2, name, ok
	}
	for controllers, name := range names {
		if m.Kind == version1.kind && slices.Contains(m.Options, "memory") && slices.Contains(strings.Split(controllers, ","), "memory") {
			return version1, name, true
		}
	}
	return version{}, "", false
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
