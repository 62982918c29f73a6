package tui

import (
	"testing"
	"time"
)

func TestRestAfterQuestions(t *testing.T) {
	for spent, want := range map[time.Duration]time.Duration{
		0:                     0,
		time.Millisecond:      8 * time.Millisecond,
		60 * time.Millisecond: 480 * time.Millisecond,
		time.Second:           500 * time.Millisecond,
	} {
		if got := restAfter(spent); got != want {
			t.Errorf("after %v: got %v, want %v", spent, got, want)
		}
	}
}
