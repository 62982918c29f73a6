package train

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"syscall"
)

// # The file of a saved run
//
// All numbers are little-endian.
//
//	 0  8 bytes  "memtoprn"
//	 8  uint32   version, 1
//	12  uint32   length of the description
//	16           the description, JSON
//	             the elements of the tensors that it lists, one after the other
//	end−32       SHA-256 of all that is before it

const (
	fileMagic    = "memtoprn"
	fileVersion  = 1
	fileHeader   = 16
	fileTrailer  = sha256.Size
	maxDescribed = 64 << 20 // bytes of the description
)

// DamagedError says that a file is not a whole saved run, or not a run of this
// model.
type DamagedError struct {
	Path, Reason string
}

// Error returns the path and the reason.
func (e *DamagedError) Error() string { return e.Path + ": " + e.Reason }

// described is one tensor in the description.
type described struct {
	Parameter string `json:"parameter"`
	Role      string `json:"role"`
	DType     string `json:"dtype"`
	Shape     []int  `json:"shape"`
	Bytes     int64  `json:"bytes"`
}

// writeWhole calls write and then writes the digest of its output.
func writeWhole(w io.Writer, write func(io.Writer) error) error {
	digest := sha256.New()
	if err := write(io.MultiWriter(w, digest)); err != nil {
		return err
	}
	_, err := w.Write(digest.Sum(nil))
	return err
}

// writeDescription writes the part of the file before the tensors.
func writeDescription(w io.Writer, v any) error {
	text, err := json.Marshal(v)
	if err != nil {
		return err
	}
	header := binary.LittleEndian.AppendUint32([]byte(fileMagic), fileVersion)
	header = binary.LittleEndian.AppendUint32(header, uint32(len(text)))
	if _, err := w.Write(header); err != nil {
		return err
	}
	_, err = w.Write(text)
	return err
}

// readWhole checks a file from its first byte to its last, reads its
// description into v, and returns the file at the first tensor, with the bytes
// of all tensors.
func readWhole(path string, v any) (f *os.File, tensors int64, err error) {
	if err := checkOrdinary(path); err != nil {
		return nil, 0, err
	}
	f, err = os.Open(path)
	if err != nil {
		return nil, 0, err
	}
	if tensors, err = readInto(f, v); err != nil {
		return nil, 0, errors.Join(err, f.Close())
	}
	return f, tensors, nil
}

// checkOrdinary refuses a path that is not a regular file. It checks before the
// file is opened, because opening a pipe waits for a writer.
func checkOrdinary(path string) error {
	info, err := os.Stat(path)
	switch {
	case err != nil:
		return err
	case info.IsDir():
		return &fs.PathError{Op: "read", Path: path, Err: syscall.EISDIR}
	case !info.Mode().IsRegular():
		return &DamagedError{path, "not an ordinary file"}
	}
	return nil
}

func readInto(f *os.File, v any) (tensors int64, err error) {
	damaged := func(reason string) error { return &DamagedError{f.Name(), reason} }
	info, err := f.Stat()
	if err != nil {
		return 0, err
	}
	var header [fileHeader]byte
	if _, err := io.ReadFull(f, header[:]); err != nil || string(header[:8]) != fileMagic {
		return 0, damaged("this is not a saved run")
	}
	if v := binary.LittleEndian.Uint32(header[8:]); v != fileVersion {
		return 0, damaged(fmt.Sprintf("version %d of saved runs is not known", v))
	}
	length := int64(binary.LittleEndian.Uint32(header[12:]))
	tensors = info.Size() - fileHeader - length - fileTrailer
	if tensors < 0 || length > maxDescribed {
		return 0, damaged("the file ends early")
	}
	if err := checkDigest(f, info.Size()); err != nil {
		return 0, err
	}
	text := make([]byte, length)
	if _, err := f.ReadAt(text, fileHeader); err != nil {
		return 0, err
	}
	if err := json.Unmarshal(text, v); err != nil {
		return 0, damaged("its description cannot be read: " + err.Error())
	}
	_, err = f.Seek(fileHeader+length, io.SeekStart)
	return tensors, err
}

// checkDigest compares the last bytes of a file with the digest of the others.
func checkDigest(f *os.File, size int64) error {
	digest := sha256.New()
	if _, err := f.Seek(0, io.SeekStart); err != nil {
		return err
	}
	if _, err := io.CopyN(digest, f, size-fileTrailer); err != nil {
		return err
	}
	var want [fileTrailer]byte
	if _, err := io.ReadFull(f, want[:]); err != nil {
		return err
	}
	if !bytes.Equal(digest.Sum(nil), want[:]) {
		return &DamagedError{f.Name(), "it is damaged: its checksum is not that of its contents"}
	}
	return nil
}
