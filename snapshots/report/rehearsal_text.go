package report

import (
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/memtop/memtop/snapshots/analysis"
	"github.com/memtop/memtop/snapshots/analysis/leak"
	"github.com/memtop/memtop/snapshots/quantity"
)

// Text writes the result for people, in lines of at most width cells: first
// whether it fits, then the numbers, then the holders of the memory on the
// fullest device.
func (r *Rehearsal) Text(w io.Writer, width int) error {
	p := newPage(w, width)
	most := r.Most()
	if r.Failed() {
		p.wrap("", r.failure())
	}
	p.wrap("", r.verdict(most))
	p.wrap("", r.circumstances(most))
	if r.Fit != nil && most != nil {
		r.Fit.text(p, most)
		r.limits(p)
		return p.w.Flush()
	}
	if most != nil {
		r.numbers(p, most)
		r.ranks(p)
		r.host(p)
		if most.device != nil {
			most.holders(p, r.GPU.Total)
		}
	}
	r.limits(p)
	return p.w.Flush()
}

// verdict says in a sentence whether it fits.
func (r *Rehearsal) verdict(most *RehearsedOn) string {
	on := fmt.Sprintf("an imitated %s of %s", r.GPU.Title, quantity.Bytes(r.GPU.Total))
	switch {
	case r.Failed() && most == nil:
		return "It failed before it used " + on + "."
	case r.Failed():
		return fmt.Sprintf("Until it failed it fitted on %s, with %s left.", on, quantity.Bytes(r.GPU.Total-most.Full()))
	case most == nil:
		return "It used no device of " + on + "."
	case r.Fits && r.Ended == "waits":
		return fmt.Sprintf("As far as it ran it fits on %s, with %s left.", on, quantity.Bytes(r.GPU.Total-most.Full()))
	case r.Fits:
		return fmt.Sprintf("It fits on %s%s, with %s left.%s%s", on, r.asFar(most), quantity.Bytes(r.GPU.Total-most.Full()), r.narrow(most), r.caught())
	case most.OOM == nil:
		return "It does not fit on " + on + "."
	}
	text := fmt.Sprintf("It does not fit on %s: %s were asked for", on, quantity.Bytes(most.OOM.Asked))
	if most.OOM.Short != nil && *most.OOM.Short > 0 {
		text += fmt.Sprintf(", %s more than there were", quantity.Bytes(*most.OOM.Short))
	}
	text += "."
	if r.ExitCode == 0 {
		text += " The program caught that (--caught fits counts it as fitting)."
	}
	if most.OOM.Needs != nil {
		text += fmt.Sprintf(" It needs %s.", quantity.Bytes(*most.OOM.Needs))
	}
	return text + r.handled()
}

// contextSpread is how much more than is counted CUDA took beside PyTorch's allocator, in the one of the published
// out-of-memory errors of one process in which it was most (docs/rehearse.md).
const contextSpread = 160 << 20

// spreadOf returns how much more than is counted the processes on a device may take.
func spreadOf(on *RehearsedOn) int64 { return int64(max(on.Processes, 1)) * contextSpread }

// narrow says that what is left may not be enough, "" if it is.
func (r *Rehearsal) narrow(most *RehearsedOn) string {
	spread := spreadOf(most)
	if r.GPU.Total-most.Full() >= spread {
		return ""
	}
	return fmt.Sprintf(" That is close: beside PyTorch CUDA may take %s more than is counted.", quantity.Bytes(spread))
}

// asFar names the steps that the verdict is about, "" if it is about the whole program.
func (r *Rehearsal) asFar(most *RehearsedOn) string {
	if r.NotRun == "" {
		return ""
	}
	if most.Steps == 1 {
		return " in the first step"
	}
	return fmt.Sprintf(" in the first %d steps", most.Steps)
}

// handled says that a failed pass was still held when the next one began, "" if none was.
func (r *Rehearsal) handled() string {
	if r.Handling == "" {
		return ""
	}
	return fmt.Sprintf(" It tried again inside the except of %s, where the exception's traceback keeps what the failed pass made: after the except that is gone.", r.Handling)
}

