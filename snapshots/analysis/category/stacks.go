package category

import (
	"slices"

	"github.com/memtop/memtop/snapshots/analysis/traits"
	"github.com/memtop/memtop/snapshots/trace"
)

// maker is the kind of code that allocates, as the stack shows it.
type maker uint8

// The makers.
const (
	unknownMaker maker = iota
	noMaker            // no stack
	workspaceMaker
	gradientMaker // where a gradient is accumulated, or a flat buffer of them
	bufferMaker
	flatMaker     // a flat buffer, of parameters or of gradients
	bucketMaker   // DistributedDataParallel
	exchangeMaker // what collectives send and receive
	collectMaker  // the same, by a collective that returns a result
	gatherMaker
	cacheMaker
	stateMaker
	stepMaker
	backwardMaker
	recomputeMaker
	inputMaker
	scriptMaker // a copy or a fresh tensor, outside of everything
	moveMaker
	buildMaker
	constructorMaker
	forwardMaker
	operationMaker // an operation outside of any module
)

// builds reports whether it makes parameters.
func (m maker) builds() bool { return m == moveMaker || m == buildMaker || m == constructorMaker }

// communicates reports whether it makes what ranks exchange.
func (m maker) communicates() bool {
	return m == bucketMaker || m == exchangeMaker || m == collectMaker
}

// strong reports whether a library's frame names it, so that nothing else decides.
func (m maker) strong() bool {
	switch m {
	case unknownMaker, inputMaker, scriptMaker, constructorMaker, forwardMaker, operationMaker:
		return false
	default:
		return true
	}
}

// freer is the kind of code that frees memory, as the stack of the free shows it.
type freer uint8

// The freers.
const (
	unknownFreer freer = iota // never freed, or the stack does not say
	engineFreer
	stepFreer
	zeroFreer
	forwardFreer
	otherFreer
)

// stack is what is known of one.
type stack struct {
	maker maker
	freer freer
	root  trace.FrameID // of forwardMaker: the frame that called the outermost module, in Python where one did
	frame trace.FrameID // the one that decided
	line  trace.FrameID // the innermost of Python
	// part is the line of the outermost forward function of the program's own.
	part trace.FrameID
	// noGrad says that the innermost function that PyTorch decorates makes no graph, native
	// that some frame is C++.
	noGrad, native bool
	// cast says that autocast keeps it longer than the layer that asked.
	cast bool
	// backs says that it communicates for a backward pass: what it leaves are gradients.
	backs bool
}

// decides lists the strong traits in the order of their strength on one frame.
var decides = [...]struct {
	trait traits.Set
	maker maker
	freer freer
}{
	{traits.Workspace, workspaceMaker, otherFreer},
	{traits.Zeroes, unknownMaker, zeroFreer},
	{traits.Accumulates, gradientMaker, engineFreer},
	{traits.GradientBuffers, bufferMaker, otherFreer},
	{traits.Flats, flatMaker, otherFreer},
	{traits.Buckets, bucketMaker, otherFreer},
	{traits.Communicates, exchangeMaker, forwardFreer},
	{traits.Collects, collectMaker, forwardFreer},
	{traits.Gathers, gatherMaker, forwardFreer},
	{traits.Caches, cacheMaker, forwardFreer},
	{traits.BeginsState, stateMaker, stepFreer},
	{traits.Updates, stepMaker, stepFreer},
	{traits.Backward, backwardMaker, engineFreer},
	{traits.Loads, inputMaker, otherFreer},
	{traits.Compiled, forwardMaker, forwardFreer},
	{traits.Calls, forwardMaker, forwardFreer},
	{traits.Moves, moveMaker, otherFreer},
	{traits.Builds, buildMaker, otherFreer},
}

// readStacks judges the frames and stacks that are new.
func (j *Judge) readStacks(t *trace.Tables) {
	j.traits = traits.Read(j.traits, t)
	for id := len(j.stacks); id < t.StackCount(); id++ {
		s := j.readStack(t.Stack(trace.StackID(id)))
		j.moves = j.moves || s.maker == moveMaker
		j.native = j.native || s.native
		if s.maker == flatMaker {
			f := &t.Frames[s.frame]
			j.flats[f.File] = max(j.flats[f.File], f.Line)
		}
		j.stacks = append(j.stacks, s)
	}
}

// flat tells flat buffers of gradients from those of parameters: of the lines of one
// file that make them, the last is the gradients'.
func (j *Judge) flat(id trace.StackID) Rule {
	f := &j.tables.Frames[j.stacks[id].frame]
	if f.Line == j.flats[f.File] {
		return gradientBuffer
	}
	return moduleBuilt
}

