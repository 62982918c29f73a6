package tui

import (
	"context"
	"strings"
	"testing"
	"time"

	tea "charm.land/bubbletea/v2"

	"github.com/memtop/memtop/cmd/testing/tuitest"
)

// loop runs a model as a program does: messages one after the other, commands
// beside them.
type loop struct {
	model    *Model
	messages chan tea.Msg // closed by nobody
	ctx      context.Context
}

func (l *loop) run(cmd tea.Cmd) {
	if cmd == nil {
		return
	}
	go func() {
		switch msg := cmd().(type) {
		case nil:
		case tea.BatchMsg:
			for _, c := range msg {
				l.run(c)
			}
		default:
			select {
			case l.messages <- msg:
			case <-l.ctx.Done():
			}
		}
	}()
}

func (l *loop) send(msg tea.Msg) {
	_, cmd := l.model.Update(msg)
	l.run(cmd)
}

// TestAScreenAndAProcessDoNotRace turns pages while a process trains, with every
// question on a goroutine of its own. It is for the race detector.
func TestAScreenAndAProcessDoNotRace(t *testing.T) {
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	p := tuitest.NewProcess(5)
	l := &loop{New([]File{processFile(p)}, Options{Color: "never", Device: -1}), make(chan tea.Msg), ctx}
	l.run(l.model.Init())
	l.send(tea.WindowSizeMsg{Width: 120, Height: 40})
	trained := make(chan struct{})
	go func() {
		defer close(trained)
		for k := range 120 {
			p.Train(1)
			if k%40 == 20 {
				p.Forget(200)
			}
		}
		p.Lose("the process has ended")
	}()
	keys := []string{"1", "2", "3", "4", "+", "left", "5", "6", "7", "up", "8", "space", "space", "$"}
	for n := 0; ; n++ {
		select {
		case msg := <-l.messages:
			l.send(msg)
		case <-ctx.Done():
			t.Fatalf("the last step was never shown:\n%s", plain(l.model.View().Content))
		}
		l.send(keyPress(keys[n%len(keys)]))
		shown := plain(l.model.View().Content)
		if strings.Contains(shown, "step 125") && strings.Contains(shown, "the process has ended") {
			break
		}
		select {
		case <-trained: // nothing more will come by itself
			l.send(keyPress("$"))
		default:
		}
	}
	<-trained
}
