package train

import (
	"fmt"
	"strings"
	"sync"
	"testing"

	"github.com/memtop/memtop/cmd/testing/collectivetest"
	"github.com/memtop/memtop/cmd/testing/equal"
	"github.com/memtop/memtop/engine/collective"
	"github.com/memtop/memtop/engine/data"
	"github.com/memtop/memtop/engine/device"
	"github.com/memtop/memtop/engine/nn"
	"github.com/memtop/memtop/snapshots/trace"
)

// halting is a group with a member that stalls before one of its operations.
type halting struct {
	collective.Group
	called int            // operations
	at     func(call int) // before each
}

func (h *halting) next() { h.called++; h.at(h.called) }

func (h *halting) Host() collective.Group { return h }

func (h *halting) AllReduce(a device.Array) collective.Pending {
	h.next()
	return h.Group.AllReduce(a)
}

func (h *halting) AllGather(dst, src device.Array) collective.Pending {
	h.next()
	return h.Group.AllGather(dst, src)
}

func (h *halting) Broadcast(a device.Array, root int) collective.Pending {
	h.next()
	return h.Group.Broadcast(a, root)
}

// trio holds three processes, each with its part of batches of 9.
type trio struct {
	groups   [3]*halting
	trainers [3]*Trainer
	refused  [3][]string
}

func newTrio(t *testing.T, g nn.GPTConfig, change func(rank int, c *Config)) *trio {
	t.Helper()
	r := &trio{}
	for rank, member := range collectivetest.New(3) {
		b := newBench(t, 64<<20, g)
		l := b.loader(t, data.LoaderOptions{Batch: 3, Part: rank, Parts: 3})
		r.groups[rank] = &halting{Group: member, at: func(int) {}}
		r.trainers[rank] = b.trainer(t, DefaultSettings(), func(c *Config) {
			c.Batches, c.Batch, c.Group, c.Build, c.Capacity = l, 3, r.groups[rank], gpt(g), 64<<20
			c.Refused = func(list []trace.Value, reason string) {
				r.refused[rank] = append(r.refused[rank], fmt.Sprint(list, " ", reason))
			}
			if change != nil {
				change(rank, c)
			}
		})
	}
	return r
}

// step makes all take a step, and returns the results.
func (r *trio) step(t *testing.T) ([]Event, []error) {
	t.Helper()
	return stepped(t, r.trainers[:])
}

// stepped makes trainers take a step together, and returns the results.
func stepped(t *testing.T, trainers []*Trainer) ([]Event, []error) {
	t.Helper()
	events, failures := make([]Event, len(trainers)), make([]error, len(trainers))
	var all sync.WaitGroup
	for rank, trainer := range trainers {
		all.Go(func() { events[rank], failures[rank] = trainer.Step(t.Context()) })
	}
	all.Wait()
	return events, failures
}

// steps makes all take n steps, and returns their checkpoints by rank.
func (r *trio) steps(t *testing.T, n int) (checkpoints [3][]string) {
	t.Helper()
	for range n {
		events, failures := r.step(t)
		for rank, e := range events {
			if failures[rank] != nil {
				t.Fatal(failures[rank])
			}
			checkpoints[rank] = append(checkpoints[rank], e.Settings.Checkpoint.String())
		}
	}
	return checkpoints
}

// operations of a change, after the step in which all hear of it.
const (
	asking    = iota + 1 // the settings are sent
	answering            // each says whether it can use them
	training             // the first of the step
)

// TestAChangeHoldsOnAllRanksOrOnNone makes one rank stall, or die, between the
// operations of a change.
func TestAChangeHoldsOnAllRanksOrOnNone(t *testing.T) {
	for name, halts := range map[string]int{"before it hears it": asking, "before it answers": answering, "before it trains with it": training} {
		for _, dies := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s, dies=%v", name, dies), func(t *testing.T) {
				r := newTrio(t, tiny(), nil)
				r.steps(t, 2)
				set(t, r.trainers[1], "checkpoint=block")
				r.steps(t, 1) // all hear of it
				var others sync.WaitGroup
				others.Add(2)
				for rank, g := range r.groups {
					g.called = 0
					g.at = func(call int) {
						switch {
						case call != halts:
						case rank != 2:
							others.Done() // it waits for the other from here on
						case dies:
							others.Wait()
							collectivetest.Leave(g.Group)
						default:
							others.Wait()
							for rank, other := range r.trainers { // they are held up, too
								if got := other.current.Checkpoint.String() != "none"; got != (halts == training) {
									t.Errorf("rank %d applied it: %v", rank, got)
								}
							}
						}
					}
				}
				events, failures := r.step(t)
				for rank, e := range events {
					if dies {
						if err := failures[rank]; err == nil || !strings.Contains(err.Error(), "rank 2 has gone") || r.trainers[rank].Steps() != 3 {
							t.Errorf("rank %d has taken %d steps and ended with %v", rank, r.trainers[rank].Steps(), err)
						}
					} else if failures[rank] != nil || e.Step != 4 || e.Settings.Checkpoint.String() != "block" {
						t.Errorf("rank %d took step %d with checkpoint=%v, error %v", rank, e.Step, e.Settings.Checkpoint, failures[rank])
					}
				}
			})
		}
	}
}

