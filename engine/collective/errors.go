package collective

import "fmt"

// UnavailableError says that the library that connects the processes is missing,
// and what to do.
type UnavailableError struct {
	Library string // such as "MPI"
	Err     error  // why it was not loaded
	Remedy  string
}

func (e *UnavailableError) Error() string {
	return fmt.Sprintf("the processes of this run cannot meet: no %s library is found (%v); %s", e.Library, e.Err, e.Remedy)
}

func (e *UnavailableError) Unwrap() error { return e.Err }

// ApartError says that a launcher has started more processes than MPI connects.
type ApartError struct {
	Launcher      string
	Started, Meet int // processes
}

func (e *ApartError) Error() string {
	return fmt.Sprintf("%s has started %d processes, and MPI knows %d of them", e.Launcher, e.Started, e.Meet)
}

// Remedy says what to do.
func (e *ApartError) Remedy() string {
	remedy := "start them by the mpirun of the MPI that is installed"
	if e.Launcher == "srun" {
		remedy = "start them by srun --mpi=pmix, or another that srun --mpi=list names"
	}
	return remedy + ", or train alone with --ranks off"
}

// LostError names the process that ended while the others still needed it.
type LostError struct{ Rank, PID int }

func (e *LostError) Error() string {
	return fmt.Sprintf("rank %d (process %d) has ended, and the others cannot go on without it", e.Rank, e.PID)
}
