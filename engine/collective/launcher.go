package collective

import (
	"fmt"
	"os"
	"strconv"
)

// Place is where a launcher has put this process.
type Place struct {
	Launcher    string // such as "mpirun"
	Rank, World int
	Local       int // the number among those of this host, for choosing a device
}

// launchers are the variables of each launcher, the one first that others set too.
var launchers = []struct{ name, rank, world, local string }{
	{"mpirun", "OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE", "OMPI_COMM_WORLD_LOCAL_RANK"},
	{"mpiexec", "PMI_RANK", "PMI_SIZE", "MPI_LOCALRANKID"},
	{"torchrun", "RANK", "WORLD_SIZE", "LOCAL_RANK"},
	{"srun", "SLURM_PROCID", "SLURM_STEP_NUM_TASKS", "SLURM_LOCALID"},
}

// Launched returns the place that the environment gives this process, and false
// when no launcher has started more than one. Variables that contradict themselves
// are an error.
func Launched() (Place, bool, error) {
	for _, l := range launchers {
		if os.Getenv(l.rank) == "" || os.Getenv(l.world) == "" {
			continue
		}
		p := Place{Launcher: l.name}
		for at, name := range map[*int]string{&p.Rank: l.rank, &p.World: l.world, &p.Local: l.local} {
			v := os.Getenv(name)
			n, err := strconv.Atoi(v)
			if v == "" && name == l.local {
				continue
			}
			if err != nil || n < 0 {
				return Place{}, false, fmt.Errorf("%s=%s: want a number", name, v)
			}
			*at = n
		}
		if p.Rank >= p.World {
			return Place{}, false, fmt.Errorf("%s=%d and %s=%d: ranks are below the number of processes", l.rank, p.Rank, l.world, p.World)
		}
		return p, p.World > 1, nil
	}
	return Place{}, false, nil
}

// UnavailableError says that there is no MPI to meet by, and what to do.
type UnavailableError struct{ Err error }

func (e *UnavailableError) Error() string {
	return fmt.Sprintf("the processes of this run cannot meet: no MPI library is found (%v); install Open MPI or MPICH, such as by apt-get install openmpi-bin", e.Err)
}

func (e *UnavailableError) Unwrap() error { return e.Err }
