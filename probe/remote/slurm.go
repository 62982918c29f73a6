package remote

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os/exec"
	"strings"
	"time"

	"github.com/memtop/memtop/probe/attach"
)

// slurmWithin is how long Slurm may take to say where a job runs.
const slurmWithin = 30 * time.Second

// mostNodes bounds the machines of a job. maxSlurm bounds the bytes of Slurm's
// answer.
const mostNodes = 1024

// Slurm returns the ways to all machines of a job: a step of the job on each,
// which takes no resources from other steps. memtop is the program to run there,
// "" for the one in that machine's PATH. The error is a [*NameError] or an
// [*attach.HostError].
func Slurm(ctx context.Context, job, memtop string) ([]Way, error) {
	w := Way{test: "squeue --jobs=" + job, install: "run memtop where Slurm's commands are: on a login node"}
	if strings.IndexFunc(job, func(c rune) bool { return !strings.ContainsRune("0123456789_+", c) }) >= 0 || job == "" {
		return nil, &NameError{job, "the number of a job", "squeue --me"}
	}
	ctx, cancel := context.WithTimeoutCause(ctx, slurmWithin, errSilent)
	defer cancel()
	list, err := w.output(ctx, "squeue", "--noheader", "--states=RUNNING", "--format=%N", "--jobs="+job)
	if err != nil {
		return nil, err
	}
	if len(list) != 1 {
		return nil, w.of(w.failure("job "+job+" does not run", "squeue --me lists your jobs"), fs.ErrNotExist)
	}
	hosts, err := w.output(ctx, "scontrol", "show", "hostnames", list[0])
	if err != nil {
		return nil, err
	}
	if len(hosts) > mostNodes {
		return nil, w.failure(fmt.Sprintf("job %s has %d machines, and memtop shows %d", job, len(hosts), mostNodes), "name some with --hosts")
	}
	ways := make([]Way, len(hosts))
	for i, host := range hosts {
		if err := checkHost(host); err != nil {
			return nil, w.failure(err.Error(), "")
		}
		ways[i] = srun(job, host, memtop)
	}
	return ways, nil
}

// srun returns the way to a machine by a step of a job. Without --unbuffered
// Slurm would hold output back until the end of a line.
func srun(job, host, memtop string) Way {
	memtop = cmp.Or(memtop, "memtop")
	return Way{
		host: host, program: "srun",
		options: []string{"--overlap", "--jobid=" + job, "--nodelist=" + host, "--nodes=1", "--ntasks=1", "--unbuffered", "--quiet"},
		run:     []string{memtop, "bridge"},
		memtop:  memtop, test: "srun --overlap --jobid=" + job + " --nodelist=" + Word(host) + " " + Word(memtop) + " version",
		install: "run memtop where Slurm's commands are: on a login node",
	}
}

// output returns the few lines that a command prints.
func (w *Way) output(ctx context.Context, name string, arguments ...string) ([]string, error) {
	command := exec.CommandContext(ctx, name, arguments...)
	said := new(tail)
	command.Stderr, command.WaitDelay = said, letGo
	out, err := command.Output()
	w.program, w.memtop = name, name
	if exit := (*exec.ExitError)(nil); errors.As(err, &exit) {
		return nil, w.explain(&endedError{err: err, status: exit.ExitCode(), said: said.String()})
	}
	if err != nil {
		if ctx.Err() != nil {
			return nil, w.failure(context.Cause(ctx).Error(), "")
		}
		return nil, w.because(&notStartedError{name, err})
	}
	return strings.Fields(string(bytes.TrimSpace(out))), nil
}

var _ attach.Far = (*Machine)(nil)
