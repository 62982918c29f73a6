package weights

import (
	"archive/zip"
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/memtop/memtop/cmd/testing/equal"
	"github.com/memtop/memtop/cmd/testing/fatal"
)

func TestReadWhatPyTorchWrote(t *testing.T) {
	tests := map[string][]Array{
		"state_dict.pt": {
			{"0.weight", []int{2, 3}, []float32{1, 2, 3, -1, 0.5, 0.25}},
			{"0.bias", []int{2}, []float32{7, 8}},
			{"1.weight", []int{2}, []float32{1, 1}},
			{"1.bias", []int{2}, []float32{0, 0}},
		},
		"views.pt": {
			{"bfloat16", []int{24}, counting(24, 1)},
			{"float16", []int{24}, counting(24, 1./8)},
			{"float64", []int{24}, counting(24, 1./3)},
			{"int64", []int{5}, []float32{-2, -1, 0, 1, 2}},
			{"transposed", []int{6, 4}, []float32{0, 6, 12, 18, 1, 7, 13, 19, 2, 8, 14, 20, 3, 9, 15, 21, 4, 10, 16, 22, 5, 11, 17, 23}},
			{"slice", []int{2, 3}, []float32{8, 9, 10, 14, 15, 16}},
			{"scalar", []int{}, []float32{0.5}},
			{"expanded", []int{2, 3}, []float32{1, 1, 1, 2, 2, 2}},
		},
		"nested.pt": {{"model.a", []int{2}, []float32{1, 1}}},
	}
	for name, want := range tests {
		t.Run(name, func(t *testing.T) {
			got, err := Read(filepath.Join("testdata", name))
			fatal.If(t, err)
			equal.Values(t, "the result", want, got)
		})
	}
}

func counting(n int, factor float64) []float32 {
	list := make([]float32, n)
	for i := range list {
		list[i] = float32(float64(i) * factor)
	}
	return list
}

func TestFilesThatAreNotPlainWeightsAreRefused(t *testing.T) {
	tests := map[string]struct {
		path string
		want string
	}{
		"a module, not its weights": {"testdata/module.pt", "torch.nn.modules.linear.Linear"},
		"the format before 1.6":     {"testdata/old.pt", "not a .pt archive"},
		"a script":                  {"testdata/make.py", "not a .pt archive"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			_, err := Read(test.path)
			var format *FormatError
			if !errors.As(err, &format) || !strings.Contains(err.Error(), test.want) {
				t.Errorf("got error %v, want a FormatError that says %q", err, test.want)
			}
		})
	}
	if _, err := Read("testdata/nothing.pt"); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("a missing file: got error %v, want that it does not exist", err)
	}
}

// archive writes a .pt file of entries in the order of the arguments.
func archive(t testing.TB, method uint16, entries ...string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "w.pt")
	var b bytes.Buffer
	z := zip.NewWriter(&b)
	for i := 0; i < len(entries); i += 2 {
		w, err := z.CreateHeader(&zip.FileHeader{Name: entries[i], Method: method})
		fatal.If(t, err)
		if _, err := w.Write([]byte(entries[i+1])); err != nil {
			t.Fatal(err)
		}
	}
	fatal.If(t, z.Close())
	fatal.If(t, os.WriteFile(path, b.Bytes(), 0o600))
	return path
}

// tensorPickle is a dictionary of one tensor of two elements, with some of its
// parts replaced.
func tensorPickle(replace ...string) string {
	text := "\x80\x02}X\x01\x00\x00\x00actorch._utils\n_rebuild_tensor_v2\n(" +
		"(X\x07\x00\x00\x00storagectorch\nFloatStorage\nX\x01\x00\x00\x000X\x03\x00\x00\x00cpuK\x02tQ" +
		"K\x00K\x02\x85K\x01\x85\x89ccollections\nOrderedDict\n)RtRs."
	return strings.NewReplacer(replace...).Replace(text)
}

const twoFloats = "\x00\x00\x80?\x00\x00\x00@"

