package protocol_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/memtop/memtop/cmd/testing/fatal"
	"github.com/memtop/memtop/probe/protocol"
	"github.com/memtop/memtop/snapshots/blackbox"
)

// writeBox writes a box of a program that noted at that time that it runs.
func writeBox(t *testing.T, folder, name string, alive time.Time) string {
	t.Helper()
	data := make([]byte, blackbox.LeastSize)
	w, err := blackbox.NewWriter(data, []int{0})
	fatal.If(t, err)
	w.Alive(alive.UnixMicro())
	path := filepath.Join(folder, name)
	fatal.If(t, os.WriteFile(path, data, 0o600))
	old := alive.Add(-48 * time.Hour) // a mapped file's time is that of its making
	fatal.If(t, os.Chtimes(path, old, old))
	return path
}

func boxNames(t *testing.T, folder string) string {
	t.Helper()
	boxes, err := protocol.Boxes(folder, "")
	fatal.If(t, err)
	var names []string
	for _, b := range boxes {
		names = append(names, filepath.Base(b.Path))
	}
	return strings.Join(names, " ")
}

func privateFolder(t *testing.T) string {
	t.Helper()
	folder := t.TempDir()
	fatal.If(t, os.Chmod(folder, 0o700))
	return folder
}

func TestBoxesAreListedTheNewestFirst(t *testing.T) {
	folder, now := privateFolder(t), time.Now()
	writeBox(t, folder, "1-10.box", now.Add(-time.Hour))
	writeBox(t, folder, "2-20.box", now.Add(-time.Minute))
	writeBox(t, folder, "3-30.box", now.Add(-2*time.Hour))
	for _, name := range []string{"4-40.sock", "notes.box", "5.box", "6-60.box.bak", "-7-70.box"} {
		writeBox(t, folder, name, now)
	}
	if got := boxNames(t, folder); got != "2-20.box 1-10.box 3-30.box" {
		t.Error("got ", got)
	}
}

func TestBoxesAreRemovedAfterADayAndWhenTheyAreTooMany(t *testing.T) {
	folder, now := privateFolder(t), time.Now()
	for i := range protocol.BoxesKept + 3 {
		writeBox(t, folder, protocol.BoxName(100+i, 1), now.Add(-time.Duration(i+1)*time.Minute))
	}
	old := writeBox(t, folder, "9-9.box", now.Add(-protocol.BoxLifetime-time.Minute))
	hidden := writeBox(t, folder, ".8-8.box", now.Add(-2*time.Minute))
	own := writeBox(t, folder, "7-7.box", now.Add(-72*time.Hour))
	protocol.TidyBoxes(folder, own)
	if got := strings.Fields(boxNames(t, folder)); len(got) != protocol.BoxesKept+1 || got[0] != "100-1.box" || got[protocol.BoxesKept] != "7-7.box" {
		t.Error("left: ", got)
	}
	for _, path := range []string{old, hidden} {
		if _, err := os.Lstat(path); err == nil {
			t.Errorf("%s is still there", path)
		}
	}
}

func TestABoxFromTheFutureIsAsOldAsItsFile(t *testing.T) {
	folder := privateFolder(t)
	writeBox(t, folder, "1-1.box", time.Now().Add(1000*time.Hour))
	fatal.If(t, os.Chtimes(filepath.Join(folder, "1-1.box"), time.Time{}, time.Now().Add(-25*time.Hour)))
	if protocol.TidyBoxes(folder, ""); boxNames(t, folder) != "" {
		t.Error("it stays for ever")
	}
}

// TestWhatIsNoBoxHasAProblem has things under a box's name that reading would wait for, or
// that lie elsewhere.
func TestWhatIsNoBoxHasAProblem(t *testing.T) {
	folder := privateFolder(t)
	fatal.If(t, os.Mkdir(filepath.Join(folder, "1-1.box"), 0o700))
	if err := os.Symlink("/etc/passwd", filepath.Join(folder, "2-2.box")); err != nil {
		t.Skip(err)
	}
	boxes, err := protocol.Boxes(folder, "")
	if err != nil || len(boxes) != 2 || boxes[0].Problem == nil || boxes[1].Problem == nil {
		t.Errorf("got %+v, %v", boxes, err)
	}
	if protocol.TidyBoxes(folder, ""); boxNames(t, folder) == "" {
		t.Error("what is no box was removed")
	}
}

