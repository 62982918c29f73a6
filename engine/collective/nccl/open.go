package nccl

import (
	"fmt"
	"time"

	"github.com/memtop/memtop/engine/collective"
	"github.com/memtop/memtop/engine/device/cuda"
)

// Options name the processes of a communicator.
type Options struct {
	Device     *cuda.Device // of this process, and of no other
	Rank, Size int
	// Host is the same processes for what lies on the host. The group closes it. Where it
	// is nil that goes through the device, whose work it then waits for.
	Host collective.Group
	// Share gives all processes the bytes that the first one has; nil is by Host.
	Share func([]byte) error
	// Library is the library; nil is that of the system.
	Library Library
}

// meetLimit is how long processes wait for those that do not come, as PyTorch does.
const meetLimit = 5 * time.Minute

// Open joins the processes. A [collective.UnavailableError] says that there is no
// library to meet by. The group is closed before the device, and fails that when one of
// the others has ended.
func Open(o Options) (collective.Group, error) {
	l := o.Library
	if l == nil {
		var err error
		if l, err = load(); err != nil {
			return nil, err
		}
	}
	if o.Share == nil {
		o.Share = func(id []byte) error { return o.Host.Broadcast(bytesArray(id), 0).Wait() }
	}
	g := newGroup(l, &o)
	met := make(chan error, 1)
	go func() { met <- g.device.Bind(func() error { return g.meet(o.Share) }) }()
	select {
	case err := <-met:
		if err != nil {
			return nil, err
		}
	case <-time.After(meetLimit):
		return nil, fmt.Errorf("rank %d waited %v for the %d others, and some did not come", g.rank, meetLimit, g.size-1)
	}
	if err := g.start(); err != nil {
		return nil, err
	}
	return g, nil
}

// unavailable is the error where no NCCL can be used.
func unavailable(err error) error {
	return &collective.UnavailableError{
		Library: "NCCL", Err: err,
		Remedy: "install libnccl2, or activate a Python environment that has PyTorch for CUDA, or give the folder of libnccl.so.2 in MEMTOP_CUDA_LIB_DIR",
	}
}
