package lines

import (
	"strings"

	"github.com/memtop/memtop/snapshots/trace"
)

// The names of memory whose allocation stack is not known.
const (
	NoStack    = "no stack recorded"     // allocated within the trace
	Autograd   = "autograd's own thread" // the same where stacks are of Python, and this thread has none
	HeldBefore = "held before recording" // from before
)

// unknownFile stands where the file of compiled code was not recorded.
const unknownFile = "compiled code"

// FrameLabel returns a frame as "file:line function", without the folders, a C++
// function's parameters and the path of a Go function's package.
func (c *Code) FrameLabel(id trace.FrameID) string {
	function := c.function(id)
	file := c.file(id)
	if file == "" {
		return function
	}
	return file[strings.LastIndexByte(file, '/')+1:] + trace.LineText(file, c.tables.Frames[id].Line) + " " + function
}

// file returns a frame's file with slashes, "" where it was not recorded.
func (c *Code) file(id trace.FrameID) string {
	if file := Slashed(c.tables.FrameFile(id)); file != "??" && c.tables.Frames[id].Line != 0 {
		return file
	}
	return ""
}

// function returns a frame's function in short.
func (c *Code) function(id trace.FrameID) string {
	name := c.tables.FrameName(id)
	if IsGo(c.tables.FrameFile(id)) {
		return GoFunction(name)
	}
	return shortFunction(name)
}

// GoFunction returns the name of a function of Go without the path of its package.
func GoFunction(name string) string {
	return name[strings.LastIndexByte(before(name, "["), '/')+1:] // types in brackets have paths too
}

// shortFunction cuts a demangled C++ name down to its last two parts.
func shortFunction(name string) string {
	parts := strings.Split(withoutParameters(name), "::")
	if len(parts) > 2 {
		parts = parts[len(parts)-2:]
	}
	return strings.Join(parts, "::")
}

func withoutParameters(name string) string {
	name = strings.ReplaceAll(name, "(anonymous namespace)::", "")
	for _, open := range [...]byte{'(', '<'} {
		if at := strings.IndexByte(name, open); at > 0 && strings.Contains(name, "::") {
			name = name[:at]
		}
	}
	return name
}

// module returns the package that a frame's code is in: the folder of a file of
// Python, below that of packages where it was installed, the namespace of C++,
// the package of Go. A folder is returned as its path.
func (c *Code) module(id trace.FrameID) string {
	file, name := Slashed(c.tables.FrameFile(id)), c.tables.FrameName(id)
	switch {
	case IsGo(file):
		return goPackage(name)
	case c.kinds[id] == native || c.kinds[id] == runtime && !IsPython(file):
		name = withoutParameters(name)
		name = name[strings.LastIndexByte(name, ' ')+1:]
		if at := strings.LastIndex(name, "::"); at > 0 {
			return name[:at]
		}
		return unknownFile
	}
	at := packagesIn(file)
	if at < 0 {
		return strings.TrimSuffix(file[:strings.LastIndexByte(file, '/')+1], "/")
	}
	if folder := strings.LastIndexByte(file[at:], '/'); folder >= 0 {
		return strings.ReplaceAll(file[at:at+folder], "/", ".")
	}
	return strings.TrimSuffix(file[at:], ".py")
}

// goPackage returns the path of a Go function's package.
func goPackage(name string) string {
	function := GoFunction(name)
	return strings.TrimSuffix(name, function) + before(function, ".")
}

func before(s, separator string) string {
	head, _, _ := strings.Cut(s, separator)
	return head
}

// mostFolders is how many folders are looked at to tell paths apart.
const mostFolders = 16

// Shorten returns paths without the folders that tell nothing: with as many of
// the last ones as it takes to tell apart those that are different.
func Shorten(paths []string) map[string]string {
	short := make(map[string]string, len(paths))
	same := make(map[string][]string) // by the short form
	for _, path := range paths {
		if _, ok := short[path]; !ok {
			name := ending(path, 1)
			short[path] = name
			same[name] = append(same[name], path)
		}
	}
	for n := 2; n <= mostFolders && len(same) > 0; n++ {
		longer := make(map[string][]string)
		for _, alike := range same {
			if len(alike) == 1 {
				continue
			}
			for _, path := range alike {
				name := ending(path, n)
				short[path] = name
				longer[name] = append(longer[name], path)
			}
		}
		same = longer
	}
	return short
}

// ending returns the last n parts of a path.
func ending(path string, n int) string {
	at := len(path)
	for ; n > 0 && at >= 0; n-- {
		at = strings.LastIndexByte(path[:at], '/')
	}
	return path[at+1:]
}
