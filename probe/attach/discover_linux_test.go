package attach

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/memtop/memtop/cmd/testing/probetest"
	"github.com/memtop/memtop/snapshots/wire"
)

// pretending serves this process's socket in a folder that viewers look into,
// in the place of a probe.
func pretending(t *testing.T, handler http.HandlerFunc) (folder string) {
	t.Helper()
	folder = shortFolder(t)
	t.Setenv("MEMTOP_DIR", folder)
	serve(t, filepath.Join(folder, ownName(t)), handler)
	return folder
}

// TestAProgramThatIsSlowToAnswerIsListed is one that is busy for more than a
// second, as long as a viewer once waited.
func TestAProgramThatIsSlowToAnswerIsListed(t *testing.T) {
	folder := pretending(t, func(w http.ResponseWriter, _ *http.Request) {
		<-time.After(1200 * time.Millisecond)
		_, _ = io.WriteString(w, `{"version": 1, "step": 7, "devices": [{"device": 0, "allocated_bytes": 5}]}`)
	})
	if p := discovered(t, folder); p == nil || p.Problem != nil || p.Info.Step != 7 {
		t.Errorf("it is discovered as %+v", p)
	}
}

func TestProgramsThatAnswerBadlyAreListedWithTheReason(t *testing.T) {
	silent, malformed := new(*SilentError), new(*MalformedError)
	tests := map[string]struct {
		answer http.HandlerFunc
		want   any // the error's type
		says   string
	}{
		"no answer":       {func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() }, silent, "does not answer"},
		"no JSON":         {answering("hello"), malformed, "malformed"},
		"another version": {answering(`{"version": 2}`), new(*wire.VersionError), "version 2"},
		"an error that steers terminals": {func(w http.ResponseWriter, _ *http.Request) {
			w.WriteHeader(http.StatusInternalServerError)
			_, _ = io.WriteString(w, `{"error": "\u001b[2J no"}`)
		}, new(*RefusedError), "refuses: \uFFFD[2J no"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			folder := pretending(t, test.answer)
			within := time.Minute
			if test.want == any(silent) {
				within = 300 * time.Millisecond // it need not be waited for as long as Discover does
			}
			p := askedWithin(t, within, folder)
			if p == nil || p.Problem == nil || !strings.Contains(p.Problem.Error(), test.says) {
				t.Fatalf("it is discovered as %+v, want a problem that says %q", p, test.says)
			}
			if !errors.As(p.Problem, test.want) {
				t.Errorf("the problem is a %T", p.Problem)
			}
			if p.PID != os.Getpid() || p.User == "" || p.Command == "" || p.Info != nil {
				t.Errorf("known of it is %+v, want its pid, user and command", p)
			}
		})
	}
}

func answering(text string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, text) }
}

// askedWithin asks the process whose socket is under path.
func askedWithin(t *testing.T, within time.Duration, path string) *Process {
	t.Helper()
	all, err := sightings(t.Context())
	must(t, err)
	all = slices.DeleteFunc(all, func(s sighting) bool { return !strings.Contains(s.path(), path) })
	ctx, cancel := context.WithTimeout(t.Context(), within)
	defer cancel()
	found := askAll(ctx, all)
	if len(found) == 0 {
		return nil
	}
	return &found[0].process
}

// TestAProgramInAnOpenFolderOfItsOwnIsListed looks from elsewhere.
func TestAProgramInAnOpenFolderOfItsOwnIsListed(t *testing.T) {
	folder := shortFolder(t)
	o := startOther(t, folder, nil)
	chmod(t, folder, 0o750)
	p := discovered(t, folder)
	if p == nil || p.PID != o.Process.Pid || p.Problem == nil || !strings.Contains(p.Problem.Error(), "has mode 0750") {
		t.Errorf("it is discovered as %+v", p)
	}
}

// TestAUserIsToldOfOthersFolders has a user look who is not this one.
func TestAUserIsToldOfOthersFolders(t *testing.T) {
	probetest.AsOtherUsers(t)
	folder := shortFolder(t)
	chmod(t, filepath.Dir(folder), 0o755)
	chmod(t, folder, 0o755)
	must(t, os.Mkdir(filepath.Join(folder, "memtop-0"), 0o700))
	if said, want := asNobody(t, "ls", "TMPDIR="+folder), "memtop-0: it belongs to user root"; !strings.Contains(said, want) {
		t.Errorf("another user sees %q, want %q in it", said, want)
	}
}

// TestThereIsAnEndToAskingSilentPrograms asks one more program than are asked at
// a time, and none of them answers.
func TestThereIsAnEndToAskingSilentPrograms(t *testing.T) {
	folder := shortFolder(t)
	let := make(chan struct{}, asking+1) // an item for each program that was asked
	var all []sighting
	for i := range asking + 1 {
		e := endpoint{uid: os.Geteuid(), root: "/", folder: folder, name: fmt.Sprintf("s%d", i), given: true}
		l, err := net.Listen("unix", e.path())
		must(t, err)
		t.Cleanup(func() { _ = l.Close() })
		go func() {
			if c, err := l.Accept(); err == nil {
				t.Cleanup(func() { _ = c.Close() })
				let <- struct{}{}
			}
		}()
		all = append(all, sighting{e, nil})
	}
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	go func() {
		for range asking {
			<-let
		}
		cancel() // time is up
	}()
	unasked := 0
	for _, f := range askAll(ctx, all) {
		if strings.Contains(f.process.Problem.Error(), "was not asked") {
			unasked++
		}
	}
	if unasked != 1 || ctx.Err() != context.Canceled {
		t.Errorf("%d programs were not asked, want 1 when %d are (%v)", unasked, asking, ctx.Err())
	}
}
