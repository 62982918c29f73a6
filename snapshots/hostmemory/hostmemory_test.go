package hostmemory

import (
	"math"
	"testing"
	"testing/fstest"
)

const (
	meminfo = "MemTotal: 8192 kB\nMemFree: 1 kB\nMemAvailable:    4096 kB\n"
	mountV2 = "29 23 0:26 / /sys/fs/cgroup rw,nosuid shared:4 - cgroup2 cgroup2 rw,nsdelegate\n"
	mountV1 = "36 30 0:33 / /sys/fs/cgroup/memory rw shared:9 - cgroup cgroup rw,memory\n" +
		"37 30 0:34 / /sys/fs/cgroup/cpu rw shared:9 - cgroup cgroup rw,cpu\n"
)

func TestRoomIsTheSmallestOfWhatAnyLimitLeaves(t *testing.T) {
	tests := map[string]struct {
		files         map[string]string
		room          int64
		of            string
		total         int64
		withoutMemory bool // of /proc/meminfo
	}{
		"without groups it is the machine's": {room: 4 << 20, of: "this machine", total: 8 << 20},
		"a group of version 2": {
			files: map[string]string{
				"proc/self/mountinfo": mountV2, "proc/self/cgroup": "0::/job\n",
				"sys/fs/cgroup/job/memory.max": "3145728\n", "sys/fs/cgroup/job/memory.current": "2097152\n",
			},
			room: 1 << 20, of: "the control group /job", total: 3 << 20,
		},
		"files that are only cached are room": {
			files: map[string]string{
				"proc/self/mountinfo": mountV2, "proc/self/cgroup": "0::/job\n",
				"sys/fs/cgroup/job/memory.max": "3145728\n", "sys/fs/cgroup/job/memory.current": "2097152\n",
				"sys/fs/cgroup/job/memory.stat": "anon 5\ninactive_file 524288\nactive_file 524288\n",
			},
			room: 2 << 20, of: "the control group /job", total: 3 << 20,
		},
		"a group around the process's own": {
			files: map[string]string{
				"proc/self/mountinfo": mountV2, "proc/self/cgroup": "0::/pod/job\n",
				"sys/fs/cgroup/pod/job/memory.max": "max\n", "sys/fs/cgroup/pod/job/memory.current": "0\n",
				"sys/fs/cgroup/pod/memory.max": "1048576\n", "sys/fs/cgroup/pod/memory.current": "1000000\n",
			},
			room: 48576, of: "the control group /pod", total: 1 << 20,
		},
		"a group of version 1 in a mixed system": {
			files: map[string]string{
				"proc/self/mountinfo": mountV1 + mountV2, "proc/self/cgroup": "4:memory:/job\n0::/\n",
				"sys/fs/cgroup/memory/job/memory.limit_in_bytes": "2097152\n", "sys/fs/cgroup/memory/job/memory.usage_in_bytes": "1048576\n",
				"sys/fs/cgroup/memory/memory.limit_in_bytes": "9223372036854771712\n", "sys/fs/cgroup/memory/memory.usage_in_bytes": "1048576\n",
			},
			room: 1 << 20, of: "the control group /job", total: 2 << 20,
		},
		"a container that sees its own group only": {
			files: map[string]string{
				"proc/self/mountinfo":          "36 30 0:33 /docker/abc /sys/fs/cgroup rw - cgroup2 cgroup rw\n",
				"proc/self/cgroup":             "0::/docker/abc\n",
				"sys/fs/cgroup/memory.max":     "2097152\n",
				"sys/fs/cgroup/memory.current": "0\n",
			},
			room: 2 << 20, of: "the control group /", total: 2 << 20,
		},
		"a group outside of what is mounted": {
			files: map[string]string{
				"proc/self/mountinfo": mountV2, "proc/self/cgroup": "0::/../other\n",
				"sys/fs/cgroup/memory.max": "2097152\n", "sys/fs/cgroup/memory.current": "0\n",
			},
			room: 2 << 20, of: "the control group /", total: 2 << 20,
		},
		"a group that is over its limit has no room": {
			files: map[string]string{
				"proc/self/mountinfo": mountV2, "proc/self/cgroup": "0::/job\n",
				"sys/fs/cgroup/job/memory.max": "1048576\n", "sys/fs/cgroup/job/memory.current": "2097152\n",
			},
			room: 0, of: "the control group /job", total: 1 << 20,
		},
		"a system that does not say": {withoutMemory: true, room: math.MaxInt64, of: "this machine"},
		"lines that mean nothing": {
			files: map[string]string{"proc/self/mountinfo": "x\n - cgroup2\n", "proc/self/cgroup": "0\n:\n"},
			room:  4 << 20, of: "this machine", total: 8 << 20,
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			root := fstest.MapFS{}
			if !test.withoutMemory {
				root["proc/meminfo"] = &fstest.MapFile{Data: []byte(meminfo)}
			}
			for name, text := range test.files {
				root[name] = &fstest.MapFile{Data: []byte(text)}
			}
			s := system{root, "proc/self"}
			if got := s.available(); got != (Room{test.room, test.of}) {
				t.Errorf("available: %v, want %d bytes of %s", got, test.room, test.of)
			}
			if got := s.total(); got != test.total {
				t.Errorf("total: %d, want %d", got, test.total)
			}
		})
	}
}
