package hostmemory

import (
	"testing"
	"testing/fstest"

	"github.com/google/go-cmp/cmp"
)

// What the kernel's documentation says of both versions of control groups.
const (
	statV1 = "cache 3145728\nrss 9\nshmem 9\ntotal_cache 3145728\ntotal_rss 5242880\ntotal_shmem 1048576\n"
	statV2 = "anon 5242880\nfile 3145728\nkernel 524288\nkernel_stack 65536\nsock 262144\nshmem 1048576\nslab 131072\n"
	// earlier is of Linux before 5.18.
	earlier = "anon 5242880\nfile 3145728\nkernel_stack 131072\npagetables 131072\nsock 262144\nshmem 1048576\nslab 262144\n"
)

func files(texts map[string]string) system {
	root := fstest.MapFS{"proc/meminfo": {Data: []byte(meminfo)}}
	for name, text := range texts {
		root[name] = &fstest.MapFile{Data: []byte(text)}
	}
	return system{root, "proc/7"}
}

func TestAGroupIsDividedAsTheKernelChargesIt(t *testing.T) {
	want := Charge{Bytes: 9568256, Anonymous: 5 << 20, Files: 2 << 20, Shared: 1 << 20, Kernel: 786432, Processes: []int{7, 1}}
	for name, texts := range map[string]map[string]string{
		"version 1": {
			"proc/7/mountinfo": mountV1, "proc/7/cgroup": "4:memory:/job\n",
			"sys/fs/cgroup/memory/job/memory.limit_in_bytes": "9223372036854771712\n", "sys/fs/cgroup/memory/job/memory.usage_in_bytes": "9568256\n",
			"sys/fs/cgroup/memory/job/memory.kmem.usage_in_bytes": "786432\n",
			"sys/fs/cgroup/memory/job/memory.stat":                statV1, "sys/fs/cgroup/memory/job/cgroup.procs": "7\n1\n",
		},
		"version 2": {
			"proc/7/mountinfo": mountV2, "proc/7/cgroup": "0::/job\n",
			"sys/fs/cgroup/job/memory.max": "max\n", "sys/fs/cgroup/job/memory.current": "9568256\n",
			"sys/fs/cgroup/job/memory.stat": statV2, "sys/fs/cgroup/job/cgroup.procs": "7\n1\n",
		},
		"version 2 before Linux 5.18, in a group that does not account for memory": {
			"proc/7/mountinfo": mountV2, "proc/7/cgroup": "0::/job/part\n", "sys/fs/cgroup/job/part/cgroup.procs": "8\n",
			"sys/fs/cgroup/job/memory.max": "max\n", "sys/fs/cgroup/job/memory.current": "9568256\n",
			"sys/fs/cgroup/job/memory.stat": earlier, "sys/fs/cgroup/job/cgroup.procs": "7\n1\n",
		},
	} {
		t.Run(name, func(t *testing.T) {
			got, ok := files(texts).charge()
			if diff := cmp.Diff(want, got); diff != "" || !ok {
				t.Errorf("known: %t (-want +got):\n%s", ok, diff)
			}
		})
	}
	if got, ok := files(nil).charge(); ok {
		t.Errorf("without a group it is charged %v", got)
	}
}

func TestTheNearestLimitCountsIfItIsBelowTheMachinesMemory(t *testing.T) {
	texts := map[string]string{
		"proc/7/mountinfo": mountV2, "proc/7/cgroup": "0::/pod/job\n",
		"sys/fs/cgroup/pod/job/memory.max": "3145728\n", "sys/fs/cgroup/pod/job/memory.current": "2097152\n",
		"sys/fs/cgroup/pod/job/memory.stat":   "inactive_file 524288\nactive_file 524288\n",
		"sys/fs/cgroup/pod/job/memory.events": "oom 5\noom_kill 3\n", "sys/fs/cgroup/pod/memory.events": "oom_kill 9\n",
		"sys/fs/cgroup/pod/memory.max": "99999999999\n", "sys/fs/cgroup/pod/memory.current": "99999999998\n",
	}
	if got, want := files(texts).nearest(), (Limit{3 << 20, 1 << 20, 3}); got != want {
		t.Errorf("got %v, want %v", got, want)
	}
	texts["sys/fs/cgroup/pod/memory.max"] = "4194304\n"
	texts["sys/fs/cgroup/pod/memory.current"] = "4000000\n"
	if got, want := files(texts).nearest(), (Limit{4 << 20, 4000000, 3}); got != want {
		t.Errorf("with a group around it: %v, want %v", got, want)
	}
	if got := files(nil).nearest(); got != (Limit{}) {
		t.Errorf("without a group: %v", got)
	}
}

func TestTheMachinesMemoryIsInBytes(t *testing.T) {
	if total, available := files(nil).machine(); total != 8<<20 || available != 4<<20 {
		t.Errorf("%d bytes, %d available, want 8 and 4 MiB", total, available)
	}
}
