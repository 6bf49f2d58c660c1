// Package nativestack is what a test binary tells the leakgate command of the calls by which C code
// allocates, and what the command, which can read debug information of C, answers: the names of these calls,
// and profiles.
package nativestack

import (
	"bufio"
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

// An Amount is how much there is. Bytes are those that were asked for.
type Amount struct {
	Blocks int64 `json:"blocks"`
	Bytes  int64 `json:"bytes"`
}

// A Place is the code that an address returns to.
type Place struct {
	PC     uint64
	Frames []Frame // innermost first, if calls were inlined
}

// A Frame is a line of a function.
type Frame struct {
	Func string
	File string // "" if it is not known
	Line int
}

// An Answer has the names of code, and profiles (profile.proto, gzipped).
type Answer struct {
	Places     []Place
	Base, Last []byte
}

// WriteTo writes a line for each frame, and then the profiles.
func (a *Answer) WriteTo(w io.Writer) (int64, error) {
	var b bytes.Buffer
	clean := strings.NewReplacer("\t", " ", "\n", " ")
	for _, p := range a.Places {
		for _, f := range p.Frames {
			fmt.Fprintf(&b, "%d\t%s\t%s\t%d\n", p.PC, clean.Replace(f.Func), clean.Replace(f.File), f.Line)
		}
	}
	fmt.Fprintf(&b, "%d\t%d\n", len(a.Base), len(a.Last))
	b.Write(a.Base)
	b.Write(a.Last)
	return b.WriteTo(w)
}

var errBroken = errors.New("the leakgate command gave an answer that cannot be read")

// Parse reads what WriteTo wrote.
func Parse(text []byte) (*Answer, error) {
	a := &Answer{}
	r := bufio.NewReader(bytes.NewReader(text))
	for {
		line, err := r.ReadString('\n')
		if err != nil {
			return nil, errBroken
		}
		fields := strings.Split(strings.TrimSuffix(line, "\n"), "\t")
		switch len(fields) {
		case 4:
			pc, err := strconv.ParseUint(fields[0], 10, 64)
			if err != nil {
				return nil, errBroken
			}
			at, _ := strconv.Atoi(fields[3])
			if n := len(a.Places); n == 0 || a.Places[n-1].PC != pc {
				a.Places = append(a.Places, Place{PC: pc})
			}
			p := &a.Places[len(a.Places)-1]
			p.Frames = append(p.Frames, Frame{fields[1], fields[2], at})
		case 2:
			base, err1 := strconv.Atoi(fields[0])
			last, err2 := strconv.Atoi(fields[1])
			rest, err3 := io.ReadAll(r)
			if err1 != nil || err2 != nil || err3 != nil || base < 0 || last < 0 || base > len(rest) || len(rest)-base != last {
				return nil, errBroken
			}
			a.Base, a.Last = rest[:base], rest[base:]
			return a, nil
		default:
			return nil, errBroken
		}
	}
}
