package symbolize

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/leakgate/leakgate/cmd/leakgate/internal/native/dump"
)

// ParsePerfMap reads a map of generated code, which programs leave for Linux's perf in
// /tmp/perf-PID.map: lines with the begin and the size of a function in hexadecimal, and its name.
// Programs reuse the memory of generated code and append to the file, so the last line about an
// address counts. broken is the number of malformed lines, such as the last line of a program that
// was killed. It is an error if all lines are malformed.
func ParsePerfMap(text []byte) (names *rangeTable[string], broken int, err error) {
	var entries []rangeEntry[string]
	first := ""
	err = dump.EachLine(text, func(n int, line string) error {
		if line = strings.TrimSpace(line); line == "" {
			return nil
		}
		e, ok := parsePerfLine(line)
		if ok {
			entries = append(entries, e)
		} else if broken++; first == "" {
			first = fmt.Sprintf("line %d is not of the form \"begin size name\", with hexadecimal numbers: %.60q", n, line)
		}
		return nil
	})
	if err != nil {
		return nil, broken, err
	}
	if len(entries) == 0 && broken > 0 {
		return nil, broken, fmt.Errorf("it is no map of perf's: %s", first)
	}
	return newRangeTable(entries), broken, nil
}

func parsePerfLine(line string) (e rangeEntry[string], ok bool) {
	begin, rest, _ := strings.Cut(line, " ")
	size, name, _ := strings.Cut(strings.TrimLeft(rest, " "), " ")
	lo, err1 := hex(begin)
	n, err2 := hex(size)
	name = strings.TrimSpace(name)
	return rangeEntry[string]{Lo: lo, Hi: lo + n, Value: name}, err1 == nil && err2 == nil && name != "" && lo+n >= lo
}

func hex(s string) (uint64, error) { return strconv.ParseUint(strings.TrimPrefix(s, "0x"), 16, 64) }
