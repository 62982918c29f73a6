package tui

import (
	"errors"
	"testing"

	"github.com/memtop/memtop/cmd/testing/tuitest"
	"github.com/memtop/memtop/snapshots/analysis/proposals"
	"github.com/memtop/memtop/snapshots/trace"
)

func TestAdviceIsMade(t *testing.T) {
	d, p := startLive(t, 80, 24, 20)
	d.press("0", "j", "enter")
	d.wants("This changes the running job from its next step on:", "predicted peak -5.7 MiB")
	d.press("y")
	wantsAsked(t, p, "checkpoint=every=2")
	d.wants("pending")
}

func TestAPlanIsAskedAboutOnceAndMadeWhole(t *testing.T) {
	d, p := startLive(t, 80, 24, 20)
	d.press("0", "f")
	d.wants("fit in")
	d.typed("14MiB")
	d.press("enter")
	d.wants("for 14.0 MiB: checkpoint=b", "checkpoint=block amp=bf16: peak allocated 12.2 MiB, rehearsed on")
	d.press("enter")
	d.wants("checkpoint none → block, amp off → bf16", "predicted peak -11.4 MiB · step +22.0 ms")
	d.press("y")
	wantsAsked(t, p, "checkpoint=block", "amp=bf16")
	d.press("U", "U")
	wantsAsked(t, p, "checkpoint=block", "amp=bf16", "amp=off", "checkpoint=none")
}

func TestAdviceStatesTheErrorOfEarlierRuns(t *testing.T) {
	off := 0.03
	past := func(*trace.Trace, int) proposals.Ledger {
		return proposals.Ledger{{Key: "checkpoint", Peak: &off}, {Key: "checkpoint", Peak: &off}}
	}
	d := start(t, 80, 24, Options{Color: "never", Device: -1, Past: past}, processFile(tuitest.NewProcess(20)))
	d.press("0")
	d.wants("±3.0%", "past error the mean of 2 predictions, in this and in earlier runs like it")
}

func TestATargetThatIsNoSizeIsRefused(t *testing.T) {
	d, _ := startLive(t, 80, 24, 20)
	d.press("0", "f", "x", "enter")
	d.wants(`"x" is not a size; write it like 512MiB, 4GiB or 4GB`)
}

func TestAdviceIsAskedAgainWhenASettingHolds(t *testing.T) {
	d, p := startLive(t, 80, 24, 20)
	d.press("0")
	d.wants("checkpoint=block")
	d.press("C", "y")
	d.train(p, 2)
	d.wants("checkpoint=none")
	d.lacks("checkpoint=block ")
}

func TestAProgramThatAnswersNothingHasNoAdvice(t *testing.T) {
	p := tuitest.NewProcess(9)
	p.Fail(errors.New("the process has ended"))
	d := start(t, 80, 24, Options{Color: "never", Device: -1}, processFile(p))
	d.press("0")
	d.wants("The program could not be asked: the process has ended")
}
