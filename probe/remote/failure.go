package remote

import (
	"errors"
	"fmt"
	"io/fs"
	"os/exec"
	"strings"

	"github.com/memtop/memtop/probe/attach"
	"github.com/memtop/memtop/snapshots/trace"
	"github.com/memtop/memtop/snapshots/wire"
)

// errSilent is a machine that does not answer.
var errSilent = errors.New("it does not answer")

// notStartedError is a command that is not to be had here.
type notStartedError struct {
	program string
	error
}

// versionError is a bridge of another version.
type versionError struct{ theirs int }

func (e *versionError) Error() string {
	return fmt.Sprintf("its memtop speaks version %d of the bridge, and this one version %d", e.theirs, Version)
}

// endedError is a command that ended, and what it said.
type endedError struct {
	err    error // that was noticed first
	status int
	said   string
}

func (e *endedError) Error() string { return e.err.Error() }
func (e *endedError) Unwrap() error { return e.err }

// because returns an error with how the command of the link ended. It has ended.
func (l *link) because(err error) error {
	ended := &endedError{err: err, said: l.said.String()}
	if exit := (*exec.ExitError)(nil); errors.As(l.failure, &exit) {
		ended.status = exit.ExitCode()
	}
	return ended
}

// failure returns an error about the machine.
func (w *Way) failure(cause, remedy string) *attach.HostError {
	if remedy == "" {
		remedy = "try: " + w.test
	}
	return &attach.HostError{Host: w.host, Cause: trace.Printable(cause), Remedy: remedy}
}

// because says what an error of starting or using a bridge means.
func (w *Way) because(err error) error {
	var missing *notStartedError
	var version *versionError
	var ended *endedError
	switch {
	case errors.As(err, &missing):
		return w.of(w.failure(fmt.Sprintf("there is no program %q here", missing.program), w.install), fs.ErrNotExist)
	case errors.As(err, &version):
		return w.otherVersion(version.Error(), version.theirs)
	case errors.As(err, &ended):
		return w.explain(ended)
	}
	return w.failure(err.Error(), "")
}

func (w *Way) otherVersion(cause string, theirs int) error {
	return w.of(w.failure(cause, "install the same memtop on both"), &wire.VersionError{Theirs: theirs, Ours: Version})
}

// of says which class of errors one is.
func (*Way) of(e *attach.HostError, class error) error {
	e.Because = class
	return e
}

// Statuses of shells and of ssh.
const (
	notExecutable = 126
	notFound      = 127
	sshFailed     = 255
)

// explain says what it means that a command ended.
func (w *Way) explain(e *endedError) error {
	last := lastLine(e.said)
	switch {
	case strings.Contains(e.said, `there is no command "bridge"`):
		return w.otherVersion("its memtop is too old to lead here", 0)
	case e.status == notFound:
		return w.of(w.failure("there is no "+w.memtop+w.where(), w.copy()), fs.ErrNotExist)
	case e.status == notExecutable:
		return w.of(w.failure(strings.TrimSuffix(w.memtop+" cannot be run there: "+last, ": "), w.copy()), fs.ErrPermission)
	}
	for _, known := range failures {
		if strings.Contains(e.said, known.says) {
			return w.of(w.failure(last, known.remedy(w)), known.class)
		}
	}
	switch {
	case errors.Is(e, errNoise):
		return w.failure(errNoise.Error(), "name the memtop there with --remote-memtop PATH")
	case errors.Is(e, errSilent):
		return w.failure(errSilent.Error(), "")
	case last != "":
		return w.failure(last, "")
	case e.status > 0:
		return w.failure(fmt.Sprintf("%s ended with status %d", w.program, e.status), "")
	}
	return w.failure(errLost.Error(), "")
}

// where says where the memtop was looked for.
func (w *Way) where() string {
	if strings.Contains(w.memtop, "/") {
		return " there"
	}
	return " in its PATH"
}

func (w *Way) copy() string {
	return "copy this memtop there, or name the one there with --remote-memtop PATH"
}

// failures are what ssh and srun say, as far as it has a class and a remedy of its own.
var failures = []struct {
	says   string
	class  error
	remedy func(*Way) string
}{
	{"Host key verification failed", fs.ErrPermission, func(w *Way) string { return "compare its key: " + w.test }},
	{"Permission denied", fs.ErrPermission, func(w *Way) string { return "this must work without a password: " + w.test }},
	{"Could not resolve hostname", fs.ErrNotExist, func(*Way) string { return "check the name, or your ssh configuration" }},
	{"Invalid job id", fs.ErrNotExist, func(*Way) string { return "squeue --me lists your jobs" }},
	{"Access/permission denied", fs.ErrPermission, func(*Way) string { return "ask as the user of the job" }},
}

// lastLine returns the last line of what a command said that is worth showing.
func lastLine(said string) string {
	lines := strings.Split(strings.TrimSpace(said), "\n")
	line := strings.TrimSpace(strings.TrimRight(lines[len(lines)-1], "\r"))
	for _, prefix := range []string{"ssh: ", "srun: ", "slurm_load_jobs ", "error: ", "memtop: "} {
		line = strings.TrimPrefix(line, prefix)
	}
	return trace.Printable(line)
}
