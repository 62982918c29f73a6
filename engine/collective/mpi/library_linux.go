package mpi

import (
	"runtime"
	"slices"

	"github.com/ebitengine/purego"

	"github.com/memtop/memtop/engine/device"
)

// The libraries: Open MPI 4 and 5; MPICH and those that share its interface.
var (
	openMPINames = []string{"libmpi.so.40"}
	mpichNames   = []string{"libmpich.so.12", "libmpi.so.12"}
)

// mpiNames returns the libraries in the order of preference: the processes that one
// make's launcher has started meet by no other make.
func mpiNames(launcher string) []string {
	if launcher == "mpiexec" {
		return slices.Concat(mpichNames, openMPINames)
	}
	return slices.Concat(openMPINames, mpichNames)
}

// shared is an MPI library of the system.
type shared struct {
	handle uintptr
	fn     [entryCount]uintptr
	is     constants
}

func (s *shared) call(e entry, args ...uintptr) int32 {
	r, _, _ := purego.SyscallN(s.fn[e], args...)
	return int32(r)
}

func (s *shared) constants() constants { return s.is }

func (*shared) callback(f func(in, sum, n uintptr)) uintptr {
	return purego.NewCallback(func(in, sum, n, _ uintptr) uintptr {
		f(in, sum, n)
		return 0
	})
}

// loadMPI loads the first library that is found.
func loadMPI(launcher string) (library, error) {
	runtime.LockOSThread() // the loader keeps its reasons by thread
	defer runtime.UnlockOSThread()
	var first error
	for _, name := range mpiNames(launcher) {
		handle, err := purego.Dlopen(name, purego.RTLD_NOW|purego.RTLD_GLOBAL)
		if err == nil {
			return bind(handle)
		}
		if first == nil {
			first = err
		}
	}
	return nil, unavailable(first)
}

// bind finds the functions and constants of a library.
func bind(handle uintptr) (library, error) {
	s := &shared{handle: handle}
	for e, name := range entryNames {
		fn, err := purego.Dlsym(handle, name)
		if err != nil {
			return nil, unavailable(err)
		}
		s.fn[e] = fn
	}
	if _, err := purego.Dlsym(handle, "ompi_mpi_comm_world"); err != nil {
		s.is = mpich()
		return s, nil
	}
	return s, s.bindOpenMPI()
}

// mpich returns the constants of MPICH's common interface, which Intel's and Cray's
// libraries have too (MPICH ABI Compatibility Initiative).
func mpich() constants {
	return constants{
		world: 0x44000000, sum: 0x58000003, inPlace: ^uintptr(0), errorsReturn: 0x54000001, bytes: 0x4c00010d,
		types: map[device.DType]uintptr{
			device.Float32: 0x4c00040a, device.Float64: 0x4c00080b, device.Float16: 0x4c00023c, device.BFloat16: 0x4c00023c,
		},
	}
}

// bindOpenMPI finds Open MPI's constants, which are addresses of objects.
func (s *shared) bindOpenMPI() error {
	s.is = constants{inPlace: 1}
	var single, double, half uintptr
	for name, at := range map[string]*uintptr{
		"ompi_mpi_comm_world": &s.is.world, "ompi_mpi_op_sum": &s.is.sum, "ompi_mpi_errors_return": &s.is.errorsReturn,
		"ompi_mpi_byte": &s.is.bytes, "ompi_mpi_float": &single, "ompi_mpi_double": &double,
		"ompi_mpi_uint16_t": &half,
	} {
		var err error
		if *at, err = purego.Dlsym(s.handle, name); err != nil {
			return unavailable(err)
		}
	}
	s.is.types = map[device.DType]uintptr{device.Float32: single, device.Float64: double, device.Float16: half, device.BFloat16: half}
	return keepSignals()
}

// The variable of Open MPI that lists the signals it handles, and an empty list: C's
// strings, where nothing moves.
var (
	signalVariable = []byte("OMPI_MCA_opal_signal\x00")
	noSignals      byte
)

// keepSignals asks Open MPI for no signal handlers: Go has its own, and a handler that
// was not made for its stacks ends the process.
func keepSignals() error {
	set, err := purego.Dlsym(purego.RTLD_DEFAULT, "setenv")
	if err != nil {
		return err
	}
	const overwrite = 1
	purego.SyscallN(set, address(&signalVariable[0]), address(&noSignals), overwrite)
	return nil
}
