package command

import (
	"fmt"
	"regexp"
	"runtime"
	"runtime/debug"
	"strings"
)

// What the linker sets where a release is built: -ldflags "-X
// github.com/memtop/memtop/cmd/command.release=v1.2.3", and the same with commit.
var release, commit string

// unknown stands for what no one has told the program about itself.
const unknown = "unknown"

// Version returns a program's name, release, commit, Go version and platform, in
// one line.
func Version(program string) string {
	return fmt.Sprintf("%s %s commit %s %s %s/%s", program, Release(), Commit(), runtime.Version(), runtime.GOOS, runtime.GOARCH)
}

// Release returns the release that the program was built as: what the linker was
// told, else the version of the module, else "unreleased".
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

// pseudoVersion is how Go calls a commit that has no tag: its last part are 12
// digits of the commit.
var pseudoVersion = regexp.MustCompile(`[-.]\d{14}-([0-9a-f]{12})(?:\+\w+)?$`)

// commitOf returns what a build says about its commit.
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