func TestHostilePicklesAreRefused(t *testing.T) {
	if got, err := Read(archive(t, zip.Store, "w/data.pkl", tensorPickle(), "w/data/0", twoFloats)); err != nil || len(got) != 1 {
		t.Fatalf("the pickle that the others are made of: %v, %v", got, err)
	}
	tests := map[string]struct {
		pickle string
		want   string
	}{
		"a command":                     {"\x80\x02cos\nsystem\nX\x02\x00\x00\x00id\x85R.", "os.system"},
		"a storage as a function":       {tensorPickle("_rebuild_tensor_v2", "FloatStorage", "torch._utils", "torch"), "call"},
		"nothing":                       {"", "ends early"},
		"no stop":                       {tensorPickle("Rs.", "Rs"), "ends early"},
		"a text longer than the file":   {tensorPickle("X\x01\x00\x00\x00a", "X\xff\xff\xff\x7fa"), "ends early"},
		"an empty stack":                {"\x80\x02s.", "without its operands"},
		"a mark for an operand":         {"\x80\x02}(s.", "without its operands"},
		"no mark":                       {"\x80\x02}u.", "without its mark"},
		"a mark below all else":         {"\x80\x02(K\x01t.", "not a dictionary"},
		"a dictionary in itself":        {"\x80\x02}q\x00X\x01\x00\x00\x00ah\x00s.", "cannot be used again"},
		"a memo that is empty":          {"\x80\x02h\x05.", "cannot be used again"},
		"more elements than there are":  {tensorPickle("K\x02tQ", "K\x03tQ"), "should have 3 elements"},
		"fewer elements than there are": {tensorPickle("K\x02tQ", "K\x01tQ"), "should have 1 elements"},
		"a file that is not there":      {tensorPickle("X\x01\x00\x00\x000", "X\x01\x00\x00\x009"), "no file"},
		"a shape beyond the storage":    {tensorPickle("K\x02\x85K\x01", "K\x03\x85K\x01"), "beyond its storage"},
		"a stride beyond the storage":   {tensorPickle("K\x01\x85\x89", "K\x09\x85\x89"), "beyond its storage"},
		"an offset beyond the storage":  {tensorPickle("tQK\x00", "tQK\x01"), "beyond its storage"},
		"a negative offset":             {tensorPickle("tQK\x00", "tQJ\xff\xff\xff\xff"), "call"},
		"a shape without end":           {tensorPickle("K\x02\x85K\x01\x85", "J\xff\xff\xff\x7f\x85K\x00\x85"), "too large"},
		"a shape of several ends":       {tensorPickle("K\x02\x85K\x01\x85", "J\xff\xff\xff\x7fJ\xff\xff\xff\x7f\x86K\x00K\x00\x86"), "too large"},
		"no dictionary":                 {"\x80\x02K\x01.", "not a dictionary"},
		"an empty dictionary":           {"\x80\x02}.", "no tensor"},
		"a tensor as a key":             {strings.Replace(tensorPickle(), "X\x01\x00\x00\x00a", "}", 1), "key"},
		"a later protocol":              {"\x80\x04}.", "protocol 4"},
		"a number of many bytes":        {"\x80\x02\x8a\x09123456789.", "64 bits"},
		"dictionaries very deep":        {"\x80\x02" + strings.Repeat("}K\x01", 20) + "}" + strings.Repeat("s", 20) + ".", "deep"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			_, err := Read(archive(t, zip.Store, "w/data.pkl", test.pickle, "w/data/0", twoFloats))
			var format *FormatError
			if !errors.As(err, &format) || !strings.Contains(err.Error(), test.want) {
				t.Errorf("got error %v, want a FormatError that says %q", err, test.want)
			}
		})
	}
}

func TestHostileArchivesAreRefused(t *testing.T) {
	tests := map[string]struct {
		path string
		want string
	}{
		"compressed":           {archive(t, zip.Deflate, "w/data.pkl", tensorPickle(), "w/data/0", twoFloats), "compressed"},
		"two files of a name":  {archive(t, zip.Store, "w/data.pkl", tensorPickle(), "w/data/0", twoFloats, "v/data/0", "x"), "two files"},
		"no pickle":            {archive(t, zip.Store, "w/data/0", twoFloats), "no data.pkl"},
		"a TorchScript":        {archive(t, zip.Store, "w/data.pkl", tensorPickle(), "w/constants.pkl", ""), "TorchScript"},
		"the other byte order": {archive(t, zip.Store, "w/data.pkl", tensorPickle(), "w/data/0", twoFloats, "w/byteorder", "big"), "big"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			_, err := Read(test.path)
			var format *FormatError
			if !errors.As(err, &format) || !strings.Contains(err.Error(), test.want) {
				t.Errorf("got error %v, want a FormatError that says %q", err, test.want)
			}
		})
	}
}

func FuzzRead(f *testing.F) {
	f.Add([]byte(tensorPickle()))
	f.Add([]byte("\x80\x02}(X\x01\x00\x00\x00aK\x01u."))
	f.Fuzz(func(t *testing.T, pickle []byte) {
		if len(pickle) > 1<<16 {
			t.Skip()
		}
		_, err := Read(archive(t, zip.Store, "w/data.pkl", string(pickle), "w/data/0", twoFloats))
		if err != nil && !errors.As(err, new(*FormatError)) {
			t.Errorf("%T %v, want a FormatError", err, err)
		}
	})
}
