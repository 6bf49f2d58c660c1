package verdict

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"
)

// NativeFlag is the first argument of the command when it is to record. The arguments after it are
// the number of the test's process, how often op is called between the two moments, and how many
// blocks a hundred calls leave, 0 if that is not known. It is not a command for users. The command
// gets a byte on its standard input at each of the two moments.
const NativeFlag = "-record-native-calls"

// Descriptors that the command gets: the test's memory (/proc/self/mem), and one to which the
// command writes a byte when it records, and a byte when it has seen the first moment. At the
// second moment it writes its answer to the standard output.
const (
	NativeMemoryFD = 3 + iota
	NativeReadyFD
)

// A NativeAnswer is the answer of the leakgate command to a test that asks which calls of C code
// allocate. The command records these calls in the memory of the test, and can read debug
// information of C. It has the calls that account for the growth, for the message, and profiles
// (profile.proto, gzipped).
type NativeAnswer struct {
	Lines      []NativeLine
	Base, Last string
}

// A NativeLine is a line of the message.
type NativeLine struct {
	Mapping  bool   // it is about mapped memory, not about allocated blocks
	Text, At string // At is the file:line of the function that the text names, "" if there is none
}

// WriteTo writes the lines, and then the profiles.
func (a *NativeAnswer) WriteTo(w io.Writer) (int64, error) {
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

// ParseNativeAnswer reads what WriteTo wrote.
func ParseNativeAnswer(text string) (*NativeAnswer, error) {
	a := &NativeAnswer{}
	for {
		line, rest, ok := strings.Cut(text, "\n")
		fields := strings.Split(line, "\t")
		switch {
		case ok && len(fields) == 3:
			a.Lines = append(a.Lines, NativeLine{fields[0] == "true", fields[1], fields[2]})
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
