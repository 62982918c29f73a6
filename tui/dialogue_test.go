package tui

import (
	"strconv"
	"strings"
	"testing"

	"github.com/memtop/memtop/cmd/testing/tuitest"
)

// dialogue is keys, and texts that the screen has after them, separated by " | "; it
// lacks a text that begins with an exclamation mark. The key ×3 lets the program train
// three steps and tell of them.
type dialogue [][2]string

// holds fails the test unless the screen answers every turn as the dialogue says.
func (d *driver) holds(p *tuitest.Process, turns dialogue) {
	d.t.Helper()
	for _, turn := range turns {
		for key := range strings.FieldsSeq(turn[0]) {
			if steps, ok := strings.CutPrefix(key, "×"); ok {
				n, _ := strconv.Atoi(steps)
				d.train(p, n)
			} else {
				d.press(key)
			}
		}
		d.shows("", turn[1])
	}
}

// shows presses keys and fails the test unless the screen then has the texts of a
// [dialogue].
func (d *driver) shows(keys, texts string) {
	d.t.Helper()
	d.press(keys)
	for text := range strings.SplitSeq(texts, " | ") {
		if lacked, ok := strings.CutPrefix(text, "!"); ok {
			d.lacks(lacked)
		} else {
			d.wants(text)
		}
	}
}

