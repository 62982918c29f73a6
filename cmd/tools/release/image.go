package main

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"time"
)

// image is a container with memtop and nothing else.
type image struct {
	arch, version string
	created       time.Time
}

// user is the user as which memtop runs: not root, and no user that a system has.
const user = "65532:65532"

// descriptor names a blob of the image.
type descriptor struct {
	MediaType   string            `json:"mediaType"`
	Digest      string            `json:"digest"`
	Size        int               `json:"size"`
	Platform    *platform         `json:"platform,omitempty"`
	Annotations map[string]string `json:"annotations,omitempty"`
}

type platform struct {
	Architecture string `json:"architecture"`
	OS           string `json:"os"`
}

// writeImage writes an archive in the layout of the Open Container Initiative.
// docker load reads it too, because manifest.json names the same blobs a second
// time, as in the archives of docker save since version 25.
func writeImage(w io.Writer, program string, i image) error {
	text, err := os.ReadFile(program)
	if err != nil {
		return err
	}
	plain, err := i.layer(text)
	if err != nil {
		return err
	}
	layer, err := compressed(plain)
	if err != nil {
		return err
	}
	blobs := make(map[string][]byte) // by name in the archive
	keep := func(kind string, content []byte) descriptor {
		digest := sumOf(content)
		blobs["blobs/sha256/"+digest] = content
		return descriptor{MediaType: "application/vnd.oci.image." + kind, Digest: "sha256:" + digest, Size: len(content)}
	}
	part := keep("layer.v1.tar+gzip", layer)
	config := keep("config.v1+json", encoded(i.config("sha256:"+sumOf(plain))))
	manifest := keep("manifest.v1+json", encoded(map[string]any{
		"schemaVersion": 2, "mediaType": "application/vnd.oci.image.manifest.v1+json", "config": config, "layers": []descriptor{part},
	}))
	name := "memtop:" + i.version
	manifest.Platform = &platform{i.arch, "linux"}
	manifest.Annotations = map[string]string{"org.opencontainers.image.ref.name": i.version, "io.containerd.image.name": "docker.io/library/" + name}
	blobs["oci-layout"] = encoded(map[string]string{"imageLayoutVersion": "1.0.0"})
	blobs["index.json"] = encoded(map[string]any{
		"schemaVersion": 2, "mediaType": "application/vnd.oci.image.index.v1+json", "manifests": []descriptor{manifest},
	})
	path := func(d descriptor) string { return "blobs/sha256/" + d.Digest[len("sha256:"):] }
	blobs["manifest.json"] = encoded([]map[string]any{{"Config": path(config), "RepoTags": []string{name}, "Layers": []string{path(part)}}})
	return i.archive(w, blobs)
}

// config says how the container starts.
func (i image) config(layer string) map[string]any {
	return map[string]any{
		"created": i.created.Format(time.RFC3339), "architecture": i.arch, "os": "linux",
		"config": map[string]any{
			"User": user, "Entrypoint": []string{"/memtop"}, "WorkingDir": "/", "Env": []string{"PATH=/", "TERM=xterm-256color"},
			"Labels": map[string]string{
				"org.opencontainers.image.title": "memtop", "org.opencontainers.image.version": i.version, "org.opencontainers.image.licenses": "MIT",
			},
		},
		"rootfs":  map[string]any{"type": "layers", "diff_ids": []string{layer}},
		"history": []map[string]string{{"created": i.created.Format(time.RFC3339), "created_by": "COPY memtop /memtop"}},
	}
}

// layer returns the files of the container: memtop, and a folder for temporary
// files, to which memtop unpacks files.
func (i image) layer(program []byte) ([]byte, error) {
	var all bytes.Buffer
	out := tar.NewWriter(&all)
	if err := out.WriteHeader(&tar.Header{Typeflag: tar.TypeDir, Name: "tmp/", Mode: 0o1777, ModTime: i.created}); err != nil {
		return nil, err
	}
	err := i.add(out, "memtop", program, 0o755)
	if err = errors.Join(err, out.Close()); err != nil {
		return nil, err
	}
	return all.Bytes(), nil
}

// archive writes the blobs, by name.
func (i image) archive(w io.Writer, blobs map[string][]byte) error {
	out := tar.NewWriter(w)
	var names []string
	for name := range blobs {
		names = append(names, name)
	}
	slices.Sort(names)
	for _, name := range names {
		if err := i.add(out, name, blobs[name], 0o644); err != nil {
			return err
		}
	}
	return out.Close()
}

func (i image) add(out *tar.Writer, name string, content []byte, mode int64) error {
	err := out.WriteHeader(&tar.Header{Typeflag: tar.TypeReg, Name: name, Mode: mode, Size: int64(len(content)), ModTime: i.created})
	if err != nil {
		return fmt.Errorf("archiving %s: %w", name, err)
	}
	_, err = out.Write(content)
	return err
}

func compressed(content []byte) ([]byte, error) {
	var all bytes.Buffer
	out, err := gzip.NewWriterLevel(&all, gzip.BestCompression)
	if err != nil {
		return nil, err
	}
	_, err = out.Write(content)
	if err = errors.Join(err, out.Close()); err != nil {
		return nil, err
	}
	return all.Bytes(), nil
}

func sumOf(content []byte) string {
	sum := sha256.Sum256(content)
	return hex.EncodeToString(sum[:])
}

// encoded returns JSON of values that always have one.
func encoded(v any) []byte {
	text, err := json.Marshal(v)
	if err != nil {
		panic(fmt.Sprintf("release: %v", err))
	}
	return text
}