// TestABoxThatOthersMayHaveMadeHasAProblem: nothing of it is shown, and another user's is
// left where it is.
func TestABoxThatOthersMayHaveMadeHasAProblem(t *testing.T) {
	for name, test := range map[string]struct {
		change func(path string) error
		want   string
		stays  bool
	}{
		"all may write it": {func(path string) error { return os.Chmod(path, 0o666) }, "has mode 0666, which lets others in", false},
		"all may read it":  {func(path string) error { return os.Chmod(path, 0o644) }, "has mode 0644, which lets others in", false},
		"another owns it":  {func(path string) error { return os.Chown(path, 4711, -1) }, "belongs to user 4711 and not to user ", true},
	} {
		t.Run(name, func(t *testing.T) {
			folder := privateFolder(t)
			path := writeBox(t, folder, "1-1.box", time.Now().Add(-2*protocol.BoxLifetime))
			if err := test.change(path); err != nil {
				t.Skip(err) // only root may give a file away
			}
			boxes, err := protocol.Boxes(folder, "")
			if err != nil || len(boxes) != 1 {
				t.Fatalf("got %+v, %v", boxes, err)
			}
			if err := boxes[0].Problem; err == nil || !strings.Contains(err.Error(), path+" "+test.want) || boxes[0].Own == test.stays {
				t.Errorf("got %+v, want a problem %q", boxes[0], test.want)
			}
			if protocol.TidyBoxes(folder, ""); (boxNames(t, folder) != "") != test.stays {
				t.Errorf("it was tidied: %v", !test.stays)
			}
		})
	}
}

// TestABoxIsAsLargeAsWhatItTakes is of what removing it frees.
func TestABoxIsAsLargeAsWhatItTakes(t *testing.T) {
	folder := privateFolder(t)
	if err := os.Truncate(writeBox(t, folder, "1-1.box", time.Now()), 1<<40); err != nil {
		t.Skip(err)
	}
	if boxes, err := protocol.Boxes(folder, ""); err != nil || boxes[0].Bytes > 1<<30 {
		t.Errorf("got %+v, %v", boxes, err)
	}
}

func TestAFolderThatIsOpenToOthersHasNoBoxes(t *testing.T) {
	folder := privateFolder(t)
	writeBox(t, folder, "1-1.box", time.Now())
	fatal.If(t, os.Chmod(folder, 0o755))
	if _, err := protocol.Boxes(folder, ""); err == nil {
		t.Skip("modes say nothing on this system")
	} else if !strings.Contains(err.Error(), "lets others in") {
		t.Error(err)
	}
	if boxes, err := protocol.Boxes(filepath.Join(folder, "missing"), ""); err != nil || len(boxes) > 0 {
		t.Errorf("a folder that is not there: %v, %v", boxes, err)
	}
}

func TestTheVariableOfTheBlackBoxIsRead(t *testing.T) {
	for text, want := range map[string]struct {
		size   int
		folder string
		err    string
	}{
		"off":        {size: -1},
		"64MiB":      {size: 64 << 20},
		"/dev/shm/x": {folder: "/dev/shm/x"},
		"1KiB":       {err: "want off, a size from"},
		"64GiB":      {err: "want off, a size from"},
		"a/folder":   {err: "want off, a size from"},
	} {
		size, folder, err := protocol.ParseBlackBox(text)
		if size != want.size || folder != want.folder || (err != nil) != (want.err != "") || err != nil && !strings.Contains(err.Error(), want.err) {
			t.Errorf("%q is %d, %q, %v", text, size, folder, err)
		}
	}
}