// readStack lets the innermost frame decide that has a strong trait.
func (j *Judge) readStack(frames []trace.FrameID) stack {
	if len(frames) == 0 {
		return stack{maker: noMaker}
	}
	s, all, every, decided := stack{freer: otherFreer}, traits.Set(0), ^traits.Set(0), false
	for i, frame := range frames {
		t := j.traits[frame]
		if t&traits.Closure != 0 {
			break // what is around it is the optimizer, which only waits
		}
		if t&traits.Node != 0 && j.firstPython(frames[i+1:]) < 0 {
			t |= traits.Backward // the engine called it: forward has a caller in the program
		}
		s.noGrad = s.noGrad || t&traits.NoGrad != 0 && all&traits.Grad == 0
		all |= t
		every &= t
		s.cast = s.cast || t&traits.Casts != 0
		if t&(traits.Calls|traits.Compiled) != 0 {
			s.root = j.callerOf(frames, i)
		}
		if t&(traits.Calls|traits.Modules|traits.PyTorch|traits.Checkpoints) == traits.Calls {
			s.part = frame
		}
		if t&traits.Applies != 0 && s.maker == moveMaker && j.traits[s.frame]&traits.Applies == 0 {
			s.frame = frame
		}
		// PyTorch puts the engine within functions of Python that it has called, where Python inlines calls.
		if t&traits.Strong != 0 && !decided || t&(traits.Gathers|traits.Communicates|traits.Collects) != 0 && s.maker == backwardMaker {
			decided = true
			s.decide(t, frame)
		}
	}
	if at := j.firstPython(frames); at >= 0 {
		s.line = frames[at]
	}
	s.native = all&traits.Native != 0
	if all&traits.Checkpoints != 0 {
		s.part = 0 // backward runs it again, and frees what it needs
	}
	if s.maker.communicates() && all&traits.Backward != 0 {
		s.freer, s.backs = engineFreer, true
	}
	switch {
	case !decided && every&traits.PyTorch != 0 && all&traits.Native == 0:
		s.maker, s.freer = backwardMaker, engineFreer // its thread has no frame of the program
	case !decided:
		s.maker = weak(all, every&traits.Native == 0)
		if s.root = s.line; s.line == 0 {
			s.root = frames[len(frames)-1]
		}
	case s.maker == forwardMaker && j.traits[s.frame]&traits.Compiled != 0 && all&traits.Backward != 0:
		s.maker, s.freer = backwardMaker, engineFreer
	case s.maker == forwardMaker && all&(traits.Backward|traits.Checkpoints) == traits.Backward|traits.Checkpoints, s.maker == forwardMaker && all&traits.Modules != 0 && j.inEngine(frames):
		s.maker, s.freer = recomputeMaker, engineFreer
	case s.maker == forwardMaker && all&(traits.Backward|traits.Modules) == traits.Backward:
		s.maker, s.freer = backwardMaker, engineFreer // of a function that backward applies
	}
	return s
}

func (s *stack) decide(t traits.Set, frame trace.FrameID) {
	for _, d := range decides {
		if t&d.trait != 0 {
			s.maker, s.freer, s.frame = d.maker, d.freer, frame
			return
		}
	}
}

// inEngine reports whether a forward pass runs under the engine, which calls
// no program but to compute something again.
func (j *Judge) inEngine(frames []trace.FrameID) bool {
	return slices.ContainsFunc(frames, func(f trace.FrameID) bool {
		return j.traits[f]&(traits.Backward|traits.Native) == traits.Backward|traits.Native
	})
}

// weak judges a stack of which no frame decides.
func weak(all traits.Set, python bool) maker {
	switch {
	case all&traits.Foreach != 0 && !python:
		return stepMaker
	case all&traits.Constructs != 0:
		return constructorMaker
	case all&traits.Computes != 0:
		return operationMaker
	case all&traits.Copies != 0:
		return scriptMaker
	default:
		return unknownMaker
	}
}

// callerOf returns the frame that called frame i: in Python, where one did.
func (j *Judge) callerOf(frames []trace.FrameID, i int) trace.FrameID {
	if at := j.firstPython(frames[i+1:]); at >= 0 {
		return frames[i+1+at]
	}
	return frames[min(i+1, len(frames)-1)]
}

func (j *Judge) firstPython(frames []trace.FrameID) int {
	return slices.IndexFunc(frames, func(f trace.FrameID) bool { return j.traits[f]&traits.Native == 0 })
}
