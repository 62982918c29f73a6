package python_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/memtop/memtop/cmd/testing/equal"
	"github.com/memtop/memtop/cmd/testing/fatal"
	"github.com/memtop/memtop/probe/python"
)

func TestWhatARehearsedProgramSaid(t *testing.T) {
	const torch = `{"kind": "torch", "pytorch": "2.15.0+cu132", "cuda": "13.2"}` + "\n"
	begin := func(rank string) string {
		return torch + `{"kind": "begin", "rank": ` + rank + `, "devices": 1}` + "\n"
	}
	const step = `{"kind": "step", "step": 3, "seconds": 1.5, "peaks": [[10, 20], [0, 0]]}` + "\n"
	const refused = `{"kind": "refused", "step": 3, "seconds": 2, "peaks": [[11, 20]], "device": 0, "asked": 5, "total": 30, "free": 1}` + "\n"
	one := python.Rehearsed{PID: 7, PyTorch: "2.15.0+cu132", CUDA: "13.2"}
	for name, test := range map[string]struct {
		files map[string]string
		want  []python.Rehearsed
	}{
		"nothing":               {nil, nil},
		"an import and no more": {map[string]string{"7.rehearsed": torch}, []python.Rehearsed{one}},
		"a step, and the beginning of a line": {
			map[string]string{"7.rehearsed": begin("2") + step + `{"kind": "st`},
			[]python.Rehearsed{{PID: 7, PyTorch: one.PyTorch, CUDA: one.CUDA, Begun: true, Rank: 2, Devices: 1, Steps: 3, Seconds: 1.5, Peaks: []python.Peak{{10, 20}, {}}}},
		},
		"a refused request, and the files of two": {
			map[string]string{"7.rehearsed": begin("0") + refused + refused, "7-100.pickle": "", "7-200.pickle": "", "7-200.json": "", "70-300.pickle": ""},
			[]python.Rehearsed{{
				PID: 7, PyTorch: one.PyTorch, CUDA: one.CUDA, Begun: true, Devices: 1, Steps: 3, Seconds: 2, Peaks: []python.Peak{{11, 20}},
				Refused: 2, Asked: 5, Failure: "7-200.pickle",
			}},
		},
		"steps after a refused request, and many reads in one line": {
			map[string]string{"7.rehearsed": begin("0") + refused + step + strings.Replace(step, "step\",", `end", "reason": "exit", "reads": [`+strings.Repeat(`{},`, 50_000)+`{}],`, 1)},
			[]python.Rehearsed{{
				PID: 7, PyTorch: one.PyTorch, CUDA: one.CUDA, Begun: true, Devices: 1, Steps: 3, Seconds: 1.5, Peaks: []python.Peak{{10, 20}, {}},
				Refused: 1, Asked: 5, WentOn: true, Ended: "exit", Reads: make([]python.Read, 50_001),
			}},
		},
		"an end, whose snapshot is there": {
			map[string]string{"7.rehearsed": begin("0") + strings.Replace(step, "step\",", `end", "reason": "settled",`, 1), "7.1.snapshot": "", "70.1.snapshot": ""},
			[]python.Rehearsed{{
				PID: 7, PyTorch: one.PyTorch, CUDA: one.CUDA, Begun: true, Devices: 1, Steps: 3, Seconds: 1.5, Peaks: []python.Peak{{10, 20}, {}},
				Ended: "settled", Snapshots: []string{"7.1.snapshot"},
			}},
		},
		"a change that holds, and what one may name": {
			map[string]string{
				"6.rehearsed": begin("0") + step + `{"kind": "changed"}` + "\n" + `{"kind": "model", "file": "a.py", "blocks": [{"name": "h.0", "frees_bytes": 9}]}` + "\n",
			},
			[]python.Rehearsed{
				{PID: 6, PyTorch: one.PyTorch, CUDA: one.CUDA, Begun: true, Devices: 1, Steps: 3, Seconds: 1.5, Peaks: []python.Peak{{10, 20}, {}}, Changed: true, Model: &python.Model{File: "a.py", Blocks: []python.Block{{"h.0", 9}}}},
			},
		},
		"ranks before a launcher, in their order, also one that used no device": {
			map[string]string{"1.rehearsed": torch, "7.rehearsed": torch, "5.rehearsed": begin("1"), "6.rehearsed": begin("0")},
			[]python.Rehearsed{
				{PID: 6, PyTorch: one.PyTorch, CUDA: one.CUDA, Begun: true, Devices: 1},
				{PID: 5, PyTorch: one.PyTorch, CUDA: one.CUDA, Begun: true, Rank: 1, Devices: 1},
				{PID: 7, PyTorch: one.PyTorch, CUDA: one.CUDA},
				{PID: 1, PyTorch: one.PyTorch, CUDA: one.CUDA},
			},
		},
		"files of others": {map[string]string{"x.rehearsed": torch, "7.rehearsed": "no JSON\n{}\n"}, []python.Rehearsed{{PID: 7}}},
	} {
		t.Run(name, func(t *testing.T) {
			folder := t.TempDir()
			for file, text := range test.files {
				fatal.If(t, os.WriteFile(filepath.Join(folder, file), []byte(text), 0o600))
			}
			got, err := python.ReadRehearsed(folder)
			fatal.If(t, err)
			for i := range got {
				got[i].Failure = strings.TrimPrefix(got[i].Failure, folder+"/")
				for n, path := range got[i].Snapshots {
					got[i].Snapshots[n] = strings.TrimPrefix(path, folder+"/")
				}
			}
			equal.Values(t, "the result", test.want, got)
		})
	}
}
