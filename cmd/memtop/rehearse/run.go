package rehearse

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os/exec"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/memtop/memtop/cmd/command"
	"github.com/memtop/memtop/engine/device/cuda/imitation"
	"github.com/memtop/memtop/engine/replay"
	"github.com/memtop/memtop/probe/python"
	"github.com/memtop/memtop/snapshots/quantity"
	"github.com/memtop/memtop/snapshots/report"
)

// once runs a command on an imitated GPU and returns the result, and the
// command's exit code. It calls progress after steps, unless progress is nil.
func (r *Rehearsal) once(ctx context.Context, t trial, args []string, shown Streams, progress func(*python.Rehearsed)) (*report.Rehearsal, int, error) {
	stage, err := newStage()
	if err != nil {
		return nil, 0, err
	}
	defer stage.clear()
	code, err := r.perform(ctx, stage, &t, args, shown, progress)
	if err != nil {
		return nil, 0, err
	}
	found, err := r.result(ctx, stage, &t, args, code)
	if err != nil {
		return nil, 0, err
	}
	return found, code, stage.keep(found, t.to, r.World > 0 && len(r.Ranks) > 1)
}

// perform runs the command to its end and returns its exit code.
func (r *Rehearsal) perform(ctx context.Context, s *stage, t *trial, args []string, shown Streams, progress func(*python.Rehearsed)) (code int, err error) {
	agent, err := r.Agent()
	if err != nil {
		return 0, err
	}
	cmd := exec.CommandContext(ctx, args[0], args[1:]...)
	cmd.Env = s.environment(agent, t, r)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = shown.Stdin, shown.Stdout, shown.Stderr
	done, err := command.Start(cmd)
	if err == nil {
		err = follow(s, done, progress)
	}
	var failed *exec.ExitError
	switch {
	case ctx.Err() != nil:
		return 0, context.Cause(ctx)
	case errors.As(err, &failed) && failed.ExitCode() < 0:
		return command.ExitSignal + signalOf(failed.ProcessState), nil
	case errors.As(err, &failed):
		return failed.ExitCode(), nil
	case err != nil:
		return 0, command.ProgramError(args[0], err)
	}
	return 0, nil
}

// looks is the pause between two reads of the processes' reports.
const looks = 200 * time.Millisecond

// follow waits for the command, and reports the state of its first process after
// each step.
func follow(s *stage, done <-chan error, progress func(*python.Rehearsed)) error {
	var tick <-chan time.Time
	if progress != nil {
		ticker := time.NewTicker(looks)
		defer ticker.Stop()
		tick = ticker.C
	}
	shown := 0
	for {
		select {
		case err := <-done:
			return err
		case <-tick:
			if all, err := python.ReadRehearsed(s.folder); err == nil && len(all) > 0 && all[0].Steps > shown {
				shown = all[0].Steps
				progress(&all[0])
			}
		}
	}
}

// progressPause is the longest time without a comment while a program's peak does
// not change.
const progressPause = 10 * time.Second

// progress returns a function that comments on a program when its peak rises, and
// now and then. It returns nil if the caller takes no comments. The comments are
// rare enough that the program's own output stays readable.
func (r *Rehearsal) progress() func(*python.Rehearsed) {
	if r.Comment == nil {
		return nil
	}
	var shown python.Peak
	var last time.Time
	return func(its *python.Rehearsed) {
		var most python.Peak
		for _, p := range its.Peaks {
			most.Allocated, most.Reserved = max(most.Allocated, p.Allocated), max(most.Reserved, p.Reserved)
		}
		if most == shown && time.Since(last) < progressPause {
			return
		}
		shown, last = most, time.Now()
		r.comment("step %d, peak %s allocated, %s reserved, %.1f s", its.Steps, quantity.Bytes(most.Allocated), quantity.Bytes(most.Reserved), its.Seconds)
	}
}

