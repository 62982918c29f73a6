package nccl

import (
	"unsafe"

	"github.com/memtop/memtop/engine/collective"
	"github.com/memtop/memtop/engine/device"
)

// staged is a group for what lies on the host, by way of the device's memory. Its
// operations are done when the call returns.
type staged struct{ *group }

// stagingBytes is how much goes through the device at a time.
const stagingBytes = 1 << 20

// pieces does an operation on arrays of so many elements in pieces, each of which has
// that many parts in the staging memory.
func (s staged) pieces(like device.Array, parts int, f func(from, n int, at device.Array) error) collective.Pending {
	most := stagingBytes / int(like.DType.Size()) / parts
	for from := 0; from < like.Len; from += most {
		n := min(most, like.Len-from)
		if err := f(from, n, device.ArrayOf(s.staging, like.DType, n*parts)); err != nil {
			return done{err}
		}
	}
	return done{}
}

// AllReduce implements collective.Group.
func (s staged) AllReduce(a device.Array) collective.Pending {
	return s.pieces(a, 1, func(from, n int, at device.Array) error {
		s.up(at, a.Slice(from, n))
		return s.down(s.group.AllReduce(at), a.Slice(from, n), at)
	})
}

// ReduceScatter implements collective.Group.
func (s staged) ReduceScatter(dst, src device.Array) collective.Pending {
	return s.pieces(dst, s.size, func(from, n int, at device.Array) error {
		for rank := range s.size {
			s.up(at.Slice(rank*n, n), src.Slice(rank*dst.Len+from, n))
		}
		own := at.Slice(s.rank*n, n)
		return s.down(s.group.ReduceScatter(own, at), dst.Slice(from, n), own)
	})
}

// AllGather implements collective.Group.
func (s staged) AllGather(dst, src device.Array) collective.Pending {
	return s.pieces(src, s.size, func(from, n int, at device.Array) error {
		own := at.Slice(s.rank*n, n)
		s.up(own, src.Slice(from, n))
		gathered := s.group.AllGather(at, own)
		for rank := range s.size {
			if err := s.down(gathered, dst.Slice(rank*src.Len+from, n), at.Slice(rank*n, n)); err != nil {
				return err
			}
		}
		return nil
	})
}

// Broadcast implements collective.Group.
func (s staged) Broadcast(a device.Array, root int) collective.Pending {
	return s.pieces(a, 1, func(from, n int, at device.Array) error {
		s.up(at, a.Slice(from, n))
		return s.down(s.group.Broadcast(at, root), a.Slice(from, n), at)
	})
}

// Host implements collective.Group.
func (s staged) Host() collective.Group { return s }

// up queues a copy to the device.
func (s staged) up(to, from device.Array) { s.device.Upload(to.Buffer(), hostBytes(from)) }

// down waits for an operation and a copy to the host.
func (s staged) down(after collective.Pending, to, from device.Array) error {
	if err := after.Wait(); err != nil {
		return err
	}
	return s.device.Download(hostBytes(to), from.Buffer())
}

// hostBytes returns the memory of an array on the host.
func hostBytes(a device.Array) []byte {
	return bytesOf(*(**byte)(unsafe.Pointer(&a.Addr)), int(a.Buffer().Bytes))
}

func bytesOf[T any](at *T, n int) []byte { return unsafe.Slice((*byte)(unsafe.Pointer(at)), n) }

// bytesArray returns bytes of the host as an array.
func bytesArray(b []byte) device.Array {
	return device.Array{Addr: addressOf(b), Len: len(b), DType: device.UInt8}
}

// addressOf returns where a slice lies, which must be on the heap or be kept by the
// caller.
func addressOf[T any](s []T) uint64 { return uint64(uintptr(unsafe.Pointer(&s[0]))) }
