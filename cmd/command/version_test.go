package command

import (
	"os/exec"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"strings"
	"testing"

	"github.com/memtop/memtop/cmd/testing/fatal"
)

func TestTheCommitOfABuild(t *testing.T) {
	settings := func(pairs ...string) (all []debug.BuildSetting) {
		for i := 0; i < len(pairs); i += 2 {
			all = append(all, debug.BuildSetting{Key: pairs[i], Value: pairs[i+1]})
		}
		return all
	}
	tests := map[string]struct {
		version  string
		settings []debug.BuildSetting
		want     string
	}{
		"a clone":                      {"(devel)", settings("vcs.revision", "178f1c1895f4a47d2a3075c1b204a298189364b8", "vcs.modified", "false"), "178f1c1895f4"},
		"a clone with changes":         {"(devel)", settings("vcs.revision", "178f1c1895f4a47d2a3075c1b204a298189364b8", "vcs.modified", "true"), "178f1c1895f4+changes"},
		"go install of a commit":       {"v0.0.0-20261123071345-178f1c1895f4", nil, "178f1c1895f4"},
		"go install after a release":   {"v1.2.4-0.20261123071345-178f1c1895f4", nil, "178f1c1895f4"},
		"go install of a release":      {"v1.2.3", nil, unknown},
		"a build without a repository": {"(devel)", nil, unknown},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			info := debug.BuildInfo{Main: debug.Module{Version: test.version}, Settings: test.settings}
			if got := commitOf(&info); got != test.want {
				t.Errorf("got %q, want %q", got, test.want)
			}
		})
	}
}

// TestTheLinkerNamesReleaseAndCommit builds a program of one line as a release is
// built: a variable that was renamed would be set by nobody, and no linker complains.
func TestTheLinkerNamesReleaseAndCommit(t *testing.T) {
	const here = "github.com/memtop/memtop/cmd/command"
	flags := "-X " + here + ".release=v1.2.3 -X " + here + ".commit=178f1c1895f4a47d2a3075c1b204a298189364b8+changes"
	path := filepath.Join(t.TempDir(), "named")
	if out, err := exec.CommandContext(t.Context(), "go", "build", "-ldflags", flags, "-o", path, "./testdata/named").CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	got, err := exec.CommandContext(t.Context(), path).Output()
	fatal.If(t, err)
	want := "named v1.2.3 commit 178f1c1895f4+changes " + runtime.Version() + " " + runtime.GOOS + "/" + runtime.GOARCH
	if strings.TrimSpace(string(got)) != want {
		t.Errorf("got %q, want %q", got, want)
	}
}
