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

// Owner is whose the files are to be, by number. The zero value is root.
type Owner struct{ User, Group int }

// # Unpacking
//
// Interpreters run what lies in the agent's folder with all rights of the job. So
// the folder that it is in must be closed to others, which the caller makes sure of;
// and what lies there must be, byte for byte, what this program has in it, which is
// compared each time. The agent's folder is named for its contents. One that
// differs is put aside and made anew: in a folder of another name, which then takes
// its place, so that no interpreter ever finds half of it.

// Open makes sure that a folder is there, the owner's and closed to others, and
// opens it. Of a path only the last part is created. The caller closes the folder.
func Open(path string, owner Owner) (*os.Root, error) {
	created := os.Mkdir(path, 0o700) == nil
	root, err := os.OpenRoot(path)
	if err != nil {
		return nil, err
	}
	if created {
		err = give(root, ".", owner)
	}
	if err == nil {
		err = check(root, path, owner)
	}
	if err != nil {
		_ = root.Close() // nothing in it was used
		return nil, err
	}
	return root, nil
}

// check looks at the folder that was opened, whatever is at its path by now.
func check(root *os.Root, path string, owner Owner) error {
	info, err := root.Stat(".")
	if err != nil {
		return err
	}
	return protocol.CheckOwner(path, info, owner.User)
}

// Unpack makes sure that the agent lies in a folder of the owner's, and returns
// its name there. What this program creates is given to the owner.
func Unpack(root *os.Root, owner Owner) (string, error) {
	all := contents()
	agent := name(all)
	var failed error
	for range unpackTries {
		if compare(root, agent, all) == nil {
			return agent, nil
		}
		failed = replace(root, agent, all, owner)
	}
	err := compare(root, agent, all)
	if err == nil {
		return agent, nil
	}
	return "", fmt.Errorf("unpacking the agent: %w", cmp.Or(failed, err))
}

// unpackTries is how often the agent is put in place: other memtops that replace what
// was there before may take it away while it is compared.
const unpackTries = 8

// compare reports how a folder differs from the agent.
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

func differs(name string) error { return fmt.Errorf("%s is not the agent's", name) }

// replace puts the agent where another folder, or nothing, was.
func replace(root *os.Root, agent string, all map[string][]byte, owner Owner) error {
	fresh, old := agent+"-new-"+rand.Text(), agent+"-old-"+rand.Text()
	defer root.RemoveAll(fresh) // it is not there when all went well
	if err := write(root, fresh, all, owner); err != nil {
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

// write writes the files, and gives them and their folders to the owner.
func write(root *os.Root, folder string, all map[string][]byte, owner Owner) error {
	folders := map[string]bool{folder: true}
	for _, name := range sorted(all) {
		folders[path.Join(folder, path.Dir(name))] = true
	}
	for _, name := range slices.Sorted(maps.Keys(folders)) { // each after what it is in
		if err := root.Mkdir(name, 0o700); err != nil {
			return err
		}
		if err := give(root, name, owner); err != nil {
			return err
		}
	}
	for _, name := range sorted(all) {
		inside := path.Join(folder, name)
		if err := root.WriteFile(inside, all[name], 0o600); err != nil {
			return err
		}
		if err := give(root, inside, owner); err != nil {
			return err
		}
	}
	return nil
}

// give hands a file over, where it is not the owner's by being ours.
func give(root *os.Root, name string, owner Owner) error {
	if owner == Self() {
		return nil
	}
	return root.Lchown(name, owner.User, owner.Group)
}

// Self returns the owner of what this process creates.
func Self() Owner { return Owner{os.Geteuid(), os.Getegid()} }

func sorted(all map[string][]byte) []string { return slices.Sorted(maps.Keys(all)) }
