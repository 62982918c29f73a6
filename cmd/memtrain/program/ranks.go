package program

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/memtop/memtop/cmd/command"
	"github.com/memtop/memtop/engine/collective"
	"github.com/memtop/memtop/engine/train"
	"github.com/memtop/memtop/snapshots/launcher"
	"github.com/memtop/memtop/snapshots/trace"
)

// The values of --ranks.
const (
	ranksAuto = "auto"
	ranksOff  = "off"
)

// findPlace finds the rank of this process if a launcher has started several.
func (s *session) findPlace() error {
	switch s.ranks {
	case ranksOff:
		return nil
	case ranksAuto:
	default:
		return usagef("--ranks %s: want %s or %s", s.ranks, ranksAuto, ranksOff)
	}
	if s.reach.Group == nil {
		return nil
	}
	place, many, err := launcher.Launched(os.Getenv)
	if many {
		s.launched = place
	}
	return err
}

// joinRanks meets the other processes of the run.
func (s *session) joinRanks() (err error) {
	if s.launched.World == 0 {
		return nil
	}
	s.group, err = s.meet()
	if none := new(collective.UnavailableError); errors.As(err, &none) {
		return machineError{none.Error(), "or train alone with --ranks off"}
	}
	if apart := new(collective.ApartError); errors.As(err, &apart) {
		return machineError{apart.Error(), apart.Remedy()}
	}
	if err != nil || s.group == nil {
		return err
	}
	if s.place, err = s.placed(); err != nil {
		return err
	}
	if s.batch%s.world() != 0 {
		return usagef("--batch %d over %d processes: want a multiple of that", s.batch, s.world())
	}
	return nil
}

// jobBytes is the most that a job's name takes.
const jobBytes = 256

// placed returns the rank under which viewers see this process. If the launcher
// gives the job no name, the first process makes one.
func (s *session) placed() (*trace.Rank, error) {
	place := s.launched
	if place.Job == "" {
		host, _ := os.Hostname() // one without a name has its pid still
		name, err := collective.Text(s.group, fmt.Appendf(nil, "%s.%d.%d", host, os.Getpid(), time.Now().Unix()), 0, jobBytes)
		if err != nil {
			return nil, err
		}
		place.Job = string(name)
	}
	return &trace.Rank{Job: place.Job, Rank: s.rank(), World: s.world(), Local: place.Local, Launcher: place.Launcher, Together: true}, nil
}

// meet joins the processes through their launcher's library, and processes with
// GPUs through the library that sums on GPUs. torchrun provides only a store.
func (s *session) meet() (collective.Group, error) {
	var host collective.Group
	if !s.onGPU() || s.launched.Launcher != launcher.Torchrun {
		var err error
		if host, err = s.reach.Group(); err != nil || host == nil {
			return nil, err
		}
		if err := s.checkKinds(host); err != nil {
			return nil, err
		}
	}
	switch {
	case !s.onGPU():
		return host, nil
	case s.reach.GPUGroup == nil:
		return nil, machineError{fmt.Sprintf("%d processes cannot train on %s with this program", s.launched.World, s.machine.Name()), "give --device cpu:0, or --ranks off"}
	}
	return s.reach.GPUGroup(s.machine, s.launched, host)
}

// checkKinds fails when some processes have a GPU and others have none.
func (s *session) checkKinds(g collective.Group) error {
	const processor, gpu = 0, 1
	own := float64(processor)
	if s.onGPU() {
		own = gpu
	}
	kinds, err := collective.Each(g, own)
	if err != nil || slices.Min(kinds) == slices.Max(kinds) {
		return err
	}
	return machineError{
		fmt.Sprintf("rank %d has no GPU of its own and rank %d has one", slices.Index(kinds, processor), slices.Index(kinds, gpu)),
		"start as many processes as there are GPUs, or give --device cpu:0",
	}
}

// world returns how many processes train together; rank is the number of this
// one.
func (o *options) world() int {
	if o.group == nil {
		return 1
	}
	return o.group.Size()
}

func (o *options) rank() int {
	if o.group == nil {
		return 0
	}
	return o.group.Rank()
}

// share returns how many samples of a step this process takes.
func (o *options) share() int { return o.batch / o.world() }

// spoken returns the output for lines that the first process prints for all.
func (o *options) spoken(out *command.Output) *command.Output {
	if o.rank() > 0 {
		return command.NewOutput(io.Discard)
	}
	return out
}

// ofRank returns this process's own file name if several processes get the same
// one: run.pickle, run-rank1.pickle and so on.
func (o *options) ofRank(path string) string {
	if o.rank() == 0 || path == "" {
		return path
	}
	extension := filepath.Ext(path)
	return fmt.Sprintf("%s-rank%d%s", strings.TrimSuffix(path, extension), o.rank(), extension)
}

// ends returns the context that ends training. With several processes, training
// ends only when all have learned of the signal.
func (s *session) ends(ctx context.Context) (steps context.Context, ended func() bool) {
	if s.group == nil {
		return ctx, func() bool { return ctx.Err() != nil }
	}
	return context.WithoutCancel(ctx), func() bool { return s.trainer.Ends() }
}

// leave ends the group of a run that ended with err: nil, or a signal that all
// processes have learned of. After another failure the other processes wait for
// this one, and the launcher must end them.
func (s *session) leave(err error) error {
	if s.group == nil || err != nil && !errors.Is(err, context.Canceled) {
		return err
	}
	return errors.Join(err, s.group.Close())
}

// rankObject is a process in the output of --json.
type rankObject struct {
	Rank             int              `json:"rank"`
	PID              int              `json:"pid"`
	PeakAllocated    int64            `json:"peak_allocated_bytes"`
	CategoriesAtPeak map[string]int64 `json:"categories_at_peak"`
}

func rankObjects(list []train.Rank) []rankObject {
	var objects []rankObject
	for _, r := range list {
		objects = append(objects, rankObject{r.Rank, r.PID, r.PeakAllocated, byName(r.AtPeak)})
	}
	return objects
}
