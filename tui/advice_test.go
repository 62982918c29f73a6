package tui

import (
	"errors"
	"testing"

	"github.com/memtop/memtop/cmd/testing/tuitest"
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
	d.wants("checkpoint none → block, amp off → bf16", "predicted peak -11.4 MiB")
	d.press("y")
	wantsAsked(t, p, "checkpoint=block", "amp=bf16")
	d.press("U", "U")
	wantsAsked(t, p, "checkpoint=block", "amp=bf16", "amp=off", "checkpoint=none")
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
