package analysis

import (
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/memtop/memtop/snapshots/trace"
)

// namedCallers is how many callers are looked at to tell stacks apart.
const namedCallers = 16

// StackNames names the stacks of one list so that different stacks have different
// names. If StackName gives several stacks the same name, StackNames adds the
// nearest caller in which they differ; else the operation that was called there;
// else a number, for example if they differ only in frames of C++. All stacks
// without frames have one name.
func (x *Index) StackNames(stacks []trace.StackID) []string {
	names := make([]string, len(stacks))
	for i, id := range stacks {
		names[i] = x.StackName(id)
	}
	for _, group := range alike(names) {
		x.addCallers(names, stacks, group)
	}
	for _, group := range alike(names) {
		x.addOperations(names, stacks, group)
	}
	count := make(map[string]int)
	for i, name := range names {
		if count[name]++; count[name] > 1 && name != x.StackName(trace.EmptyStack) {
			names[i] = name + " #" + strconv.Itoa(count[name])
		}
	}
	return names
}

// NamesOf names the stacks of a list that may repeat stacks. The names depend on
// the set of stacks, not on their order: NamesOf sorts them by id.
func NamesOf(x *Index, stacks []trace.StackID) map[trace.StackID]string {
	slices.Sort(stacks)
	stacks = slices.Compact(stacks)
	names := make(map[trace.StackID]string, len(stacks))
	for i, name := range x.StackNames(stacks) {
		names[stacks[i]] = name
	}
	return names
}

// alike groups the places of names that occur more than once.
func alike(names []string) [][]int {
	same := make(map[string][]int)
	for i, name := range names {
		same[name] = append(same[name], i)
	}
	return slices.DeleteFunc(slices.Collect(maps.Values(same)), func(group []int) bool { return len(group) < 2 })
}

// addOperations adds to the names of a group the operation that allocated: the
// line of Python that was called or, if that is the same line, the operator.
func (x *Index) addOperations(names []string, stacks []trace.StackID, group []int) {
	for _, i := range group {
		operation, line := x.Code().Operation(stacks[i]), x.Code().Line(stacks[i])
		if operation == line {
			operation = x.Code().Operator(stacks[i])
		}
		if operation != 0 && operation != line {
			names[i] += " > " + strings.TrimSuffix(x.ShortLabel(operation), "::call")
		}
	}
}

// addCallers adds to the names of a group the nearest callers that differ.
func (x *Index) addCallers(names []string, stacks []trace.StackID, group []int) {
	between := " < "
	for depth := range namedCallers {
		labels, different := make([]string, len(group)), make(map[trace.FrameID]bool)
		for k, i := range group {
			frame := trace.FrameID(0)
			if told := x.callers(stacks[i]); depth < len(told) {
				frame, labels[k] = told[depth], between+x.ShortLabel(told[depth])
			}
			different[frame] = true
		}
		if len(different) > 1 {
			for k, i := range group {
				names[i] += labels[k]
			}
			return
		}
		between = " < … < "
	}
}

// callers returns the callers of the line that names the stack: the program's own
// lines or, if there are none, all lines that are not hidden.
func (x *Index) callers(stack trace.StackID) []trace.FrameID {
	code, frames, after := x.Code(), x.tables.Stack(stack), false
	line, own := code.Line(stack), slices.ContainsFunc(frames, code.Own)
	var told []trace.FrameID
	for _, frame := range frames {
		if after && len(told) < namedCallers && !code.Hidden(frame) && (!own || code.Own(frame)) {
			told = append(told, frame)
		}
		after = after || frame == line
	}
	return told
}
