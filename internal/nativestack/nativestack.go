// Package nativestack has the answer of the leakgate command to a test that asks which calls of C
// code allocate. The command records these calls in the memory of the test, and can read debug
// information of C.
package nativestack

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"
)

// Flag is the first argument of the command when it is to record. The arguments after it are the
// number of the test's process, how often op is called between the two moments, and how many blocks
// a hundred calls leave, 0 if that is not known. It is not a command for users. The command gets a
// byte on its standard input at each of the two moments.
const Flag = "-record-native-calls"

// Descriptors that the command gets: the test's memory (/proc/self/mem), and one to which the
// command writes a byte when it records, and a byte when it has seen the first moment. At the
// second moment it writes its answer to the standard output.
const (
	MemoryFD = 3 + iota
	ReadyFD
)

// An Answer has the calls that account for the growth, for the message, and profiles
// (profile.proto, gzipped).
type Answer struct {
	Lines      []Line
	Base, Last string
}

// A Line is a line of the message.
type Line struct {
	Mapping  bool   // it is about mapped memory, not about allocated blocks
	Text, At string // At is the file:line of the function that the text names, "" if there is none
}

// WriteTo writes the lines, and then the profiles.
func (a *Answer) WriteTo(w io.Writer) (int64, error) {
	var b bytes.Buffer
	clean := strings.NewReplacer("\t", " ", "\n", " ")
	for _, l := range a.Lines {
		fmt.Fprintf(&b, "%t\t%s\t%s\n", l.Mapping, clean.Replace(l.Text), clean.Replace(l.At))
	}
	fmt.Fprintf(&b, "%d\t%d\n", len(a.Base), len(a.Last))
	b.WriteString(a.Base + a.Last)
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
		case ok && len(fields) == 3:
			a.Lines = append(a.Lines, Line{fields[0] == "true", fields[1], fields[2]})
			text = rest
		case ok && len(fields) == 2:
			base, err1 := strconv.Atoi(fields[0])
			last, err2 := strconv.Atoi(fields[1])
			if err1 != nil || err2 != nil || base < 0 || last < 0 || base > len(rest) || len(rest)-base != last {
				return nil, errBroken
			}
			a.Base, a.Last = rest[:base], rest[base:]
			return a, nil
		default:
			return nil, errBroken
		}
	}
}
