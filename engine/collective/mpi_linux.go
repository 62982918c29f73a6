package collective

import (
	"fmt"
	"runtime"

	"github.com/ebitengine/purego"

	"memtop/engine/device"
)

// UnavailableError says that there is no MPI to meet by, and what to do.
type UnavailableError struct{ Err error }

func (e *UnavailableError) Error() string {
	return fmt.Sprintf("the processes of this run cannot meet: no MPI library is found (%v); install Open MPI or MPICH, such as by apt-get install openmpi-bin", e.Err)
}

func (e *UnavailableError) Unwrap() error { return e.Err }

// mpiNames are the libraries, in the order of preference: Open MPI 4 and 5, MPICH and
// those that share its interface.
var mpiNames = []string{"libmpi.so.40", "libmpi.so.12", "libmpich.so.12", "libmpi.so"}

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

// loadMPI loads the first library that is found.
func loadMPI() (library, error) {
	runtime.LockOSThread() // the loader keeps its reasons by thread
	defer runtime.UnlockOSThread()
	var first error
	for _, name := range mpiNames {
		handle, err := purego.Dlopen(name, purego.RTLD_NOW|purego.RTLD_GLOBAL)
		if err == nil {
			return bind(handle)
		}
		if first == nil {
			first = err
		}
	}
	return nil, &UnavailableError{first}
}

// bind finds the functions and constants of a library.
func bind(handle uintptr) (library, error) {
	s := &shared{handle: handle}
	for e, name := range entryNames {
		fn, err := purego.Dlsym(handle, name)
		if err != nil {
			return nil, &UnavailableError{err}
		}
		s.fn[e] = fn
	}
	if _, err := purego.Dlsym(handle, "ompi_mpi_comm_world"); err != nil {
		s.is = mpich
		return s, nil
	}
	return s, s.bindOpenMPI()
}

// mpich are the constants of MPICH's common interface, which Intel's and Cray's
// libraries have too (MPICH ABI Compatibility Initiative).
var mpich = constants{
	world: 0x44000000, sum: 0x58000003, inPlace: ^uintptr(0), errorsReturn: 0x54000001, bytes: 0x4c00010d,
	types: map[device.DType]uintptr{device.Float32: 0x4c00040a, device.Float64: 0x4c00080b},
}

// bindOpenMPI finds Open MPI's constants, which are addresses of objects.
func (s *shared) bindOpenMPI() error {
	s.is = constants{inPlace: 1, types: make(map[device.DType]uintptr)}
	var single, double uintptr
	for name, at := range map[string]*uintptr{
		"ompi_mpi_comm_world": &s.is.world, "ompi_mpi_op_sum": &s.is.sum, "ompi_mpi_errors_return": &s.is.errorsReturn,
		"ompi_mpi_byte": &s.is.bytes, "ompi_mpi_float": &single, "ompi_mpi_double": &double,
	} {
		var err error
		if *at, err = purego.Dlsym(s.handle, name); err != nil {
			return &UnavailableError{err}
		}
	}
	s.is.types[device.Float32], s.is.types[device.Float64] = single, double
	return keepSignals()
}

// keepSignals asks Open MPI for no signal handlers: Go has its own, and a handler that
// was not made for its stacks ends the process.
func keepSignals() error {
	set, err := purego.Dlsym(purego.RTLD_DEFAULT, "setenv")
	if err != nil {
		return err
	}
	name, value := []byte("OMPI_MCA_opal_signal\x00"), []byte("\x00")
	const overwrite = 1
	purego.SyscallN(set, addressOf(name), addressOf(value), overwrite)
	runtime.KeepAlive([2][]byte{name, value})
	return nil
}
