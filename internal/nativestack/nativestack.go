// Package nativestack is what a test binary tells the leakgate command of the calls by which C code
// allocates, and what the command, which can read debug information of C, answers: text for the message, and
// profiles.
package nativestack

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"
)

// Flag is the first argument of the command where it is to answer a Record. It is no command of anybody's.
const Flag = "-name-native-calls"

// MemoryFD is the descriptor of the test's memory (/proc/PID/mem) that the command gets, for code that was
// generated.
const MemoryFD = 3

// A Record is the calls behind native memory, at two moments of a test.
type Record struct {
	PID       int     `json:"pid"`
	Maps      string  `json:"maps"` // as in /proc/PID/maps
	Stacks    []Stack `json:"stacks"`
	Calls     int64   `json:"calls"` // of the operation, between the two moments
	TimeNanos int64   `json:"time_nanos"`
}

// A Stack is what was called in one way.
type Stack struct {
	Function string   `json:"function"`     // "malloc", "mmap"
	C        []uint64 `json:"c,omitempty"`  // return addresses, innermost first
	Go       []uint64 `json:"go,omitempty"` // those of the Go code that called C
	Base     Amount   `json:"base"`         // not freed at the first moment, of what was recorded
	Last     Amount   `json:"last"`         // and at the second
}

// IsMapping reports whether memory is mapped, not allocated.
func (s *Stack) IsMapping() bool { return s.Function == "mmap" || s.Function == "mremap" }

// What comes with a call of the operation counts from this on: blocks, or bytes.
const (
	MinBlocks = 0.05
	MinBytes  = 16
)

// Grown is how many blocks and bytes come with each of so many calls; 0 where that is too little to count.
func (s *Stack) Grown(calls int64) (blocks, bytes float64) {
	if calls <= 0 {
		return 0, 0
	}
	blocks, bytes = float64(s.Last.Blocks-s.Base.Blocks)/float64(calls), float64(s.Last.Bytes-s.Base.Bytes)/float64(calls)
	if blocks < MinBlocks && bytes < MinBytes {
		return 0, 0
	}
	return blocks, bytes
}

// An Amount is how much there is. Bytes are those that were asked for.
type Amount struct {
	Blocks int64 `json:"blocks"`
	Bytes  int64 `json:"bytes"`
}

// An Answer has the calls behind what grows, for the message, and profiles (profile.proto, gzipped).
type Answer struct {
	Lines      []Line
	Base, Last []byte
}

// A Line is one of a message.
type Line struct {
	Mapping bool // it is about what is mapped, not about what is allocated
	Text    string
	File    string // the place of the function that the text names; "" if it is not known, or there is none
	Line    int
}

// WriteTo writes the lines, and then the profiles.
func (a *Answer) WriteTo(w io.Writer) (int64, error) {
	var b bytes.Buffer
	clean := strings.NewReplacer("\t", " ", "\n", " ")
	for _, l := range a.Lines {
		fmt.Fprintf(&b, "%t\t%s\t%s\t%d\n", l.Mapping, clean.Replace(l.Text), clean.Replace(l.File), l.Line)
	}
	fmt.Fprintf(&b, "%d\t%d\n", len(a.Base), len(a.Last))
	b.Write(a.Base)
	b.Write(a.Last)
	return b.WriteTo(w)
}

var errBroken = errors.New("the leakgate command gave an answer that cannot be read")

// Parse reads what WriteTo wrote.
func Parse(text string) (*Answer, error) {
	a := &Answer{}
	for {
		line, rest, ok := strings.Cut(text, "\n")
		fields := strings.Split(line, "\t")
		switch {
		case ok && len(fields) == 4:
			at, err := strconv.Atoi(fields[3])
			if err != nil || fields[0] != "true" && fields[0] != "false" {
				return nil, errBroken
			}
			a.Lines = append(a.Lines, Line{fields[0] == "true", fields[1], fields[2], at})
			text = rest
		case ok && len(fields) == 2:
			base, err1 := strconv.Atoi(fields[0])
			last, err2 := strconv.Atoi(fields[1])
			if err1 != nil || err2 != nil || base < 0 || last < 0 || base > len(rest) || len(rest)-base != last {
				return nil, errBroken
			}
			a.Base, a.Last = []byte(rest[:base]), []byte(rest[base:])
			return a, nil
		default:
			return nil, errBroken
		}
	}
}
