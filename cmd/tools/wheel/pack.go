package main

import (
	"archive/zip"
	"bytes"
	"crypto/sha256"
	"encoding/base64"
	"fmt"
	"io/fs"
	"maps"
	"regexp"
	"slices"
	"strings"
	"time"
)

// wheel holds what the names and times in a wheel are made from.
type wheel struct {
	version, tags string
	when          time.Time
	about         string // a page in Markdown, whose links are relative to the repository
}

// name returns the file's name without its extension.
func (w wheel) name() string { return "memtop-" + w.version + "-py3-none-" + w.tags }

// pack returns the wheel with a program and the files of the package.
func (w wheel) pack(binary []byte, files map[string][]byte) ([]byte, error) {
	var out bytes.Buffer
	archive := zip.NewWriter(&out)
	var record strings.Builder
	add := func(name string, mode fs.FileMode, data []byte) error {
		header := &zip.FileHeader{Name: name, Method: zip.Deflate, Modified: w.when}
		header.SetMode(mode)
		entry, err := archive.CreateHeader(header)
		if err != nil {
			return err
		}
		sum := sha256.Sum256(data)
		fmt.Fprintf(&record, "%s,sha256=%s,%d\n", name, base64.RawURLEncoding.EncodeToString(sum[:]), len(data))
		_, err = entry.Write(data)
		return err
	}
	const plain, program = 0o644, 0o755
	for _, name := range slices.Sorted(maps.Keys(files)) {
		if err := add(name, plain, files[name]); err != nil {
			return nil, err
		}
	}
	about := "memtop-" + w.version + ".dist-info/"
	if err := add("memtop-"+w.version+".data/scripts/memtop", program, binary); err != nil {
		return nil, err
	}
	if err := add(about+"METADATA", plain, []byte(w.metadata())); err != nil {
		return nil, err
	}
	if err := add(about+"WHEEL", plain, []byte(w.wheel())); err != nil {
		return nil, err
	}
	list := record.String() + about + "RECORD,,\n"
	if err := add(about+"RECORD", plain, []byte(list)); err != nil {
		return nil, err
	}
	err := archive.Close()
	return out.Bytes(), err
}

// address is where the repository's files are read.
const address = "https://github.com/memtop/memtop/blob/main/"

// relative matches the beginning of a link to a file of the repository.
var relative = regexp.MustCompile(`\]\(([A-Za-z])`)

// metadata returns what the package index shows, by the core metadata specification 2.1.
func (w wheel) metadata() string {
	page := relative.ReplaceAllString(strings.ReplaceAll(w.about, "](https:", "](\x00"), "]("+address+"$1")
	return "Metadata-Version: 2.1\nName: memtop\nVersion: " + w.version +
		"\nSummary: What holds my GPU memory, and what would make it less? A debugger for the terminal, and its agent for PyTorch jobs" +
		"\nLicense: MIT\nProject-URL: Source, https://github.com/memtop/memtop\nKeywords: pytorch,cuda,gpu,memory,profiler,debugger,out-of-memory" +
		"\nClassifier: Environment :: Console\nClassifier: Topic :: Software Development :: Debuggers" +
		"\nRequires-Python: >=3.9\nDescription-Content-Type: text/markdown\n\n" + strings.ReplaceAll(page, "](\x00", "](https:")
}

func (w wheel) wheel() string {
	lines := []string{"Wheel-Version: 1.0", "Generator: memtop", "Root-Is-Purelib: false"}
	for tag := range strings.SplitSeq(w.tags, ".") {
		lines = append(lines, "Tag: py3-none-"+tag)
	}
	return strings.Join(lines, "\n") + "\n"
}
