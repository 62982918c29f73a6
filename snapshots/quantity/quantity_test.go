package quantity

import "testing"

func TestBytesAreWrittenForPeople(t *testing.T) {
	for n, want := range map[int64]string{
		0: "0 B", 1023: "1023 B", 1024: "1.0 KiB", 1536: "1.5 KiB", 10240: "10.0 KiB", 1048575: "1.0 MiB",
		100 << 20: "100.0 MiB", -5 << 30: "-5.0 GiB", 1 << 50: "1.0 PiB", 5000 << 50: "4.9 EiB",
	} {
		if got := Bytes(n); got != want {
			t.Errorf("Bytes(%d) = %q, want %q", n, got, want)
		}
	}
}
