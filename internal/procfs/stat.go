package procfs

import (
	"bytes"
	"errors"
	"strconv"
	"strings"
)

// A Stat is the line of /proc/PID/stat (proc_pid_stat(5)).
type Stat struct {
	Name        string // of the command, cut off after 15 bytes
	State       byte   // 'R' runs, 'S' sleeps, 't' was stopped by a tracer, 'Z' has ended
	Parent      int64  // process ID
	MinorFaults int64  // page faults that needed no disk
	Threads     int64
	StartTime   int64 // in ticks of the clock, since the system began
	ExitSignal  int64 // which the parent gets when the process ends
}

// HasEnded reports whether the process has ended, and waits for its parent to ask.
func (s *Stat) HasEnded() bool { return s.State == 'Z' || s.State == 'X' }

// ReadStat reads the line of a process, or of one of its threads; folder is "/proc/PID" or
// "/proc/PID/task/TID".
func ReadStat(folder string) (Stat, error) {
	line, err := Read(folder+"/stat", make([]byte, 512))
	if err != nil {
		return Stat{}, err
	}
	return ParseStat(line)
}

// ParseStat parses a line: "12 (sh) S 7 ...". A line that is cut off is an error.
func ParseStat(line []byte) (s Stat, err error) {
	// there may be spaces and parentheses in the name
	open, end := bytes.IndexByte(line, '('), bytes.LastIndexByte(line, ')')
	if open < 0 || end < open {
		return s, errShort
	}
	fields := strings.Fields(string(line[end+1:]))
	if len(fields) < 36 { // the exit signal is the last one that is needed
		return s, errShort
	}
	var n [36]int64 // by place behind the name, from the state on
	for i := 1; i < len(n); i++ {
		n[i], _ = strconv.ParseInt(fields[i], 10, 64)
	}
	return Stat{string(line[open+1 : end]), fields[0][0], n[1], n[7], n[17], n[19], n[35]}, nil
}

var errShort = errors.New("/proc/PID/stat has too few fields")
