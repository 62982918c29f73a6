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

// errSilent means that a machine does not answer.
var errSilent = errors.New("it does not answer")

// notStartedError means that a command does not exist on this machine.
type notStartedError struct {
	program string
	error
}

// versionError means that the bridge has another version.
type versionError struct{ theirs int }

func (e *versionError) Error() string {
	return fmt.Sprintf("its memtop speaks version %d of the bridge, and this one version %d", e.theirs, Version)
}

// endedError is a command that ended, with its output.
type endedError struct {
	err    error // the first error
	status int
	said   string
}

func (e *endedError) Error() string { return e.err.Error() }
func (e *endedError) Unwrap() error { return e.err }

// because adds to an error how the link's command ended. The command must have
// ended.
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

// because translates an error of starting or using a bridge.
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

// of sets the class of an error.
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

// explain translates the end of a command.
func (w *Way) explain(e *endedError) error {
	last := lastLine(e.said)
	switch {
	case strings.Contains(e.said, `there is no command "bridge"`):
		return w.otherVersion("its memtop is too old to be a bridge", 0)
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

// where says where the far end looked for memtop.
func (w *Way) where() string {
	if strings.Contains(w.memtop, "/") {
		return " there"
	}
	return " in its PATH"
}

func (w *Way) copy() string {
	return "copy this memtop there, or name the one there with --remote-memtop PATH"
}

// failures are the messages of ssh and srun that have a class and a remedy of
// their own.
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

// lastLine returns the last useful line of a command's output.
func lastLine(said string) string {
	lines := strings.Split(strings.TrimSpace(said), "\n")
	line := strings.TrimSpace(strings.TrimRight(lines[len(lines)-1], "\r"))
	for _, prefix := range []string{"ssh: ", "srun: ", "slurm_load_jobs ", "error: ", "memtop: "} {
		line = strings.TrimPrefix(line, prefix)
	}
	return trace.Printable(line)
}
