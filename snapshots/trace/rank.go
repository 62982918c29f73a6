package trace

// Rank is the place of a program among the programs that one launcher, such as
// mpirun, torchrun or srun, started together.
type Rank struct {
	// Job is the same text in all programs of a job, on all machines, and a
	// different text in every other job; "" if the launcher gives no such name.
	Job      string `json:"job,omitempty"`
	Rank     int    `json:"rank"`  // from 0 on
	World    int    `json:"world"` // how many there are
	Local    int    `json:"local"` // the number among the programs of one machine
	Launcher string `json:"launcher,omitempty"`
	// Together says that the programs agree on settings by themselves. If a user
	// asks one program for a change, all of them make it at the same step, or
	// none does.
	Together bool `json:"together,omitempty"`
}

// maxWorld is how many programs one job may have. It bounds the memory that a
// reader takes for the number that a program claims.
const maxWorld = 1 << 20

// Valid reports whether the numbers make sense.
func (r *Rank) Valid() bool {
	return r.Rank >= 0 && r.Local >= 0 && r.Rank < r.World && r.Local < r.World && r.World <= maxWorld
}

// Printable returns the same rank with printable texts.
func (r *Rank) Printable() *Rank {
	if r == nil {
		return nil
	}
	shown := *r
	shown.Job, shown.Launcher = Printable(r.Job), Printable(r.Launcher)
	return &shown
}
