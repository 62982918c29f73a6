package program

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"path/filepath"
	"strings"
	"testing"

	"github.com/memtop/memtop/cmd/command"
	"github.com/memtop/memtop/cmd/testing/fatal"
)

// TestARunThatWasNeverSavedIsRefused changes the description of a saved run
// together with its checksum.
func TestARunThatWasNeverSavedIsRefused(t *testing.T) {
	t.Setenv("MEMTOP_BLACK_BOX", "off")
	path := filepath.Join(t.TempDir(), "run.mem")
	sizes := []string{"--layers", "1", "--dim", "8", "--heads", "2", "--seq", "4", "--batch", "2", "--probe", "off"}
	if code, line := runs(t, append(sizes, "--steps", "1", "--save", path)...); code != 0 {
		t.Fatal(code, line)
	}
	whole := fatal.Read(t, path)
	for name, test := range map[string]struct{ old, new, want string }{
		"fewer heads than none":   {`"heads":"2"`, `"heads":"-1"`, "--heads -1: want a number from 1 to"},
		"heads that do not fit":   {`"heads":"2"`, `"heads":"3"`, "--dim 8 cannot be divided among --heads 3"},
		"more layers than any":    {`"layers":"1"`, `"layers":"1000000000"`, "--layers 1000000000: want"},
		"a layer less":            {`"layers":"1"`, `"layers":"-1"`, "--layers -1: want"},
		"no number of layers":     {`"layers":"1"`, `"layers":"one"`, "--layers one"},
		"no layers, the default":  {`"layers":"1"`, `"layers":"0"`, "it has "},
		"samples of no size":      {`"seq":"4"`, `"seq":"-4"`, "--seq -4: want"},
		"samples of any size":     {`"seq":"4"`, `"seq":"4611686018427387904"`, "--seq 4611686018427387904: want"},
		"samples of all the text": {`"seq":"4"`, `"seq":"65536"`, "tokens are too few for a sample of 65536"},
		"a batch of no size":      {`"batch":"2"`, `"batch":"-2"`, "--batch -2: want"},
		"a vocabulary of nothing": {`"vocab":"256"`, `"vocab":"-256"`, "--vocab -256: want"},
		"a size of another model": {`"hidden":"0"`, `"hidden":"-7"`, "--hidden is no size of gpt"},
		"a model there is not":    {`"model":"gpt"`, `"model":"rnn"`, `there is no model "rnn"`},
		"a model of another kind": {`"model":"gpt"`, `"model":"mlp"`, "is no size of mlp"},
		"a dropout of no number":  {`"dropout":"0"`, `"dropout":"NaN"`, "--dropout NaN: want"},
		"a type there is not":     {`"half":"off"`, `"half":"f8"`, "--half f8"},
		"steps there are not":     {`"steps":"1"`, `"steps":"-1"`, "--steps -1: want"},
		"parts that do not fit":   {`"accumulate":"0"`, `"accumulate":"99"`, "cannot be divided into 99"},
		"a part of all and more":  {`"micro_batch":"0"`, `"micro_batch":"99"`, "99 samples at a time"},
		"a rate of no number":     {`"lr":"0.001"`, `"lr":"NaN"`, "lr"},
		"another optimizer":       {`"optimizer":"adamw"`, `"optimizer":"sgd"`, "not with sgd"},
		"a line of its own":       {`"model":"gpt"`, `"model":"\n\u001b[2Jgpt"`, "there is no model"},
	} {
		t.Run(name, func(t *testing.T) {
			crafted := fatal.Write(t, "run.mem", craft(t, whole, test.old, test.new))
			code, line := runs(t, "--resume", crafted, "--steps", "3", "--probe", "off")
			if code != command.ExitCorrupt || !strings.Contains(line, crafted+": ") || !strings.Contains(line, test.want) || strings.Contains(line, "\n") {
				t.Errorf("exit code %d and %q, want %d and one line about %s that says %q", code, line, command.ExitCorrupt, crafted, test.want)
			}
		})
	}
}

// runs runs memtrain in this process and returns its exit code and its failure.
func runs(t *testing.T, args ...string) (code int, line string) {
	t.Helper()
	var stdout, stderr bytes.Buffer
	if err := execute(t.Context(), args, command.NewOutput(&stdout), command.NewOutput(&stderr), Reach{}); err != nil {
		return describe(err)
	}
	return command.ExitOK, ""
}

// craft returns a saved run with a changed description and the right checksum.
func craft(t *testing.T, whole []byte, old, other string) []byte {
	t.Helper()
	const header = 16
	length := binary.LittleEndian.Uint32(whole[12:])
	description := whole[header:][:length]
	if !bytes.Contains(description, []byte(old)) {
		t.Fatalf("the description has no %s: %s", old, description)
	}
	description = bytes.Replace(description, []byte(old), []byte(other), 1)
	b := binary.LittleEndian.AppendUint32(bytes.Clone(whole[:12]), uint32(len(description)))
	b = append(append(b, description...), whole[header+length:len(whole)-sha256.Size]...)
	sum := sha256.Sum256(b)
	return append(b, sum[:]...)
}
