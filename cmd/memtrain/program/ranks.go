package program

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"time"

	"memtop/cmd/command"
	"memtop/engine/collective"
	"memtop/engine/device/cpu"
	"memtop/engine/train"
	"memtop/snapshots/trace"
)

// The values of --ranks.
const (
	ranksAuto = "auto"
	ranksOff  = "off"
)

// joinRanks finds the other processes of the run, if a launcher has started some.
func (s *session) joinRanks() (err error) {
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
	s.group, err = s.reach.Group()
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

// placed returns where viewers see this process. A job that the launcher has given no
// name has one of its first process.
func (s *session) placed() (*trace.Rank, error) {
	place, _, err := collective.Launched()
	if err != nil {
		return nil, err
	}
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

// checkRanks refuses what several processes cannot do.
func (s *session) checkRanks() error {
	if s.group == nil {
		return nil
	}
	if _, isCPU := s.machine.(*cpu.Device); !isCPU {
		return machineError{fmt.Sprintf("%d processes cannot train on %s", s.world(), s.machine.Name()), "give --device cpu:0, or --ranks off"}
	}
	return nil
}

// world is how many processes train together, rank which of them this one is.
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

// share is how many samples of a step this process takes.
func (o *options) share() int { return o.batch / o.world() }

// spoken returns where this process prints what the first of the run says for all.
func (o *options) spoken(out *command.Output) *command.Output {
	if o.rank() > 0 {
		return command.NewOutput(io.Discard)
	}
	return out
}

// ofRank returns the file of this process of several that are given the same name:
// run.pickle, run-rank1.pickle and so on.
func (o *options) ofRank(path string) string {
	if o.rank() == 0 || path == "" {
		return path
	}
	extension := filepath.Ext(path)
	return fmt.Sprintf("%s-rank%d%s", strings.TrimSuffix(path, extension), o.rank(), extension)
}

// ends returns what ends training: the context, but among several processes only
// where all have heard of it.
func (s *session) ends(ctx context.Context) (steps context.Context, ended func() bool) {
	if s.group == nil {
		return ctx, func() bool { return ctx.Err() != nil }
	}
	return context.WithoutCancel(ctx), func() bool { return s.trainer.Ends() }
}

// leave ends the group of a run that went well. A process that failed leaves it to the
// launcher to end the others: they wait for it.
func (s *session) leave() error {
	if s.group == nil {
		return nil
	}
	return s.group.Close()
}

// rankObject is what --json prints of a process.
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
