package inject

import (
	"strings"
	"testing"

	"github.com/memtop/memtop/probe/attach"
)

func TestWhatStandsInTheWayIsNamedWithItsRemedy(t *testing.T) {
	for name, test := range map[string]struct {
		obstacles     obstacles
		cause, remedy string
	}{
		"parents only":             {obstacles{scope: 1}, "ptrace_scope is 1", "once: sudo sysctl kernel.yama.ptrace_scope=0, or start it with memtop run"},
		"capable only":             {obstacles{scope: 2}, "ptrace_scope is 2", "start it with memtop run"},
		"no one":                   {obstacles{scope: 3, root: true, capable: true}, "ptrace_scope is 3 until the machine restarts", "start it with memtop run"},
		"root of a container":      {obstacles{scope: 1, root: true, container: true}, "container has no CAP_SYS_PTRACE", "--cap-add SYS_PTRACE"},
		"a user in a container":    {obstacles{scope: 1, container: true}, "ptrace_scope is 1", "--cap-add SYS_PTRACE and be root"},
		"root without the right":   {obstacles{root: true}, "root user has no CAP_SYS_PTRACE", "start it with memtop run"},
		"a program that is closed": {obstacles{closed: true}, "closed its memory", "start it with memtop run"},
		"something else":           {obstacles{capable: true}, "lets nothing into process 7", "start it with memtop run"},
	} {
		t.Run(name, func(t *testing.T) {
			err := test.obstacles.refusal(7)
			if !strings.Contains(err.Cause, test.cause) || !strings.Contains(err.Remedy, test.remedy) || !err.Forbidden {
				t.Errorf("got %q; %q", err.Cause, err.Remedy)
			}
		})
	}
}

func TestTheVersionOfAPython(t *testing.T) {
	for name, test := range map[string]struct {
		executable, maps string
		want             int
	}{
		"its own name":                  {"/usr/bin/python3.11", "/usr/lib/libc.so.6\n", 11},
		"its library":                   {"/opt/env/bin/python", "/opt/lib/libpython3.12.so.1.0\n/usr/lib/libtorch_cpu.so\n", 12},
		"its library, not its folder":   {"/usr/bin/python3", "/x/lib/python3.9/y.so\n/opt/lib/libpython3.13t.so.1.0\n", 13},
		"its modules":                   {"/usr/bin/python3", "/usr/lib/python3/_ssl.cpython-310-x86_64-linux-gnu.so\n", 10},
		"where its modules are":         {"/usr/bin/python3", "/usr/lib/python3.14/lib-dynload/_x.so\n", 14},
		"a program that was replaced":   {"/usr/bin/python3.11 (deleted)", "", 11},
		"another program with its name": {"/usr/bin/vim", "/usr/lib/python3.11/x.so\n", -1},
		"a program that embeds it":      {"/usr/bin/blender", "/usr/lib/libpython3.11.so.1.0\n", 11},
		"nothing that says":             {"/usr/bin/python3", "", -1},
		"a number beyond all":           {"/usr/bin/python3.99999999999999999999", "", -1},
	} {
		t.Run(name, func(t *testing.T) {
			if got := versionOf(&attach.Running{Executable: test.executable, Maps: test.maps}); got != test.want {
				t.Errorf("got %d, want %d", got, test.want)
			}
		})
	}
}

func TestProgramsThatForbidItAreLeftAlone(t *testing.T) {
	for name, test := range map[string]struct {
		arguments []string
		want      string
	}{
		"an option":             {[]string{"python", "-X", "disable_remote_debug", "x.py"}, "-X disable_remote_debug"},
		"an option in one word": {[]string{"python", "-Xdisable_remote_debug", "x.py"}, "-X disable_remote_debug"},
		"none":                  {[]string{"python", "x.py"}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			if got := forbids(&attach.Running{PID: -1, Arguments: test.arguments}); got != test.want {
				t.Errorf("got %q, want %q", got, test.want)
			}
		})
	}
}
