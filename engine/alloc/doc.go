// Package alloc is PyTorch's CUDA caching allocator, byte for byte, over a
// small [Driver]: the same requests in the same order give the same addresses,
// the same events and the same statistics.
//
// # The rules
//
// Memory is obtained from the driver in segments and never given back on a
// free: it is cached. A segment belongs to one stream and to one of two pools,
// for small requests (up to 1 MiB after rounding) and for large ones. It is
// cut into blocks; neighbours that are free are joined again.
//
// A request is rounded up to 512 bytes. It takes the smallest free block of its
// pool and stream that is large enough, at the lowest address among equals, and
// gives back what it does not need when that is worth keeping: at least 512
// bytes in the small pool, more than 1 MiB in the large one. Where there is no
// such block, a segment is asked of the driver: 2 MiB for a small request, 20
// MiB for one under 10 MiB, else the request rounded up to 2 MiB.
//
// When the driver has no more, whole cached segments are given back, in two
// degrees, and the request is tried again; then it is an [OOMError].
//
// A block that another stream has used ([Allocator.RecordStream]) is pending
// when it is freed: it comes back when the events recorded on those streams
// have happened, which is looked at on every request.
//
// The settings of PYTORCH_CUDA_ALLOC_CONF change the details, see
// [Allocator.Configure].
//
// # What is ours
//
// Every block has a [Tag] that says exactly what it is for, and may be given
// another ([Allocator.Retag]). Bytes are counted by [Category] so that reserved
// memory is always the sum of its parts, see [Breakdown]. What happens is kept
// in a bounded history and sent to a [trace.Recorder], and the state at any
// moment is a [trace.Trace] that package pytorch writes as PyTorch's pickle.
//
// The package knows no device and no tensor. It imports package trace and the
// standard library.
package alloc
