package trace

// Rank is the place of a program among those that one launcher started together, as
// mpirun, torchrun and srun do.
type Rank struct {
	// Job is the same text in all programs that belong together, on all machines, and
	// another one in every other job; "" where the launcher gives no such name.
	Job      string `json:"job,omitempty"`
	Rank     int    `json:"rank"`  // from 0 on
	World    int    `json:"world"` // how many there are
	Local    int    `json:"local"` // the number among those of one machine
	Launcher string `json:"launcher,omitempty"`
	// Together says that the programs agree on settings by themselves: a change that
	// one is asked for is made in all of them, at the same step, or in none.
	Together bool `json:"together,omitempty"`
}

// maxWorld is how many programs one job may have, so that what a program says of
// itself cannot make a reader take memory for more.
const maxWorld = 1 << 20

// Valid reports whether the numbers make sense.
func (r *Rank) Valid() bool {
	return r.Rank >= 0 && r.Local >= 0 && r.Rank < r.World && r.Local < r.World && r.World <= maxWorld
}

// Printable returns the same rank with texts that can be shown.
func (r *Rank) Printable() *Rank {
	if r == nil {
		return nil
	}
	shown := *r
	shown.Job, shown.Launcher = Printable(r.Job), Printable(r.Launcher)
	return &shown
}