// TestAChangeThatOneRankCannotUseIsRefusedOnAll tries a rank without
// Config.Build, which cannot choose for a budget, and a rank with less memory.
func TestAChangeThatOneRankCannotUseIsRefusedOnAll(t *testing.T) {
	tests := map[string]struct {
		lacks            func(*Config)
		key, value, want string
	}{
		"it cannot rehearse": {
			func(c *Config) { c.Build = nil }, "memory_budget", "1GiB",
			"[{memory_budget 1GiB}] rank 2: a memory budget: " + ErrNoRehearsal.Error(),
		},
		"it has too little memory": {
			func(c *Config) { c.Capacity = 1 << 20 }, "offload", "gradients",
			"[{offload gradients}] rank 2: it takes 2.0 MiB, and cpu:0 has 1.0 MiB",
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			r := newTrio(t, tiny(), func(rank int, c *Config) {
				if rank == 2 {
					test.lacks(c)
				}
			})
			r.steps(t, 1)
			set(t, r.trainers[1], test.key+"="+test.value)
			r.steps(t, 2)
			equal.Values(t, "refused", [3][]string{1: {test.want}}, r.refused)
			for rank, trainer := range r.trainers {
				if s := trainer.Settings(); s.Values()[test.key] != "none" {
					t.Errorf("rank %d goes on with %s=%s", rank, test.key, s.Values()[test.key])
				}
			}
			set(t, r.trainers[1], "lr=0.002") // the run goes on
			r.steps(t, 2)
			for rank, trainer := range r.trainers {
				if got := trainer.current.LR; got != 0.002 {
					t.Errorf("rank %d trains at a rate of %v after that", rank, got)
				}
			}
		})
	}
}

func TestChangesInTwoRanksHoldOneAfterTheOther(t *testing.T) {
	r := newTrio(t, tiny(), nil)
	r.steps(t, 1)
	set(t, r.trainers[2], "checkpoint=sqrt")
	set(t, r.trainers[0], "checkpoint=block")
	set(t, r.trainers[1], "lr=0.002")
	for rank, got := range r.steps(t, 5) {
		equal.Values(t, fmt.Sprintf("rank %d", rank), []string{"none", "block", "block", "sqrt", "sqrt"}, got)
		if got := r.trainers[rank].Settings().LR; got != 0.002 {
			t.Errorf("rank %d has a rate of %v", rank, got)
		}
	}
}

func TestAnActionIsDoneOnAllRanksAfterTheSameStep(t *testing.T) {
	r := newTrio(t, tiny(), nil)
	r.steps(t, 1)
	set(t, r.trainers[1], "action=empty-cache")
	for step := 2; step < 5; step++ {
		events, _ := r.step(t)
		for rank, e := range events {
			if got := e.Action == EmptyCache; got != (step == 3) {
				t.Errorf("rank %d, step %d: done %v", rank, step, got)
			}
		}
	}
}

// TestRanksKeepWithinABudgetByTheSamePlan also divides parameters: ranks with
// different plans would gather layers in different orders, and wait for ever.
func TestRanksKeepWithinABudgetByTheSamePlan(t *testing.T) {
	for _, shard := range []Shard{ShardNothing, ShardParameters} {
		t.Run("shard="+shard.String(), func(t *testing.T) {
			r := newTrio(t, budgeted(), func(_ int, c *Config) { c.Settings.Shard = shard })
			free, _ := r.step(t)
			budget := free[0].Memory.PeakReserved * 2 / 3
			set(t, r.trainers[1], fmt.Sprint("memory_budget=", budget))
			for range 3 {
				events, failures := r.step(t)
				for rank, e := range events {
					if failures[rank] != nil {
						t.Fatal(failures[rank])
					}
					equal.Values(t, fmt.Sprintf("rank %d, step %d has other settings than rank 0", rank, e.Step), events[0].Settings.Values(), e.Settings.Values())
					if e.Settings.Budget != 0 && e.Memory.PeakReserved > budget || e.Step > 2 && e.Settings.Budget == 0 {
						t.Errorf("rank %d, step %d reserved %d bytes of %d", rank, e.Step, e.Memory.PeakReserved, e.Settings.Budget)
					}
				}
			}
			for rank, refused := range r.refused {
				if refused != nil {
					t.Errorf("rank %d: %v", rank, refused)
				}
			}
		})
	}
}

func TestAChangeOfRanksMovesThePeakAsPredicted(t *testing.T) {
	r := newTrio(t, tiny(), nil)
	r.steps(t, 2)
	for _, change := range []string{"checkpoint=block", "shard=gradients", "offload=optimizer"} {
		before, _ := r.step(t)
		predicted := predict(t, r.trainers[0], change)
		set(t, r.trainers[0], change)
		r.steps(t, 2) // it is heard of, and used
		after, _ := r.step(t)
		for rank, e := range after {
			if got := e.Memory.PeakAllocated - before[rank].Memory.PeakAllocated; got != predicted.PeakAllocated {
				t.Errorf("rank %d: %v moves the peak by %d bytes, predicted %d", rank, change, got, predicted.PeakAllocated)
			}
		}
	}
}