// result combines the reports of the processes and of the imitation.
func (r *Rehearsal) result(ctx context.Context, s *stage, t *trial, args []string, code int) (*report.Rehearsal, error) {
	processes, err := python.ReadRehearsed(s.folder)
	if err != nil {
		return nil, err
	}
	g := &t.gpu
	said, err := imitation.ReadReport(s.folder)
	if err != nil {
		return nil, err
	}
	found := &report.Rehearsal{
		Schema: report.RehearsalSchema, Command: args, Fits: true, Exact: true, Because: make([]string, 0), Timing: make([]string, 0), ExitCode: code, Values: r.Values.name(),
		Ranks: make([]report.RehearsedOn, 0), Hosts: make([]report.RehearsedHost, 0), FitsOn: make([]string, 0), NotImitated: make([]report.NotImitated, 0), DependsOnData: make([]report.DependsOnData, 0),
		GPU: report.RehearsedGPU{Name: g.Name, Title: g.Title, Total: g.Total, Capability: g.Capability, Processors: g.Processors, Context: g.Context},
	}
	for i := range processes {
		p := &processes[i]
		if p.PyTorch != "" && p.CUDA == "" {
			return nil, cpuOnly(p.PyTorch)
		}
		if p.PyTorch != "" {
			found.PyTorch, found.CUDA = p.PyTorch, p.CUDA
		}
		found.Error = cmp.Or(found.Error, p.Error) // a rank says it before its launcher
		if p.Begun {
			found.Seconds, found.Ended = max(found.Seconds, p.Seconds), p.Ended
			if t.survey != nil && p.Model != nil {
				*t.survey = *p.Model
			}
			if t.with.takesEffect() && !p.Changed {
				found.Unchanged = "nothing in the program takes it, or it has chosen otherwise"
			}
			if err := r.addProcess(ctx, found, p, said[p.PID], code); err != nil {
				return nil, err
			}
		}
	}
	if found.PyTorch == "" {
		return nil, noPyTorch(code, args[0], found.Error)
	}
	found.Timing = append(found.Timing, shared(said, g.Context)...)
	if crashed(processes, code) {
		found.Ended = report.Crashed
	}
	found.Conclude()
	if most := found.Most(); most != nil && found.Fits {
		found.FitsOn = fitsOn(most, g.Context)
	}
	return found, nil
}

// shared says of each GPU that several processes had at once how much they take at most.
func shared(said map[int]imitation.Process, context int64) (reasons []string) {
	var on [imitation.MostDevices]struct {
		processes   int
		most        int64
		met, failed bool
	}
	for _, p := range said {
		for _, d := range p.Devices {
			if d.Most+d.Refused > 0 {
				its := &on[d.Place%imitation.MostDevices]
				its.processes, its.most = its.processes+1, its.most+int64(d.Most)+context //nolint:gosec // less than a device has
				its.met, its.failed = its.met || d.Sharing > 1, its.failed || d.Refused > 0
			}
		}
	}
	for place, its := range on {
		text := fmt.Sprintf("%d processes have GPU %d, and a rehearsal does not know when each has its peak", its.processes, place)
		if !its.failed {
			text += ": together they take at most " + quantity.Bytes(its.most)
		}
		if its.met {
			reasons = append(reasons, text)
		}
	}
	return reasons
}

// crashed reports whether a signal of a fault ended the command, though all processes
// that used a device had come to the end of their script.
func crashed(processes []python.Rehearsed, code int) bool {
	fault := code == command.ExitSignal+int(syscall.SIGABRT) || code == command.ExitSignal+int(syscall.SIGSEGV)
	used := slices.ContainsFunc(processes, func(p python.Rehearsed) bool { return p.Begun })
	broke := slices.ContainsFunc(processes, func(p python.Rehearsed) bool { return p.Error != "" || p.Begun && p.Ended != "exit" })
	return fault && used && !broke
}

