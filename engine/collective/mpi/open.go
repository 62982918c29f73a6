// Package mpi connects the processes of a run through MPI: Open MPI, or MPICH and
// the libraries that share its interface. It calls them through purego. A program
// that trains links it; one that only looks does not, since what loads libraries
// cannot be static.
package mpi

import (
	"os"

	"github.com/memtop/memtop/engine/collective"
	"github.com/memtop/memtop/snapshots/launcher"
)

// Open joins the processes that a launcher has started, and returns nil where there
// is no other. An [collective.UnavailableError] says that there is nothing to meet by.
func Open() (collective.Group, error) {
	place, many, err := launcher.Launched(os.Getenv)
	if err != nil || !many {
		return nil, err
	}
	l, err := loadMPI(place.Launcher)
	if err != nil {
		return nil, err
	}
	m, err := join(l)
	if err != nil {
		return nil, err
	}
	if m.size != place.World { // the library is left as it is: to end it would wait for the others
		return nil, &collective.ApartError{Launcher: place.Launcher, Started: place.World, Meet: m.size}
	}
	return m, nil
}

// unavailable is the error where no MPI can be used.
func unavailable(err error) error {
	return &collective.UnavailableError{Library: "MPI", Err: err, Remedy: "install Open MPI or MPICH, such as by apt-get install openmpi-bin"}
}
