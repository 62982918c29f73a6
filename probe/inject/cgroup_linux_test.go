package inject

import (
	"errors"
	"io/fs"
	"testing"
)

func TestAControlGroupIsFoundWhereItsHierarchyIsMounted(t *testing.T) {
	const mounts = `29 23 0:28 / / rw - ext4 /dev/sda rw
30 23 0:28 / /sys/fs/cgroup/unified rw,nosuid shared:4 - cgroup2 cgroup2 rw,nsdelegate
31 23 0:29 / /sys/fs/cgroup/cpu,cpuacct rw - cgroup cgroup rw,cpu,cpuacct
32 23 0:30 /docker/1 /sys/fs/cgroup/devices rw - cgroup cgroup rw,devices
broken
`
	for name, test := range map[string]struct{ controllers, path, want string }{
		"version 2":                   {"", "/user.slice/1", "/sys/fs/cgroup/unified/user.slice/1"},
		"the root":                    {"", "/", "/sys/fs/cgroup/unified"},
		"two controllers":             {"cpu,cpuacct", "/a", "/sys/fs/cgroup/cpu,cpuacct/a"},
		"a part of one is mounted":    {"devices", "/docker/1/b", "/sys/fs/cgroup/devices/b"},
		"another part is mounted":     {"devices", "/docker/12", ""},
		"a hierarchy without a mount": {"memory", "/a", ""},
		"a group outside":             {"", "/../a", ""},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := groupFolder([]byte(mounts), test.controllers, test.path)
			if got != test.want || (err == nil) != (test.want != "") || err != nil && !errors.Is(err, fs.ErrNotExist) {
				t.Errorf("got %q, %v, want %q", got, err, test.want)
			}
		})
	}
}
