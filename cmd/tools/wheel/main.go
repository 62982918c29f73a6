// Command wheel packs memtop and its agent into a wheel, so that pip installs the command
// and makes "import memtop.auto" work. The same inputs give the same bytes.
package main

import (
	"bytes"
	"cmp"
	"debug/buildinfo"
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"time"

	"github.com/memtop/memtop/probe/python"
)

func main() {
	program := flag.String("memtop", "bin/memtop", "the program, a static file")
	folder := flag.String("o", "dist", "the folder to write to")
	release := flag.String("release", "", "the release as its tag has it, without a v (default the agent's version)")
	about := flag.String("about", "README.md", "the page that describes it")
	flag.Parse()
	version, err := pythonVersion(*release)
	var path string
	if err == nil {
		path, err = build(*program, *folder, version, *about)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "wheel:", err)
		os.Exit(1)
	}
	fmt.Println(path)
}

// parts matches a version of semantic versioning, with what stands before a release.
var parts = regexp.MustCompile(`^(\d+\.\d+\.\d+)(?:-(alpha|beta|rc|snapshot)\.?(\w*))?$`)

// pythonVersion writes a release as Python does: 1.2.3-rc.1 is 1.2.3rc1, and a commit
// without a tag is a development release.
func pythonVersion(release string) (string, error) {
	if release == "" {
		return python.Version(), nil
	}
	found := parts.FindStringSubmatch(release)
	switch {
	case found == nil:
		return "", fmt.Errorf("%q is no version such as 1.2.3 or 1.2.3-rc.1", release)
	case found[2] == "":
		return found[1], nil
	case found[2] == "snapshot":
		return found[1] + ".dev0+" + strings.ToLower(found[3]), nil
	default:
		return found[1] + map[string]string{"alpha": "a", "beta": "b", "rc": "rc"}[found[2]] + cmp.Or(found[3], "0"), nil
	}
}

// build writes a wheel and returns its path.
func build(program, folder, version, about string) (string, error) {
	binary, err := os.ReadFile(program)
	if err != nil {
		return "", err
	}
	tags, err := tagsOf(binary)
	if err != nil {
		return "", fmt.Errorf("%s: %w", program, err)
	}
	when, err := date(os.Getenv("SOURCE_DATE_EPOCH"))
	if err != nil {
		return "", err
	}
	page, err := os.ReadFile(about)
	if err != nil {
		return "", err
	}
	w := wheel{version: version, tags: tags, when: when, about: string(page)}
	packed, err := w.pack(binary, python.Package())
	if err != nil {
		return "", err
	}
	if err := os.MkdirAll(folder, 0o755); err != nil { //nolint:gosec // it is to be read by others
		return "", err
	}
	path := filepath.Join(folder, w.name()+".whl")
	return path, os.WriteFile(path, packed, 0o644) //nolint:gosec // as above
}

// earliest is the earliest time that a zip file can store.
var earliest = time.Date(1980, 1, 1, 0, 0, 0, 0, time.UTC)

// date returns the time of all files: the value of SOURCE_DATE_EPOCH, in seconds.
func date(epoch string) (time.Time, error) {
	if epoch == "" {
		return earliest, nil
	}
	seconds, err := strconv.ParseInt(epoch, 10, 64)
	if err != nil {
		return earliest, fmt.Errorf("SOURCE_DATE_EPOCH is no number: %q", epoch)
	}
	when := time.Unix(seconds, 0).UTC()
	if when.Before(earliest) {
		when = earliest
	}
	return when, nil
}

// platforms are the platform tags of wheels, by Go's names. A static program runs with any
// C library.
var platforms = map[string]string{
	"linux/amd64":  "manylinux_2_17_x86_64.manylinux2014_x86_64.musllinux_1_1_x86_64",
	"linux/arm64":  "manylinux_2_17_aarch64.manylinux2014_aarch64.musllinux_1_1_aarch64",
	"darwin/amd64": "macosx_12_0_x86_64",
	"darwin/arm64": "macosx_12_0_arm64",
}

// tagsOf returns the platform tags for a program.
func tagsOf(binary []byte) (string, error) {
	info, err := buildinfo.Read(bytes.NewReader(binary))
	if err != nil {
		return "", err
	}
	settings := make(map[string]string)
	for _, s := range info.Settings {
		settings[s.Key] = s.Value
	}
	platform := settings["GOOS"] + "/" + settings["GOARCH"]
	tags, known := platforms[platform]
	switch {
	case !known:
		return "", errors.New("there are no wheels for " + platform)
	case settings["GOOS"] == "linux" && settings["CGO_ENABLED"] != "0":
		return "", errors.New("it needs a C library: build it with CGO_ENABLED=0")
	}
	return tags, nil
}