func TestAFileAnswers(t *testing.T) {
	small := fileOf("run.pickle", tuitest.Small())
	larger := []File{small, fileOf("larger.pickle", tuitest.TwoDevices())}
	tests := map[string]struct {
		w, h  int
		files []File // nil for the small one
		turns dialogue
	}{
		"pages by number and tab": {80, 24, nil, dialogue{
			{"1", "What stands out"},
			{"4", "Live memory by category"},
			{"5", "Allocator's map"},
			{"6", "Stacks at the cursor"},
			{"7", "247 events"},
			{"1 tab", "creation sites"},
			{"7 shift+tab", "Stacks at the cursor"},
			{"1 shift+tab tab", "What stands out"},
		}},
		"pages that the file has nothing for": {80, 24, nil, dialogue{
			{"2", "1 Overview  3 Tensors | 7 Events | Layers are those of a program that measures them | What stands out | !2 Layers | !8 Exper | !9 Ranks"},
			{"8", "Experiments are those of a running program"},
			{"9", "Ranks are those of a job of several processes"},
			{"0", "Advice is asked of a running program"},
			{"?", "!Experiments | !checkpointing"},
		}},
		"the cursor": {80, 24, nil, dialogue{{"", "(out of memory)"}, {"p", "(peak)"}, {"o", "(out of memory)"}, {"^", "at the start"}}},
		"the cursor at the start, on every page": {140, 40, nil, dialogue{
			{"7 g 1", "at the start"},
			{"3", "sites, 27.0 MiB"},
			{"4", "▲ before the first event"},
			{"5", "map before the first event"},
			{"6", "at the cursor: 27.0 MiB in 13"},
			{"7", "before the first event: 27.0 MiB held"},
		}},
		"the cursor at the peak, on every page": {140, 40, nil, dialogue{
			{"7 p 1", "at event 198"},
			{"3", "sites, 139.5 MiB"},
			{"4", "▲ 198"},
			{"5", "Allocator's map after event 198"},
			{"6", "at the cursor: 139.5 MiB in "},
			{"7", "event 198  "},
		}},
		"searches of events": {140, 40, nil, dialogue{
			{"7 g / attend enter", "“attend” | attention.py:31 attend | !” 0 matches"},
			{"g / adamw.py enter", "“adamw.py” | adamw | !” 0 matches"},
			{"g / segment_alloc enter", "“segment_alloc” | segment_alloc | !” 0 matches"},
			{"g / 58.6kib enter", "“58.6kib” | 58.6 KiB | !” 0 matches"},
			{"g / 60000 enter", "“60000” | 58.6 KiB | !” 0 matches"},
			{"g / 0x7f00 enter", "“0x7f00” | 0x7f00 | !” 0 matches"},
			{"g / >7MiB enter", "“>7MiB” | 8.0 MiB | !” 0 matches"},
			{"g / alloc space log_loss enter", "“alloc log_loss” | log_loss | !” 0 matches"},
			{"g / ATTEND enter", "“ATTEND” | attend | !” 0 matches"},
			{"g / oom enter", "“oom” | out of memory | !” 0 matches"},
			{"g / model.py:41 enter", "“model.py:41” | model.py | !” 0 matches"},
			{"g / _ops::linear enter", "“_ops::linear” | forward | !” 0 matches"},
		}},
		"a filter of events":                   {80, 24, nil, dialogue{{`7 \ segment_ enter`, "Events matching “segment_” | segment_alloc | !free_completed"}, {"esc", "▌ 247 events"}}},
		"a prompt takes keys of other meaning": {80, 24, nil, dialogue{{"7 / q1?", "search q1? | 247 events"}, {"backspace backspace esc", "!search q"}}},
		"the state after an event": {200, 60, nil, dialogue{
			{"7 ^ / attend enter", "Allocator after it | = reserved | segment 0x7f | ▲"}, {"o", "!is in no segment"},
		}},
		"from a band to an event and back": {120, 40, nil, dialogue{
			{"4 down down", "At the cursor"},
			{"enter", "activation at the cursor, by stack | all of activation"},
			{"enter", "all of this stack"},
			{"enter", "247 events"},
			{"esc", "all of this stack"},
			{"esc", "all of activation"},
			{"esc", "At the cursor"},
		}},
		"the y axis": {120, 40, nil, dialogue{{"4 + +", "   0 B "}, {"f", "y from "}, {"f", "   0 B  | !y from "}}},
		"zooming": {120, 40, nil, dialogue{
			{"4 left right { }", "all 247 events"},
			{"4 p", "all 247 events"},
			{"+ +", "of 247 | ▲ 198 | !all 247 events"},
			{"a", "all 247 events"},
			{"+ + + + + + + + + + p right right", "▲ 200"},
			{"- - - - - - - - - - - -", "all 247 events"},
		}},
		"a flame": {120, 40, nil, dialogue{{"6 t down down enter", "!▏all"}, {"esc", "▏all"}}},
		"a tree is filtered": {120, 40, nil, dialogue{
			{`6 \ attend enter`, "filter “attend” | attend | !_init_group"}, {"esc", "_init_group"},
		}},
		"stacks at moments": {80, 24, nil, dialogue{
			{"6 c", "Stacks at the peak"}, {"c", "Stacks live at the end"}, {"c i", "Stacks at the cursor | innermost first"},
		}},
		"lines of code": {100, 30, nil, dialogue{
			{"6 l", "By line at the cursor: 123.5 MiB in 35 | own code | 75.0 MiB   60.8%  123.5 MiB      35  train.py:88 main"},
			{"l", "By function at the cursor: 123.5 MiB in 35"},
			{"l", "By file at the cursor: 123.5 MiB in 35"},
			{"l", "By module at the cursor: 123.5 MiB in 35"},
			{"l", "By line at the cursor: 123.5 MiB in 35"},
			{"c", "By line at the peak: 139.5 MiB"},
			{"r", "libraries too"},
		}},
		"stacks of a line": {100, 30, nil, dialogue{
			{"6 l down enter", "Stacks at the cursor: 16.3 MiB in 3 | through model.py:42 forward"},
			{"esc", "By line at the cursor | model.py:42 forward"},
			{"enter t t", "through model.py:42 forward"},
			{"l t", "Stacks at the cursor: 123.5 MiB in 35 | outermost first"},
		}},
		"a file and its peak, compared": {100, 30, nil, dialogue{
			{"6 v", "By cause at the cursor: -16.0 MiB | peak → cursor | of 139.5 MiB → 123.5 MiB"},
			{"c", "at the peak: 0 B | no difference"},
			{"c", "live at the end | peak → end"},
		}},
		"a file that cannot be compared": {100, 30, []File{small, brokenFile("bad.pickle", "damaged at byte 1234")}, dialogue{
			{"6 v", "bad.pickle: damaged at byte 1234"},
		}},
		"two runs, compared from either": {100, 30, twoRuns(t), dialogue{
			{"6 v", "By cause at the cursor: -2.5 KiB | → second.pickle | of 6.0 KiB → 3.5 KiB | " +
				"   6.0 KiB    3.0 KiB    -3.0 KiB           2 → 2  half as large |        0 B      512 B      +512 B           0 → 1  activation, only after | " +
				"Half as large: 2 allocations, 6.0 KiB before, 3.0 KiB after"},
			{"l", "By line at the cursor: -2.5 KiB |    6.0 KiB    3.0 KiB    -3.0 KiB           2 → 2  model.py:20 forward"},
			{"l", "By function at the cursor: -2.5 KiB |    6.0 KiB    3.5 KiB    -2.5 KiB           2 → 3  model.py forward"},
			{"l", "By file at the cursor: -2.5 KiB |    6.0 KiB    3.5 KiB    -2.5 KiB           2 → 3  model.py"},
			{"l", "By module at the cursor: -2.5 KiB |    6.0 KiB    3.5 KiB    -2.5 KiB           2 → 3  me"},
			{"l", "By category at the cursor: -2.5 KiB | 6.0 KiB        0 B    -6.0 KiB           2 → 0  inference |     0 B    3.5 KiB    +3.5 KiB           0 → 3  activation"},
			{"l", "By time of allocation at the cursor: -2.5 KiB |    6.0 KiB    3.5 KiB    -2.5 KiB           2 → 3  while recording"},
			{"] 6 v", "[2/2] | By cause at the cursor: -2.5 KiB | first.pickle → second.pickle"},
			{"v", "Stacks at the cursor: 3.5 KiB in 3"},
		}},
		"both flame graphs have one selection": {100, 30, twoRuns(t), dialogue{
			{"6 v t", "Flame graphs at the cursor: -2.5 KiB | - all  6.0 KiB | - all  3.5 KiB | 6.0 KiB in 2 → 3.5 KiB in 3, -2.5 KiB"},
			{"down down down enter", "- model.py forward | /me/model.py:20"},
			{"esc esc esc esc esc", "Stacks at the cursor: 6.0 KiB in 2"},
		}},
		"segments and blocks": {80, 24, nil, dialogue{
			{"5 enter", "blocks | requested | state"}, {`esc \ graph enter`, "1 of 14 segments"}, {"esc >", "used▼"}, {"I", "used▲"}, {"c", "pool default"},
		}},
		"files and devices keep their places": {80, 24, larger, dialogue{
			{"7 ^ ]", "larger.pickle | [2/2] | device 1 of 2"},
			{"d", "device 0 of 2 | device 1: out of memory"},
			{"d [", "run.pickle | at the start"},
			{"[", "larger.pickle"},
		}},
		"panes fill the page": {80, 24, nil, dialogue{
			{"4 z", "!At the cursor"}, {"z", "!Live memory"}, {"z", "Live memory | At the cursor"}, {"7 z", "!Detail"},
		}},
		"rules behind categories": {120, 60, nil, dialogue{ // c: away from where memory ran out
			{"c", "activation | not known | !forward with a graph"}, {"e", "freed by backward | module moved or converted | optimizer begins its state"},
		}},
		"what is not known of tensors": {120, 40, nil, dialogue{{"3 t", "activation?"}}},
		"tensors without steps": {120, 40, []File{fileOf("state.pickle", tuitest.StateOnly())}, dialogue{
			{"3", "no steps: ages are not known | undecided: nothing says where steps begin | bytes▼ | !per step"},
			{"t", "not known: nothing says where steps begin"},
		}},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			if test.files == nil {
				test.files = []File{small}
			}
			start(t, test.w, test.h, Options{Color: "never", Device: -1}, test.files...).holds(nil, test.turns)
		})
	}
}
