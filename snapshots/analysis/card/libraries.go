package card

import (
	"strings"

	"github.com/memtop/memtop/snapshots/trace"
)

// ncclName is what NCCL is called.
const ncclName = "NCCL"

// known are libraries by the begin of their files' names, the longer ones first.
var known = []struct{ file, name string }{
	{"libcublas", "cuBLAS"},
	{"libcudnn", "cuDNN"},
	{"libnccl", ncclName},
	{"libnvshmem", "NVSHMEM"},
	{"libcusparse", "cuSPARSE"},
	{"libcusolver", "cuSOLVER"},
	{"libcufft", "cuFFT"},
	{"libcurand", "cuRAND"},
	{"libcudart", "CUDA's runtime"},
	{"libtorch", "PyTorch, beside its allocator"},
	{allocator, "PyTorch, beside its allocator"},
	{"libffi", "Python's ctypes"},
}

// allocator begins the name of the library with PyTorch's allocator.
const allocator = "libc10_cuda"

// libraryName names a library for people.
func libraryName(file string) string {
	for _, k := range known {
		if strings.HasPrefix(file, k.file) {
			return k.name
		}
	}
	if file == "" {
		return "code in no library"
	}
	return trace.Printable(file)
}

// ofPyTorch returns how much of what a library took is in PyTorch's segments. What
// PyTorch's own allocator took is, by definition.
func ofPyTorch(t *trace.Taken) int64 {
	switch {
	case !onDevice(t):
		return 0
	case strings.HasPrefix(t.Library, allocator):
		return t.Bytes
	}
	return t.Inside
}

// onDevice reports whether the memory is the device's for certain.
func onDevice(t *trace.Taken) bool {
	return t.Kind == trace.TakenDevice || t.Kind == trace.TakenPooled || t.Kind == trace.TakenCreated
}
