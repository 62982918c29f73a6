package main

import (
	"archive/zip"
	"bytes"
	"crypto/sha256"
	"encoding/base64"
	"fmt"
	"io/fs"
	"maps"
	"slices"
	"strings"
	"time"
)

// wheel holds what the names and times in a wheel are made from.
type wheel struct {
	version, tags string
	when          time.Time
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

func (w wheel) metadata() string {
	return "Metadata-Version: 2.1\nName: memtop\nVersion: " + w.version +
		"\nSummary: What holds the device memory of a PyTorch job, while it runs\nRequires-Python: >=3.9\n"
}

func (w wheel) wheel() string {
	lines := []string{"Wheel-Version: 1.0", "Generator: memtop", "Root-Is-Purelib: false"}
	for tag := range strings.SplitSeq(w.tags, ".") {
		lines = append(lines, "Tag: py3-none-"+tag)
	}
	return strings.Join(lines, "\n") + "\n"
}
