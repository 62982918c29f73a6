package tui

import (
	"testing"

	"memtop/tui/tuitest"
)

// startLive opens a process that has trained so many steps.
func startLive(t testing.TB, w, h, steps int) (*driver, *tuitest.Process) {
	t.Helper()
	p := tuitest.NewProcess(steps)
	d := start(t, w, h, Options{Color: "never", Device: -1}, processFile(p))
	d.news()
	return d, p
}

// train lets the process train and tells the screen.
func (d *driver) train(p *tuitest.Process, steps int) {
	p.Train(steps)
	d.news()
}

func TestALiveScreenGoesAlong(t *testing.T) {
	d, p := startLive(t, 120, 40, 3)
	d.wants("pid 4711", "step 3", "ckpt none", "live")
	d.train(p, 2)
	d.wants("step 5")
	for _, number := range []string{"4", "5", "6", "7"} {
		d.press(number)
		d.train(p, 1)
	}
	d.wants("step 9", "live")
}

func TestSpaceFreezesTheScreen(t *testing.T) {
	d, p := startLive(t, 120, 40, 3)
	d.press("space")
	d.wants("frozen: space goes on")
	frozen := d.screen()
	d.train(p, 4)
	if d.screen() != frozen {
		t.Error("the screen moved while it was frozen")
	}
	d.press("space")
	d.wants("step 7", "live")
}

func TestMovingTheCursorBackStopsFollowing(t *testing.T) {
	d, p := startLive(t, 120, 40, 5)
	d.press("7", "up")
	d.wants("back: $ follows")
	at := d.m.file().current().scene.Cursor()
	d.train(p, 2)
	if got := d.m.file().current().scene.Cursor(); got != at {
		t.Errorf("the cursor went from event %d to %d by itself", at, got)
	}
	d.wants("steps back")
	d.press("end")
	d.wants("live", "step 7")
	d.press("up", "$")
	d.train(p, 1)
	d.wants("step 8", "live")
}

func TestAnEndedProcessStaysOnTheScreen(t *testing.T) {
	d, p := startLive(t, 120, 40, 5)
	p.Train(1)
	p.Lose("the process has exited")
	d.news()
	d.news()
	d.wants("step 6", "the process has exited")
}
