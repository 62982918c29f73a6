package imitation_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/memtop/memtop/engine/device/cuda/imitation"
)

// eight has 8 GiB in each of 8 GPUs that NVLink joins, of which CUDA's context takes 64 MiB.
const eight = "total=8589934592;context=67108864;devices=8;channels=24"

// TestNCCLTakesMemoryForItsConnections tests a rank of eight. After a first
// collective the rank has rings, and after a first all-to-all it has a connection
// with each of the other ranks.
func TestNCCLTakesMemoryForItsConnections(t *testing.T) {
	const rings, peers = 24 * 14 * mebibyte, 7 * 32 * 14 * mebibyte
	if said, inside := onGPU(t, eight); !inside {
		if diff := cmp.Diff([]imitation.Taken{{Most: rings + peers, Together: rings + peers + 64*mebibyte, Sharing: 1}}, said.Devices); diff != "" {
			t.Error(diff)
		}
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
