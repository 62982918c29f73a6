package main

import (
	"archive/tar"
	"bytes"
	"errors"

	"github.com/klauspost/compress/zstd"
)

// file is a file of an archive.
type file struct {
	name    string
	content []byte
}

// window is how far the compressor looks back: the machine code for different
// GPUs is similar.
const window = 8 << 20

// pack returns an archive. Equal files give equal bytes.
func pack(files []file) ([]byte, error) {
	var packed bytes.Buffer
	compressed, err := zstd.NewWriter(&packed, zstd.WithEncoderLevel(zstd.SpeedBestCompression),
		zstd.WithWindowSize(window), zstd.WithEncoderConcurrency(1))
	if err != nil {
		return nil, err
	}
	archive := tar.NewWriter(compressed)
	for _, f := range files {
		err := archive.WriteHeader(&tar.Header{Name: f.name, Mode: 0o644, Size: int64(len(f.content)), Format: tar.FormatUSTAR})
		if err != nil {
			return nil, err
		}
		if _, err := archive.Write(f.content); err != nil {
			return nil, err
		}
	}
	err = errors.Join(archive.Close(), compressed.Close())
	return packed.Bytes(), err
}
