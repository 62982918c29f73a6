package attach

import (
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/memtop/memtop/probe/protocol"
	"github.com/memtop/memtop/snapshots/procfs"
)

func TestAProcessKnowsWhenItBegan(t *testing.T) {
	before := time.Now()
	o := startOther(t, shortFolder(t), nil)
	after := time.Now()
	ticks, err := startOf(o.Process.Pid)
	must(t, err)
	folder := strings.TrimPrefix(o.Env[len(o.Env)-1], "MEMTOP_DIR=")
	p := discovered(t, folder)
	if p == nil || p.Problem != nil {
		t.Fatalf("it is discovered as %+v", p)
	}
	if want := protocol.SocketName(o.inside, ticks); filepath.Base(p.Socket) != want {
		t.Errorf("its socket is %s, want %s, as others read its begin", filepath.Base(p.Socket), want)
	}
	began := time.UnixMicro(p.Info.Started)
	if began.Before(before.Add(-2*procfs.Tick)) || began.After(after) {
		t.Errorf("it says that it began at %v, and was started between %v and %v", began, before, after)
	}
}
