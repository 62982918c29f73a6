package collective

import (
	"errors"
	"fmt"
)

// Open joins the processes that a launcher has started, and returns nil where there
// is no other. An [UnavailableError] says that there is nothing to meet by.
func Open() (Group, error) {
	place, many, err := Launched()
	if err != nil || !many {
		return nil, err
	}
	l, err := loadMPI(place.Launcher)
	if err != nil {
		return nil, err
	}
	m, err := openMPI(l)
	if err != nil {
		return nil, err
	}
	if m.size != place.World {
		return nil, errors.Join(m.Close(), fmt.Errorf("%s has started %d processes, but MPI knows %d: start them by the mpirun of the MPI that is installed", place.Launcher, place.World, m.size))
	}
	return m, nil
}

// UnavailableError says that there is no MPI to meet by, and what to do.
type UnavailableError struct{ Err error }

func (e *UnavailableError) Error() string {
	return fmt.Sprintf("the processes of this run cannot meet: no MPI library is found (%v); install Open MPI or MPICH, such as by apt-get install openmpi-bin", e.Err)
}

func (e *UnavailableError) Unwrap() error { return e.Err }
