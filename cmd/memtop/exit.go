package main

import (
	"errors"
	"fmt"
	"io/fs"

	"github.com/spf13/cobra"

	"github.com/memtop/memtop/cmd/command"
	"github.com/memtop/memtop/cmd/output"
	"github.com/memtop/memtop/probe/attach"
	"github.com/memtop/memtop/probe/inject"
	"github.com/memtop/memtop/probe/protocol"
	"github.com/memtop/memtop/probe/remote"
	"github.com/memtop/memtop/snapshots"
	"github.com/memtop/memtop/snapshots/wire"
)

// usage returns an error about the arguments of cmd.
func usage(cmd *cobra.Command, cause string) error {
	return command.Usage(cause, cmd.CommandPath()+" --help")
}

// exceeded returns an error about a limit that the user set.
func exceeded(cause, remedy string) error {
	return command.Failure{Code: command.ExitThreshold, Cause: cause, Remedy: remedy}
}

// describe returns the exit code for an error and the line to print, which
// names the cause and one remedy.
func describe(err error) (code int, line string) {
	code, cause, remedy := classify(err)
	return code, command.Line(cause, remedy)
}

func classify(err error) (code int, cause, remedy string) {
	var (
		use     command.UsageError
		said    command.Failure
		corrupt *snapshots.CorruptError
		bug     command.BugError
		ended   command.Ended
		input   *output.InputError
		file    *fs.PathError
		listen  listenError
		folder  *protocol.FolderError
	)
	if code, cause, remedy, ok := classifyLive(err); ok {
		return code, cause, remedy
	}
	switch {
	case errors.As(err, &use):
		return command.ExitUsage, use.Cause, "try: " + use.Remedy
	case errors.As(err, &corrupt):
		return command.ExitCorrupt, corrupt.Error(), corrupt.Remedy
	case errors.As(err, &said):
		return said.Code, said.Cause, said.Remedy
	case errors.As(err, &folder):
		return command.ExitPermission, folder.Error(), ""
	case errors.As(err, &listen):
		return command.ExitError, listen.Error(), "name another address"
	case errors.As(err, &bug):
		return command.ExitError, err.Error(), "run it again with --log FILE and report what the log says"
	case errors.As(err, &ended):
		return ended.Code(), ended.Error(), ""
	case errors.As(err, &input):
		return command.ExitUsage, input.Error(), "try: another name"
	case errors.Is(err, fs.ErrExist) && errors.As(err, &file):
		return command.ExitUsage, file.Path + " exists", "try: --force to write over it, or another name"
	default:
		return command.System(err, "run it again with --log FILE to see more")
	}
}

// classifyLive returns exit code, cause and remedy for failures of processes.
func classifyLive(err error) (code int, cause, remedy string, ok bool) {
	var (
		missing   *attach.NotFoundError
		forbidden *attach.PermissionError
		none      *attach.NoProbeError
		version   *wire.VersionError
		held      *protocol.HeldError
		barred    *inject.RefusedError
		failed    *inject.FailedError
		host      *attach.HostError
		name      *remote.NameError
	)
	switch {
	case errors.As(err, &host):
		return hostCode(host), host.Error(), host.Remedy, true
	case errors.As(err, &name):
		return command.ExitUsage, name.Error(), "try: " + name.Remedy, true
	case errors.As(err, &missing):
		return command.ExitMissing, missing.Error(), listsRemedy, true
	case errors.As(err, &forbidden):
		return command.ExitPermission, forbidden.Error(), forbidden.Remedy, true
	case errors.As(err, &none):
		cause, remedy = noProbe(none)
		return command.ExitNoProbe, cause, remedy, true
	case errors.As(err, &barred) && barred.Forbidden:
		return command.ExitPermission, barred.Cause, barred.Remedy, true
	case errors.As(err, &barred):
		return command.ExitNoProbe, barred.Cause, barred.Remedy, true
	case errors.As(err, &failed):
		return command.ExitError, failed.Error(), "the program goes on; try again, or start it with memtop run", true
	case errors.As(err, &version):
		return command.ExitVersion, err.Error(), "", true
	case errors.As(err, &held):
		return command.ExitError, held.Error(), "", true
	}
	return classifyPeer(err)
}

// hostCode returns the exit code for a machine whose programs cannot be reached.
func hostCode(err *attach.HostError) int {
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return command.ExitMissing
	case errors.Is(err, fs.ErrPermission):
		return command.ExitPermission
	case errors.As(err, new(*wire.VersionError)):
		return command.ExitVersion
	}
	return command.ExitError
}

// classifyPeer returns exit code, cause and remedy for programs that give a wrong
// answer.
func classifyPeer(err error) (code int, cause, remedy string, ok bool) {
	var (
		silent    *attach.SilentError
		busy      *attach.RefusedError
		endless   *attach.EndlessError
		malformed *attach.MalformedError
	)
	switch {
	case errors.As(err, &silent) && silent.Stopped != 0:
		return command.ExitError, silent.Error(), fmt.Sprintf("kill -CONT %d lets it go on", silent.Stopped), true
	case errors.As(err, &silent):
		return command.ExitError, silent.Error(), "it may be overloaded: try again", true
	case errors.As(err, &busy):
		return command.ExitError, busy.Cause, busy.Remedy, true
	case errors.As(err, &endless):
		return command.ExitCorrupt, endless.Cause, endless.Remedy, true
	case errors.As(err, &malformed):
		return command.ExitCorrupt, malformed.Error(), "try again; if this happens again, its probe is broken", true
	}
	return 0, "", "", false
}
