package python

import (
	"bytes"
	"cmp"
	"crypto/rand"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path"
	"slices"

	"github.com/memtop/memtop/probe/protocol"
)

// # Unpacking
//
// Interpreters run the files in the agent's folder with all rights of the job. So the folder
// around it must be closed to other users; the caller makes sure of that. And the files must
// be, byte for byte, those in this program; they are compared each time. The agent's
// folder is named after its contents. If it differs, it is replaced: the files are written
// to a folder with another name, which is then renamed, so that no interpreter ever finds
// half of them.

// Open makes sure that a folder exists, belongs to this user and is closed to others, and
// opens it. The path is absolute, and is looked up within root. Only its last part is created,
// and no part may be a symbolic link. The caller closes the folder.
//
// Open refuses to act for another user, and above all as root: the owner of a folder in the
// path can redirect the path at any time. To make a folder for another process, a process
// first takes that one's identity, as package inject does.
func Open(root, path string) (*os.Root, error) {
	folder, err := open(root, path)
	if err != nil {
		return nil, err
	}
	info, err := folder.Stat(".")
	if err == nil {
		err = protocol.CheckOwner(path, info, os.Geteuid())
	}
	if err != nil {
		_ = folder.Close() // nothing in it was used
		return nil, err
	}
	return folder, nil
}

// Unpack makes sure that the agent is in a folder, and returns its name there.
func Unpack(root *os.Root) (string, error) {
	all := contents()
	agent := name(all)
	var failed error
	for range unpackTries {
		if compare(root, agent, all) == nil {
			return agent, nil
		}
		failed = replace(root, agent, all)
	}
	err := compare(root, agent, all)
	if err == nil {
		return agent, nil
	}
	return "", fmt.Errorf("unpacking the agent: %w", cmp.Or(failed, err))
}

// unpackTries is the number of attempts to write the agent: another memtop that replaces an
// old agent may remove this one during the comparison.
const unpackTries = 8

// compare reports a difference between a folder and the agent.
func compare(root *os.Root, agent string, all map[string][]byte) error {
	if info, err := root.Lstat(agent); err != nil || !info.IsDir() {
		return errors.Join(fmt.Errorf("%s is not there", agent), err)
	}
	found := 0
	err := fs.WalkDir(root.FS(), agent, func(name string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		found++
		inside := name[len(agent)+1:]
		want, known := all[inside]
		info, err := entry.Info()
		switch {
		case err != nil:
			return err
		case !known || !info.Mode().IsRegular() || info.Size() != int64(len(want)):
			return differs(inside)
		}
		got, err := root.ReadFile(name)
		if err == nil && !bytes.Equal(got, want) {
			err = differs(inside)
		}
		return err
	})
	if err == nil && found != len(all) {
		err = fmt.Errorf("the agent has %d files and not %d", found, len(all))
	}
	return err
}

func differs(name string) error { return fmt.Errorf("%s differs from the agent's file", name) }

// replace writes the agent in place of another folder or of nothing.
func replace(root *os.Root, agent string, all map[string][]byte) error {
	fresh, old := agent+"-new-"+rand.Text(), agent+"-old-"+rand.Text()
	defer root.RemoveAll(fresh) // it is gone if all went well
	if err := write(root, fresh, all); err != nil {
		return err
	}
	if root.Rename(fresh, agent) == nil || compare(root, agent, all) == nil {
		return nil // nothing was there, or another memtop was faster
	}
	if err := root.Rename(agent, old); err == nil {
		defer root.RemoveAll(old) // an interpreter may still be reading it
	}
	err := root.Rename(fresh, agent)
	if errors.Is(err, fs.ErrExist) {
		return nil // another memtop was faster now; it is compared like any other
	}
	return err
}

// write writes the files and their folders.
func write(root *os.Root, folder string, all map[string][]byte) error {
	folders := map[string]bool{folder: true}
	for _, name := range sorted(all) {
		folders[path.Join(folder, path.Dir(name))] = true
	}
	for _, name := range slices.Sorted(maps.Keys(folders)) { // parents before children
		if err := root.Mkdir(name, 0o700); err != nil {
			return err
		}
	}
	for _, name := range sorted(all) {
		inside := path.Join(folder, name)
		if err := root.WriteFile(inside, all[name], 0o600); err != nil {
			return err
		}
	}
	return nil
}

func sorted(all map[string][]byte) []string { return slices.Sorted(maps.Keys(all)) }
