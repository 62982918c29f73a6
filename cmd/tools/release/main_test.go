package main

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"encoding/json"
	"io"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	cdx "github.com/CycloneDX/cyclonedx-go"

	"github.com/memtop/memtop/cmd/testing/equal"
	"github.com/memtop/memtop/cmd/testing/fatal"
)

// made runs the command on what it reads and returns what it writes.
func made(t *testing.T, verb string, arguments ...string) []byte {
	t.Helper()
	path := filepath.Join(t.TempDir(), "made")
	fatal.If(t, run(append(append([]string{verb}, arguments...), path)))
	content := fatal.Read(t, path)
	return content
}

// written returns a file with a text.
func written(t *testing.T, text string) string {
	t.Helper()
	path := fatal.Write(t, "file", []byte(text))
	return path
}

// unpacked returns the files of an archive by name.
func unpacked(t *testing.T, r io.Reader) (files map[string][]byte, heads map[string]*tar.Header) {
	t.Helper()
	files, heads = make(map[string][]byte), make(map[string]*tar.Header)
	for in := tar.NewReader(r); ; {
		head, err := in.Next()
		if err == io.EOF { //nolint:errorlint // archive/tar returns it as it is
			return files, heads
		}
		fatal.If(t, err)
		content, err := io.ReadAll(in)
		fatal.If(t, err)
		files[head.Name], heads[head.Name] = content, head
	}
}

func TestAnImageHasOneProgramAndIsTheSameTwice(t *testing.T) {
	program := written(t, "a program")
	arguments := []string{"-arch", "arm64", "-version", "v1.2.3", "-created", "2026-11-23T07:13:45+01:00", program}
	image := made(t, "image", arguments...)
	if !bytes.Equal(image, made(t, "image", arguments...)) {
		t.Error("made again it is another")
	}
	blobs, heads := unpacked(t, bytes.NewReader(image))
	const created = 1795414425 // that is -created, in seconds
	for name, content := range blobs {
		if at := heads[name].ModTime.Unix(); at != created {
			t.Errorf("%s is of the time %d", name, at)
		}
		if digest, ok := strings.CutPrefix(name, "blobs/sha256/"); ok && digest != sumOf(content) {
			t.Errorf("%s has another sum", name)
		}
	}
	follow := func(d descriptor) []byte {
		content := blobs["blobs/sha256/"+strings.TrimPrefix(d.Digest, "sha256:")]
		if content == nil || len(content) != d.Size {
			t.Fatalf("%+v has %d bytes", d, len(content))
		}
		return content
	}
	var index struct{ Manifests []descriptor }
	var manifest struct {
		Config descriptor
		Layers []descriptor
	}
	var config struct {
		Architecture string
		Created      time.Time
		Config       struct {
			User       string
			Entrypoint []string
		}
		RootFS struct {
			DiffIDs []string `json:"diff_ids"`
		}
	}
	parse(t, blobs["index.json"], &index)
	parse(t, follow(index.Manifests[0]), &manifest)
	parse(t, follow(manifest.Config), &config)
	if config.Architecture != "arm64" || config.Config.User == "" || strings.HasPrefix(config.Config.User, "0") || config.Created.Unix() != created {
		t.Errorf("config %+v", config)
	}
	in, err := gzip.NewReader(bytes.NewReader(follow(manifest.Layers[0])))
	fatal.If(t, err)
	layer, err := io.ReadAll(in)
	if err != nil || config.RootFS.DiffIDs[0] != "sha256:"+sumOf(layer) {
		t.Errorf("the layer's sum is not that of its files: %v", err)
	}
	files, heads := unpacked(t, bytes.NewReader(layer))
	if heads["memtop"].ModTime.Unix() != created {
		t.Errorf("memtop is of the time %v", heads["memtop"].ModTime)
	}
	if string(files["memtop"]) != "a program" || heads["memtop"].Mode != 0o755 || len(files) != 2 || config.Config.Entrypoint[0] != "/memtop" {
		t.Errorf("files %v", heads)
	}
	var docker []struct {
		Config string
		Layers []string
	}
	parse(t, blobs["manifest.json"], &docker)
	place := func(d descriptor) string { return "blobs/sha256/" + strings.TrimPrefix(d.Digest, "sha256:") }
	equal.Values(t, "docker reads others", []string{place(manifest.Config), place(manifest.Layers[0])}, append([]string{docker[0].Config}, docker[0].Layers...))
}

func parse(t *testing.T, text []byte, to any) {
	t.Helper()
	if err := json.Unmarshal(text, to); err != nil {
		t.Fatalf("%v: %s", err, text)
	}
}

// TestAListOfPartsHasEveryModule asks for the parts of a small program, and go itself
// for them too.
func TestAListOfPartsHasEveryModule(t *testing.T) {
	self := filepath.Join(t.TempDir(), "picture")
	if out, err := exec.CommandContext(t.Context(), "go", "build", "-o", self, "../picture").CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	text := made(t, "sbom", self)
	var list cdx.BOM
	parse(t, text, &list)
	listed := make(map[string]cdx.Component)
	for _, c := range *list.Components {
		listed[c.Name] = c
	}
	out, err := exec.CommandContext(t.Context(), "go", "version", "-m", self).Output()
	fatal.If(t, err)
	modules := 0
	for line := range strings.Lines(string(out)) {
		fields := strings.Fields(line)
		if len(fields) != 4 || fields[0] != "dep" {
			continue
		}
		modules++
		c := listed[fields[1]]
		if c.Version != fields[2] || !strings.HasPrefix(c.PackageURL, "pkg:golang/"+fields[1]+"@") || c.Properties == nil || (*c.Properties)[0].Value != fields[3] {
			t.Errorf("%s is listed as %+v", strings.TrimSpace(line), c)
		}
	}
	if modules == 0 {
		t.Fatalf("the program is made of nothing: %s", out)
	}
	if len(*list.Components) != modules+1 || listed["std"].Version == "" || len(*(*list.Dependencies)[0].Dependencies) != modules+1 {
		t.Errorf("%d parts of %d modules and Go: %s", len(*list.Components), modules, text)
	}
	if list.BOMFormat != cdx.BOMFormat || list.SpecVersion != cdx.SpecVersion1_6 || list.Metadata.Component.Name != "github.com/memtop/memtop" {
		t.Errorf("%+v", list.Metadata)
	}
}
