package inject

import (
	"cmp"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/memtop/memtop/snapshots/procfs"
)

// join moves this process, and those that it starts, into the control groups of another: a
// container's root can use only the devices that its group allows, whatever device files it
// makes. If memory runs out, the system kills processes started here before the job.
func join(folder string) error {
	mine, err := controlGroups("/proc/self")
	theirs, err2 := controlGroups(folder)
	mounts, err3 := procfs.Read("/proc/self/mountinfo")
	err4 := os.WriteFile("/proc/self/oom_score_adj", []byte("1000"), 0)
	if err := cmp.Or(err, err2, err3, err4); err != nil {
		return err
	}
	for controllers, path := range theirs {
		if mine[controllers] == path {
			continue
		}
		group, err := groupFolder(string(mounts), controllers, path)
		if err == nil {
			err = os.WriteFile(filepath.Join(group, "cgroup.procs"), []byte("0"), 0)
		}
		if err != nil {
			return fmt.Errorf("joining its control group %s:%s: %w", controllers, path, err)
		}
	}
	return nil
}

// controlGroups returns the groups of a process by the controllers of their hierarchy, "" for
// version 2. Hierarchies without a controller limit nothing.
func controlGroups(folder string) (map[string]string, error) {
	text, err := procfs.Read(folder + "/cgroup")
	groups := make(map[string]string)
	for line := range strings.Lines(string(text)) {
		fields := strings.SplitN(strings.TrimSuffix(line, "\n"), ":", 3)
		if len(fields) == 3 && !strings.HasPrefix(fields[1], "name=") {
			groups[fields[1]] = fields[2]
		}
	}
	return groups, err
}

// groupFolder returns the folder of a group in the mounts.
func groupFolder(mounts, controllers, path string) (string, error) {
	for line := range strings.Lines(mounts) {
		before, after, _ := strings.Cut(line, " - ")
		place, kind := strings.Fields(before), strings.Fields(after)
		if len(place) < 5 || len(kind) < 3 {
			continue
		}
		options := strings.Split(kind[2], ",")
		wanted := kind[0] == "cgroup2" && controllers == "" || kind[0] == "cgroup" && controllers != "" &&
			!slices.ContainsFunc(strings.Split(controllers, ","), func(c string) bool { return !slices.Contains(options, c) })
		inside, below := strings.CutPrefix(path+"/", strings.TrimSuffix(place[3], "/")+"/")
		if wanted && below && !slices.Contains(strings.Split(path, "/"), "..") {
			return filepath.Join(place[4], inside), nil
		}
	}
	return "", os.ErrNotExist
}
