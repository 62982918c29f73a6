package attach

import (
	"context"
	"io"
	"net"
	"os"
	"path/filepath"
	"testing"

	"github.com/memtop/memtop/cmd/testing/probetest"
	"github.com/memtop/memtop/probe"
)

// The helpers of probes' and viewers' tests.
var (
	must     = probetest.Must
	awaiting = probetest.Awaiting
)

// listening starts a probe for p that ends with the test.
func listening(t testing.TB, p probe.Source, o probe.Options) *probe.Probe {
	t.Helper()
	if o.Dir == "" && o.Path == "" {
		folder, err := os.MkdirTemp("", "mt") // a socket's path is short, and TMPDIR may be long
		must(t, err)
		t.Cleanup(func() { _ = os.RemoveAll(folder) })
		o.Dir = filepath.Join(folder, "probe")
	}
	probe, err := probe.Listen(t.Context(), o, p)
	must(t, err)
	t.Cleanup(func() { _ = probe.Close() })
	return probe
}

// dial connects to a socket, and asks nothing.
func dial(ctx context.Context, path string) (net.Conn, error) {
	var d net.Dialer
	return d.DialContext(ctx, "unix", path)
}

// shut closes what a test has looked at.
func shut(c io.Closer) { _ = c.Close() }
