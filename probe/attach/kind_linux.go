package attach

import (
	"bufio"
	"bytes"
	"debug/buildinfo"
	"errors"
	"io"
	"os"
	"path"
	"slices"
	"strconv"
	"strings"

	"github.com/memtop/memtop/probe/protocol"
)

// # What a process is
//
// It is recognised by the program that runs, by its arguments and by the files that
// it has mapped; names of files are compared without their folders, which may
// be those of a container. Of each only so much is read: a process may have any
// number of mappings, and its program may be made to mislead.
const (
	maxArguments = 64 << 10 // bytes of a command line
	maxMappings  = 16 << 20 // bytes of the list of mapped files
	maxProgram   = 64 << 20 // bytes of a program that are looked at for how it was built
)

// KindOf returns what a process is. It reads what the system knows of the process
// and never touches the process itself.
func KindOf(pid int) Kind {
	began, err := startOf(pid)
	if err != nil {
		return UnknownKind
	}
	kind := recognise(pid)
	if start, err := startOf(pid); err != nil || start != began {
		return UnknownKind // it has ended meanwhile
	}
	return kind
}

func recognise(pid int) Kind {
	if isKernel(pid) {
		return KernelKind
	}
	arguments := argumentsOf(pid)
	if launchesTorch(arguments) {
		return LauncherKind
	}
	program, err := os.Open(inProc(pid, "exe"))
	if err != nil {
		return UnknownKind // it is closed to us
	}
	defer program.Close() // it was only read
	if kind := goKind(program, arguments); kind != OtherKind {
		return kind
	}
	mappings, err := os.Open(inProc(pid, "maps"))
	if err != nil {
		return UnknownKind
	}
	defer mappings.Close() // it was only read
	if mapsPyTorch(mappings) {
		return PyTorchKind
	}
	return OtherKind
}

// isKernel reports whether a process is a thread of the kernel.
func isKernel(pid int) bool {
	const flags, kernelThread = 6, 0x00200000 // PF_KTHREAD
	fields, err := protocol.StatFields(inProc(pid, "stat"), flags)
	if err != nil {
		return false
	}
	n, err := strconv.ParseUint(string(fields[flags]), 10, 64)
	return err == nil && n&kernelThread != 0
}

// argumentsOf returns a process's command line, as much of it as is looked at: one
// argument at least, which is empty where nothing is known.
func argumentsOf(pid int) []string {
	f, err := os.Open(inProc(pid, "cmdline"))
	if err != nil {
		return []string{""}
	}
	defer f.Close()                                        // it was only read
	text, _ := io.ReadAll(io.LimitReader(f, maxArguments)) // what could be read is enough
	return strings.Split(strings.TrimRight(string(text), "\x00"), "\x00")
}

// firstArguments is how many words of a command line can be the interpreter's: what
// follows is the program's own.
const firstArguments = 5

// What starts PyTorch programs: commands, and how the names of modules begin. The
// agent has the same in probe/python/memtop/role.py.
var (
	launchers        = []string{"accelerate", "deepspeed", "torchrun"}
	launcherPackages = []string{"torch.", "accelerate.commands.", "deepspeed.launcher."}
)

// launchesTorch reports whether a command line is Python's with PyTorch's
// launcher, a script or a module.
func launchesTorch(arguments []string) bool {
	if !strings.HasPrefix(path.Base(arguments[0]), "python") {
		return false
	}
	for i, argument := range arguments[1:min(len(arguments), firstArguments)] {
		inPackage := func(name string) bool { return strings.HasPrefix(argument, name) }
		if slices.Contains(launchers, path.Base(argument)) || arguments[i] == "-m" && slices.ContainsFunc(launcherPackages, inPackage) {
			return true
		}
	}
	return false
}

// module is what our own programs are built from.
const module = "github.com/memtop/memtop"

// goKind returns whether a program is written in Go, and whether it is memtrain,
// which memtop is too under that name.
func goKind(program io.ReaderAt, arguments []string) Kind {
	built, err := buildinfo.Read(&boundedFile{program, maxProgram})
	switch {
	case err != nil:
		return OtherKind
	case built.Main.Path == module && (path.Base(built.Path) == "memtrain" || path.Base(arguments[0]) == "memtrain"):
		return TrainerKind
	case built.Path == module+"/cmd/memtop" && path.Base(arguments[0]) == "memtop":
		return OtherKind // a viewer
	}
	return GoKind
}

// boundedFile is a file of which only so many bytes may be read.
type boundedFile struct {
	io.ReaderAt
	left int64
}

var errTooMuch = errors.New("too much of the file was read")

// ReadAt reads from the file.
func (b *boundedFile) ReadAt(p []byte, at int64) (int, error) {
	if b.left -= int64(len(p)); b.left < 0 {
		return 0, errTooMuch
	}
	return b.ReaderAt.ReadAt(p, at)
}

// mapsPyTorch reports whether a list of mappings has a library of PyTorch's for
// Python.
func mapsPyTorch(mappings io.Reader) bool {
	lines := bufio.NewScanner(io.LimitReader(mappings, maxMappings))
	torch, python := false, false
	for lines.Scan() {
		line := lines.Bytes()
		name := line[bytes.LastIndexByte(line, '/')+1:]
		torch = torch || bytes.HasPrefix(name, []byte("libtorch")) || bytes.HasPrefix(name, []byte("libc10_"))
		python = python || bytes.HasPrefix(name, []byte("python")) || bytes.HasPrefix(name, []byte("libpython"))
	}
	return torch && python
}
