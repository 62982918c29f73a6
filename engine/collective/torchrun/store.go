// Package torchrun lets processes that torchrun started share a few bytes. It is
// a client of PyTorch's TCPStore, which torchrun's agent serves at MASTER_ADDR
// and MASTER_PORT.
//
// The store's requests are as they have been since PyTorch 2.1: a byte that says what
// is asked for, then texts, each after its length in 64 bits, all in the byte order of
// the processor (torch/csrc/distributed/c10d/TCPStore.cpp and TCPStoreBackend.hpp).
package torchrun

import (
	"encoding/binary"
	"fmt"
	"io"
	"net"
	"os"
	"time"
)

// The requests that are used, and the number that a connection begins with.
const (
	validate = 0
	set      = 1
	get      = 3
	wait     = 6

	greeting = 0x3C85F7CE
)

// waitLimit is how long the store is waited for, and each of the processes, as PyTorch
// does.
const waitLimit = 5 * time.Minute

// mostBytes is more than any answer has: a longer one is of something else.
const mostBytes = 1 << 20

// Share gives every process the bytes that the first one has.
func Share(rank int, b []byte) error {
	address, err := address()
	if err != nil {
		return err
	}
	c, err := net.DialTimeout("tcp", address, waitLimit)
	if err != nil {
		return fmt.Errorf("the store of torchrun does not answer: %w", err)
	}
	defer c.Close() //nolint:errcheck // nothing is left to be sent
	if err := c.SetDeadline(time.Now().Add(waitLimit)); err != nil {
		return err
	}
	if err := (&store{c}).share(key(), rank, b); err != nil {
		return fmt.Errorf("the store of torchrun at %s: %w", address, err)
	}
	return nil
}

// address is where the store is. Without that of the agent the first process would have
// to keep one.
func address() (string, error) {
	host, port := os.Getenv("MASTER_ADDR"), os.Getenv("MASTER_PORT")
	if kept := os.Getenv("TORCHELASTIC_USE_AGENT_STORE"); host == "" || port == "" || kept != "True" {
		return "", fmt.Errorf("MASTER_ADDR=%s MASTER_PORT=%s TORCHELASTIC_USE_AGENT_STORE=%s: torchrun keeps no store for its processes; start them by torchrun of PyTorch 2.1 or later, or by mpirun", host, port, kept)
	}
	return net.JoinHostPort(host, port), nil
}

// key is the name of the bytes, another one when torchrun starts the processes again.
func key() string {
	return "memtop/" + os.Getenv("TORCHELASTIC_RUN_ID") + "/" + os.Getenv("TORCHELASTIC_RESTART_COUNT")
}

// store is a connection to the store.
type store struct{ io.ReadWriter }

func (s *store) share(key string, rank int, b []byte) error {
	ask := binary.NativeEndian.AppendUint32([]byte{validate}, greeting)
	if rank == 0 {
		ask = text(text(append(ask, set), key), string(b))
	}
	const keys = 1
	ask = text(binary.NativeEndian.AppendUint64(append(ask, wait), keys), key)
	if _, err := s.Write(ask); err != nil {
		return err
	}
	answer := make([]byte, 1)
	if _, err := io.ReadFull(s, answer); err != nil {
		return fmt.Errorf("it has no word of rank 0: %w", err)
	}
	if rank == 0 {
		return nil
	}
	got, err := s.get(key)
	if err == nil && len(got) != len(b) {
		err = fmt.Errorf("%s has %d bytes, want %d", key, len(got), len(b))
	}
	copy(b, got)
	return err
}

// get returns what is kept under a key that is there.
func (s *store) get(key string) ([]byte, error) {
	if _, err := s.Write(text([]byte{get}, key)); err != nil {
		return nil, err
	}
	length := make([]byte, 8)
	if _, err := io.ReadFull(s, length); err != nil {
		return nil, err
	}
	n := binary.NativeEndian.Uint64(length)
	if n > mostBytes {
		return nil, fmt.Errorf("%s has %d bytes", key, n)
	}
	b := make([]byte, n)
	_, err := io.ReadFull(s, b)
	return b, err
}

// text appends a text after its length.
func text(b []byte, s string) []byte {
	return append(binary.NativeEndian.AppendUint64(b, uint64(len(s))), s...)
}
