package program

import "testing"

func TestThousands(t *testing.T) {
	for n, want := range map[int]string{
		0: "0", 7: "7", 999: "999", 1000: "1,000", 65_536: "65,536", 804_096: "804,096", 1_234_567: "1,234,567",
		-1: "-1", -999: "-999", -1000: "-1,000", -123_456: "-123,456",
	} {
		if got := Thousands(n); got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}
