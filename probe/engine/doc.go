// Package engine joins memtop's engine and the probe: a program trains, and viewers
// see its memory and change its settings.
//
// [Train] does all of it. A program with a loop of its own uses the same parts:
// [Open] or [Watch] for the device before the model is made, [Listen] for the
// trainer, and after each step Probe.Step with Trainer.Report.
package engine
