package imitation_test

import (
	"bufio"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"testing"

	"github.com/memtop/memtop/cmd/testing/equal"
	"github.com/memtop/memtop/cmd/testing/fatal"
	"github.com/memtop/memtop/engine/device/cuda/imitation"
)

// secondVariable is set in the second process.
const secondVariable = "MEMTOP_TEST_SECOND"

// TestProcessesShareADevice has a second process take memory, which sees the device under another number, and ends it.
func TestProcessesShareADevice(t *testing.T) {
	if os.Getenv(secondVariable) != "" {
		allocate(t, 400*mebibyte)
		fmt.Println("left", left(t))
		_, _ = io.Copy(io.Discard, os.Stdin) // until it is ended
		return
	}
	if said, inside := onGPU(t, small); !inside {
		want := []imitation.Taken{{}, {Place: 1, Now: 900 * mebibyte, Most: 900 * mebibyte, Refused: 200 * mebibyte, Together: 964 * mebibyte, Sharing: 1}}
		equal.Values(t, "the result", want, said.Devices)
		return
	}
	want(t, "cudaSetDevice", function[func(int32) int32](t, "cudaSetDevice")(1), success)
	allocate(t, 300*mebibyte)
	second := exec.CommandContext(t.Context(), os.Args[0], "-test.v", "-test.run", "^TestProcessesShareADevice$") //nolint:gosec // it is this program
	second.Env = append(os.Environ(), secondVariable+"=1", "CUDA_VISIBLE_DEVICES=1")
	stdin, err := second.StdinPipe()
	stdout, failed := second.StdoutPipe()
	if err != nil || failed != nil || second.Start() != nil {
		t.Fatal(err, failed)
	}
	defer stdin.Close() // so that it ends
	lines := bufio.NewScanner(stdout)
	for lines.Scan() && !strings.HasPrefix(lines.Text(), "left") {
	}
	if got, want := lines.Text(), "left 196"; got != want { // of 1,024 less two contexts of 64
		t.Errorf("the second process has %q, not %q", got, want)
	}
	if left(t) != 196 {
		t.Errorf("%d MiB are left", left(t))
	}
	var none uintptr
	want(t, "cudaMalloc of more than both leave", function[func(*uintptr, uint64) int32](t, "cudaMalloc")(&none, 200*mebibyte), outOfMemory)
	if pids := processesOn(t, 1); len(pids) != 2 {
		t.Errorf("NVML lists %v", pids)
	}
	fatal.If(t, second.Process.Kill())
	for lines.Scan() { // until it is gone, though nobody has waited for it
	}
	if left(t) != 660 || len(processesOn(t, 1)) != 1 {
		t.Errorf("when it has ended %d MiB are left, and there are %v", left(t), processesOn(t, 1))
	}
	_ = second.Wait() // it was killed
	allocate(t, 600*mebibyte)
}

// processesOn returns the processes that NVML lists on a device.
func processesOn(t *testing.T, device uint32) (pids []uint32) {
	t.Helper()
	var handle uintptr
	want(t, "nvmlDeviceGetHandleByIndex_v2", function[func(uint32, *uintptr) int32](t, "nvmlDeviceGetHandleByIndex_v2")(device, &handle), success)
	type process struct {
		pid            uint32
		bytes          uint64
		instance, part uint32
	}
	list := make([]process, 8)
	count := uint32(8)
	ask := function[func(uintptr, *uint32, []process) int32](t, "nvmlDeviceGetComputeRunningProcesses_v3")
	want(t, "nvmlDeviceGetComputeRunningProcesses_v3", ask(handle, &count, list), success)
	for _, p := range list[:count] {
		pids = append(pids, p.pid)
	}
	return pids
}

// eight has 8 GiB in each of 8 GPUs that NVLink joins, of which CUDA's context takes 64 MiB.
const eight = "total=8589934592;context=67108864;devices=8;channels=24"

// TestNCCLTakesMemoryForItsConnections tests a rank of eight. After a first
// collective the rank has rings, and after a first all-to-all it has a connection
// with each of the other ranks.
func TestNCCLTakesMemoryForItsConnections(t *testing.T) {
	const rings, peers = 24 * 14 * mebibyte, 7 * 32 * 14 * mebibyte
	if said, inside := onGPU(t, eight); !inside {
		equal.Values(t, "the result", []imitation.Taken{{Most: rings + peers, Together: rings + peers + 64*mebibyte, Sharing: 1}}, said.Devices)
		if len(said.Modelled) != 1 {
			t.Errorf("modelled: %q", said.Modelled)
		}
		return
	}
	taken := connections(t, 8)
	for i, want := range []uint64{0, rings, rings, rings + peers, rings + peers} {
		if got := taken[i]; got != want {
			t.Errorf("after call %d it has %d MiB, not %d", i, got/mebibyte, want/mebibyte)
		}
	}
}

func TestNCCLTakesWhatItsSettingsLeave(t *testing.T) {
	const rings, peers = 2 * 12 * mebibyte, 7 * 2 * 12 * mebibyte
	if _, inside := onGPU(t, eight, "NCCL_MAX_NCHANNELS=2", "NCCL_BUFFSIZE=1048576"); !inside {
		return
	}
	if taken := connections(t, 8); taken[1] != rings || taken[3] != rings+peers {
		t.Errorf("it has %d and %d MiB", taken[1]/mebibyte, taken[3]/mebibyte)
	}
}

// connections returns the memory that the first device has lost after each of
// some calls of NCCL.
func connections(t *testing.T, ranks int32) (taken []uint64) {
	t.Helper()
	const bytes = 0 // the type
	free := func() uint64 {
		var free, total uint64
		want(t, "cudaMemGetInfo", function[func(*uint64, *uint64) int32](t, "cudaMemGetInfo")(&free, &total), success)
		return free
	}
	whole := free()
	communicators := make([]uintptr, ranks)
	want(t, "ncclCommInitAll", function[func(*uintptr, int32, *int32) int32](t, "ncclCommInitAll")(&communicators[0], ranks, nil), success)
	taken = append(taken, whole-free())
	reduce := function[func(from, to uintptr, count uint64, of, operation int32, c, stream uintptr) int32](t, "ncclAllReduce")
	exchange := function[func(from, to uintptr, count uint64, of int32, c, stream uintptr) int32](t, "ncclAlltoAll")
	for range 2 {
		want(t, "ncclAllReduce", reduce(0, 0, 0, bytes, 0, communicators[0], 0), success)
		taken = append(taken, whole-free())
	}
	for range 2 {
		want(t, "ncclAlltoAll", exchange(0, 0, 0, bytes, communicators[0], 0), success)
		taken = append(taken, whole-free())
	}
	want(t, "ncclCommDestroy", function[func(uintptr) int32](t, "ncclCommDestroy")(communicators[0]), success)
	if free() != whole {
		t.Errorf("%d MiB are lost", (whole-free())/mebibyte)
	}
	return taken
}
