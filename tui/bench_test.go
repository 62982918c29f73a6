package tui

import (
	"testing"

	"github.com/memtop/memtop/cmd/testing/tuitest"
	"github.com/memtop/memtop/snapshots/trace"
)

// benchEvents is the size of the trace that drawing is promised for.
const benchEvents = 1_400_000

// benchTrace is the trace of BenchmarkDraw. An external test of this package
// replaces it by that of the file in MEMTOP_BENCH_FILE.
var benchTrace = func() *trace.Trace { return tuitest.Large(benchEvents) }

// BenchmarkDraw draws each page at 200×60 while keys scroll, zoom and move the
// cursor. Key is what the reader waits for: the key's update and the frame
// after it. Settled is until the screen shows the key's whole effect: what the
// page asks for is computed in commands, beside the screen, and drawn again.
func BenchmarkDraw(b *testing.B) {
	t := benchTrace()
	pages := map[string][]string{
		"overview": {"j", "k", "c"},
		"timeline": {"right", "+", "left", "L", "down", "-", "H", "up"},
		"segments": {"j", "pgdown", "k", "pgup", ">"},
		"stacks":   {"j", "pgdown", "k", "pgup", "e"},
		"flame":    {"down", "right", "up", "+", "-"},
		"events":   {"j", "pgdown", "k", "pgup"},
		"sites":    {"j", "k", ">", "I"},
		"tensors":  {"j", "pgdown", "k", "pgup", ">"},
	}
	for name, keys := range pages {
		d := start(b, 200, 60, Options{Color: "always"}, fileOf("big.pickle", t))
		d.press(views[name]...)
		b.Run(name+"/key", func(b *testing.B) { benchKeys(b, d, keys) })
		b.Run(name+"/settled", func(b *testing.B) { benchSettled(b, d, keys) })
	}
}

// benchKeys measures updates and frames, and runs the commands off the clock.
func benchKeys(b *testing.B, d *driver, keys []string) {
	b.Helper()
	for i := 0; b.Loop(); i++ {
		_, cmd := d.m.Update(keyPress(keys[i%len(keys)]))
		if len(d.screen()) == 0 {
			b.Fatal("nothing drawn")
		}
		b.StopTimer()
		d.run(cmd)
		b.StartTimer()
	}
}

func benchSettled(b *testing.B, d *driver, keys []string) {
	b.Helper()
	for i := 0; b.Loop(); i++ {
		d.send(keyPress(keys[i%len(keys)]))
		if len(d.screen()) == 0 {
			b.Fatal("nothing drawn")
		}
	}
}

// SetBenchTrace replaces the trace of BenchmarkDraw.
func SetBenchTrace(f func() *trace.Trace) { benchTrace = f }

// BenchmarkLive takes one more step of a program that has run for long, on each
// page at 80×24: everything that a frame of a live screen computes and draws.
func BenchmarkLive(b *testing.B) {
	for name, keys := range liveViews {
		b.Run(name, func(b *testing.B) {
			d, p := startLiveWith(b, 80, 24, 20_000, Options{Color: "always"})
			d.press(keys...)
			for b.Loop() {
				b.StopTimer()
				p.Train(1)
				b.StartTimer()
				d.news()
				if len(d.screen()) == 0 {
					b.Fatal("nothing drawn")
				}
			}
		})
	}
}
