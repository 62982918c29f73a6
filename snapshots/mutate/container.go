package mutate

import (
	"bytes"
	"encoding/base64"
	"fmt"
	"math/rand/v2"

	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/zstd"
)

// chooseContainer returns what packs a file, and the extension that says so.
func chooseContainer(r *rand.Rand) (pack func([]byte) []byte, extension string) {
	switch r.IntN(16) {
	case 0:
		return gzipped, ".gz"
	case 1:
		return zstandard, ".zst"
	case 2:
		return func(b []byte) []byte { return page(b) }, ".html"
	case 3:
		return func(b []byte) []byte { return page(gzipped(b), b) }, ".gz.html"
	case 4:
		return func(b []byte) []byte { return zstandard(gzipped(b)) }, ".gz.zst"
	default:
		return func(b []byte) []byte { return bytes.Clone(b) }, ""
	}
}

func gzipped(b []byte) []byte {
	var out bytes.Buffer
	w := gzip.NewWriter(&out)
	_, _ = w.Write(b) // a buffer takes everything
	_ = w.Close()
	return out.Bytes()
}

// encoder packs at once, so that it needs no goroutine.
var encoder, _ = zstd.NewWriter(nil, zstd.WithEncoderConcurrency(1)) // the option is a right one

func zstandard(b []byte) []byte { return encoder.EncodeAll(b, nil) }

// page is what trace_plot writes around snapshots.
func page(snapshots ...[]byte) []byte {
	out := []byte("<!DOCTYPE html>\n<html>\n<script type=\"module\">\nconst local_files = [")
	for i, s := range snapshots {
		if i > 0 {
			out = append(out, ", "...)
		}
		out = fmt.Appendf(out, `{"name": "rank%d.pickle", "base64": "%s"}`, i, base64.StdEncoding.EncodeToString(s))
	}
	return append(out, "]\nadd_local_files(local_files, 'Active Memory Timeline')\n</script>\n</html>\n"...)
}
