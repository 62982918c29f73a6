package nccltest

import (
	"encoding/binary"
	"io"
	"net"
	"strings"
	"sync"

	"github.com/memtop/memtop/engine/collective/nccl"
)

// meeting is where processes meet: the first has a connection to each of the others,
// and hands everyone what all have given.
type meeting struct {
	size, rank int
	listener   net.Listener // of the first, until all have come
	peers      []net.Conn   // by rank; of the others only the first
	aborted    chan struct{}
	once       sync.Once
}

// listen makes an id, which is the address of the first process.
func (m *meeting) listen(id *nccl.UniqueID) nccl.Result {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nccl.RemoteError
	}
	m.listener = l
	b := id.Bytes()
	copy(b, l.Addr().String())
	b[len(b)-1] = idEnd
	return nccl.Success
}

// idEnd is the last byte of an id, to see that all of it arrives.
const idEnd = 0x5a

func (m *meeting) meet(size, rank int, id *nccl.UniqueID) nccl.Result {
	m.size, m.rank, m.peers = size, rank, make([]net.Conn, size)
	b := id.Bytes()
	if b[len(b)-1] != idEnd || m.join(strings.TrimRight(string(b[:len(b)-1]), "\x00")) != nil {
		return nccl.RemoteError
	}
	return nccl.Success
}

func (m *meeting) join(address string) (err error) {
	if m.rank > 0 {
		if m.peers[0], err = net.Dial("tcp", address); err != nil {
			return err
		}
		return write(m.peers[0], []byte{byte(m.rank)})
	}
	defer m.listener.Close() //nolint:errcheck // all have come
	for range m.size - 1 {
		c, err := m.listener.Accept()
		if err != nil {
			return err
		}
		rank, err := read(c)
		if err != nil {
			return err
		}
		m.peers[rank[0]] = c
	}
	return nil
}

// exchange does an operation with the others.
func (m *meeting) exchange(o *operation) error {
	all := make([][]byte, m.size)
	all[m.rank] = o.sent(m.size)
	if m.rank > 0 {
		if err := write(m.peers[0], all[m.rank]); err != nil {
			return err
		}
	}
	for rank := range all {
		from := m.peers[rank]
		if m.rank > 0 {
			from = m.peers[0] // which hands on what all have given, itself included
		}
		if m.rank == 0 && rank == 0 {
			continue
		}
		var err error
		if all[rank], err = read(from); err != nil {
			return err
		}
	}
	if m.rank == 0 {
		if err := m.hand(all); err != nil {
			return err
		}
	}
	o.finish(all, m.rank)
	return nil
}

// hand gives all what all have given.
func (m *meeting) hand(all [][]byte) error {
	for _, to := range m.peers[1:] {
		for _, b := range all {
			if err := write(to, b); err != nil {
				return err
			}
		}
	}
	return nil
}

func (m *meeting) end() {
	m.once.Do(func() {
		close(m.aborted)
		for _, c := range m.peers {
			if c != nil {
				_ = c.Close() // no one waits for it
			}
		}
	})
}

func write(c net.Conn, b []byte) error {
	_, err := c.Write(append(binary.LittleEndian.AppendUint64(nil, uint64(len(b))), b...))
	return err
}

func read(c net.Conn) ([]byte, error) {
	length := make([]byte, 8)
	if _, err := io.ReadFull(c, length); err != nil {
		return nil, err
	}
	b := make([]byte, binary.LittleEndian.Uint64(length))
	_, err := io.ReadFull(c, b)
	return b, err
}
