package attach

import (
	"fmt"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"sync/atomic"
	"testing"
)

// TestATellerKeepsItsConnection counts the connections of a program that ends them in
// between, as one does that heard nothing for long.
func TestATellerKeepsItsConnection(t *testing.T) {
	folder := filepath.Join(t.TempDir(), "probes")
	must(t, os.Mkdir(folder, 0o700))
	l, err := net.Listen("unix", filepath.Join(folder, "s"))
	must(t, err)
	must(t, os.Chmod(l.Addr().String(), 0o600))
	var connections atomic.Int64
	var newest atomic.Pointer[net.Conn]
	server := &http.Server{
		Handler: http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "application/json")
			fmt.Fprint(w, `{"version": 1, "devices": [{"device": 0, "allocated_bytes": 5}]}`)
		}),
		ConnState: func(c net.Conn, s http.ConnState) {
			if s == http.StateActive && (newest.Load() == nil || *newest.Load() != c) {
				newest.Store(&c)
				connections.Add(1)
			}
		},
	}
	go func() { _ = server.Serve(l) }() // until it is closed
	t.Cleanup(func() { _ = server.Close() })
	teller, err := Here.Teller(t.Context(), l.Addr().String())
	must(t, err)
	defer teller.Close()
	for i, want := range []int64{1, 1, 2, 2} {
		if i == 2 {
			must(t, (*newest.Load()).Close())
		}
		info, err := teller.Info(t.Context())
		if err != nil || info.Devices[0].Allocated != 5 {
			t.Fatalf("question %d: %+v, %v", i, info, err)
		}
		if got := connections.Load(); got != want {
			t.Errorf("question %d goes over connection %d, want %d", i, got, want)
		}
	}
}
