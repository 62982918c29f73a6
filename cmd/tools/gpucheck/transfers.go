package main

import (
	"bytes"
	"errors"
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/memtop/memtop/engine/device"
)

// transfer is one of the ways of bytes to the device, from it and within it.
type transfer struct {
	operation string
	// move moves what is in host to the array a or from it, by way of b or of
	// pinned memory of the host, and returns what came back.
	move func(s *session, host []byte, a, b device.Array, pinned device.Buffer) ([]byte, error)
}

// errDiffers is for bytes that came back otherwise than they went.
var errDiffers = errors.New("what came back is not what was sent")

var transfers = []transfer{
	{"Upload", roundTrip},
	{"Download", roundTrip},
	{"Synchronize", roundTrip},
	{"Fetch", func(s *session, host []byte, a, _ device.Array, _ device.Buffer) ([]byte, error) {
		s.device.Upload(a.Buffer(), host)
		small := device.Buffer{Addr: a.Addr, Bytes: device.FetchBytes}
		back := append([]byte(nil), host...)
		return back, s.device.Fetch(small).Wait(back[:device.FetchBytes])
	}},
	{"Copy", func(s *session, host []byte, a, b device.Array, _ device.Buffer) ([]byte, error) {
		s.device.Upload(a.Buffer(), host)
		s.device.Copy(b.Buffer(), a.Buffer())
		return s.read(b, 0, int64(len(host)))
	}},
	{"Send", overHost},
	{"Receive", overHost},
}

func roundTrip(s *session, host []byte, a, _ device.Array, _ device.Buffer) ([]byte, error) {
	s.device.Upload(a.Buffer(), host)
	if err := s.device.Synchronize(); err != nil {
		return nil, err
	}
	return s.read(a, 0, int64(len(host)))
}

// overHost sends an array to the host and receives it in another place.
func overHost(s *session, host []byte, a, b device.Array, pinned device.Buffer) ([]byte, error) {
	s.device.Upload(a.Buffer(), host)
	if err := s.device.Send(pinned, a.Buffer()).Wait(); err != nil {
		return nil, err
	}
	there := s.device.Receive(b.Buffer(), pinned)
	there.Await()
	back, err := s.read(b, 0, int64(len(host)))
	return back, errors.Join(err, there.Wait())
}

// tryTransfer moves random bytes and compares them; the time is the host's.
func (s *session) tryTransfer(t transfer, bytesMoved int) (took time.Duration, err error) {
	defer s.release()
	host := make([]byte, bytesMoved)
	r := rand.NewChaCha8([32]byte{1})
	_, _ = r.Read(host) // it cannot fail
	var arrays [2]device.Array
	for i := range arrays {
		if arrays[i], err = s.array(device.UInt8, bytesMoved); err != nil {
			return 0, err
		}
		s.device.Fill(arrays[i], 0)
	}
	if err := s.device.Synchronize(); err != nil {
		return 0, err
	}
	addr, err := s.pinned.Malloc(int64(bytesMoved))
	if err != nil {
		return 0, fmt.Errorf("memory of the host: %w", err)
	}
	defer s.pinned.Free(addr)
	start := time.Now()
	back, err := t.move(s, host, arrays[0], arrays[1], device.Buffer{Addr: addr, Bytes: int64(bytesMoved)})
	took = time.Since(start)
	if err == nil && !bytes.Equal(back, host) {
		err = errDiffers
	}
	return took, err
}