// addProcess adds the memory that a process took of its devices, and the
// functions that were not imitated for it.
func (r *Rehearsal) addProcess(ctx context.Context, found *report.Rehearsal, p *python.Rehearsed, said imitation.Process, code int) error {
	failed := p.Refused > 0 && !r.bears(p, code)
	paths := p.Snapshots
	if failed && p.Failure != "" {
		paths = []string{p.Failure}
	}
	path, of, err := r.highest(ctx, paths)
	if err != nil {
		return err
	}
	for device, taken := range said.Devices {
		if taken.Most == 0 && taken.Refused == 0 && device < len(p.Peaks) && p.Peaks[device].Reserved == 0 {
			continue
		}
		on := report.RehearsedOn{
			Rank: p.Rank, Device: device, Steps: p.Steps, Snapshot: path, Processes: int(taken.Sharing), //nolint:gosec // less than a device has
			DeviceBytes: int64(taken.Most) + found.GPU.Context, Together: int64(taken.Together), //nolint:gosec // as much at most
		}
		if device < len(p.Peaks) {
			on.PeakAllocated, on.PeakReserved = p.Peaks[device].Allocated, p.Peaks[device].Reserved
		}
		if taken.Refused > 0 && !failed {
			on.Caught = &report.Caught{Times: p.Refused, Asked: p.Asked}
		}
		found.Add(on, of, failed && taken.Refused > 0)
	}
	found.AddHost(report.RehearsedHost{Rank: p.Rank, Resident: p.Host.Resident, Pinned: p.Host.Pinned, PinnedUsed: p.Host.Used, Rounding: p.Host.Rounding}, of)
	found.Handling = cmp.Or(found.Handling, p.Handling)
	for _, read := range p.Reads {
		found.DependsOnData = append(found.DependsOnData, report.DependsOnData(read))
	}
	for _, gap := range said.Gaps {
		found.NotImitated = append(found.NotImitated, report.NotImitated(gap))
	}
	found.Because = append(found.Because, said.Modelled...)
	if said.Waits {
		found.Timing = append(found.Timing, waits+cmp.Or(p.Passed, "a line of C++")+"; it may reserve more")
	}
	return nil
}

// waits says why a GPU may reserve more. What is allocated does not depend on it.
const waits = "a GPU frees blocks later where another stream uses them, and a rehearsal does not know when: record_stream in "

// bears reports whether a program whose requests failed for lack of memory does its work all the same: it caught that,
// and made steps afterwards, or the user says that it then counts as fitting.
func (r *Rehearsal) bears(p *python.Rehearsed, code int) bool {
	caught := code == 0 || p.Ended == "settled" || p.Ended == "steps"
	return caught && (r.Caught == CaughtFits || r.Caught != CaughtFails && p.WentOn)
}

// highest returns the snapshot with the highest peak and a report on it, if there
// is a snapshot.
func (r *Rehearsal) highest(ctx context.Context, paths []string) (path string, of *report.Report, err error) {
	for _, one := range paths {
		its, err := r.Report(ctx, one)
		if err != nil {
			return "", nil, err
		}
		if of == nil || its.Peak() > of.Peak() {
			path, of = one, its
		}
	}
	if of == nil {
		return "", nil, nil
	}
	return path, of, of.Replay(ctx, replay.Answer)
}

// cpuOnly returns the error for a PyTorch without CUDA, which has nothing to
// rehearse.
func cpuOnly(release string) error {
	plain, _, _ := strings.Cut(release, "+")
	return command.Failure{
		Code: command.ExitError, Cause: fmt.Sprintf("this PyTorch (%s) is a build without CUDA", release),
		Remedy: "install its build with CUDA into a copy of this environment; it runs here without a GPU and without NVIDIA's packages: pip install --no-deps torch==" + plain,
	}
}

// noPyTorch returns the error for a command in which no Python imported PyTorch.
// The exception that ended it, "" for none, says more than its exit code.
func noPyTorch(code int, program, exception string) error {
	cause := program + " imported no PyTorch"
	switch {
	case exception != "":
		cause = fmt.Sprintf("%s failed with exit code %d before it imported PyTorch: %s", program, code, exception)
	case code != 0:
		cause = fmt.Sprintf("%s ended with exit code %d, and imported no PyTorch", program, code)
	}
	return command.Failure{Code: cmp.Or(code, command.ExitError), Cause: cause, Remedy: "rehearse the command that starts the training"}
}
