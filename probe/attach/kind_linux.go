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

	"github.com/memtop/memtop/snapshots/procfs"
)

// # What a process is
//
// KindOf looks at the program's file, its arguments and the files that it has
// mapped. It compares file names without their folders, which may be those of a
// container. It reads a bounded part of each: a process may have any number of
// mappings, and a hostile program may have a misleading file.
const (
	maxMappings = 16 << 20 // bytes of the list of mapped files
	maxProgram  = 64 << 20 // bytes of a program that are searched for its build information
)

// KindOf returns the kind of a process. It reads what the system knows about the
// process and never touches the process itself.
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
	arguments := procfs.Arguments(pid)
	if launchesTorch(arguments) {
		return LauncherKind
	}
	program, err := os.Open(procfs.Of(pid, "exe"))
	if err != nil {
		return UnknownKind // this user may not read it
	}
	defer program.Close() // it was only read
	if kind := goKind(program, arguments); kind != OtherKind {
		return kind
	}
	mappings, err := os.Open(procfs.Of(pid, "maps"))
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
	fields, err := procfs.StatFields(procfs.Of(pid, "stat"), flags)
	if err != nil {
		return false
	}
	n, err := strconv.ParseUint(string(fields[flags]), 10, 64)
	return err == nil && n&kernelThread != 0
}

// firstArguments is how many words of a command line may belong to the
// interpreter: later words belong to the program.
const firstArguments = 5

// The commands, and the prefixes of module names, that start PyTorch programs.
// The agent has the same list in probe/python/memtop/start/roles.py.
var (
	launchers        = []string{"accelerate", "deepspeed", "torchrun"}
	launcherPackages = []string{"torch.", "accelerate.commands.", "deepspeed.launcher."}
)

// launchesTorch reports whether a Python command line runs PyTorch's launcher, as
// a script or a module.
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

// module is the Go module of memtop's own programs.
const module = "github.com/memtop/memtop"

// goKind tells a Go program from others, and memtrain from other Go programs.
// memtop started under the name memtrain is memtrain too.
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

// boundedFile is a file with a limit on the bytes read from it.
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

// mapsPyTorch reports whether a list of mappings has PyTorch's library for
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
