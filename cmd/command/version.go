package command

import (
	"fmt"
	"regexp"
	"runtime"
	"runtime/debug"
	"strings"
)

// The linker sets these in a release build: -ldflags "-X
// github.com/memtop/memtop/cmd/command.release=v1.2.3", and the same with commit.
var release, commit string

// unknown replaces missing build information.
const unknown = "unknown"

// Version returns a program's name, release, commit, Go version and platform, in
// one line.
func Version(program string) string {
	return fmt.Sprintf("%s %s commit %s %s %s/%s", program, Release(), Commit(), runtime.Version(), runtime.GOOS, runtime.GOARCH)
}

// Release returns the program's release: the linker's value, else the version of
// the module, else "unreleased".
func Release() string {
	if release != "" {
		return release
	}
	if info, ok := debug.ReadBuildInfo(); ok && info.Main.Version != "" && info.Main.Version != "(devel)" {
		return info.Main.Version
	}
	return "unreleased"
}

// Commit returns the first 12 digits of the commit that the program was built from,
// with "+changes" if files had been changed since, or "unknown".
func Commit() string {
	if commit != "" {
		revision, changes, _ := strings.Cut(commit, "+")
		return strings.TrimSuffix(abbreviated(revision)+"+"+changes, "+")
	}
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return unknown
	}
	return commitOf(info)
}

// pseudoVersion matches Go's name of a commit without a tag: its last part is 12
// digits of the commit.
var pseudoVersion = regexp.MustCompile(`[-.]\d{14}-([0-9a-f]{12})(?:\+\w+)?$`)

// commitOf returns the commit in the build information.
func commitOf(info *debug.BuildInfo) string {
	settings := make(map[string]string)
	for _, s := range info.Settings {
		settings[s.Key] = s.Value
	}
	switch revision, pseudo := settings["vcs.revision"], pseudoVersion.FindStringSubmatch(info.Main.Version); {
	case revision != "" && settings["vcs.modified"] == "true":
		return abbreviated(revision) + "+changes"
	case revision != "":
		return abbreviated(revision)
	case pseudo != nil:
		return pseudo[1]
	default:
		return unknown
	}
}

func abbreviated(commit string) string { return commit[:min(12, len(commit))] }