// caught says what the program asked for before it found what fits.
func (r *Rehearsal) caught() string {
	for i := range r.Ranks {
		if c := r.Ranks[i].Caught; c != nil {
			return fmt.Sprintf(" It ran out of memory %s before and caught that, last when it asked for %s.", quantity.Plural(c.Times, "time"), quantity.Bytes(c.Asked)) + r.handled()
		}
	}
	return ""
}

// Failed reports whether the program failed for another reason than memory.
func (r *Rehearsal) Failed() bool { return r.ExitCode != 0 && r.Fits && r.Ended != Crashed }

// failure says how it failed, and whether made-up values may be why.
func (r *Rehearsal) failure() string {
	text := fmt.Sprintf("The program failed with exit code %d", r.ExitCode)
	if r.Error == "" {
		text += "."
	} else {
		text += ": " + r.Error
	}
	for _, d := range r.DependsOnData {
		if strings.HasSuffix(r.Error, "("+d.Line+")") {
			return text + " That line reads a value that is not known: --set " + d.Line + "=VALUE says one."
		}
	}
	if len(r.DependsOnData) > 0 {
		text += " It read values that are not known, at the lines below; one of them may be the cause."
	}
	return text
}

// endings explain why a rehearsal ended, by the words of the JSON.
var endings = map[string]string{
	"settled": "ended here, for the peak stays", "steps": "ended here, as was asked for", "exit": "ran to its end",
	"waits": "ended here, for it waits for a value that nothing computes",
	Crashed: "ran to its end; Python crashed only after that, so the numbers hold",
}

func (r *Rehearsal) circumstances(most *RehearsedOn) string {
	text := fmt.Sprintf("PyTorch %s, CUDA %s, %.1f s", r.PyTorch, r.CUDA, r.Seconds)
	if most != nil && most.Steps > 0 {
		text += ", " + quantity.Plural(most.Steps, "step")
	}
	if ending := endings[r.Ended]; ending != "" && r.Fits && !r.Failed() {
		text += "; " + ending
	}
	if r.NotRun != "" {
		text += fmt.Sprintf(". Not run: %s, such as evaluation and saving; --steps all runs it", r.NotRun)
	}
	return text + ". The loss is not computed."
}

func (r *Rehearsal) numbers(p *page, most *RehearsedOn) {
	row := func(name string, bytes int64, what string) {
		p.line("  %-16s%12s  %s", name, quantity.Bytes(bytes), what)
	}
	p.line("")
	row("peak allocated", most.PeakAllocated, "as torch.cuda.max_memory_allocated()")
	row("peak reserved", most.PeakReserved, "as torch.cuda.max_memory_reserved()")
	row("CUDA's context", r.GPU.Context, "beside PyTorch, with loaded kernels; modelled")
	if libraries := most.DeviceBytes - r.GPU.Context - most.PeakReserved; libraries > 0 {
		row("libraries", libraries, "beside it too, such as NCCL's buffers")
	}
	row("on the device", most.DeviceBytes, "at most, all of these")
	if most.Processes > 1 {
		row("together", most.Together, fmt.Sprintf("at most, of %d processes on this device", most.Processes))
	}
	if len(r.FitsOn) > 0 {
		p.wrap("  fits on           ", smallest(r.FitsOn))
	}
}

// smallest names the first GPUs of a list, in which the smallest come first, and
// counts the rest.
func smallest(names []string) string {
	const shown = 6
	if len(names) <= shown {
		return strings.Join(names, ", ")
	}
	return fmt.Sprintf("%s, and %d larger", strings.Join(names[:shown], ", "), len(names)-shown)
}

// ranks lists the devices of a program that used several.
func (r *Rehearsal) ranks(p *page) {
	if len(r.Ranks) < 2 {
		return
	}
	p.line("")
	p.line("  %4s %6s %14s %14s %14s", "rank", "device", "peak allocated", "peak reserved", "on the device")
	for i := range r.Ranks {
		on := &r.Ranks[i]
		p.line("  %4d %6d %14s %14s %14s", on.Rank, on.Device, quantity.Bytes(on.PeakAllocated), quantity.Bytes(on.PeakReserved), quantity.Bytes(on.DeviceBytes))
	}
	for i := range r.Ranks {
		r.astray(p, &r.Ranks[i])
	}
	most := r.Most()
	p.line("  Below: rank %d, device %d, the fullest.", most.Rank, most.Device)
}

