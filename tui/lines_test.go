package tui

import "testing"

func TestStacksShowsWhoseLineMemoryIs(t *testing.T) {
	d := startSmall(t, 100, 30)
	d.press("6", "l")
	d.wants("By line at the cursor: 123.5 MiB in 35", "own code", "75.0 MiB   60.8%  123.5 MiB      35  train.py:88 main")
	for _, next := range []string{"function", "file", "module", "line"} {
		d.press("l")
		d.wants("By " + next + " at the cursor: 123.5 MiB in 35")
	}
	d.press("c")
	d.wants("By line at the peak: 139.5 MiB")
	d.press("r")
	d.wants("libraries too")
}

func TestALineOpensTheTreeOfItsStacksAndEscLeadsBack(t *testing.T) {
	d := startSmall(t, 100, 30)
	d.press("6", "l", "down", "enter")
	d.wants("Stacks at the cursor: 16.3 MiB in 3", "through model.py:42 forward")
	d.press("esc")
	d.wants("By line at the cursor", "model.py:42 forward")
	d.press("enter", "t", "t")
	d.wants("through model.py:42 forward")
	d.press("l", "t")
	d.wants("Stacks at the cursor: 123.5 MiB in 35", "outermost first")
}
