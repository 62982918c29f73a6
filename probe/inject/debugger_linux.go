package inject

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
)

// findDebugger finds a debugger that can go into the program.
func (p *Plan) findDebugger() error {
	for _, name := range []string{"gdb", "lldb"} {
		if name == "lldb" && p.program.Root != "/" && !p.becomes {
			continue // without the program's libraries it would call wrong addresses
		}
		if p.debugger = p.lookPath(name); p.debugger != "" {
			return nil
		}
	}
	return &RefusedError{
		Cause: fmt.Sprintf("process %d runs Python 3.%d: only a debugger can bring the agent in, and neither gdb nor lldb is %s",
			p.program.PID, p.version, p.where()),
		Remedy: "install the package gdb, or " + launch,
	}
}

// where returns where the debugger must be installed.
func (p *Plan) where() string {
	if p.becomes && p.program.Root != "/" {
		return "installed in its container"
	}
	return "installed here"
}

// lookPath returns the path of a command as the process that goes in sees it, "" if there is none.
func (p *Plan) lookPath(name string) string {
	if !p.becomes {
		found, _ := exec.LookPath(name) // "" with every error
		return found
	}
	root, err := os.OpenRoot(p.program.Root)
	if err != nil {
		return ""
	}
	defer root.Close() // it was only read
	for _, folder := range filepath.SplitList(standardPath) {
		path := filepath.Join(folder, name)
		if info, err := root.Stat(path[1:]); err == nil && info.Mode().IsRegular() && info.Mode()&0o111 != 0 {
			return path
		}
	}
	return ""
}