// astray says that a rank has memory on a device that is another rank's, beside more on its own.
func (r *Rehearsal) astray(p *page, on *RehearsedOn) {
	own := func(other RehearsedOn) bool { return other.Rank == on.Rank && other.PeakAllocated > on.PeakAllocated }
	others := func(other RehearsedOn) bool {
		return other.Rank != on.Rank && other.Device == on.Device && other.PeakAllocated > on.PeakAllocated
	}
	if len(on.TopLinesAtPeak) > 0 && slices.ContainsFunc(r.Ranks, own) && slices.ContainsFunc(r.Ranks, others) {
		p.wrap("  ", fmt.Sprintf("Rank %d has %s on device %d, another rank's, most by %s: torch.cuda.set_device, and map_location where it is loaded, keep it on its own.",
			on.Rank, quantity.Bytes(on.PeakAllocated), on.Device, on.TopLinesAtPeak[0].Line))
	}
}

// holders writes the holders of the memory.
func (on *RehearsedOn) holders(p *page, total int64) {
	d, x := on.device, on.index
	remedies := d.wouldFit
	if on.OOM != nil && on.OOM.Needs != nil {
		remedies = func(p *page) { on.remedies(p, total) }
	}
	d.failureLines(p, x, remedies)
	d.categories(p, x)
	d.labels(p)
	d.gathered(p)
	d.lineLines(p, x, "")
	graphLines(p, on.Graphs)
	on.told(p, total)
	on.trials(p)
}

// limits says how exact the numbers are.
func (r *Rehearsal) limits(p *page) {
	p.line("")
	if len(r.Ranks) > 0 {
		p.wrap("  ", worth[r.Bound])
	}
	for _, why := range r.Timing {
		p.wrap("  by timing: ", why)
	}
	for _, because := range r.Because {
		p.wrap("  not exact: ", because)
	}
	r.reads(p)
	for _, gap := range r.NotImitated {
		p.wrap("  not imitated: ", fmt.Sprintf("%s, called %d times by %s", gap.Function, gap.Count, gap.Caller))
	}
}

// reads says of the values that nothing computes where the program reads them, and what others made of it.
func (r *Rehearsal) reads(p *page) {
	if r.agreed() {
		p.wrap("  ", fmt.Sprintf("%s read values that nothing computes. Run once more, with ones in place of zeros, the program made the same requests.",
			quantity.Plural(len(r.DependsOnData), "line")))
		return
	}
	for _, d := range r.DependsOnData[:min(len(r.DependsOnData), 8)] {
		p.line("    %-20s %6dx  %s%s", d.Line, d.Count, d.most(), d.What)
	}
	if other := r.OtherValues; other != nil {
		p.wrap("  ", fmt.Sprintf("With ones in place of these zeros its peak is %s allocated, %s reserved.", quantity.Bytes(other.PeakAllocated), quantity.Bytes(other.PeakReserved)))
	}
}

// most describes the value.
func (d *DependsOnData) most() string {
	switch {
	case d.Given:
		return "as --set says  "
	case d.AtMost != nil:
		return "at most " + quantity.Bytes(*d.AtMost) + "  "
	}
	return ""
}

// told writes what the recording says beyond the peak, and of memory that grows when the GPU is full.
func (on *RehearsedOn) told(p *page, total int64) {
	p.line("")
	for i := range on.device.found {
		switch f := &on.device.found[i]; f.Kind {
		case analysis.PeakFinding, analysis.ShortageFinding, analysis.UnrecordedFinding:
		case analysis.GrowthFinding:
			text := f.Text()
			if steps := (total - on.Full()) / max(f.PerStep, 1); f.PerStep > 0 && steps < leak.Far {
				text += fmt.Sprintf(" The GPU is full after about %s more.", quantity.Plural(int(steps), "step"))
			}
			p.wrap("  ", text)
		default:
			p.wrap("  ", f.Text())
		}
	}
}
