package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"
)

// watch is a memtop that follows a program, with its measured memory.
type watch struct {
	*screen
	name     string
	key      int     // what is pressed next
	resident []int64 // by second
	since    int64   // the most since the last line
	peak     int64   // the most ever, as the kernel counts it
}

// residentLimit is the bytes that memtop may have resident.
const residentLimit = 150_000_000

// keys go through all pages, each with the keys that a user would press there:
// moving, opening, going back in time for a while and to the end again, and
// freezing until the program has freed everything on the screen.
var keys = [...]string{
	"1", "2", "jj", "\r", "\x1b", "3", "j\r", "\x1b", "\x1b", "4", "hhh", "+", "-", "\r", "\x1b", "$", "5", "jj", "6", "j\r", "e", "w", "\x1b",
	"7", "G", "k", "$", "8", "C", "y", "A", "y", "1", "^", "4", "5", "7", "$", "p", "", "", "", "$", "6", " ", "", "", "", "", "", "", "", "", "", "", "", "", "3", "", " ",
}

// soak follows three running programs for a long time and measures the memory
// that memtop takes. The first is memtop's own demo. The second makes 50,000
// events a second, with steps, layers and settings that change. The third makes
// as many events, and also new stacks and labels without end. soak fails if a
// memtop ever had more than the limit resident, mapped files included, or if its
// memory still grew: if the median of the last third of the time, measured every
// second, is more than a twentieth above that of the middle third.
func soak(ctx context.Context, o *options) (err error) {
	folder, err := os.MkdirTemp("", "bench")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(folder)) }()
	var watched []*watch
	headings := []string{"the most since the last line, and ever"}
	for name := range strings.SplitSeq(o.only, ",") {
		args := []string{"demo"}
		if name != "demo" {
			socket := filepath.Join(folder, name)
			r, err := start(ctx, "program", "-rate", "10", "-blocks", "1666", "-layers", "48", fmt.Sprintf("-names=%t", name == "names"), socket)
			if err != nil {
				return err
			}
			defer r.end()
			args = []string{"attach", socket}
		}
		ready, cancel := context.WithTimeout(ctx, time.Minute)
		m, err := o.show(ready, size{120, 40}, func(text string) bool { return strings.Contains(text, "step ") }, args...)
		defer cancel()
		if err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
		watched, headings = append(watched, &watch{screen: m, name: name}), append(headings, "      "+name, "ever")
	}
	return errors.Join(look(ctx, o, watched, newTable(os.Stdout, headings...)), judge(o, watched))
}

// look measures once a second and adds a row every minute.
func look(ctx context.Context, o *options, watched []*watch, t *table) error {
	every := min(time.Minute, max(time.Second, o.length/10))
	second := time.NewTicker(time.Second)
	defer second.Stop()
	for began, printed := time.Now(), 0; time.Since(began) < o.length; {
		select {
		case <-second.C:
		case <-ctx.Done():
			return ctx.Err()
		}
		for _, w := range watched {
			if err := w.second(); err != nil {
				return fmt.Errorf("%s: %w", w.name, err)
			}
		}
		if rows := int(time.Since(began) / every); rows > printed {
			printed = rows
			cells := []string{(time.Duration(rows) * every).String()}
			for _, w := range watched {
				cells = append(cells, megabytes(w.since), megabytes(w.peak))
				w.since = 0
			}
			t.row(cells...)
		}
	}
	return nil
}

// second presses the next key and measures.
func (w *watch) second() error {
	if err := w.Press(keys[w.key%len(keys)]); err != nil {
		return err
	}
	w.key++
	resident, peak, err := memoryOf(w.pid)
	if resident == 0 {
		err = fmt.Errorf("memtop has ended:\n%s", w.Text())
	}
	w.resident = append(w.resident, resident)
	w.since, w.peak = max(w.since, resident), peak
	return err
}

// judge ends the memtops and reports whether their memory was bounded.
func judge(o *options, watched []*watch) (err error) {
	t := newTable(os.Stdout, "median of a third of the time", "middle", "last", "most ever")
	for _, w := range watched {
		ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
		err = errors.Join(err, w.Press("\x03"), w.ended(ctx))
		cancel()
		third := len(w.resident) / 3
		if third == 0 {
			continue
		}
		middle, last := median(w.resident[third:2*third]), median(w.resident[2*third:])
		t.row(w.name, megabytes(middle), megabytes(last), megabytes(w.peak))
		if w.peak > residentLimit {
			err = errors.Join(err, fmt.Errorf("%s: memtop took %s, more than %s", w.name, megabytes(w.peak), megabytes(residentLimit)))
		}
		if last > middle+middle/20 {
			err = errors.Join(err, fmt.Errorf("%s: memtop's memory still grows", w.name))
		}
	}
	return err
}

func megabytes(bytes int64) string { return fmt.Sprintf("%.1f MB", float64(bytes)/1e6) }
