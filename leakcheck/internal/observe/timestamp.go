package observe

import "encoding/binary"

// How a time.Time is written (go1.26 and go1.27 time/time.go): with a monotonic reading, the first
// word has the highest bit, 33 bits of seconds since 1885, and 30 bits of nanoseconds; without one,
// the second word has the seconds since the year 1.
const (
	hasMonotonic = -1 << 63
	nanosBits    = 30
	year1885     = (1884*365 + 1884/4 - 1884/100 + 1884/400) * 86400
	year1970     = (1969*365 + 1969/4 - 1969/100 + 1969/400) * 86400
)

// find adds the words of memory that are times from the second first to last, whatever their type
// (a time.Time, or a number that counts seconds or parts of a second since 1970). In a period of
// minutes, few other words are times: one in ten million of 32 bits. In a day, many are, so that
// the forms of more bits come first.
//
//go:norace
func (s *stretch) find(mem []byte, first, last int64) {
	for ; len(mem) >= 8; mem = mem[8:] {
		w := int64(binary.LittleEndian.Uint64(mem))
		for i, sec := range [...]int64{
			w&^hasMonotonic>>nanosBits - (year1970 - year1885), w - year1970,
			w / 1e9, w / 1e6, w / 1e3, int64(uint32(w)), w >> 32,
		} {
			if first <= sec && sec <= last {
				if i == 0 && w < 0 && len(mem) >= 16 {
					mem = mem[8:] // the monotonic reading, half of which is as good as a chance number
				}
				if s.found == 0 {
					s.first, s.last = sec, sec
				}
				s.found, s.first, s.last = s.found+1, min(s.first, sec), max(s.last, sec)
				break
			}
		}
	}
}
